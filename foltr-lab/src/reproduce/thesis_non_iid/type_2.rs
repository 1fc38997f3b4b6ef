//! Figures 4.5 and 4.6, Table 4.3 of `W24`: clients that hold documents of one or two labels.

use anyhow::Result;

use super::reading::{self, Case, EXACT};
use super::{ONE_LABEL, Place, ROUNDS, Ranker, TWO_LABELS, a_client_a_label, length, n_rounds, notes};
use crate::plot::Sharing;
use crate::reproduce::Study;
use crate::reproduce::course::USERS;
use crate::reproduce::series::{BY_USERS, Row, Series, Sheet, TEST, in_words};
use crate::reproduce::study::mean;
use crate::results::Results;
use crate::table::table;

/// Interactions of a client in a round.
const BATCHES: [&str; 3] = ["2", "5", "10"];

/// All runs of a file, by ranker and collection.
struct Ran {
    ranker: Ranker,
    place: Place,
    results: Results,
}

/// The runs behind Figures 4.5 and 4.7 and Table 4.3.
pub fn one_label(study: &mut Study<'_>, place: &Place, ranker: Ranker) -> Result<Results> {
    place.runs(study, ranker, ONE_LABEL, &a_client_a_label(place))
}

fn everywhere(
    study: &mut Study<'_>,
    run: impl Fn(&mut Study<'_>, &Place, Ranker) -> Result<Results>,
) -> Result<Vec<Ran>> {
    let mut all = Vec::new();
    for ranker in Ranker::ALL {
        for place in Place::for_labels(study, ranker) {
            let results = run(study, &place, ranker)?;
            all.push(Ran { ranker, place, results });
        }
    }
    Ok(all)
}

fn tell(study: &mut Study<'_>, all: &[Ran]) {
    let places: Vec<&Place> = all.iter().filter(|ran| ran.ranker == Ranker::Linear).map(|ran| &ran.place).collect();
    notes(study, &places, &Ranker::ALL);
}

/// Alike clients, or clients with one label, with so many interactions in a round.
pub fn of_batch<'a>(results: &'a Results, name: &str, clients: &'a str, batch: &'a str) -> Series<'a> {
    Series::new(name, results, &[("clients", clients), ("clients.interactions", batch)], TEST)
}

/// Users with two series side by side.
pub fn case(iid: &Series<'_>, skewed: &Series<'_>, users: &str, name: String) -> Result<Case> {
    Ok(Case { name, iid: iid.late(&BY_USERS, users)?, skewed: skewed.late(&BY_USERS, users)? })
}

/// One label a client: the first part of finding 15.
pub fn figure_5(study: &mut Study<'_>) -> Result<()> {
    let all = everywhere(study, one_label)?;
    let mut rows = Vec::new();
    for Ran { ranker, place, results } in &all {
        let pairs = BATCHES.map(|batch| {
            let named = |name: &str, clients| of_batch(results, &format!("{name}, B = {batch}"), clients, batch);
            (named("IID", "iid"), named("one label", "one-label"))
        });
        let mut cases = Vec::new();
        for users in USERS {
            for (batch, (iid, skewed)) in BATCHES.iter().zip(&pairs) {
                cases.push(case(iid, skewed, users, format!("{users}, B = {batch}"))?);
            }
        }
        place.conclude(study, *ranker, 15, reading::is_clearly_below(&cases));
        let (iid, skewed): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        rows.push(Row { title: place.title(*ranker), series: iid.into_iter().chain(skewed).collect() });
    }
    let sheet = Sheet {
        file: "figure",
        title: "Thesis Figure 4.5: one label a client (Type 2, #R = 1)",
        subtitle: format!("as many clients as labels, B interactions each; {}", length(study, &Ranker::ALL)),
        measure: "nDCG@10 on test queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Row,
        has_bands: true,
    };
    sheet.show(study, &rows)?;
    tell(study, &all);
    Ok(())
}

/// Printed online values of alike clients on MSLR-WEB10K: by users, then by batch.
type Printed = [[f64; 3]; 3];

const LINEAR: Printed = [[742.10, 778.56, 798.05], [698.25, 743.35, 771.04], [672.23, 722.23, 757.10]];
const NEURAL: Printed = [[716.55, 781.18, 815.80], [649.83, 728.96, 775.87], [612.76, 693.35, 748.64]];
/// Printed in every cell of clients with one label.
const ONE_LABEL_ONLINE: f64 = 1589.23;

/// Differences that still agree on the thesis's own collection, as a share of the printed number.
const TOLERANCE: f64 = 0.02;

/// The online value of clients with one of `n_labels` labels: all of them show perfect lists, but for the one whose
/// documents are not relevant.
fn certain(n_labels: usize, n_rounds: usize) -> f64 {
    let discount = foltr_rank::metric::ONLINE_DISCOUNT;
    let sum = (1.0 - discount.powf(n_rounds as f64)) / (1.0 - discount);
    (n_labels - 1) as f64 / n_labels as f64 * sum
}

