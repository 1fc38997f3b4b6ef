//! What the clients of a federation hold: which queries and labels each learns from, how it clicks, how much it searches.

pub mod dirichlet;
pub mod feature_clusters;
pub mod intents;
pub mod labels;
pub mod shared;

/// Rounds of `Purpose::Data` from which partitions draw. Generated data, which may have the seed of a run, use the
/// first few.
mod draws {
    pub(super) const LABELS: u32 = 1 << 20;
    pub(super) const QUERY_CHUNKS: u32 = LABELS + 1;
    pub(super) const DIRICHLET: u32 = LABELS + 2;
    pub(super) const CLUSTERS: u32 = LABELS + 3;
    pub(super) const SHARED: u32 = LABELS + 4;
    pub(super) const INTENTS: u32 = LABELS + 5;
}
