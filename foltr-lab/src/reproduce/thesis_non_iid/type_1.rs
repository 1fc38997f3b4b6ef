//! Figure 4.3 and Table 4.2 of `W24`: clients that want different documents for the same queries.

use anyhow::Result;

use super::reading::{self, Case};
use super::{PREFERENCES, Place, Ranker, length, notes};
use crate::plot::Sharing;
use crate::reproduce::course::USERS;
use crate::reproduce::series::{BY_USERS, Row, Series, Sheet, TRAIN, in_words};
use crate::reproduce::study::mean;
use crate::reproduce::{Study, Wanted};
use crate::results::Results;
use crate::statistics::Test;
use crate::table::table;

/// What the intents of generated queries are not.
const SYNTHETIC: &str = "generated intents have three grades where those of the collection are binary, about 41 documents a \
                         query where it has 512, and conflict strongly: the direction is judged, no number";

/// Clients with one merged set of labels, then with an intent each.
pub fn both(results: &Results) -> [Series<'_>; 2] {
    [("IID", "iid"), ("non-IID", "non-iid")]
        .map(|(name, label)| Series::new(name, results, &[("clients", label)], TRAIN))
}

/// Says what generated intents are.
pub fn tell_what_intents_are(study: &mut Study<'_>, place: &Place) {
    notes(study, &[place], &Ranker::ALL);
    if place.is_generated() {
        study.note(SYNTHETIC);
    }
}

/// The picture. The two curves are measured by different labels, merged ones and those of each intent; so nothing is
/// judged here but in Table 4.2.
pub fn figure_3(study: &mut Study<'_>) -> Result<()> {
    let place = Place::of(study, Wanted::IntentChange);
    let [linear, neural] = Ranker::ALL.map(|ranker| place.runs(study, ranker, PREFERENCES, &[]));
    let (linear, neural) = (linear?, neural?);
    let rows = [(Ranker::Linear, &linear), (Ranker::Neural, &neural)]
        .map(|(ranker, results)| Row { title: place.title(ranker), series: both(results).into() });
    let sheet = Sheet {
        file: "figure",
        title: "Thesis Figure 4.3: document preferences (Type 1)",
        subtitle: format!("4 clients, 5 interactions each; {}", length(study, &Ranker::ALL)),
        measure: "nDCG@10 on the training queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Row,
        has_bands: true,
    };
    sheet.show(study, &rows)?;
    tell_what_intents_are(study, &place);
    study.note(
        "IID is measured by merged labels, non-IID by those of each intent, as in the thesis: no finding rests on it",
    );
    Ok(())
}

/// IID and non-IID by users, as printed.
type Printed = [(f64, f64); 3];

const LINEAR: Printed = [(1002.36, 648.71), (872.12, 546.25), (894.95, 566.23)];
const NEURAL: Printed = [(1061.57, 668.38), (834.08, 505.64), (842.87, 490.29)];

/// Differences that still agree on the thesis's own collection, as a share of the printed number.
const TOLERANCE: f64 = 0.02;

/// The table, and the first part of finding 14.
pub fn table_2(study: &mut Study<'_>) -> Result<()> {
    let place = Place::of(study, Wanted::IntentChange);
    let mut lines = Vec::new();
    for (ranker, printed) in Ranker::ALL.into_iter().zip([LINEAR, NEURAL]) {
        let results = place.runs(study, ranker, PREFERENCES, &[])?;
        let [iid, skewed] = both(&results);
        let mut cases = Vec::new();
        for (users, (of_iid, of_skewed)) in USERS.iter().zip(printed) {
            let case = Case { name: (*users).into(), iid: iid.online(users)?, skewed: skewed.online(users)? };
            for (series, paper, runs) in [(&iid, of_iid, &case.iid), (&skewed, of_skewed, &case.skewed)] {
                let cell = format!("{} {users} {}", ranker.name(), series.name);
                match place.why_not(study) {
                    None => study.cell_of_runs(cell, paper, runs, TOLERANCE * paper),
                    Some(why) => study.not_comparable(cell, Some(paper), mean(runs), &why),
                }
            }
            let p = Test::Paired.compare(&case.iid, &case.skewed).map_or(f64::NAN, |test| test.p);
            lines.push(vec![
                ranker.name().to_owned(),
                (*users).to_owned(),
                in_words(&case.iid, 2),
                in_words(&case.skewed, 2),
                format!("{p:.4}"),
            ]);
            cases.push(case);
        }
        place.conclude(study, ranker, 14, reading::iid_is_above(&cases));
    }
    let header = ["ranker", "users", "IID", "non-IID", "p, paired"];
    study.table(&format!("discounted online nDCG@10, {}", place.data.name), &table(&header, 2, lines));
    tell_what_intents_are(study, &place);
    Ok(())
}
