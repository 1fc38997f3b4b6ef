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
//! **What is tested on which lists.** A reference was chosen because it did well on the lists until then, perhaps because it
//! was fitted to them: on the same lists others would look worse than they are. So only lists that came after its choice
//! compare a release with it. The reference before it stays beside it, with the lists since *its* choice, so that
//! there is no moment in which anything would pass.
//!
//! **The error** holds over all releases: the k-th test, against a reference that was chosen after j - 1 tests, has
//! `error / (j (j + 1) k (k + 1))` of it (union bound over all pairs). It holds for releases that do not depend on this
//! person's clicks since the reference was chosen. Those that are learnt from them look better on them, not worse, so
//! that they are refused less often.
//!
//! **What it cannot see.** For the same reason a server that knows this person's clicks can fit a release to them that is
//! bad elsewhere. Only lists that ended after a device's last contribution are out of its reach: too few to tell anything.
//! Under secure sums or noise a server does not know the clicks. Documents that were never shown do not count. A loss
//! that is certain counts however small it is. `docs/campaigns/adoption.md` has measurements of all this.

mod codec;
mod comparison;
mod mean_discount;
mod shown_list;

use serde::{Deserialize, Serialize};

pub use comparison::{Comparison, Outcome};
pub use shown_list::{ListError, ShownList};

use crate::bytes::BytesError;
use crate::parameter::{ParameterError, problems, require};
use crate::params::{Params, ParamsError, Shape};
use crate::query::QueryError;
use crate::ranker::Ranker;
use std::collections::VecDeque;

/// The most lists a device can be asked to store: with ten documents of 136 features each, half a gigabyte.
pub const MAX_LISTS: u32 = 100_000;
/// With fewer lists than twice this, hardly any test can decide.
const FEW_LISTS: u64 = 8;

