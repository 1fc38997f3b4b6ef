//! Figure 6.2 of `W24`: who is missed, and who is seen?

use anyhow::Result;

use super::reading::{self, Configured};
use super::{Place, configuration, notes, of_users};
use crate::plot::Sharing;
use crate::reproduce::Study;
use crate::reproduce::series::{BY_USERS, Row, Sheet};
use crate::results::Results;

const NAMES: [&str; 3] = ["9H-1M", "10H-0M", "9H-0M"];

fn configured(results: &Results, users: &'static str) -> Result<Configured> {
    let late = |name: &'static str| configuration(results, name).late(&BY_USERS, users);
    Ok(Configured { users, marked: late("9H-1M")?, honest: late("10H-0M")?, without: late("9H-0M")? })
}

fn row<'a>(place: &Place, results: &'a Results) -> Row<'a> {
    let series = NAMES.map(|name| configuration(results, name)).into_iter().collect();
    Row { title: place.data.name.clone(), series }
}

/// The figure, and finding 22.
pub fn figure(study: &mut Study<'_>) -> Result<()> {
    let places = Place::all(study);
    let ran = places.iter().map(|place| place.configurations(study)).collect::<Result<Vec<_>>>()?;
    let sheet = Sheet {
        file: "figure",
        title: "Thesis Figure 6.2: a marked client, an honest one, and none",
        subtitle: "9 honest clients and 1 that sends -2 times its model (9H-1M), 10 honest ones, 9 honest ones".into(),
        measure: "nDCG@10 on test queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Row,
        has_bands: true,
    };
    sheet.show(study, &places.iter().zip(&ran).map(|(place, results)| row(place, results)).collect::<Vec<_>>())?;
    for (place, results) in places.iter().zip(&ran) {
        let all = of_users(|users| configured(results, users))?;
        place.conclude(study, 22, reading::one_client_is_not_missed(&all), None);
        place.conclude(study, 22, reading::marked_client_is_seen(&all), None);
    }
    notes(study, &places);
    Ok(())
}
