//! Do the privacy labels hold? Attacks and tests that can fail, beside broken mechanisms that they must catch.
//!
//! Three parts: lower bounds of epsilon from samples of each mechanism's output ([`epsilon`]), the clicks recovered from
//! what a server sees ([`inversion`]), and the laws of all samplers (`samplers`). Every row has a claim and a bound that
//! was measured; a bound above its claim refutes it. Sound mechanisms must not be refuted, broken controls must be.

mod clopper_pearson;
pub mod epsilon;
pub mod inversion;
mod law;
pub mod mechanisms;
mod samplers;
mod sampling;

use foltr_rank::rng::Streams;
use indicatif::ProgressBar;
use serde::Serialize;

use clopper_pearson::{lower_limit, upper_limit};
use inversion::Inversion;
pub use inversion::Scene;

/// Known beforehand about a mechanism and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    Sound,
    /// A control: the label, or the mechanism, is wrong.
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Sound, and not refuted.
    Sound,
    /// Thought to be sound, and refuted: the label is wrong.
    Violated,
    /// Broken, and refuted.
    Caught,
    /// Broken, and not refuted: the audit is too weak.
    Missed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    Epsilon,
    Inversion,
    Sampler,
}

/// One row of the audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub mechanism: String,
    /// In `unit`, as `lower_bound`.
    pub claimed: f64,
    /// Measured; above `claimed` it refutes the claim.
    pub lower_bound: f64,
    pub expected: Expected,
    pub verdict: Verdict,
    pub part: Part,
    /// How it was audited.
    pub what: String,
    pub unit: String,
    /// Samples, messages or interactions.
    pub samples: u64,
}

impl Verdict {
    pub fn of(expected: Expected, claimed: f64, lower_bound: f64) -> Self {
        match (expected, lower_bound > claimed) {
            (Expected::Sound, false) => Self::Sound,
            (Expected::Sound, true) => Self::Violated,
            (Expected::Broken, true) => Self::Caught,
            (Expected::Broken, false) => Self::Missed,
        }
    }

    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Violated | Self::Missed)
    }

    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Expected {
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Fewer samples give weaker bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AuditBudget {
    /// Share of the usual number of samples of each mechanism and sampler.
    pub samples: f64,
    /// Clients whose messages are inverted, for each mode and number of interactions; some modes take a multiple.
    pub n_clients: usize,
}

impl AuditBudget {
    /// Enough for every control to be caught with room to spare.
    pub const FULL: Self = Self { samples: 1.0, n_clients: 100 };

    fn share_of(&self, n_samples: usize) -> usize {
        ((n_samples as f64 * self.samples) as usize).max(1)
    }
}

#[derive(Clone, Debug)]
pub struct Audit {
    /// Part after part.
    pub findings: Vec<Finding>,
    /// For each view and number of interactions.
    pub inversions: Vec<Inversion>,
    /// The data whose lists were inverted.
    pub data_name: String,
    /// False if the data was generated in place of MQ2008.
    pub is_real_data: bool,
}

impl Audit {
    pub fn has_failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.verdict.is_failure())
    }
}

/// Runs all three parts. The same seed gives the same numbers for any number of threads.
pub fn run(scene: Scene, seed: u64, budget: AuditBudget, bar: &ProgressBar) -> Audit {
    let (cases, tests) = (mechanisms::all(), samplers::all());
    let n_samples: usize = cases.iter().map(|case| 2 * budget.share_of(case.n_samples)).sum::<usize>()
        + tests.iter().map(|test| budget.share_of(test.n_samples)).sum::<usize>();
    bar.set_length(n_samples as u64 + inversion::n_steps(budget.n_clients));
    let streams = Streams::new(seed);
    let mut findings = Vec::new();
    for (number, case) in (0..).zip(&cases) {
        bar.set_message(case.mechanism.clone());
        findings.push(epsilon::certify(case, &streams, number, budget, bar));
    }
    bar.set_message("recovering clicks");
    let inversions = inversion::invert_all(&scene, budget.n_clients, bar);
    let on_lists = |finding: Finding| Finding { what: format!("{}; lists of {}", finding.what, scene.name), ..finding };
    findings.extend(inversions.iter().filter_map(Inversion::finding).map(on_lists));
    for (number, test) in (cases.len() as u32..).zip(&tests) {
        bar.set_message(test.mechanism.clone());
        findings.push(samplers::examine(test, &streams, number, budget, bar));
    }
    Audit { findings, inversions, data_name: scene.name, is_real_data: scene.is_real }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_above_the_claim_refutes_it() {
        use {Expected::*, Verdict as V};
        assert_eq!(V::of(Sound, 1.2, 1.1), V::Sound);
        assert_eq!(V::of(Sound, 1.2, 1.3), V::Violated);
        assert_eq!(V::of(Broken, 1.2, 1.3), V::Caught);
        assert_eq!(V::of(Broken, 1.2, 1.1), V::Missed);
        assert_eq!([V::Sound, V::Violated, V::Caught, V::Missed].map(V::is_failure), [false, true, false, true]);
    }
}
