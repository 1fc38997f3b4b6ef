//! One interleaved list of two rankers on a device: shown, clicked, and counted once it has ended.

use rand::Rng;

use super::{Interleaver, Interleaving, Origins};
use crate::bytes::{BytesError, Reader, Writer};
use crate::query::{Clicks, MAX_SHOWN, Ranking};

/// A list with documents of two rankers that is open for clicks. It stays with its user: only its numbers of documents,
/// whose they were, and its clicks are stored, and nothing of it is sent.
///
/// ```
/// use foltr_rank::interleave::{InterleavedComparison, InterleavedList, Interleaving};
/// use foltr_rank::rng::{Purpose, Streams};
///
/// // What the ranker in use and the one before it say about three documents.
/// let (new, old) = ([0.2, 0.9, 0.4], [0.8, 0.1, 0.3]);
/// let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0);
/// let mut list = InterleavedList::new(Interleaving::Probabilistic, [&new, &old], 2, &mut random);
/// list.click(0);
/// // Bytes in between, since clicks come when they come.
/// let list = InterleavedList::decode(&list.encode())?;
/// let mut comparison = InterleavedComparison::default();
/// comparison.add(list.preference());
/// assert_eq!(comparison.n_lists, 1);
/// # Ok::<(), foltr_rank::bytes::BytesError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InterleavedList {
    ranking: Ranking,
    origins: Origins,
    clicks: Clicks,
}

impl InterleavedList {
    /// A list of `n_shown` documents (or all, if there are fewer) of two rankers with these scores.
    ///
    /// # Panics
    /// If the rankers do not score equally many documents, or `n_shown` is above [`MAX_SHOWN`].
    pub fn new(method: Interleaving, scores: [&[f32]; 2], n_shown: usize, random: &mut dyn Rng) -> Self {
        assert_eq!(scores[0].len(), scores[1].len(), "two rankers score the same documents");
        let mut interleaver = Interleaver::new(method, 2);
        (0..2).for_each(|ranker| interleaver.set_scores(ranker, scores[ranker], n_shown));
        let (mut ranking, mut origins) = (Ranking::default(), Origins::default());
        interleaver.interleave(n_shown, random, &mut ranking, &mut origins);
        Self { ranking, origins, clicks: Clicks::default() }
    }

    /// The documents to show, best first.
    pub fn docs(&self) -> &[u32] {
        self.ranking.docs()
    }

    /// Says whether there is such a position; clicks come in any order, and twice is once.
    pub fn click(&mut self, position: usize) -> bool {
        let is_shown = position < self.ranking.len();
        if is_shown {
            self.clicks.click(position);
        }
        is_shown
    }

    /// What its clicks say so far: from 1 for the first ranker to -1 for the second.
    pub fn preference(&self) -> f64 {
        self.origins.preference(self.clicks, 0, 1)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.len(self.ranking.len()).u32s(self.docs());
        out.u64(self.clicks.0 as u64).u64((self.clicks.0 >> 64) as u64);
        self.origins.write(&mut out);
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        let n_shown = input.len(4)?;
        input.require(n_shown <= MAX_SHOWN, "a list that is too long")?;
        let docs: Vec<u32> = (0..n_shown).map(|_| input.u32()).collect::<Result<_, _>>()?;
        let ranking = Ranking::from_docs(&docs).map_err(|_| input.wrong("a document that is shown twice"))?;
        let clicks = Clicks(u128::from(input.u64()?) | u128::from(input.u64()?) << 64);
        input.require(clicks.0 >> n_shown == 0, "a click on nothing")?;
        let origins = Origins::read(n_shown, &mut input)?;
        input.require(origins.n_rankers() == 2, "not a list of two rankers")?;
        input.finish()?;
        Ok(Self { ranking, origins, clicks })
    }
}
