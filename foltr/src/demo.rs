//! The main job: four methods under three kinds of users on synthetic data, ending with a table and a figure.
//!
//! Centralised PDGD and FPDGD as in spec sections 6 and 8, FOLtR-ES as in section 4, at the same number of interactions.

use foltr_experiment::grid::Grid;
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::{Metric, Problem, Split};
use foltr_report::plot::{Curve, CurveFigure, Panel, PanelRow, Point};
use foltr_report::statistics::Estimate;

/// The experiment file of the main job.
pub const SPEC: &str = include_str!("../../specs/main-job.toml");

/// What the table and the figure are about.
pub const METRIC: MetricName = MetricName::Offline(Split::Test, Metric::Ndcg(10));

/// The grid of the main job with seeds 1 to `n_seeds`.
///
/// # Errors
/// Never, as long as the embedded file is sound.
pub fn grid(n_seeds: u64) -> Result<Grid, Vec<Problem>> {
    let seeds: Vec<u64> = (1..=n_seeds).collect();
    Grid::from_toml(SPEC, &[format!("seeds={seeds:?}")])
}

/// The labels of an axis in the order of the file.
pub fn labels(grid: &Grid, axis: &str) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for label in grid.settings.iter().filter_map(|setting| setting.label(axis)) {
        if !labels.iter().any(|known| known == label) {
            labels.push(label.into());
        }
    }
    labels
}

/// Learning curves of all methods, one panel a kind of users.
pub fn figure(results: &Results) -> CurveFigure {
    let (methods, users) = (labels(&results.grid, "method"), labels(&results.grid, "users.preset"));
    let settings = || results.grid.settings.iter().enumerate();
    let panel = |preset: &String| Panel {
        curves: settings()
            .filter(|(_, setting)| setting.label("users.preset") == Some(preset))
            .filter_map(|(i, setting)| {
                let method = methods.iter().position(|method| Some(method.as_str()) == setting.label("method"))?;
                Some(Curve { method, points: learning_curve(results, i, METRIC) })
            })
            .collect(),
        references: Vec::new(),
    };
    let n_runs = results.runs_of(0).count();
    let bands = match n_runs {
        0 | 1 => "one run".into(),
        2 => "mean of 2 runs".into(),
        _ => format!("mean of {n_runs} runs with 95 % confidence bands"),
    };
    CurveFigure {
        title: "Federated online learning to rank".into(),
        subtitle: format!("synthetic data, 1000 clients; {bands}"),
        x_label: "interactions of all clients together".into(),
        y_label: "nDCG@10 on test queries".into(),
        columns: users.iter().map(|preset| format!("{preset} users")).collect(),
        rows: vec![PanelRow { title: String::new(), panels: users.iter().map(panel).collect() }],
        methods,
        ..CurveFigure::default()
    }
}

/// A metric over interactions: mean and confidence interval over the runs of a setting.
///
/// Without round 0: a ranker of zeros scores all documents alike, and its value tells only how ties are broken.
pub fn learning_curve(results: &Results, setting: usize, metric: MetricName) -> Vec<Point> {
    let schedule = results.grid.settings[setting].experiment.schedule();
    let per_round = schedule.map_or(0, |schedule| schedule.interactions_per_round());
    let point = |(round, values): (usize, Vec<f64>)| {
        let estimate = Estimate::of(&values)?;
        let (low, high) = estimate.band();
        Some(Point { x: (round * per_round) as f64, mean: estimate.mean, low, high })
    };
    results.curve(setting, metric).into_iter().filter(|(round, _)| *round > 0).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_experiment::manifest::Manifest;
    use foltr_experiment::results::Run;
    use foltr_experiment::rows::Row;

    #[test]
    fn every_method_gets_the_same_budget() {
        let grid = grid(2).expect("a sound file");
        assert_eq!(grid.settings.len(), 12);
        for setting in &grid.settings {
            let schedule = setting.experiment.schedule().expect("all learn online");
            assert_eq!(schedule.n_interactions(), 400_000, "{}", setting.name());
            assert_eq!(setting.experiment.seeds(), [1, 2]);
        }
    }

    #[test]
    fn a_curve_is_drawn_over_interactions_from_the_first_round_on() {
        let grid = grid(2).expect("a sound file");
        let fpdgd = grid.settings.iter().position(|setting| setting.label("method") == Some("FPDGD")).expect("there");
        let run = |seed, value| Run {
            setting: fpdgd,
            fold: 1,
            seed,
            key: String::new(),
            rows: (0..3)
                .map(|round| Row { round, metric: METRIC, value: if round == 0 { 0.0 } else { value } })
                .collect(),
            n_interactions: 0,
            training_seconds: 0.0,
            clients: Vec::new(),
        };
        let results = Results {
            grid,
            runs: vec![run(1, 0.5), run(2, 0.75)],
            about: Manifest::default(),
            root: std::path::PathBuf::new(),
        };
        let curve = learning_curve(&results, fpdgd, METRIC);
        let places: Vec<(f64, f64)> = curve.iter().map(|point| (point.x, point.mean)).collect();
        assert_eq!(places, [(2000.0, 0.625), (4000.0, 0.625)]);
        assert!(curve[0].low < 0.5 && curve[0].high > 0.75);
    }
}
