//! Adoption: a device accepts a release unless it ranks this person's own clicks significantly worse.
//!
//! The evidence is in [`ShownList`]: which of two shown documents a person preferred, weighed by how likely the list was
//! to show them the other way round. [`Comparison`] adds it up for two rankers. [`Adoption`] is what a device stores: the
//! model in use, a *reference* to compare releases with, and the newest lists.
//!
//! The reference is the last release that was significantly better than the reference before it, and the first model
//! at the start. Releases that each are a little worse than the one before are therefore compared with the same model
//! until the loss shows. A device that refuses a release goes on with the model it uses, or with the reference if that
//! one turns out to be worse as well.
//!
//! The error holds over all releases and for any use of the same clicks in several tests: the k-th test, against a
//! reference that was chosen after j - 1 tests, has `error / (j (j + 1) k (k + 1))` of it (union bound over all pairs).

mod comparison;
mod shown_list;
mod stored;

use serde::{Deserialize, Serialize};

pub use comparison::{Comparison, Outcome};
pub use shown_list::{ListError, ShownList};

use crate::bytes::BytesError;
use crate::parameter::{ParameterError, problems, require};
use crate::params::{Params, Shape};
use crate::ranker::Ranker;
use std::collections::VecDeque;

/// The most lists a device can be asked to store: with ten documents of 136 features each, half a gigabyte.
pub const MAX_LISTS: u32 = 100_000;

/// When a device refuses a release, as files say it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdoptionRule {
    /// Probability with which a device ever refuses a release that is no worse, over all releases.
    pub error: f64,
    /// The newest lists with clicks that a device stores and compares releases on.
    pub lists: u32,
}

impl AdoptionRule {
    /// Every parameter that is out of range.
    pub fn check(&self) -> Vec<ParameterError> {
        let Self { error, lists } = *self;
        problems([
            require("error", error, error > 0.0 && error < 1.0, "above 0 and below 1"),
            require("lists", lists.into(), (1..=MAX_LISTS).contains(&lists), "at least 1 and at most 100000"),
        ])
    }

    /// The error that is spent on one test.
    fn error_of_test(&self, reference_number: u64, test_number: u64) -> f64 {
        let share = |number: u64| 1.0 / (number as f64 * (number as f64 + 1.0));
        self.error * share(reference_number) * share(test_number)
    }
}

/// Why a model or a list does not fit a device.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptionError {
    #[error(transparent)]
    Rule(#[from] ParameterError),
    #[error("the model has {n_params} parameters, this ranker needs {wanted}")]
    Length { n_params: usize, wanted: usize },
    #[error("parameter {index} of the model is {value}, it must be finite")]
    NotFinite { index: usize, value: f32 },
    #[error("the list's documents have {n_features} features, this ranker needs {wanted}")]
    Features { n_features: usize, wanted: usize },
    #[error("these bytes are no adoption state: {0}")]
    Bytes(#[from] BytesError),
}

/// What was decided about a release, and on what grounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Against the reference.
    pub outcome: Outcome,
    pub comparison: Comparison,
    /// How many standard errors decide.
    pub threshold: f64,
}

impl Verdict {
    pub fn is_adopted(&self) -> bool {
        self.outcome != Outcome::Worse
    }

    /// Clicks with which a loss of this much nDCG would be noticed with probability .8 in a test like this one; none
    /// while nothing is known about their spread.
    pub fn clicks_needed(&self, loss: f64) -> Option<f64> {
        self.comparison.clicks_needed(loss, self.threshold)
    }
}

/// What a device stores to decide about releases.
///
/// ```
/// use foltr_rank::adoption::{Adoption, AdoptionRule};
/// use foltr_rank::Shape;
///
/// let rule = AdoptionRule { error: 0.05, lists: 1_000 };
/// let mut device = Adoption::new(rule, Shape::Linear { n_features: 3 }, &[0.0; 3])?;
/// // Nobody has clicked yet: nothing speaks against a release.
/// assert!(device.consider(&[0.5, -0.2, 1.0])?.is_adopted());
/// assert_eq!(device.present(), [0.5, -0.2, 1.0]);
/// # Ok::<(), foltr_rank::adoption::AdoptionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Adoption {
    rule: AdoptionRule,
    shape: Shape,
    present: Params,
    reference: Params,
    /// One more than the tests that were behind the device when the reference was chosen.
    reference_number: u64,
    n_tests: u64,
    lists: VecDeque<ShownList>,
    rankers: [Ranker; 2],
}

