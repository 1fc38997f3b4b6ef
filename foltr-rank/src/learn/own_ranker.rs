//! The ranker that a device uses outside of rounds: parameters and what they mean.

use crate::params::{Params, ParamsError, Shape};
use crate::query::{MAX_SHOWN, QueryError, QueryView, Ranking, RankingError};
use crate::ranker::Ranker;
use crate::select::ScoreBuffer;
use thiserror::Error;

/// The ranker that a device uses between rounds.
///
/// ```
/// use foltr_rank::{Candidates, OwnRanker, Shape};
///
/// let ranker = OwnRanker { shape: Shape::Linear { n_features: 2 }, params: vec![1.0, -1.0] };
/// let query = Candidates::new(&[0.0, 1.0, 1.0, 0.0, 0.5, 0.5], 2)?;
/// assert_eq!(ranker.rank(query.view(), 2)?.docs(), [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRanker {
    /// What its parameters mean; a mixture of two networks is a wider network.
    pub shape: Shape,
    pub params: Params,
}

impl OwnRanker {
    /// The best `n_shown` documents, best first, without any chance: nothing can be learnt from clicks on it.
    pub fn rank(&self, query: QueryView<'_>, n_shown: usize) -> Result<Ranking, OwnRankerError> {
        let mut ranker = Ranker::with_params(self.shape, &self.params)?;
        if n_shown > MAX_SHOWN {
            return Err(RankingError::TooLong { n_shown }.into());
        }
        query.check_for(self.shape)?;
        let (mut scores, mut ranking) = (ScoreBuffer::default(), Ranking::default());
        ranker.score(query, scores.reset(query.n_docs()));
        scores.select(n_shown, &mut ranking);
        Ok(ranking)
    }
}

/// Why a ranker makes no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OwnRankerError {
    #[error(transparent)]
    Params(#[from] ParamsError),
    #[error(transparent)]
    List(#[from] RankingError),
    #[error(transparent)]
    Query(#[from] QueryError),
}
