//! Figures 6.2 and 6.3 and Table 6.2 of `W24` Wang's thesis, chapter 6: a client leaves, and FedEraser forgets it.
//!
//! The client that leaves is marked: it sends -2 times its model, so that everybody can see whether it is still there.
//! 9H-1M has nine honest clients and the marked one, 10H-0M a tenth honest one instead, 9H-0M the nine alone, which is
//! retraining; U(9H-1M) is what unlearning makes of 9H-1M.
//!
//! Which data: MQ2007 or a sample of it, MSLR-WEB10K or generated data of its shape, Yahoo and Istella-S if they are
//! there, and MQ2008 beyond the thesis. Printed numbers are compared on the thesis's own data and rounds only.
//!
//! What the thesis's words mean in numbers: `thesis_unlearning/reading.rs`, written before the runs.

mod configurations;
mod during;
mod intervals_and_steps;
mod printed;
mod reading;
mod why;

use anyhow::Result;

use super::course::USERS;
use super::series::{Series, TEST};
use super::specs::{Spec, specs};
use super::tally::Judged;
use super::{Entry, StandIn, Study, Wanted};
use crate::results::Results;
use crate::table::grouped;

const PAPER: &str = "Wang's thesis 2024, chapter 6";

const fn entry(id: &'static str, what: &'static str, run: fn(&mut Study<'_>) -> Result<()>) -> Entry {
    Entry { id, paper: PAPER, what, run }
}

pub(super) const FIGURE_2: Entry =
    entry("thesis-figure-6.2", "A marked client among nine honest ones, and the nine alone", configurations::figure);
pub(super) const FIGURE_3: Entry =
    entry("thesis-figure-6.3", "FedEraser's ranker while it forgets the marked client", during::figure);
pub(super) const TABLE_2: Entry =
    entry("thesis-table-6.2", "FedEraser by interval of stored rounds and local steps", intervals_and_steps::table_2);

specs! {
    "thesis/unlearning":
    CONFIGURATIONS = "configurations";
    DURING = "during";
    INTERVALS_AND_STEPS = "intervals-and-steps";
}

/// Rounds from one stored round to the next: the columns of the table.
const INTERVALS: [u32; 3] = [5, 10, 20];
/// Interactions of a client in a round of unlearning: the rows of the table.
const STEPS: [u32; 4] = [4, 3, 2, 1];

/// The thesis's rounds.
const ROUNDS: usize = 10_000;
/// Seeds; of five folds, three of them are fifteen runs.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

fn n_rounds(study: &Study<'_>) -> usize {
    study.either(2000, ROUNDS)
}

/// A collection with what stands for it here.
struct Place {
    wanted: Wanted,
    data: StandIn,
}

impl Place {
    /// All that there are, with one fold when the budget is small.
    fn all(study: &Study<'_>) -> Vec<Self> {
        let place = |wanted| {
            let data = study.data(wanted);
            Self { wanted, data: if study.is_quick() { data.only_folds(&[1]) } else { data } }
        };
        // Generated data says the same whatever its width: one shape of it is enough.
        let is_needed = |it: &Self| !it.data.is_generated() || matches!(it.wanted, Wanted::Mq2007 | Wanted::Mslr);
        let all = [Wanted::Mq2007, Wanted::Mq2008, Wanted::Mslr, Wanted::Yahoo, Wanted::IstellaS];
        all.map(place).into_iter().filter(is_needed).collect()
    }

    fn overrides(&self, study: &Study<'_>) -> Vec<String> {
        let mut overrides = vec![self.data.setting()];
        // Features of the large collections are scaled within each query (spec 1.1).
        if matches!(self.wanted, Wanted::Mslr | Wanted::Yahoo | Wanted::IstellaS) {
            overrides.push("data.normalise=query".into());
        }
        if self.data.is_generated() && study.is_quick() {
            overrides.extend(["data.queries=500".into(), "data.test_queries=200".into()]);
        }
        overrides.push(format!("federation.rounds={}", n_rounds(study)));
        overrides.push(format!("seeds={:?}", self.seeds(study)));
        overrides
    }

    fn seeds(&self, study: &Study<'_>) -> &'static [u64] {
        if self.has_folds() && !study.is_quick() { &SEEDS[..3] } else { &SEEDS }
    }

    fn has_folds(&self) -> bool {
        let has = matches!(self.wanted, Wanted::Mq2007 | Wanted::Mq2008 | Wanted::Mslr);
        has && self.data.section.contains("\"folder\"")
    }

    /// The folder of a file's results, once for all entries that use it.
    fn folder(&self, spec: Spec) -> String {
        format!("unlearning-{}-{}", self.slug(), spec.name)
    }

    fn slug(&self) -> String {
        self.wanted.name().to_lowercase().replace(' ', "-")
    }

    /// Runs 9H-1M, 10H-0M and 9H-0M.
    fn configurations(&self, study: &mut Study<'_>) -> Result<Results> {
        let mut overrides = self.overrides(study);
        overrides.push(format!("metrics.evaluate={{ every = {} }}", n_rounds(study) / study.either(25, 40)));
        study.shared_grid(&self.folder(CONFIGURATIONS), CONFIGURATIONS.text, &overrides)
    }

    /// What is run, and instead of what.
    fn said(&self) -> String {
        self.data.why_not(self.wanted).unwrap_or_else(|| self.data.name.clone())
    }

    /// Reports a finding on this collection, and if it fails what explained that where it was seen to.
    fn conclude(&self, study: &mut Study<'_>, number: u8, judged: Judged, why: Option<&str>) {
        let Judged { holds, evidence } = judged;
        study.finding(number, holds, format!("{}: {evidence}", self.data.name));
        if let Some(why) = why.filter(|_| !holds) {
            study.note(format!("finding {number} on {}: {why}", self.data.name));
        }
    }
}

/// One of 9H-1M, 10H-0M and 9H-0M.
fn configuration<'a>(results: &'a Results, name: &'a str) -> Series<'a> {
    Series::new(name, results, &[("configuration", name)], TEST)
}

/// Makes something of every kind of users.
fn of_users<T>(make: impl Fn(&'static str) -> Result<T>) -> Result<Vec<T>> {
    USERS.into_iter().map(make).collect()
}

/// What every entry says about its budget and data.
fn notes(study: &mut Study<'_>, places: &[Place]) {
    study.note(format!(
        "10 clients, 5 interactions each, {} rounds; the thesis has 10 000",
        grouped(n_rounds(study) as u64)
    ));
    for place in places {
        let folds = match (place.has_folds(), study.is_quick()) {
            (true, true) => "the first fold, ",
            (true, false) => "all folds, ",
            (false, _) => "",
        };
        study.note(format!("{}, {folds}{} seeds", place.said(), place.seeds(study).len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::about::About;
    use crate::grid::Grid;
    use foltr_federation::Unlearning;

    fn grid(spec: Spec) -> Grid {
        Grid::from_toml(spec.text, &[]).unwrap_or_else(|problems| panic!("{}: {problems:?}", spec.name))
    }

    #[test]
    fn every_file_has_the_thesiss_settings() {
        for (&spec, n) in SPECS.iter().zip([9, 3, 36]) {
            let grid = grid(spec);
            assert_eq!(grid.settings.len(), n, "{}", spec.name);
            for setting in &grid.settings {
                let experiment = &setting.experiment;
                let schedule = experiment.schedule().expect("rounds");
                assert_eq!((schedule.n_rounds, schedule.n_clients, schedule.interactions), (ROUNDS, 10, 5));
                assert_eq!(experiment.seeds, SEEDS, "{}", spec.name);
                let leavers = experiment.unlearning.as_ref().map(|leaving| leaving.clients.as_slice());
                assert!(leavers.is_none_or(|leavers| leavers == [0]), "{}", spec.name);
                assert!(leavers.is_none() || experiment.attack.is_some_and(|attack| attack.attackers == 1));
            }
        }
    }

    #[test]
    fn the_table_has_every_interval_and_number_of_steps_from_one_history() {
        let grid = grid(INTERVALS_AND_STEPS);
        let mut found: Vec<(u32, u32)> = Vec::new();
        for setting in &grid.settings {
            let Some(Unlearning::FedEraser(eraser)) = setting.experiment.unlearning.as_ref().map(|it| it.method) else {
                panic!("{}", setting.name());
            };
            found.push((eraser.interval, eraser.steps));
            assert_eq!(setting.experiment.keeping().and_then(|it| it.updates_every), Some(INTERVALS[0]));
        }
        found.sort_unstable();
        found.dedup();
        let mut wanted: Vec<(u32, u32)> = INTERVALS.iter().flat_map(|&i| STEPS.map(|steps| (i, steps))).collect();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }

    #[test]
    fn every_configuration_has_one_setting_for_every_kind_of_users() {
        let results = Results { grid: grid(CONFIGURATIONS), runs: Vec::new(), about: About::default() };
        for name in ["9H-1M", "10H-0M", "9H-0M"] {
            for users in USERS {
                let found = configuration(&results, name).late(&super::super::series::BY_USERS, users);
                assert!(found.as_ref().is_ok_and(Vec::is_empty), "{name}, {users}: {found:?}");
            }
        }
        let absent: Vec<&Option<Vec<u32>>> =
            results.grid.settings.iter().filter_map(|it| Some(&it.experiment.clients.as_ref()?.absent)).collect();
        assert_eq!(absent.iter().filter(|absent| ***absent == Some(vec![0])).count(), 3);
    }
}
