//! Figures 5.4 and 5.11 of `W24`: what do robust rules cost where nobody attacks?

use anyhow::Result;

use super::reading::{self, ByAttackers, Unattacked};
use super::{ATTACKERS, HONEST, Place, RULES_WITHOUT_ATTACK, Rule, honest, late, length, notes, of_users, why};
use crate::plot::Sharing;
use crate::reproduce::series::{BY_USERS, Row, Series, Sheet, TEST};
use crate::reproduce::{Study, Wanted};
use crate::results::Results;

/// A rule by the number of attackers that it reckons with; the median has no such number.
pub fn reckoning<'a>(results: &'a Results, rule: Rule) -> [Series<'a>; 4] {
    ATTACKERS.map(|number| {
        Series::new(rule.name(), results, &[("rule", rule.label()), ("defence.rule.attackers", number)], TEST)
    })
}

fn unattacked(plain: &Results, defended: &Results, users: &'static str) -> Result<Unattacked> {
    let of = |rule| late(&reckoning(defended, rule), users);
    let [median, ..]: ByAttackers = of(Rule::Median)?;
    Ok(Unattacked {
        users,
        plain: honest(plain).late(&BY_USERS, users)?,
        krum: of(Rule::Krum)?,
        multi_krum: of(Rule::MultiKrum)?,
        trimmed_mean: of(Rule::TrimmedMean)?,
        median,
    })
}

fn plain_average(results: &Results) -> Series<'_> {
    Series { name: Rule::FedAvg.name().into(), ..honest(results) }
}

/// One row a number of attackers that rules reckon with.
fn rows<'a>(plain: &'a Results, defended: &'a Results) -> Vec<Row<'a>> {
    let row = |i: usize| {
        let of_rules = Rule::ALL[1..].iter().map(|&rule| reckoning(defended, rule).into_iter().nth(i));
        let series = std::iter::once(plain_average(plain)).chain(of_rules.flatten()).collect();
        Row { title: format!("reckoning with {}0 %", ATTACKERS[i]), series }
    };
    (0..ATTACKERS.len()).map(row).collect()
}

/// Rules without an attack on some collections: finding 19.
pub fn figure(study: &mut Study<'_>, number: &str, wanted: &[Wanted]) -> Result<()> {
    let places: Vec<Place> = wanted.iter().map(|&wanted| Place::of(study, wanted)).collect();
    for (i, place) in places.iter().enumerate() {
        // Two collections may have the same stand-in, of which one figure is enough.
        if places[..i].iter().any(|other| other.used == place.used) {
            continue;
        }
        on_collection(study, number, place)?;
    }
    notes(study, &places);
    Ok(())
}

fn on_collection(study: &mut Study<'_>, number: &str, place: &Place) -> Result<()> {
    let (plain, defended) = (place.runs(study, HONEST)?, place.runs(study, RULES_WITHOUT_ATTACK)?);
    let file = place.used.name().to_lowercase().replace(' ', "-");
    let sheet = Sheet {
        file: &file,
        title: &format!("Thesis Figure {number}: robust rules without an attack, {}", place.used.name()),
        subtitle: format!("{}; {}; means without bands", place.data.name, length(study)),
        measure: "nDCG@10 on test queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Figure,
        has_bands: false,
    };
    sheet.show(study, &rows(&plain, &defended))?;
    let all = of_users(|users| unattacked(&plain, &defended, users))?;
    place.conclude(study, 19, reading::krum_and_median_cost(&all), why::COSTS_LITTLE);
    place.conclude(study, 19, reading::averaging_costs_less(&all), why::WITHIN_CHANCE);
    Ok(())
}
