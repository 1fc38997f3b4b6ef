//! What do labels by many teachers truly guarantee, to whom, and what not? In words for a report.
//!
//! Spec section 16.3. The unit is one training query with its candidates and labels, replaced by another one: it is in
//! one part, so it changes one teacher, and all that this teacher says.

use foltr_federation::accountant::PrivacyCost;

use crate::accountant::{self, Spent};
use crate::aggregation::{VoteNoise, Votes};

/// A score of the network is a tanh: replacing a training query moves it by at most this.
const SCORE_RANGE: f64 = 2.0;
/// Above this epsilon a guarantee is called meaningless: e^10 is about 22,000.
const MEANINGFUL: f64 = 10.0;
pub const UNIT: &str = "one training query with its candidates and labels, replaced by another one";

/// What was released and what it guarantees: differential privacy if one training query is replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarantee {
    /// What leaves the data owner's house, apart from what is public anyway.
    released: String,
    /// Whatever the private data are. Infinite: no guarantee.
    pub epsilon: f64,
    pub delta: f64,
    /// What the votes that were cast would give: for the data owner only, and not a guarantee.
    pub accounting_private: Option<Spent>,
}

impl Guarantee {
    /// Of [`crate::aggregation::aggregate_scores`] on `n_scored` documents in all.
    ///
    /// Each score of the one changed teacher moves by at most 2 under noise of scale b: epsilon 2/b per document, added
    /// up. The noise of the other teachers is not counted in its favour.
    pub fn of_scores(scale: f64, n_teachers: usize, n_scored: usize, delta: f64) -> Self {
        let shift = SCORE_RANGE * (n_scored as f64).sqrt();
        let cost = match scale {
            _ if n_scored == 0 => PrivacyCost::Pure { epsilon: 0.0 },
            0.0 => PrivacyCost::Unbounded,
            _ => PrivacyCost::Laplace { scale, shift, n_params: n_scored },
        };
        let noise = match scale {
            0.0 => "without noise.".to_owned(),
            _ => format!(
                "with Laplace noise of scale {scale} on each score; that is epsilon {} a scored document, and they add \
                 up.",
                SCORE_RANGE / scale
            ),
        };
        let released = format!("Released: {n_scored} mean scores of {n_teachers} teachers, {noise}");
        Self { released, epsilon: cost.after(1, delta).epsilon, delta, accounting_private: None }
    }

    /// Of the labels that these votes gave.
    pub fn of_votes(votes: &Votes, delta: f64) -> Self {
        let spent = accountant::spent(votes, delta);
        let noise = match votes.noise {
            VoteNoise::None => "without noise".into(),
            VoteNoise::Laplace { gamma } => format!("with Laplace noise of scale {} on both counts", gamma.recip()),
            VoteNoise::Gaussian { sigma } => format!("with Gaussian noise of deviation {sigma} on the count"),
        };
        let (n_labels, n_teachers) = (votes.n_labels(), votes.n_teachers);
        let released = format!("Released: the winners of {n_labels} votes by {n_teachers} teachers, {noise}.");
        Self { released, epsilon: spent.data_independent, delta, accounting_private: Some(spent) }
    }

    /// Whether its epsilon is at most 10.
    pub fn is_meaningful(&self) -> bool {
        self.epsilon <= MEANINGFUL
    }

    /// What may be published: what was released, what that guarantees, and what it does not cover. The run says what it
    /// takes as public.
    pub fn sentences(&self, taken_as_public: &[String]) -> Vec<String> {
        let mut sentences = vec![self.released.clone(), format!("Privacy unit: {UNIT}."), self.verdict()];
        if self.epsilon.is_finite() {
            sentences.extend(taken_as_public.iter().cloned());
            sentences.extend(NOT_COVERED.map(String::from));
        }
        sentences
    }

