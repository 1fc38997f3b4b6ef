//! Figures 4.8 and 4.9 of `W24`: clients that click in different ways, and clients that search more than others. Linear
//! rankers only.

use anyhow::Result;

use super::reading::{self, Case};
use super::type_1::both;
use super::type_2::{case, of_batch, one_label};
use super::{
    CLICKS, PREFERENCES, Place, QUANTITIES, QUANTITIES_LABELS, QUANTITIES_PREFERENCES, Ranker, a_client_a_label,
    length, notes,
};
use crate::plot::Sharing;
use crate::reproduce::course::USERS;
use crate::reproduce::series::{BY_USERS, Columns, Row, Series, Sheet, TEST, TRAIN};
use crate::reproduce::{Study, Wanted};
use crate::results::Results;

/// One column a click model.
const BY_MODEL: Columns = Columns { axis: "model", labels: &["cascade", "position-based"], title: " users" };

const LINEAR: Ranker = Ranker::Linear;

/// Click preferences: finding 16.
pub fn figure_8(study: &mut Study<'_>) -> Result<()> {
    let places = Place::for_labels(study, LINEAR);
    let all = places.iter().map(|place| place.runs(study, LINEAR, CLICKS, &[])).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for (place, results) in places.iter().zip(&all) {
        let series = [("IID", "interaction"), ("non-IID", "client")]
            .map(|(name, each)| Series::new(name, results, &[("users.each", each)], TEST));
        let mut cases = Vec::new();
        for model in BY_MODEL.labels {
            let [iid, skewed] = series.each_ref().map(|series| series.late(&BY_MODEL, model));
            cases.push(Case { name: (*model).into(), iid: iid?, skewed: skewed? });
        }
        place.conclude(study, LINEAR, 16, reading::makes_no_difference(&cases));
        rows.push(Row { title: place.title(LINEAR), series: series.into() });
    }
    let clients = "3 clients with cascade users, 5 with position-based ones; 5 interactions each";
    let sheet = Sheet {
        file: "figure",
        title: "Thesis Figure 4.8: click preferences (Type 3)",
        subtitle: format!("{clients}; {}", length(study, &[LINEAR])),
        measure: "nDCG@10 on test queries",
        columns: &BY_MODEL,
        y_sharing: Sharing::Row,
        has_bands: true,
    };
    sheet.show(study, &rows)?;
    notes(study, &places.iter().collect::<Vec<_>>(), &[LINEAR]);
    study.note(
        "IID: every interaction has any of the users; non-IID: every client has users of its own. Position-based users have \
         the click probabilities of perfect ones and eta = 0, .5, 1, 1.5, 2",
    );
    Ok(())
}

/// Quantity alone: finding 16. With other types: told, and drawn beside those types alone.
pub fn figure_9(study: &mut Study<'_>) -> Result<()> {
    let places = Place::for_labels(study, LINEAR);
    let intents = Place::of(study, Wanted::IntentChange);
    let alone = places.iter().map(|place| place.runs(study, LINEAR, QUANTITIES, &[])).collect::<Result<Vec<_>>>()?;
    let preferences = intents.runs(study, LINEAR, PREFERENCES, &[])?;
    let both_kinds = intents.runs(study, LINEAR, QUANTITIES_PREFERENCES, &[])?;
    let mut rows = Vec::new();
    for (place, results) in places.iter().zip(&alone) {
        let series = [("IID", "iid"), ("Type 4", "non-iid")]
            .map(|(name, label)| Series::new(name, results, &[("quantities", label)], TEST));
        let cases = USERS.map(|users| case(&series[0], &series[1], users, users.to_owned()));
        let cases = cases.into_iter().collect::<Result<Vec<_>>>()?;
        place.conclude(study, LINEAR, 16, reading::makes_no_difference(&cases));
        rows.push(Row { title: format!("alone, {}", place.data.name), series: series.into() });
    }
    let [iid, mut skewed] = both(&preferences);
    skewed.name = "the other type alone".into();
    let mixed = Series::new("Type 4 with the other type", &both_kinds, &[], TRAIN);
    rows.push(Row { title: format!("with Type 1, {}", intents.data.name), series: vec![iid, skewed, mixed] });
    let labels = places.iter().map(|place| with_labels(study, place)).collect::<Result<Vec<_>>>()?;
    for (place, (plain, mixed)) in places.iter().zip(&labels) {
        let iid = of_batch(plain, "IID", "iid", "5");
        let skewed = of_batch(plain, "the other type alone", "one-label", "5");
        let mixed = Series::new("Type 4 with the other type", mixed, &[], TEST);
        rows.push(Row { title: format!("with Type 2, {}", place.data.name), series: vec![iid, skewed, mixed] });
    }
    let sheet = Sheet {
        file: "figure",
        title: "Thesis Figure 4.9: quantity (Type 4) alone, with Type 1, and with Type 2 (#R = 1)",
        subtitle: format!("1 to 9 interactions a client, IID 5 each; {}", length(study, &[LINEAR])),
        measure: "nDCG@10 on test queries (with Type 1: on training queries)",
        columns: &BY_USERS,
        y_sharing: Sharing::Row,
        has_bands: true,
    };
    sheet.show(study, &rows)?;
    notes(study, &places.iter().chain([&intents]).collect::<Vec<_>>(), &[LINEAR]);
    study.note(
        "quantities 1, 3, 5, 7, 9; with four intents the first four, as in the thesis's code; with three labels 1, 5, 9. With \
         another type the gap is that of the other type: compare with it alone. The thesis swaps the names of the collections \
         there",
    );
    Ok(())
}

/// One label a client with equal quantities, then with different ones.
fn with_labels(study: &mut Study<'_>, place: &Place) -> Result<(Results, Results)> {
    let plain = one_label(study, place, LINEAR)?;
    let mut more = a_client_a_label(place);
    if place.n_labels() == 5 {
        more.push("clients.quantities=[1, 3, 5, 7, 9]".into());
    }
    Ok((plain, place.runs(study, LINEAR, QUANTITIES_LABELS, &more)?))
}
