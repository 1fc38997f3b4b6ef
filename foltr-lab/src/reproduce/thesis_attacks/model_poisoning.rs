//! Figures 5.3 and 5.8 to 5.10 of `W24`: updates that attackers make up, beside data poisoning.

use anyhow::Result;

use super::data_poisoning::under;
use super::picks::{self, Attack};
use super::reading::{self, Crafted};
use super::{
    DATA_POISONING, FANG_ON_KRUM, HONEST, LITTLE_IS_ENOUGH, Place, Rule, by_attackers, honest, late, length, notes,
    of_users, row, why,
};
use crate::plot::Sharing;
use crate::reproduce::series::{BY_USERS, Row, Series, Sheet};
use crate::reproduce::{Study, Wanted};
use crate::results::Results;

/// All runs of a figure.
struct Ran {
    clean: Results,
    clicks: Results,
    little: Results,
    fang: Results,
}

impl Ran {
    fn of(study: &mut Study<'_>, place: &Place) -> Result<Self> {
        Ok(Self {
            clean: place.runs(study, HONEST)?,
            clicks: place.runs(study, DATA_POISONING)?,
            little: place.runs(study, LITTLE_IS_ENOUGH)?,
            fang: place.runs(study, FANG_ON_KRUM)?,
        })
    }

    fn little(&self) -> [Series<'_>; 4] {
        by_attackers(&self.little, &[])
    }

    fn fang<'a>(&'a self, knowledge: &'a str) -> [Series<'a>; 4] {
        by_attackers(&self.fang, &[("attack.knowledge", knowledge)])
    }

    fn crafted(&self, users: &'static str) -> Result<Crafted> {
        Ok(Crafted {
            users,
            honest: honest(&self.clean).late(&BY_USERS, users)?,
            clicks: late(&under(&self.clicks, Rule::FedAvg), users)?,
            little: late(&self.little(), users)?,
            clicks_on_krum: late(&under(&self.clicks, Rule::Krum), users)?,
            full: late(&self.fang("full"), users)?,
            partial: late(&self.fang("partial"), users)?,
        })
    }

    /// The thesis's three comparisons share curves, so every attack has a row of its own, on one scale.
    fn rows(&self) -> [Row<'_>; 5] {
        let row = |title: &str, attacked| row(title, &self.clean, attacked);
        [
            row("LIE, FedAvg", self.little()),
            row("clicks, FedAvg", under(&self.clicks, Rule::FedAvg)),
            row("Fang, full, Krum", self.fang("full")),
            row("Fang, partial, Krum", self.fang("partial")),
            row("clicks, Krum", under(&self.clicks, Rule::Krum)),
        ]
    }
}

/// Model poisoning on a collection: findings 20 and 21.
pub fn figure(study: &mut Study<'_>, number: &str, wanted: Wanted) -> Result<()> {
    let place = Place::of(study, wanted);
    let ran = Ran::of(study, &place)?;
    let sheet = Sheet {
        file: "figure",
        title: &format!("Thesis Figure {number}: model poisoning, {}", place.wanted.name()),
        subtitle: format!("{}; LIE: a little is enough; clicks: data poisoning; {}", place.said(), length(study)),
        measure: "nDCG@10 on test queries",
        columns: &BY_USERS,
        y_sharing: Sharing::Figure,
        has_bands: true,
    };
    sheet.show(study, &ran.rows())?;
    let all = of_users(|users| ran.crafted(users))?;
    let of_little = [
        (reading::little_is_weaker(&all, place.collection()), why::NO_DAMAGE),
        (reading::little_is_nothing(&all), why::WITHIN_CHANCE),
    ];
    let of_fang = [
        (reading::fang_is_stronger(&all), why::ALREADY_RUINED),
        (reading::knowledge_matters_for_few(&all), why::PARTIAL_IS_ENOUGH),
    ];
    of_little.into_iter().for_each(|(judged, why)| place.conclude(study, 20, judged, why));
    of_fang.into_iter().for_each(|(judged, why)| place.conclude(study, 21, judged, why));
    picks::tell(
        study,
        &[
            ("data poisoning", &ran.clicks, Attack::Clicks),
            ("Fang, full knowledge", &ran.fang, Attack::Fang("full")),
            ("Fang, partial knowledge", &ran.fang, Attack::Fang("partial")),
        ],
    )?;
    notes(study, &[place]);
    Ok(())
}
