//! Figures 5.2 to 5.11 of `W24` Wang's thesis, chapter 5: what do clients that lie do to FPDGD, and what do robust
//! rules do about them? Linear rankers, as in the thesis's figures.
//!
//! Which data: MSLR-WEB10K or generated data of its shape, MQ2007 or a sample of it. Yahoo and Istella-S, where they
//! are missing, are stood in for by MQ2008: real queries say more about a finding than generated ones. Both then have
//! the same runs, and what the thesis says of Yahoo or Istella-S alone is not judged. There are no printed numbers.
//!
//! What the thesis's words mean in numbers: `thesis_attacks/reading.rs`, written before the runs.
//!
//! Choices: rules reckon with as many attackers as there are; where there are none the thesis does not say with how
//! many, and all of 1 to 4 are shown. Krum adds up distances that are not squared (spec section 14). A little is enough
//! takes z from the honest clients, Fang's attack simulates Krum with a growing number of copies (spec section 13).

mod data_poisoning;
mod model_poisoning;
mod no_attack;
mod picks;
mod reading;
mod why;

use anyhow::Result;

use super::course::USERS;
use super::series::{BY_USERS, Row, Series, TEST};
use super::specs::{Spec, specs};
use super::tally::Judged;
use super::{Entry, StandIn, Study, Wanted};
use crate::results::Results;
use crate::table::grouped;
use reading::ByAttackers;

const PAPER: &str = "Wang's thesis 2024, chapter 5";

const fn entry(id: &'static str, what: &'static str, run: fn(&mut Study<'_>) -> Result<()>) -> Entry {
    Entry { id, paper: PAPER, what, run }
}

pub(super) const FIGURE_2: Entry =
    entry("thesis-figure-5.2", "Data poisoning and robust rules, MSLR-WEB10K", |study| {
        data_poisoning::figure(study, "5.2", Wanted::Mslr)
    });
pub(super) const FIGURE_3: Entry =
    entry("thesis-figure-5.3", "Model poisoning under FedAvg and Krum, MSLR-WEB10K", |study| {
        model_poisoning::figure(study, "5.3", Wanted::Mslr)
    });
pub(super) const FIGURE_4: Entry = entry("thesis-figure-5.4", "Robust rules without an attack, MSLR-WEB10K", |study| {
    no_attack::figure(study, "5.4", &[Wanted::Mslr])
});
pub(super) const FIGURE_5: Entry = entry("thesis-figure-5.5", "Data poisoning and robust rules, MQ2007", |study| {
    data_poisoning::figure(study, "5.5", Wanted::Mq2007)
});
pub(super) const FIGURE_6: Entry = entry("thesis-figure-5.6", "Data poisoning and robust rules, Yahoo", |study| {
    data_poisoning::figure(study, "5.6", Wanted::Yahoo)
});
pub(super) const FIGURE_7: Entry = entry("thesis-figure-5.7", "Data poisoning and robust rules, Istella-S", |study| {
    data_poisoning::figure(study, "5.7", Wanted::IstellaS)
});
pub(super) const FIGURE_8: Entry =
    entry("thesis-figure-5.8", "Model poisoning under FedAvg and Krum, MQ2007", |study| {
        model_poisoning::figure(study, "5.8", Wanted::Mq2007)
    });
pub(super) const FIGURE_9: Entry =
    entry("thesis-figure-5.9", "Model poisoning under FedAvg and Krum, Yahoo", |study| {
        model_poisoning::figure(study, "5.9", Wanted::Yahoo)
    });
pub(super) const FIGURE_10: Entry =
    entry("thesis-figure-5.10", "Model poisoning under FedAvg and Krum, Istella-S", |study| {
        model_poisoning::figure(study, "5.10", Wanted::IstellaS)
    });
pub(super) const FIGURE_11: Entry =
    entry("thesis-figure-5.11", "Robust rules without an attack, MQ2007, Yahoo, Istella-S", |study| {
        no_attack::figure(study, "5.11", &[Wanted::Mq2007, Wanted::Yahoo, Wanted::IstellaS])
    });

specs! {
    "thesis/attacks":
    HONEST = "honest";
    DATA_POISONING = "data-poisoning";
    LITTLE_IS_ENOUGH = "little-is-enough";
    FANG_ON_KRUM = "fang-on-krum";
    RULES_WITHOUT_ATTACK = "rules-without-attack";
}

/// Numbers of attackers among ten clients.
const ATTACKERS: [&str; 4] = ["1", "2", "3", "4"];
/// The same as shares, which is what the thesis's legends have.
const SHARES: [&str; 4] = ["10 % attackers", "20 % attackers", "30 % attackers", "40 % attackers"];

/// What the server makes of the updates of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    FedAvg,
    Krum,
    MultiKrum,
    TrimmedMean,
    Median,
}

impl Rule {
    const ALL: [Self; 5] = [Self::FedAvg, Self::Krum, Self::MultiKrum, Self::TrimmedMean, Self::Median];

