//! Figures 5.2 and 5.5 to 5.7 of `W24`: clients that learn from reversed clicks, and four rules against them.

use anyhow::Result;

use super::picks::{self, Attack};
use super::reading::{self, ByAttackers, Poisoned};
use super::{DATA_POISONING, HONEST, Place, Rule, by_attackers, honest, late, length, notes, of_users, row, why};
use crate::plot::Sharing;
use crate::reproduce::series::{BY_USERS, Series, Sheet};
use crate::reproduce::{Study, Wanted};
use crate::results::Results;

/// A rule under data poisoning.
pub fn under<'a>(results: &'a Results, rule: Rule) -> [Series<'a>; 4] {
    by_attackers(results, &[("rule", rule.label())])
}

fn poisoned(clean: &Results, attacked: &Results, users: &'static str) -> Result<Poisoned> {
    let mut by_rule: [ByAttackers; 5] = Default::default();
    for rule in Rule::ALL {
        by_rule[rule as usize] = late(&under(attacked, rule), users)?;
    }
    Ok(Poisoned { users, honest: honest(clean).late(&BY_USERS, users)?, by_rule })
}

/// Data poisoning on a collection: findings 17 and 18.
pub fn figure(study: &mut Study<'_>, number: &str, wanted: Wanted) -> Result<()> {
    let place = Place::of(study, wanted);
    let (clean, attacked) = (place.runs(study, HONEST)?, place.runs(study, DATA_POISONING)?);
    let sheet = Sheet {
        file: "figure",
        title: &format!("Thesis Figure {number}: data poisoning, {}", place.wanted.name()),
        subtitle: format!("{}; {}", place.said(), length(study)),
        measure: "nDCG@10 on test queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Figure,
        has_bands: true,
    };
    sheet.show(study, &Rule::ALL.map(|rule| row(rule.name(), &clean, under(&attacked, rule))))?;
    judge(study, &place, &of_users(|users| poisoned(&clean, &attacked, users))?);
    picks::tell(study, &[("data poisoning", &attacked, Attack::Clicks)])?;
    notes(study, &[place]);
    Ok(())
}

fn judge(study: &mut Study<'_>, place: &Place, all: &[Poisoned]) {
    let collection = place.collection();
    let of_attack = [
        (reading::damage_grows(all), why::BOTH_UPSIDE_DOWN),
        (reading::noise_is_hit_most(all), why::BOTH_UPSIDE_DOWN),
        (reading::who_is_hurt_when(all), why::PERFECT_USERS),
    ];
    let of_rules = [
        (reading::krum_helps(all, collection), why::KRUM),
        (reading::multi_krum_beside_krum(all), why::MULTI_KRUM),
        (reading::updates_beside_coordinates(all, collection), why::COORDINATES),
        (reading::coordinates_fail(all), why::RUINED),
    ];
    of_attack.into_iter().for_each(|(judged, why)| place.conclude(study, 17, judged, why));
    of_rules.into_iter().for_each(|(judged, why)| place.conclude(study, 18, judged, why));
}
