//! Do the privacy labels hold? Attacks and tests that can fail, beside broken mechanisms that they must catch.
//!
//! Four parts: lower bounds of epsilon from samples of what a federation shows (`epsilon.rs`), norms of messages
//! (`norms.rs`), the laws of all samplers (`samplers.rs`), and the clicks recovered from what a server sees ([`inversion`]).
//! All of them run the code of a run: devices protect, a coordinator receives and closes with its noise. Every row has a
//! claim and a bound that was measured; a bound above its claim refutes it. Sound mechanisms must not be refuted, broken
//! controls must be. How small an error a row detects is measured as well ([`power`]).

mod cases;
mod clopper_pearson;
mod controls;
mod doubles;
mod epsilon;
mod federation;
pub mod inversion;
mod label;
mod law;
mod mechanisms;
mod neighbours;
mod norms;
pub mod power;
mod samplers;
mod seeds;
mod statistic;

use foltr_rank::rng::Streams;
use indicatif::ProgressBar;
use serde::Serialize;

use clopper_pearson::{lower_limit, upper_limit};
use epsilon::Case;
use inversion::Inversion;
pub use inversion::Scene;
use norms::NormTest;
use samplers::SamplerTest;
use seeds::SeedTest;

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
    Norm,
    Sampler,
    Inversion,
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
    /// The smallest error that the row detects in 19 of 20 audits, as `docs/audit-power.md` has it.
    pub detects: Option<String>,
}

/// What a row measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    claimed: f64,
    lower_bound: f64,
    what: String,
    unit: String,
    samples: u64,
}

/// What a row does.
enum Test {
    Epsilon(Case),
    Norm(NormTest),
    Sampler(SamplerTest),
    Seeds(SeedTest),
}

/// A row of the audit: what is known about it, and its test with an error of this factor; 1 is none.
pub struct Row {
    name: String,
    expected: Expected,
    /// What an error is, before its factor.
    error: &'static str,
    test: Box<dyn Fn(f64) -> Test + Send + Sync>,
}

impl Test {
    const fn part(&self) -> Part {
        match self {
            Self::Epsilon(_) | Self::Seeds(_) => Part::Epsilon,
            Self::Norm(_) => Part::Norm,
            Self::Sampler(_) => Part::Sampler,
        }
    }

    /// What it adds to a progress bar.
    fn n_steps(&self, budget: AuditBudget) -> usize {
        match self {
            Self::Epsilon(case) => 2 * budget.share_of(case.n_samples),
            Self::Sampler(test) => test.n_samples(budget),
            Self::Norm(_) | Self::Seeds(_) => 0,
        }
    }

    fn measure(&self, streams: &Streams, number: u32, budget: AuditBudget, bar: &ProgressBar) -> Measured {
        match self {
            Self::Epsilon(case) => case.measure(streams, number, budget, bar),
            Self::Norm(test) => test.measure(streams, number),
            Self::Sampler(test) => test.measure(streams, number, budget, bar),
            Self::Seeds(test) => test.measure(streams, number, budget),
        }
    }
}

impl Row {
    fn sound(name: String, error: &'static str, test: impl Fn(f64) -> Test + Send + Sync + 'static) -> Self {
        Self { name, expected: Expected::Sound, error, test: Box::new(test) }
    }

    fn broken(name: String, test: impl Fn() -> Test + Send + Sync + 'static) -> Self {
        Self { name, expected: Expected::Broken, error: "", test: Box::new(move |_| test()) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub const fn expected(&self) -> Expected {
        self.expected
    }

    /// Runs the row with an error of this factor, or as it is with 1. `number` is its place in the audit: rows share no
    /// stream.
    pub fn examine(
        &self,
        error: f64,
        streams: &Streams,
        number: u32,
        budget: AuditBudget,
        bar: &ProgressBar,
    ) -> Finding {
        let test = (self.test)(error);
        let Measured { claimed, lower_bound, what, unit, samples } = test.measure(streams, number, budget, bar);
        Finding {
            mechanism: self.name.clone(),
            claimed,
            lower_bound,
            expected: self.expected,
            verdict: Verdict::of(self.expected, claimed, lower_bound),
            part: test.part(),
            what,
            unit,
            samples,
            detects: power::detects(&self.name),
        }
    }
}

/// Names of everything that is judged.
pub fn names() -> Vec<String> {
    rows().into_iter().map(|row| row.name).chain(inversion::judged_names()).collect()
}

/// All rows but those of the inversion: labels and norms, then controls, then samplers.
pub fn rows() -> Vec<Row> {
    let norm = |mechanism: fn(f64) -> foltr_federation::Mechanism| {
        move |error: f64| Test::Norm(NormTest { devices: mechanism(error), clip: 1.0 })
    };
    let mut rows = cases::rows();
    let clipped = norm(mechanisms::moving_norm);
    rows.push(Row::sound("Gaussian: norm of messages".into(), "clip x", clipped));
    let shares = norm(|clip| mechanisms::discrete_gaussian(1.0, clip, mechanisms::N_SURVIVORS));
    rows.push(Row::sound("discrete Gaussian: norm of shares".into(), "clip x", shares));
    rows.extend(controls::rows());
    rows.extend(samplers::rows());
    rows
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

/// Runs the rows whose name has `only` in it. The same seed gives the same numbers for any number of threads, and
/// whichever other rows are run.
pub fn run(scene: Scene, seed: u64, budget: AuditBudget, only: &str, bar: &ProgressBar) -> Audit {
    let (rows, streams) = (rows(), Streams::new(seed));
    let asked = || (0..).zip(&rows).filter(|(_, row)| row.name.contains(only));
    let n_steps: usize = asked().map(|(_, row)| (row.test)(1.0).n_steps(budget)).sum();
    bar.set_length(n_steps as u64 + inversion::n_steps(budget.n_clients, only));
    let mut findings = Vec::new();
    for (number, row) in asked() {
        bar.set_message(row.name.clone());
        findings.push(row.examine(1.0, &streams, number, budget, bar));
    }
    bar.set_message("recovering clicks");
    let inversions = inversion::invert_all(&scene, budget.n_clients, only, bar);
    let on_lists = |finding: Finding| Finding { what: format!("{}; lists of {}", finding.what, scene.name), ..finding };
    findings.extend(inversions.iter().filter_map(Inversion::finding).map(on_lists));
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
