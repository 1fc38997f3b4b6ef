//! Figures 4.3 to 4.9, Tables 4.2 and 4.3 of `W24` Wang's thesis, chapter 4: what happens to FPDGD when clients differ, and
//! do remedies from elsewhere help? (First in `WZ22`.)
//!
//! Which data: neither MSLR-WEB10K nor the intent-change collection need be at hand. Types 2 to 4 are run on MQ2008 (real,
//! three labels) and on MSLR-WEB10K or generated data of its shape (five labels); both judge findings 15 and 16, for they
//! say how clients that hold the same compare with clients that do not, on whatever they hold. Type 1 is run on the
//! intent-change collection or on generated queries with four intents, and judges the direction of finding 14. Printed
//! numbers are compared on the thesis's own data only, but for those that no data can change: with one label a client the
//! online value is (L - 1) / L times the sum of the discounts.
//!
//! What the thesis's words mean in numbers: `thesis_non_iid/reading.rs`, written before the runs.
//!
//! Deviations: FedPer clients do not share memory, as they do in the released code by mistake (spec section 11). Data
//! sharing is run without a warm-up, as released, and with one, as described; its length is ours.

mod other_types;
mod reading;
mod remedies;
mod type_1;
mod type_2;

use anyhow::Result;

use super::specs::{Spec, specs};
use super::tally::Judged;
use super::{Entry, StandIn, Study, Wanted};
use crate::results::Results;
use crate::table::grouped;

const PAPER: &str = "Wang's thesis 2024, chapter 4";

const fn entry(id: &'static str, what: &'static str, run: fn(&mut Study<'_>) -> Result<()>) -> Entry {
    Entry { id, paper: PAPER, what, run }
}

pub(super) const FIGURE_3: Entry =
    entry("thesis-figure-4.3", "Type 1, document preferences: offline", type_1::figure_3);
pub(super) const TABLE_2: Entry = entry("thesis-table-4.2", "Type 1, document preferences: online", type_1::table_2);
pub(super) const FIGURE_4: Entry = entry("thesis-figure-4.4", "Type 1: FedProx and FedPer", remedies::figure_4);
pub(super) const FIGURE_5: Entry =
    entry("thesis-figure-4.5", "Type 2, one label a client: offline by local interactions", type_2::figure_5);
pub(super) const TABLE_3: Entry = entry("thesis-table-4.3", "Type 2, one label a client: online", type_2::table_3);
pub(super) const FIGURE_6: Entry = entry("thesis-figure-4.6", "Type 2, two labels a client: offline", type_2::figure_6);
pub(super) const FIGURE_7: Entry =
    entry("thesis-figure-4.7", "Type 2, one label a client: data sharing, FedProx, FedPer", remedies::figure_7);
pub(super) const FIGURE_8: Entry = entry("thesis-figure-4.8", "Type 3, click preferences", other_types::figure_8);
pub(super) const FIGURE_9: Entry =
    entry("thesis-figure-4.9", "Type 4, quantity: alone, with Type 1, with Type 2", other_types::figure_9);

specs! {
    "thesis/non-iid":
    PREFERENCES = "type-1";
    PREFERENCES_FED_PROX = "type-1-fed-prox";
    PREFERENCES_FED_PER = "type-1-fed-per";
    ONE_LABEL = "type-2-one-label";
    TWO_LABELS = "type-2-two-labels";
    REMEDIES = "type-2-remedies";
    FED_PER = "type-2-fed-per";
    CLICKS = "type-3";
    QUANTITIES = "type-4";
    QUANTITIES_PREFERENCES = "type-4-with-type-1";
    QUANTITIES_LABELS = "type-4-with-type-2";
}

/// Which ranker clients learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranker {
    Linear,
    Neural,
}

impl Ranker {
    const ALL: [Self; 2] = [Self::Linear, Self::Neural];

    const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Neural => "neural",
        }
    }

    /// As an experiment file has it (spec section 7).
    const fn setting(self) -> &'static str {
        match self {
            Self::Linear => "ranker={ kind = \"linear\", initialisation = { kind = \"zero\" } }",
            Self::Neural => {
                "ranker={ kind = \"mlp\", hidden = 64, activation = \"logistic\", initialisation = { kind = \"fan-in\" } }"
            }
        }
    }
}

/// The thesis's rounds.
const ROUNDS: usize = 10_000;

/// Rounds of a run. Neural rankers cost ten times as much.
fn n_rounds(study: &Study<'_>, ranker: Ranker) -> usize {
    study.either(if ranker == Ranker::Linear { 2000 } else { 1000 }, ROUNDS)
}

/// A collection with what stands for it here.
struct Place {
    wanted: Wanted,
    data: StandIn,
}

impl Place {
    /// With one fold when the budget is small.
    fn of(study: &Study<'_>, wanted: Wanted) -> Self {
        let data = study.data(wanted);
        Self { wanted, data: if study.is_quick() { data.only_folds(&[1]) } else { data } }
    }

    /// Where Types 2 to 4 are run. A quick run leaves out what takes longest: neural rankers on 136 features.
    fn for_labels(study: &Study<'_>, ranker: Ranker) -> Vec<Self> {
        let all = [Wanted::Mq2008, Wanted::Mslr].map(|wanted| Self::of(study, wanted));
        let is_too_long = |place: &Self| study.is_quick() && ranker == Ranker::Neural && place.n_labels() == 5;
        all.into_iter().filter(|place| !is_too_long(place)).collect()
    }

    fn n_labels(&self) -> usize {
        if self.wanted == Wanted::Mslr { 5 } else { 3 }
    }

