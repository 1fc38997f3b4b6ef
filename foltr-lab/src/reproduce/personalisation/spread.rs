//! The figure of the spread: which share of the clients gains at most so much over FedAvg.

use anyhow::Result;

use super::{FED_AVG, METHODS, ORACLE, Outcome};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Sharing};
use crate::reproduce::course::USERS;
use crate::spec::Split;

/// Methods that are drawn, by number: those that people choose from, and the yardstick.
const DRAWN: [usize; 5] = [1, 3, 4, 5, ORACLE];

/// One row a scene, one column a kind of users.
pub(super) fn figure(outcomes: &[&Outcome], chosen: &[&str]) -> Result<CurveFigure> {
    let rows = outcomes.iter().map(|outcome| row(outcome, chosen)).collect::<Result<_>>()?;
    Ok(CurveFigure {
        title: "What rankers of one's own bring each client".into(),
        subtitle:
            "share of clients that gain at most this much over FedAvg's one ranker; left of 0 are those worse off"
                .into(),
        x_label: "gain of a client in nDCG@10, by its own labels".into(),
        y_label: "share of clients".into(),
        methods: DRAWN.map(|method| METHODS[method].name.to_owned()).to_vec(),
        columns: USERS.map(|users| format!("{users} users")).to_vec(),
        rows,
        x_sharing: Sharing::Row,
        y_sharing: Sharing::Figure,
        ..CurveFigure::default()
    })
}

fn row(outcome: &Outcome, chosen: &[&str]) -> Result<PanelRow> {
    let panel = |users: &str| -> Result<Panel> {
        let curve = |(method, &number): (usize, &usize)| -> Result<Curve> {
            Ok(Curve { method, points: distribution(gains(outcome, chosen[number], users)?) })
        };
        let curves = DRAWN.iter().enumerate().map(curve).collect::<Result<_>>()?;
        Ok(Panel { curves, references: Vec::new() })
    };
    Ok(PanelRow { title: outcome.name.into(), panels: USERS.map(panel).into_iter().collect::<Result<_>>()? })
}

/// What each client of each collection gains over FedAvg.
fn gains(outcome: &Outcome, candidate: &str, users: &str) -> Result<Vec<f64>> {
    let mut gains = Vec::new();
    for seed in &outcome.seeds {
        let own = outcome.by_client(candidate, users, seed, Split::Test)?;
        let others = outcome.by_client(METHODS[FED_AVG].candidates[0], users, seed, Split::Test)?;
        gains.extend(own.iter().zip(&others).map(|(own, other)| own - other));
    }
    Ok(gains)
}

/// The empirical distribution, in hundredths of the clients.
fn distribution(mut gains: Vec<f64>) -> Vec<Point> {
    gains.sort_unstable_by(f64::total_cmp);
    let last = gains.len().saturating_sub(1);
    let at = |percent: usize| {
        let share = percent as f64 / 100.0;
        let gain = gains[(share * last as f64).round() as usize];
        Point { x: gain, mean: share, low: share, high: share }
    };
    if gains.is_empty() { Vec::new() } else { (0..=100).map(at).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_from_the_least_to_the_largest_gain() {
        let points = distribution((0..11).rev().map(f64::from).collect());
        assert_eq!((points[0].x, points[50].x, points[100].x), (0.0, 5.0, 10.0));
        assert!(points.windows(2).all(|pair| pair[0].x <= pair[1].x && pair[0].mean < pair[1].mean));
        assert!(distribution(Vec::new()).is_empty());
    }
}