/// When a device refuses a release, as files say it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdoptionRule {
    /// Probability with which a device ever refuses a release that is no worse, over all releases that were not made
    /// from this person's own clicks so as to look worse.
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
    /// Of the rule, or of the ranker's size.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(transparent)]
    Model(#[from] ParamsError),
    #[error("a list: {0}")]
    List(#[from] QueryError),
    #[error("these bytes are no adoption state: {0}")]
    Bytes(#[from] BytesError),
}

/// What was decided about a model, and on what grounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    pub outcome: Outcome,
    /// With the reference that decided. Empty if the model's scores overflow, or if there is nothing to tell it by.
    pub comparison: Comparison,
    /// How many standard errors decide.
    pub threshold: f64,
    /// The version of that reference.
    pub reference: u32,
    /// The version of the model to use from now on.
    pub in_use: u32,
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

/// A model that releases are compared with.
#[derive(Clone, Debug, PartialEq)]
struct Reference {
    version: u32,
    params: Params,
    /// One more than the tests that were behind the device when it was chosen.
    number: u64,
    /// Lists that had been observed then.
    n_before: u64,
}

/// What a device stores to decide about releases.
///
/// ```
/// use foltr_rank::adoption::{Adoption, AdoptionRule, ShownList};
/// use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
/// use foltr_rank::rng::{Purpose, Streams};
/// use foltr_rank::{Candidates, Learning, Models, Session, Shape};
///
/// let (shape, release_7) = (Shape::Linear { n_features: 2 }, [1.0, 0.0]);
/// let pdgd = PdgdSettings {
///     learning_rate: 0.1,
///     updates: Updates::Immediate,
///     n_shown: 10,
///     clip_radius: None,
///     proximal: 0.0,
///     max_displacement: None,
/// };
/// let mut session = Session::new(shape, Learning::Pdgd(pdgd))?;
/// let mut adoption = Adoption::new(AdoptionRule { error: 0.05, lists: 1_000 }, shape, 7, &release_7)?;
/// let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0); // a device takes the operating system's
/// session.begin(Models { global: adoption.present(), clusters: &[] }, adoption.version(), &mut random)?;
///
/// // Every list that ends teaches the session, and is evidence for the next release.
/// let query = Candidates::new(&[1.0, 0.0, 0.0, 1.0], 2)?;
/// for now in 0..200 {
///     let shown = session.rank(query.view(), now, &mut random)?;
///     let position = shown.ranking.docs().iter().position(|&doc| doc == 0).unwrap();
///     session.clicked(shown.impression, position, now)?;
///     if let Some(list) = ShownList::of_impression(&session.dismiss(shown.impression)?) {
///         adoption.observe(list)?;
///     }
///     if adoption.is_due() {
///         adoption.reconsider();
///     }
/// }
///
/// // This person prefers the first feature. Release 8 does not.
/// let verdict = adoption.consider(8, &[0.0, 1.0])?;
/// assert!(!verdict.is_adopted());
/// assert_eq!((verdict.in_use, adoption.present()), (7, &release_7[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Adoption {
    rule: AdoptionRule,
    shape: Shape,
    version: u32,
    present: Params,
    reference: Reference,
    /// The reference before, while it is better known than the new one.
    former: Option<Reference>,
    n_tests: u64,
    /// Lists of all time.
    n_observed: u64,
    /// Lists that had been observed when the model in use was tested last.
    n_at_test: u64,
    lists: VecDeque<ShownList>,
    rankers: [Ranker; 2],
}

impl Adoption {
    /// A device that uses its first model and has seen no clicks.
    pub fn new(rule: AdoptionRule, shape: Shape, version: u32, first: &[f32]) -> Result<Self, AdoptionError> {
        if let Some(&problem) = rule.check().first() {
            return Err(problem.into());
        }
        shape.check_size()?;
        shape.check(first)?;
        Ok(Self {
            rule,
            shape,
            version,
            present: first.to_vec(),
            reference: Reference { version, params: first.to_vec(), number: 1, n_before: 0 },
            former: None,
            n_tests: 0,
            n_observed: 0,
            n_at_test: 0,
            lists: VecDeque::new(),
            rankers: [Ranker::new(shape), Ranker::new(shape)],
        })
    }

    /// The model to show lists with.
    pub fn present(&self) -> &[f32] {
        &self.present
    }

    /// Its version.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// The model that releases are compared with.
    pub fn reference(&self) -> &[f32] {
        &self.reference.params
    }

    /// Its version.
    pub const fn reference_version(&self) -> u32 {
        self.reference.version
    }

    pub const fn n_tests(&self) -> u64 {
        self.n_tests
    }

    pub fn n_lists(&self) -> usize {
        self.lists.len()
    }

    /// Lists of all time, those that went included.
    pub const fn n_observed(&self) -> u64 {
        self.n_observed
    }

    pub fn lists(&self) -> impl ExactSizeIterator<Item = &ShownList> {
        self.lists.iter()
    }

    pub const fn rule(&self) -> AdoptionRule {
        self.rule
    }

    /// Versions of the models that it may return to, that of the model in use first.
    pub fn versions(&self) -> impl Iterator<Item = u32> {
        let former = self.former.as_ref().map(|former| former.version);
        [self.version, self.reference.version].into_iter().chain(former)
    }

    /// Stores a list that has ended; the oldest goes if there are too many.
    pub fn observe(&mut self, list: ShownList) -> Result<(), AdoptionError> {
        check_list(self.shape, &list)?;
        if self.lists.len() == self.rule.lists as usize {
            self.lists.pop_front();
        }
        self.lists.push_back(list);
        self.n_observed = self.n_observed.saturating_add(1);
        Ok(())
    }

    /// Forgets the oldest lists.
    pub fn drop_oldest(&mut self, n: usize) {
        self.lists.drain(..n.min(self.lists.len()));
    }

    /// Adopts or refuses a release. After a refusal the model in use is tested as well, see [`Self::reconsider`].
    ///
    /// A release whose scores of a list that was shown overflow is refused without a test.
    pub fn consider(&mut self, version: u32, release: &[f32]) -> Result<Verdict, AdoptionError> {
        self.shape.check(release)?;
        let mut verdict = self.judge(release);
        if verdict.is_adopted() {
            self.version = version;
            self.present.copy_from_slice(release);
            self.promote(verdict.outcome);
        } else {
            self.reconsider();
        }
        self.n_at_test = self.n_observed;
        verdict.in_use = self.version;
        Ok(verdict)
    }

    /// Whether there are twice as many lists as when the model in use was tested last: call [`Self::reconsider`] then. A
    /// model that was adopted on little evidence would else stay for as long as no other release comes.
    pub const fn is_due(&self) -> bool {
        let n_at_test = if self.n_at_test > FEW_LISTS { self.n_at_test } else { FEW_LISTS };
        self.n_observed / 2 >= n_at_test
    }

    /// Tests the model in use with the evidence of now, and returns to the reference if it is worse. Where the reference
    /// itself is in use, it is compared with the one before, on the lists since it was chosen.
    ///
    /// This is a test like any other and takes its share of the error: call it when it [is due](Self::is_due).
    pub fn reconsider(&mut self) -> Verdict {
        let mut verdict = if self.present != self.reference.params {
            let present = self.present.clone();
            self.judge(&present)
        } else if let Some(former) = self.former.take() {
            let present = self.present.clone();
            let verdict = self.test(&former, self.reference.n_before, &present);
            match verdict.is_adopted() {
                true => self.former = Some(former),
                false => self.reference = former,
            }
            verdict
        } else {
            self.undecided(self.reference.version)
        };
        match verdict.outcome {
            Outcome::Worse => {
                self.version = self.reference.version;
                self.present.copy_from_slice(&self.reference.params);
            }
            outcome => self.promote(outcome),
        }
        self.n_at_test = self.n_observed;
        verdict.in_use = self.version;
        verdict
    }

    /// Makes the model in use the reference if it is better.
    fn promote(&mut self, outcome: Outcome) {
        if outcome == Outcome::Better && self.present != self.reference.params {
            let chosen = Reference {
                version: self.version,
                params: self.present.clone(),
                number: self.n_tests.saturating_add(1),
                n_before: self.n_observed,
            };
            self.former = Some(std::mem::replace(&mut self.reference, chosen));
        }
    }

    /// Compares a model with the references, the older one first.
    fn judge(&mut self, model: &[f32]) -> Verdict {
        if self.overflows(model) {
            return Verdict { outcome: Outcome::Worse, ..self.undecided(self.reference.version) };
        }
        let references: Vec<Reference> = self.former.iter().chain([&self.reference]).cloned().collect();
        let mut verdict = self.undecided(self.reference.version);
        for reference in references {
            verdict = self.test(&reference, reference.n_before, model);
            if !verdict.is_adopted() {
                break;
            }
        }
        verdict
    }

    /// Whether the model's scores overflow on a list on which those of the reference do not.
    fn overflows(&mut self, model: &[f32]) -> bool {
        let [reference, candidate] = &mut self.rankers;
        reference.load(&self.reference.params);
        candidate.load(model);
        self.lists.iter().any(|list| list.scores(candidate).is_none() && list.scores(reference).is_some())
    }

    /// Compares a model with a reference on the lists since then. Where both rank every list alike there is no test to
    /// count.
    fn test(&mut self, reference: &Reference, n_before: u64, model: &[f32]) -> Verdict {
        let first = self.n_observed.saturating_sub(self.lists.len() as u64);
        let n_skipped = usize::try_from(n_before.saturating_sub(first)).unwrap_or(usize::MAX);
        let [ranker, candidate] = &mut self.rankers;
        ranker.load(&reference.params);
        candidate.load(model);
        let mut comparison = Comparison::default();
        self.lists.iter().skip(n_skipped).for_each(|list| comparison.add(ranker, candidate, list));
        if comparison.is_empty() {
            return self.undecided(reference.version);
        }
        self.n_tests = self.n_tests.saturating_add(1);
        let threshold = comparison::threshold(self.rule.error_of_test(reference.number, self.n_tests));
        let outcome = comparison.outcome(threshold);
        Verdict { outcome, comparison, threshold, ..self.undecided(reference.version) }
    }

    /// Nothing speaks for or against a model.
    fn undecided(&self, reference: u32) -> Verdict {
        let (outcome, comparison) = (Outcome::Undecided, Comparison::default());
        Verdict { outcome, comparison, threshold: f64::INFINITY, reference, in_use: self.version }
    }
}

/// Compares a candidate with a reference by the lists that they would show of the documents of these lists.
pub fn compare<'a>(
    shape: Shape,
    reference: &[f32],
    candidate: &[f32],
    lists: impl IntoIterator<Item = &'a ShownList>,
) -> Result<Comparison, AdoptionError> {
    shape.check_size()?;
    let mut comparison = Comparison::default();
    let [mut reference, mut candidate] =
        [Ranker::with_params(shape, reference)?, Ranker::with_params(shape, candidate)?];
    for list in lists {
        check_list(shape, list)?;
        comparison.add(&mut reference, &mut candidate, list);
    }
    Ok(comparison)
}

fn check_list(shape: Shape, list: &ShownList) -> Result<(), QueryError> {
    let (ours, theirs) = (shape.n_features(), list.n_features());
    if ours == theirs { Ok(()) } else { Err(QueryError::OtherFeatures { ours, theirs }) }
}

#[cfg(test)]
mod tests;