    const fn name(self) -> &'static str {
        match self {
            Self::FedAvg => "FedAvg",
            Self::Krum => "Krum",
            Self::MultiKrum => "Multi-Krum",
            Self::TrimmedMean => "trimmed mean",
            Self::Median => "median",
        }
    }

    /// On the axis `rule` of the experiment files.
    const fn label(self) -> &'static str {
        match self {
            Self::FedAvg => "fed-avg",
            Self::Krum => "krum",
            Self::MultiKrum => "multi-krum",
            Self::TrimmedMean => "trimmed-mean",
            Self::Median => "median",
        }
    }
}

/// Collections of which the thesis says different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Collection {
    /// Itself or generated data of its shape.
    Mslr,
    /// Itself or a sample.
    Mq2007,
    Yahoo,
    IstellaS,
    /// Not in chapter 5 of the thesis: only what is said of every collection is expected there.
    Other,
}

/// The thesis's rounds.
const ROUNDS: usize = 10_000;
/// Seeds; of five folds, three of them are fifteen runs.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

fn n_rounds(study: &Study<'_>) -> usize {
    study.either(1000, ROUNDS)
}

/// A collection with what stands for it here.
struct Place {
    wanted: Wanted,
    /// What is run: MQ2008 where Yahoo and Istella-S are missing.
    used: Wanted,
    data: StandIn,
}

impl Place {
    /// With one fold when the budget is small.
    fn of(study: &Study<'_>, wanted: Wanted) -> Self {
        let (mut used, mut data) = (wanted, study.data(wanted));
        if matches!(wanted, Wanted::Yahoo | Wanted::IstellaS) && data.is_generated() {
            used = Wanted::Mq2008;
            data = StandIn { is_the_papers: false, ..study.data(used) };
        }
        Self { wanted, used, data: if study.is_quick() { data.only_folds(&[1]) } else { data } }
    }

    fn collection(&self) -> Collection {
        match self.used {
            Wanted::Mslr => Collection::Mslr,
            Wanted::Mq2007 => Collection::Mq2007,
            Wanted::Yahoo => Collection::Yahoo,
            Wanted::IstellaS => Collection::IstellaS,
            _ => Collection::Other,
        }
    }

    fn overrides(&self, study: &Study<'_>) -> Vec<String> {
        let mut overrides = vec![self.data.setting()];
        // Features of the large collections are scaled within each query (spec 1.1).
        if matches!(self.used, Wanted::Mslr | Wanted::Yahoo | Wanted::IstellaS) {
            overrides.push("data.normalise=query".into());
        }
        if self.data.is_generated() && study.is_quick() {
            overrides.extend(["data.queries=500".into(), "data.test_queries=200".into()]);
        }
        let n_rounds = n_rounds(study);
        overrides.push(format!("federation.rounds={n_rounds}"));
        overrides.push(format!("metrics.evaluate={{ every = {} }}", n_rounds / study.either(25, 40)));
        overrides.push(format!("seeds={:?}", self.seeds(study)));
        overrides
    }

    fn seeds(&self, study: &Study<'_>) -> &'static [u64] {
        if self.has_folds() && !study.is_quick() { &SEEDS[..3] } else { &SEEDS }
    }

    fn has_folds(&self) -> bool {
        self.data.section.contains("\"folder\"") && matches!(self.used, Wanted::Mq2007 | Wanted::Mq2008 | Wanted::Mslr)
    }

    /// Runs a file, once for all entries that use it.
    fn runs(&self, study: &mut Study<'_>, spec: Spec) -> Result<Results> {
        let place = self.used.name().to_lowercase().replace(' ', "-");
        study.shared_grid(&format!("attacks-{place}-{}", spec.name), spec.text, &self.overrides(study))
    }

    /// Reports a finding on this collection, and if it fails what explained that where it was seen to.
    fn conclude(&self, study: &mut Study<'_>, number: u8, Judged { holds, evidence }: Judged, why: &str) {
        study.finding(number, holds, format!("{}: {evidence}", self.data.name));
        if !holds {
            study.note(format!("finding {number} on {}: {why}", self.data.name));
        }
    }

    /// What is run, and instead of what.
    fn said(&self) -> String {
        self.data.why_not(self.wanted).unwrap_or_else(|| self.data.name.clone())
    }
}

/// Federated averaging without an attack, the reference of every figure.
fn honest(results: &Results) -> Series<'_> {
    Series::new("no attack, FedAvg", results, &[], TEST)
}

/// The settings with these labels, one series a number of attackers.
fn by_attackers<'a>(results: &'a Results, labels: &[(&'a str, &'a str)]) -> [Series<'a>; 4] {
    std::array::from_fn(|i| {
        let number = [("attack.attackers", ATTACKERS[i]), ("defence.rule.attackers", ATTACKERS[i])];
        Series::new(SHARES[i], results, &[labels, &number].concat(), TEST)
    })
}

