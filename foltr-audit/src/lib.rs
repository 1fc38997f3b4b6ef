//! Do the privacy labels hold? Attacks and tests that can fail, beside broken mechanisms that they must catch.
//!
//! Three parts: lower bounds of epsilon from samples of each mechanism's output ([`epsilon`]), the clicks recovered from
//! what a server sees ([`inversion`]), and the laws of all samplers ([`samplers`]). Every row has a claim and a bound that
//! was measured; a bound above its claim refutes it. Sound mechanisms must not be refuted, broken controls must be.

mod clopper_pearson;
pub mod epsilon;
pub mod fit;
pub mod inversion;
pub mod mechanisms;
pub mod samplers;
mod sampling;

use foltr_rank::rng::Streams;
use indicatif::ProgressBar;
use serde::Serialize;

pub use clopper_pearson::{lower_limit, upper_limit};
use inversion::Inversion;
pub use inversion::Scene;
pub use sampling::Scratch;

/// What is known about a mechanism and its label beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expected {
    /// The label is right.
    Sound,
    /// The label, or the mechanism, is wrong: a control.
    Broken,
}

/// What the audit says.
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

/// Which part of the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Epsilon from samples.
    Epsilon,
    /// Clicks from messages.
    Inversion,
    /// Laws of samplers.
    Sampler,
}

/// One row of the audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What was audited.
    pub mechanism: String,
    /// What is claimed of it, in `unit`.
    pub claimed: f64,
    /// What was measured at least, in `unit`. Above `claimed` it refutes the claim.
    pub lower_bound: f64,
    /// What is known beforehand.
    pub expected: Expected,
    /// What follows.
    pub verdict: Verdict,
    /// The part of the audit.
    pub part: Part,
    /// How it was audited.
    pub what: String,
    /// What the two numbers mean.
    pub unit: String,
    /// Samples, messages or interactions that were looked at.
    pub samples: u64,
}

impl Verdict {
    /// The verdict on a claim that a bound refutes if it is above it.
    pub fn of(expected: Expected, claimed: f64, lower_bound: f64) -> Self {
        match (expected, lower_bound > claimed) {
            (Expected::Sound, false) => Self::Sound,
            (Expected::Sound, true) => Self::Violated,
            (Expected::Broken, true) => Self::Caught,
            (Expected::Broken, false) => Self::Missed,
        }
    }

    /// Whether the audit fails by it.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Violated | Self::Missed)
    }

    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Violated => "violated",
            Self::Caught => "caught",
            Self::Missed => "missed",
        }
    }
}

impl Expected {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Broken => "broken",
        }
    }
}

/// How much is sampled. Fewer samples give weaker bounds.
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

    /// A share of a usual number of samples.
    pub fn of(&self, n_samples: usize) -> usize {
        ((n_samples as f64 * self.samples) as usize).max(1)
    }
}

/// All that an audit found.
#[derive(Clone, Debug)]
pub struct Audit {
    /// One a row, part after part.
    pub findings: Vec<Finding>,
    /// The share of click vectors recovered, for each mode and number of interactions.
    pub inversions: Vec<Inversion>,
    /// The data whose lists were inverted.
    pub data_name: String,
    /// Whether that is MQ2008, and not generated in its place.
    pub is_real_data: bool,
}

impl Audit {
    /// Whether a claim is violated or a control was missed.
    pub fn has_failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.verdict.is_failure())
    }
}

/// Runs all three parts. The same seed gives the same numbers for any number of threads.
pub fn run(scene: Scene, seed: u64, effort: AuditBudget, bar: &ProgressBar) -> Audit {
    let (cases, tests) = (mechanisms::all(), samplers::all());
    let n_samples: usize = cases.iter().map(|case| 2 * effort.of(case.n_samples)).sum::<usize>()
        + tests.iter().map(|test| effort.of(test.n_samples)).sum::<usize>();
    bar.set_length(n_samples as u64 + inversion::n_steps(effort.n_clients));
    let streams = Streams::new(seed);
    let mut findings = Vec::new();
    for (number, case) in (0..).zip(&cases) {
        bar.set_message(case.mechanism.clone());
        findings.push(epsilon::certify(case, &streams, number, effort, bar));
    }
    bar.set_message("recovering clicks");
    let inversions = inversion::invert_all(&scene, effort.n_clients, bar);
    let on_lists = |finding: Finding| Finding { what: format!("{}; lists of {}", finding.what, scene.name), ..finding };
    findings.extend(inversions.iter().filter_map(Inversion::finding).map(on_lists));
    for (number, test) in (cases.len() as u32..).zip(&tests) {
        bar.set_message(test.mechanism.clone());
        findings.push(samplers::examine(test, &streams, number, effort, bar));
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