impl Adoption {
    /// A device that uses its first model and has seen no clicks.
    pub fn new(rule: AdoptionRule, shape: Shape, first: &[f32]) -> Result<Self, AdoptionError> {
        if let Some(&problem) = rule.check().first() {
            return Err(problem.into());
        }
        check_model(shape, first)?;
        Ok(Self {
            rule,
            shape,
            present: first.to_vec(),
            reference: first.to_vec(),
            reference_number: 1,
            n_tests: 0,
            lists: VecDeque::new(),
            rankers: [Ranker::new(shape), Ranker::new(shape)],
        })
    }

    /// The model to show lists with.
    pub fn present(&self) -> &[f32] {
        &self.present
    }

    /// The model that releases are compared with.
    pub fn reference(&self) -> &[f32] {
        &self.reference
    }

    pub const fn n_tests(&self) -> u64 {
        self.n_tests
    }

    pub fn n_lists(&self) -> usize {
        self.lists.len()
    }

    /// Stores a list that has ended; the oldest goes if there are too many.
    pub fn observe(&mut self, list: ShownList) -> Result<(), AdoptionError> {
        check_list(self.shape, &list)?;
        if self.lists.len() == self.rule.lists as usize {
            self.lists.pop_front();
        }
        self.lists.push_back(list);
        Ok(())
    }

    /// Adopts or refuses a release.
    pub fn consider(&mut self, release: &[f32]) -> Result<Verdict, AdoptionError> {
        check_model(self.shape, release)?;
        let verdict = self.test(release);
        match verdict.outcome {
            Outcome::Better => {
                self.reference.copy_from_slice(release);
                self.reference_number = self.n_tests + 1;
                self.present.copy_from_slice(release);
            }
            Outcome::Undecided => self.present.copy_from_slice(release),
            Outcome::Worse => self.check_present(),
        }
        Ok(verdict)
    }

    /// Returns to the reference if the model in use is worse than it by now.
    fn check_present(&mut self) {
        if self.present != self.reference {
            let present = std::mem::take(&mut self.present);
            let verdict = self.test(&present);
            self.present = if verdict.is_adopted() { present } else { self.reference.clone() };
        }
    }

    /// Compares a model with the reference. Where both rank every list alike there is no test to count.
    fn test(&mut self, model: &[f32]) -> Verdict {
        let [reference, candidate] = &mut self.rankers;
        reference.load(&self.reference);
        candidate.load(model);
        let mut comparison = Comparison::default();
        self.lists.iter().for_each(|list| comparison.add(reference, candidate, list));
        if comparison.is_empty() {
            return Verdict { outcome: Outcome::Undecided, comparison, threshold: f64::INFINITY };
        }
        self.n_tests += 1;
        let error = self.rule.error_of_test(self.reference_number, self.n_tests);
        let threshold = comparison::threshold(error);
        Verdict { outcome: comparison.outcome(threshold), comparison, threshold }
    }
}

/// Compares a candidate with a reference by the orders that they give to the documents of these lists.
pub fn compare<'a>(
    shape: Shape,
    reference: &[f32],
    candidate: &[f32],
    lists: impl IntoIterator<Item = &'a ShownList>,
) -> Result<Comparison, AdoptionError> {
    let mut comparison = Comparison::default();
    let [mut reference, mut candidate] = [loaded(shape, reference)?, loaded(shape, candidate)?];
    for list in lists {
        check_list(shape, list)?;
        comparison.add(&mut reference, &mut candidate, list);
    }
    Ok(comparison)
}

fn loaded(shape: Shape, model: &[f32]) -> Result<Ranker, AdoptionError> {
    check_model(shape, model)?;
    let mut ranker = Ranker::new(shape);
    ranker.load(model);
    Ok(ranker)
}

fn check_list(shape: Shape, list: &ShownList) -> Result<(), AdoptionError> {
    let (n_features, wanted) = (list.n_features(), shape.n_features());
    if n_features == wanted { Ok(()) } else { Err(AdoptionError::Features { n_features, wanted }) }
}

fn check_model(shape: Shape, model: &[f32]) -> Result<(), AdoptionError> {
    if model.len() != shape.n_params() {
        return Err(AdoptionError::Length { n_params: model.len(), wanted: shape.n_params() });
    }
    match model.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(AdoptionError::NotFinite { index, value: model[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