/// Panels of an attack beside no attack.
fn row<'a>(title: &str, clean: &'a Results, attacked: [Series<'a>; 4]) -> Row<'a> {
    Row { title: title.into(), series: std::iter::once(honest(clean)).chain(attacked).collect() }
}

/// Late values of series, one list a series.
fn late(series: &[Series<'_>; 4], users: &str) -> Result<ByAttackers> {
    let mut values = ByAttackers::default();
    for (values, series) in values.iter_mut().zip(series) {
        *values = series.late(&BY_USERS, users)?;
    }
    Ok(values)
}

/// Makes something of every kind of users.
fn of_users<T>(make: impl Fn(&'static str) -> Result<T>) -> Result<Vec<T>> {
    USERS.into_iter().map(make).collect()
}

/// In words: who takes part and for how long.
fn length(study: &Study<'_>) -> String {
    format!("10 clients, 5 interactions each; {} rounds", grouped(n_rounds(study) as u64))
}

/// What every entry says about its budget and data.
fn notes(study: &mut Study<'_>, places: &[Place]) {
    study.note(format!("{} rounds; the thesis has 10 000", grouped(n_rounds(study) as u64)));
    for place in places {
        let folds = match (place.has_folds(), study.is_quick()) {
            (true, true) => "the first fold, ",
            (true, false) => "all folds, ",
            (false, _) => "",
        };
        let n_seeds = place.seeds(study).len();
        study.note(format!("{}, {folds}{n_seeds} seeds", place.said()));
        if place.used != place.wanted {
            let missing = place.wanted.name();
            study.note(format!("what the thesis says of {missing} alone is not judged on {}", place.data.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::about::About;
    use crate::grid::Grid;

    #[test]
    fn every_file_has_the_thesiss_settings() {
        let n_settings = [3, 60, 12, 24, 39];
        for (spec, n) in SPECS.iter().zip(n_settings) {
            let grid = Grid::from_toml(spec.text, &[]).unwrap_or_else(|problems| panic!("{}: {problems:?}", spec.name));
            assert_eq!(grid.settings.len(), n, "{}", spec.name);
            for setting in &grid.settings {
                let experiment = &setting.experiment;
                let schedule = experiment.schedule().expect("rounds");
                assert_eq!((schedule.n_rounds, schedule.cohort), (ROUNDS, 10), "{}", spec.name);
                assert_eq!(schedule.interactions_per_round(), 50, "{}", spec.name);
                assert_eq!(experiment.seeds, SEEDS, "{}", spec.name);
                assert!(!experiment.defence().only_sums() || experiment.defence.is_none(), "{}", spec.name);
            }
        }
        assert_eq!(SPECS.len(), n_settings.len());
    }

    #[test]
    fn rules_reckon_with_the_attackers_that_there_are() {
        for spec in [DATA_POISONING, FANG_ON_KRUM] {
            let grid = Grid::from_toml(spec.text, &[]).expect("a sound file");
            for setting in &grid.settings {
                let n_attackers = setting.label("attack.attackers").expect("attackers");
                let reckoned = setting.label("defence.rule.attackers").unwrap_or(n_attackers);
                assert_eq!(n_attackers, reckoned, "{}", setting.name());
            }
        }
    }

    /// A file without runs: enough to look for settings.
    fn nothing(spec: Spec) -> Results {
        let grid = Grid::from_toml(spec.text, &[]).expect("a sound file");
        Results { grid, runs: Vec::new(), about: About::default() }
    }

    #[test]
    fn every_curve_has_one_setting_for_every_kind_of_users() {
        let [clean, clicks, little, fang, rules] =
            [HONEST, DATA_POISONING, LITTLE_IS_ENOUGH, FANG_ON_KRUM, RULES_WITHOUT_ATTACK].map(nothing);
        let mut series = vec![honest(&clean)];
        series.extend(Rule::ALL.into_iter().flat_map(|rule| data_poisoning::under(&clicks, rule)));
        series.extend(by_attackers(&little, &[]));
        series.extend(["full", "partial"].into_iter().flat_map(|it| by_attackers(&fang, &[("attack.knowledge", it)])));
        series.extend(Rule::ALL[1..].iter().flat_map(|&rule| no_attack::reckoning(&rules, rule)));
        for (series, users) in series.iter().flat_map(|series| USERS.map(|users| (series, users))) {
            let found = series.late(&BY_USERS, users);
            assert!(found.as_ref().is_ok_and(Vec::is_empty), "{users}, {:?}: {found:?}", series.labels);
        }
        assert!(by_attackers(&fang, &[])[0].late(&BY_USERS, USERS[0]).is_err(), "full or partial knowledge?");
    }

    #[test]
    fn real_queries_stand_in_for_yahoo_and_what_is_said_of_it_alone_is_not_expected() {
        let data = Wanted::Mq2008.find();
        let place = |used| Place { wanted: Wanted::Yahoo, used, data: data.clone() };
        assert_eq!(place(Wanted::Yahoo).collection(), Collection::Yahoo);
        assert_eq!(place(Wanted::Mq2008).collection(), Collection::Other);
    }
}