/// One label a client, online: findings 15 (exact values) and 16 (larger batches).
pub fn table_3(study: &mut Study<'_>) -> Result<()> {
    let all = everywhere(study, one_label)?;
    let mut lines = Vec::new();
    for ran in &all {
        let online = |clients: &'static str| -> Result<Vec<Vec<Vec<f64>>>> {
            let of = |users: &str, batch| of_batch(&ran.results, clients, clients, batch).online(users);
            USERS.iter().map(|users| BATCHES.iter().map(|batch| of(users, batch)).collect()).collect()
        };
        let (iid, skewed) = (online("iid")?, online("one-label")?);
        for (name, values) in [("IID", &iid), ("one label", &skewed)] {
            for (users, by_batch) in USERS.iter().zip(values) {
                let words = by_batch.iter().map(|runs| in_words(runs, 2));
                let head = [ran.place.title(ran.ranker), name.to_owned(), (*users).to_owned()];
                lines.push(head.into_iter().chain(words).collect());
            }
        }
        cells(study, ran, &iid, &skewed);
        judge(study, ran, &iid, &skewed);
    }
    let header = ["", "clients", "users", "B = 2", "B = 5", "B = 10"];
    study.table("discounted online nDCG@10", &table(&header, 3, lines));
    tell(study, &all);
    Ok(())
}

/// Printed numbers: those of MSLR-WEB10K beside ours; with one label a client no data can change them, only the number of
/// labels and rounds.
fn cells(study: &mut Study<'_>, ran: &Ran, iid: &[Vec<Vec<f64>>], skewed: &[Vec<Vec<f64>>]) {
    if ran.place.n_labels() != 5 {
        return;
    }
    let printed = if ran.ranker == Ranker::Linear { LINEAR } else { NEURAL };
    for (row, users) in USERS.iter().enumerate() {
        for (column, batch) in BATCHES.iter().enumerate() {
            let cell = |name: &str| format!("{} {users} {name} B = {batch}", ran.ranker.name());
            let (paper, runs) = (printed[row][column], &iid[row][column]);
            match ran.place.why_not(study) {
                None => study.cell_of_runs(cell("IID"), paper, runs, TOLERANCE * paper),
                Some(why) => study.not_comparable(cell("IID"), Some(paper), mean(runs), &why),
            }
            let runs = &skewed[row][column];
            if n_rounds(study, ran.ranker) == ROUNDS {
                study.cell_of_runs(cell("non-IID"), ONE_LABEL_ONLINE, runs, EXACT);
            } else {
                let why = "--quick: fewer rounds; finding 15 has the value of so many";
                study.not_comparable(cell("non-IID"), Some(ONE_LABEL_ONLINE), mean(runs), why);
            }
        }
    }
}

fn judge(study: &mut Study<'_>, ran: &Ran, iid: &[Vec<Vec<f64>>], skewed: &[Vec<Vec<f64>>]) {
    let expected = certain(ran.place.n_labels(), n_rounds(study, ran.ranker));
    let all = USERS.iter().zip(skewed).map(|(users, by_batch)| ((*users).to_owned(), by_batch.concat()));
    ran.place.conclude(study, ran.ranker, 15, reading::is_exact(&all.collect::<Vec<_>>(), expected));
    let by_batch = USERS.iter().zip(iid).map(|(users, by_batch)| ((*users).to_owned(), by_batch.clone()));
    ran.place.conclude(study, ran.ranker, 16, reading::rises(&by_batch.collect::<Vec<_>>()));
}

/// Two labels a client: finding 15.
pub fn figure_6(study: &mut Study<'_>) -> Result<()> {
    // One client for each pair of labels.
    let pairs = |place: &Place| place.n_labels() * (place.n_labels() - 1) / 2;
    let all = everywhere(study, |study, place, ranker| {
        place.runs(study, ranker, TWO_LABELS, &[format!("clients.n_clients={}", pairs(place))])
    })?;
    let mut rows = Vec::new();
    for Ran { ranker, place, results } in &all {
        let series = [("IID", "iid"), ("one label", "one-label"), ("two labels", "two-labels")]
            .map(|(name, label)| Series::new(name, results, &[("clients", label)], TEST));
        let mut cases = Vec::new();
        for users in USERS {
            let [iid, one, two] = series.each_ref().map(|series| series.late(&BY_USERS, users));
            cases.push((users.to_owned(), [iid?, one?, two?]));
        }
        place.conclude(study, *ranker, 15, reading::gap_is_minimal(&cases));
        rows.push(Row { title: place.title(*ranker), series: series.into() });
    }
    let clients = "one client a pair of labels (3 on MQ2008, 10 with five labels), 5 interactions each";
    let sheet = Sheet {
        file: "figure",
        title: "Thesis Figure 4.6: two labels a client (Type 2, #R = 2)",
        subtitle: format!("{clients}; {}", length(study, &Ranker::ALL)),
        measure: "nDCG@10 on test queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Row,
        has_bands: true,
    };
    sheet.show(study, &rows)?;
    tell(study, &all);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn online_values_of_one_label_are_those_of_the_thesis_and_the_specification() {
        assert!((certain(5, 10_000) - ONE_LABEL_ONLINE).abs() < 0.005);
        assert!((certain(3, 10_000) - 1324.36).abs() < 0.005);
        assert!((certain(2, 2) - 0.5 * 1.9995).abs() < 1e-12);
    }
}
