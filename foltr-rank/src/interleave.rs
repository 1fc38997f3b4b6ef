//! Documents of several rankers in one list, so that clicks on it compare the rankers.
//!
//! [`Interleaver`] draws such a list and says where its documents came from ([`Origins`]). [`Origins::preference`] is what
//! clicks say about two of the rankers; [`InterleavedComparison`] adds that up over many lists.

mod comparison;
mod list;
mod origins;
mod probabilistic;
mod team_draft;

use rand::Rng;
use serde::{Deserialize, Serialize};

pub use comparison::InterleavedComparison;
pub use list::InterleavedList;
pub use origins::Origins;

use crate::query::Ranking;
use crate::select::ScoreBuffer;

/// The most rankers whose documents one list can have.
pub const MAX_RANKERS: usize = 100;

/// How documents of several rankers come into one list, and how clicks are credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Interleaving {
    /// Rankers take turns in random order, each with its best document that is not in the list; a click counts for the ranker whose turn it was.
    TeamDraft,
    /// A ranker drawn for each position draws a document by its rank; a click counts for every ranker as much as the document may have been its own.
    Probabilistic,
}

impl Interleaving {
    pub const ALL: [Self; 2] = [Self::TeamDraft, Self::Probabilistic];

    /// As experiment files spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TeamDraft => "team-draft",
            Self::Probabilistic => "probabilistic",
        }
    }
}

/// Draws lists of several rankers; owns the memory for it.
///
/// ```
/// use foltr_rank::interleave::{Interleaver, Interleaving, Origins};
/// use foltr_rank::rng::{Purpose, Streams};
/// use foltr_rank::{Clicks, Ranking};
///
/// let mut interleaver = Interleaver::new(Interleaving::TeamDraft, 2);
/// interleaver.set_scores(0, &[0.9, 0.5, 0.1], 2);
/// interleaver.set_scores(1, &[0.1, 0.5, 0.9], 2);
/// let (mut ranking, mut origins) = (Ranking::default(), Origins::default());
/// interleaver.interleave(2, &mut Streams::new(1).open(Purpose::Interaction, 0, 0), &mut ranking, &mut origins);
/// // Each has its favourite in the list, and the first ranker's is clicked.
/// let position = ranking.docs().iter().position(|&doc| doc == 0).expect("the first ranker's favourite");
/// assert_eq!(origins.preference(Clicks(1 << position), 0, 1), 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct Interleaver {
    method: Interleaving,
    /// Of each ranker: its documents, best first; as many as the method needs.
    orders: Vec<Vec<u32>>,
    scores: ScoreBuffer,
    /// Team draft: the order in which rankers take turns.
    turns: Vec<usize>,
    chances: probabilistic::Chances,
}

impl Interleaver {
    /// # Panics
    /// With more rankers than [`MAX_RANKERS`].
    pub fn new(method: Interleaving, n_rankers: usize) -> Self {
        assert!(n_rankers <= MAX_RANKERS, "{n_rankers} rankers are more than {MAX_RANKERS}");
        Self {
            method,
            orders: vec![Vec::new(); n_rankers],
            scores: ScoreBuffer::default(),
            turns: Vec::new(),
            chances: probabilistic::Chances::default(),
        }
    }

    /// The scores that a ranker gives the documents of the query. All rankers score the same documents.
    pub fn set_scores(&mut self, ranker: usize, scores: &[f32], n_shown: usize) {
        self.scores.reset(scores.len()).copy_from_slice(scores);
        let n_needed = match self.method {
            // The others have taken less than a whole list from the documents before.
            Interleaving::TeamDraft => n_shown,
            Interleaving::Probabilistic => scores.len(),
        };
        let order = &mut self.orders[ranker];
        order.clear();
        order.extend_from_slice(self.scores.best(n_needed));
    }

    /// A list of `n_shown` documents (or all, if there are fewer), and where each came from.
    pub fn interleave(&mut self, n_shown: usize, random: &mut dyn Rng, ranking: &mut Ranking, origins: &mut Origins) {
        let n_docs = self.orders.first().map_or(0, Vec::len);
        let shown = ranking.resize(n_shown.min(n_docs));
        let shares = origins.reset(self.orders.len(), shown.len());
        match self.method {
            Interleaving::TeamDraft => team_draft::draw(&self.orders, &mut self.turns, random, shown, shares),
            Interleaving::Probabilistic => self.chances.draw(&self.orders, random, shown, shares),
        }
    }
}

/// One of `n`, with equal probability but for 2^-32.
pub(crate) fn below(n: usize, random: &mut dyn Rng) -> usize {
    ((u64::from(random.next_u32()) * n as u64) >> 32) as usize
}

#[cfg(test)]
mod tests;
