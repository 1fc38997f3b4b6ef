//! What the agent says about its own quality, from what its owner opened.

use foltr_rank::interleave::{InterleavedComparison, InterleavedList, Interleaving};
use foltr_rank::row_stride;
use serde::{Deserialize, Serialize};

use super::{Agent, AgentError};
use crate::answer::Request;
use crate::feature::FEATURES;

/// How well this person's searches went. Searches that ended without an opening are counted beside.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Measured {
    pub n_searches: usize,
    pub n_with_opening: usize,
    /// Shares of the searches with an opening.
    pub opened_at_rank_1: f64,
    pub opened_up_to_rank_3: f64,
    /// The mean of 1 / rank of the first opening.
    pub mean_reciprocal_rank: f64,
    /// Characters typed before the opening, on average.
    pub mean_typed: f64,
    pub comparison: Comparison,
}

/// The ranker beside plain BM25, in lists of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Comparison {
    pub n_lists: u64,
    /// Between -1 (all openings were BM25's documents) and 1 (all were the ranker's), with its 95 % interval.
    pub preference: f64,
    pub low: f64,
    pub high: f64,
}

/// A document as a search describes it to the ranker.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The file, as in [`Hit`](crate::answer::Hit).
    pub path: String,
    /// By the place of the feature, scaled over the documents of the search.
    pub features: Vec<f32>,
}

pub(super) fn compare(scores: &[f32], plain: &[f32], n_shown: usize) -> InterleavedList {
    InterleavedList::new(Interleaving::TeamDraft, [scores, plain], n_shown, &mut foltr_client::OsNoise::default())
}

impl Agent {
    pub(super) fn add_comparison(&self, list: &InterleavedList) -> Result<(), AgentError> {
        Ok(self.lock_history()?.add_preference(list.preference())?)
    }

    /// What a search would rank, best by plain BM25 first. It is no list: nobody sees it, and it teaches nothing.
    pub fn described(&self, request: &Request) -> Result<Vec<Described>, AgentError> {
        let (ids, rows) = self.documents_of(request)?;
        let catalogue = self.read_catalogue()?;
        let described = ids.iter().zip(rows.chunks_exact(row_stride(FEATURES.len()))).filter_map(|(&id, row)| {
            let path = catalogue.path_of(catalogue.document(id)?).to_string_lossy().into_owned();
            Some(Described { path, features: row[..FEATURES.len()].to_vec() })
        });
        Ok(described.collect())
    }

    pub fn measured(&self) -> Result<Measured, AgentError> {
        let history = self.lock_history()?;
        let opened: Vec<_> = history.endings().iter().filter_map(|it| Some((it.rank?, it.n_typed))).collect();
        let mean = |value: &dyn Fn(&(u32, u32)) -> f64| {
            if opened.is_empty() { 0.0 } else { opened.iter().map(value).sum::<f64>() / opened.len() as f64 }
        };
        let comparison: &InterleavedComparison = history.comparison();
        let (low, high) = comparison.interval();
        Ok(Measured {
            n_searches: history.endings().len(),
            n_with_opening: opened.len(),
            opened_at_rank_1: mean(&|&(rank, _)| if rank == 1 { 1.0 } else { 0.0 }),
            opened_up_to_rank_3: mean(&|&(rank, _)| if rank <= 3 { 1.0 } else { 0.0 }),
            mean_reciprocal_rank: mean(&|&(rank, _)| 1.0 / f64::from(rank)),
            mean_typed: mean(&|&(_, n_typed)| f64::from(n_typed)),
            comparison: Comparison { n_lists: comparison.n_lists, preference: comparison.mean(), low, high },
        })
    }
}