    /// For the data owner's eyes only; `None` where there is no such figure.
    pub fn private_sentence(&self) -> Option<String> {
        let figure = self.accounting_private?.data_dependent_private.for_the_data_owner();
        Some(format!(
            "Private, not a guarantee, not to be published: at the votes that were cast, the accountant gives epsilon \
             {figure:.3} at delta {:e}. The figure itself depends on the training queries.",
            self.delta
        ))
    }

    fn verdict(&self) -> String {
        let Self { epsilon, delta, .. } = self;
        if epsilon.is_infinite() {
            return "No guarantee: there is no noise.".into();
        }
        let stated = format!("Whatever the private data are: epsilon {epsilon:.3} at delta {delta:e}.");
        if self.is_meaningful() {
            let factor = epsilon.exp();
            format!(
                "{stated} Any outcome is at most {factor:.1} times as likely, up to delta, if one query is another."
            )
        } else {
            format!("{stated} That is no meaningful guarantee: above {MEANINGFUL} it rules out next to nothing.")
        }
    }
}

/// What no epsilon here speaks of.
const NOT_COVERED: [&str; 6] = [
    "It covers whoever sees the labels, this text, or students trained on the labels and on public data; never the \
     teachers, their scores, the votes, measures of rankers, how long anything took, or that a run failed.",
    "What is taken as public must be public, and chosen without a look at private queries.",
    "Files that were normalised, settings that were chosen, and results that are published by means of private queries \
     cost extra and are not counted.",
    "Every line of `aggregation`, every seed and every fold is a labelling of its own: whoever sees several adds up \
     their epsilons and their deltas.",
    "The noise follows from the seed of the run, and so do the division of queries, the questions and the student's \
     first weights. It protects only against those who cannot find the seed out: one that can be tried, such as 1, \
     protects against nobody. Labels of a later version of the program need a new seed.",
    "The noise is made of floating-point numbers: a simulation. Their last bits can reveal something.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noisy_scores_of_the_paper_guarantee_nothing_meaningful() {
        // Range 2 over scale .05: 40 a document.
        let one = Guarantee::of_scores(0.05, 3, 1, 1e-5);
        assert!((one.epsilon - 40.0).abs() < 1e-6, "{}", one.epsilon);
        let many = Guarantee::of_scores(0.05, 3, 1000, 1e-5);
        assert!(many.epsilon <= 40_000.0 * (1.0 + 1e-6) && many.epsilon > 35_000.0, "{}", many.epsilon);
        assert!(!many.is_meaningful() && many.sentences(&[])[2].contains("no meaningful guarantee"));
        assert!(many.sentences(&[])[0].contains("epsilon 40 a scored document"));
        assert_eq!(many.private_sentence(), None);
    }

    #[test]
    fn without_noise_there_is_no_guarantee() {
        let naked = Guarantee::of_scores(0.0, 3, 1000, 1e-5);
        assert_eq!(naked.epsilon, f64::INFINITY);
        assert_eq!(naked.sentences(&[])[2], "No guarantee: there is no noise.");
        let votes = Guarantee::of_votes(&Votes::new(VoteNoise::None, 3, vec![3; 9]), 1e-5);
        assert_eq!((votes.epsilon, votes.sentences(&[]).len()), (f64::INFINITY, 3));
    }

    #[test]
    fn what_is_published_does_not_depend_on_votes() {
        let of = |n_first| {
            let votes = Votes::new(VoteNoise::Laplace { gamma: 0.05 }, 250, vec![n_first; 100]);
            Guarantee::of_votes(&votes, 1e-5)
        };
        let (close, unanimous) = (of(125), of(250));
        assert_eq!(close.sentences(&[]), unanimous.sentences(&[]));
        let said = "Taken as public: nothing.".to_owned();
        assert!(close.sentences(std::slice::from_ref(&said)).contains(&said));
        assert!(close.is_meaningful() && close.sentences(&[])[2].contains("times as likely"));
        assert_ne!(close.private_sentence(), unanimous.private_sentence());
        assert!(close.private_sentence().expect("a figure").starts_with("Private, not a guarantee"));
    }
}
