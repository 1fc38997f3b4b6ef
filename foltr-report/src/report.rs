//! `report.html`: the results of a folder on one page that opens from disk without a network.
//!
//! [`read`] reads a result folder into a [`Report`]; everything else only looks at that. The template escapes every
//! text by itself; what is put in as it is (style, script, figures, embedded numbers) is made in this crate.

mod bars;
mod comparison;
mod curves;
pub mod figures;
mod heat_map;
mod page;
mod panel;
mod roles;
mod source;
mod spread;
mod tables;

use crate::statistics::Estimate;

pub use page::{PageError, html};
pub use roles::{ChoiceError, Choices};
pub use source::read;

/// All that a page tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Above everything.
    pub title: String,
    /// What was run, in a few lines.
    pub facts: Vec<Fact>,
    /// What was swept: names of axes.
    pub axes: Vec<String>,
    /// What has a number for each run.
    pub measures: Vec<Measure>,
    /// What has a course over rounds, the most important first.
    pub metrics: Vec<String>,
    /// One a point of the grid.
    pub settings: Vec<SettingResult>,
    /// Runs that were asked for.
    pub n_planned: usize,
    /// `resolved.toml`.
    pub resolved: String,
    /// Versions, hashes and machines.
    pub provenance: Vec<Fact>,
    /// Commands that repeat everything.
    pub commands: Vec<String>,
}

/// A name and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// In a word or two.
    pub name: String,
    /// In any length.
    pub value: String,
}

/// A number that each run has once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Heading of its column.
    pub name: String,
    /// Which table it belongs to.
    pub of: MeasureOf,
    /// Whether less of it is better, such as of time.
    pub less_is_better: bool,
}

/// What a measure looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureOf {
    /// The ranker after the last round.
    FinalRanker,
    /// The lists that users saw on the way.
    ShownLists,
}

/// The results of one point of the grid.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingResult {
    /// One for each of [`Report::axes`]; none where the setting has no such axis.
    pub labels: Vec<Option<String>>,
    /// The learner in a few words, for a setting without labels.
    pub method: String,
    /// Runs that were asked for, where that is known.
    pub n_planned: Option<usize>,
    /// Fold and seed of every finished run.
    pub runs: Vec<(usize, u64)>,
    /// For each of [`Report::measures`] one value a run; empty where the setting has no such measure.
    pub values: Vec<Vec<f64>>,
    /// For each of [`Report::metrics`] what was measured after which round.
    pub courses: Vec<Vec<(usize, Estimate)>>,
    /// How much the final rankers are worth to clients, where clients differ.
    pub clients: Vec<ClientSpread>,
    /// Interactions of all clients in one round; none for an offline baseline.
    pub interactions_per_round: Option<usize>,
    /// The experiment with every default, as TOML.
    pub experiment: String,
}

/// What the final rankers of all runs are worth to their clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientSpread {
    /// What was measured.
    pub metric: String,
    /// Hundredths of the distribution over clients, from the least to the largest value.
    pub hundredths: Vec<f64>,
}

impl Fact {
    /// A name and what it is.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

impl Report {
    /// Runs that are finished.
    pub fn n_finished(&self) -> usize {
        self.settings.iter().map(|setting| setting.runs.len()).sum()
    }
}

impl SettingResult {
    /// What the runs say about a measure; none where there is no value.
    pub fn estimate(&self, measure: usize) -> Option<Estimate> {
        Estimate::of(self.values.get(measure)?)
    }
}