    fn is_generated(&self) -> bool {
        self.data.is_generated()
    }

    /// A tenth of the training queries.
    fn n_shared(&self, study: &Study<'_>) -> usize {
        match (self.wanted, self.is_generated()) {
            (Wanted::Mslr, true) => study.either(50, 200),
            (Wanted::Mslr, false) => 600,
            _ => 47,
        }
    }

    /// Why its numbers cannot be compared with the printed ones; none if they can.
    fn why_not(&self, study: &Study<'_>) -> Option<String> {
        let few = || study.is_quick().then(|| "--quick: one fold, fewer rounds and runs".to_owned());
        self.data.why_not(self.wanted).or_else(few)
    }

    fn overrides(&self, study: &Study<'_>, ranker: Ranker) -> Vec<String> {
        let mut overrides = vec![self.data.setting()];
        // Features of MSLR-WEB10K are scaled within each query (spec 1.1).
        if self.wanted == Wanted::Mslr {
            overrides.push("data.normalise=query".into());
            if study.is_quick() && self.is_generated() {
                overrides.extend(["data.queries=500".into(), "data.test_queries=200".into()]);
            }
        }
        let n_rounds = n_rounds(study, ranker);
        overrides.push(ranker.setting().into());
        overrides.push(format!("federation.rounds={n_rounds}"));
        let n_points = if ranker == Ranker::Linear { 40 } else { 20 };
        overrides.push(format!("metrics.evaluate={{ every = {} }}", n_rounds / n_points));
        overrides.push(format!("seeds={:?}", self.seeds(study, ranker)));
        overrides
    }

    /// Five runs a setting at least, but three of the neural rankers in a quick run, and on the widest data.
    fn seeds(&self, study: &Study<'_>, ranker: Ranker) -> &'static [u64] {
        match ranker {
            Ranker::Linear => &[1, 2, 3, 4, 5],
            Ranker::Neural if study.is_quick() => &[1, 2, 3],
            Ranker::Neural => match self.wanted {
                // Five folds.
                Wanted::Mq2008 => &[1, 2],
                Wanted::Mslr => &[1, 2, 3],
                _ => &[1, 2, 3, 4, 5],
            },
        }
    }

    /// Runs a file, once for all entries that use it.
    fn runs(&self, study: &mut Study<'_>, ranker: Ranker, spec: Spec, more: &[String]) -> Result<Results> {
        let mut overrides = self.overrides(study, ranker);
        overrides.extend_from_slice(more);
        let place = self.wanted.name().to_lowercase();
        study.shared_grid(&format!("non-iid-{place}-{}-{}", spec.name, ranker.name()), spec.text, &overrides)
    }

    /// The heading of a row of panels.
    fn title(&self, ranker: Ranker) -> String {
        format!("{}, {}", self.data.name, ranker.name())
    }

    /// Reports a finding on this collection.
    fn conclude(&self, study: &mut Study<'_>, ranker: Ranker, number: u8, Judged { holds, evidence }: Judged) {
        study.finding(number, holds, format!("{}: {evidence}", self.title(ranker)));
    }
}

/// As many clients as the collection has labels.
fn a_client_a_label(place: &Place) -> Vec<String> {
    vec![format!("clients.n_clients={}", place.n_labels())]
}

/// In words: how long the runs of these rankers are.
fn length(study: &Study<'_>, rankers: &[Ranker]) -> String {
    let lengths: Vec<String> = rankers.iter().map(|&ranker| grouped(n_rounds(study, ranker) as u64)).collect();
    match &lengths[..] {
        [linear, neural] if linear != neural => format!("{linear} rounds, with neural rankers {neural}"),
        _ => format!("{} rounds", lengths.first().map_or("no", String::as_str)),
    }
}

/// What every entry says about its budget and data.
fn notes(study: &mut Study<'_>, places: &[&Place], rankers: &[Ranker]) {
    study.note(format!("{}; the thesis has 10 000", length(study, rankers)));
    for place in places {
        let folds = match (place.data.section.contains("\"folder\""), study.is_quick()) {
            (true, true) => "the first fold, ",
            (true, false) => "all folds, ",
            (false, _) => "",
        };
        let seeds = |&ranker: &Ranker| {
            let n = place.seeds(study, ranker).len();
            let is_run = place.wanted == Wanted::IntentChange
                || Place::for_labels(study, ranker).iter().any(|other| other.wanted == place.wanted);
            if is_run { format!("{n} seeds ({})", ranker.name()) } else { format!("no {} ranker", ranker.name()) }
        };
        let seeds: Vec<String> = rankers.iter().map(seeds).collect();
        study.note(format!("{}: {}, {folds}{}", place.wanted.name(), place.data.name, seeds.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn every_file_has_the_thesiss_settings() {
        let n_settings = [6, 15, 3, 18, 9, 21, 3, 4, 6, 3, 3];
        for (spec, n) in SPECS.iter().zip(n_settings) {
            let grid = Grid::from_toml(spec.text, &[]).unwrap_or_else(|problems| panic!("{}: {problems:?}", spec.name));
            assert_eq!(grid.settings.len(), n, "{}", spec.name);
            for setting in &grid.settings {
                let schedule = setting.experiment.schedule().expect("rounds");
                assert_eq!(schedule.n_rounds, ROUNDS, "{}", spec.name);
                assert_eq!(setting.experiment.seeds.len(), 5, "{}", spec.name);
            }
        }
        assert_eq!(SPECS.len(), n_settings.len());
    }
}
