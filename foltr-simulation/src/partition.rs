//! Which queries, documents and labels each client holds, and how clients differ (spec section 10).
//!
//! A partition is one file and one line in the list below. Everything random about it follows from the seed of the run.

mod dirichlet;
mod feature_clusters;
mod iid;
mod intents;
mod labels;
mod shared;
mod user_log;

use foltr_rank::parameter::ParameterError;
use foltr_rank::rng::Streams;
use serde::{Deserialize, Serialize};

pub use dirichlet::Dirichlet;
pub use feature_clusters::FeatureClusters;
pub use iid::Iid;
pub use intents::{Intents, MergedIntents};
pub use labels::{LabelSplit, Labels};
pub use shared::{Shared, warm_up_seed};
pub use user_log::UserLog;

use crate::dataset::Dataset;
use crate::datasets::Fold;

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

/// Training data by client, before users and quantities: client c has set c modulo their number.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionedData {
    /// What clients learn from.
    pub sets: Vec<Dataset>,
    /// The queries of each client, where all learn from the same set but not from all of it; else empty.
    pub queries: Vec<Vec<u32>>,
    /// The fold by whose labels clients are evaluated: one for all, or one for each set.
    pub groups: Vec<Fold>,
    /// Queries that all clients share, to be learned from before the first round.
    pub shared: Option<Dataset>,
}

impl PartitionedData {
    /// The same for all clients.
    pub fn same(fold: Fold) -> Self {
        Self { sets: vec![fold.train.clone()], queries: Vec::new(), groups: vec![fold], shared: None }
    }

    /// Some of the queries for each client.
    pub fn by_queries(fold: &Fold, queries: Vec<Vec<u32>>) -> Self {
        Self { queries, ..Self::same(fold.clone()) }
    }

    /// Some of the documents (rows of the training set, rising) for each client.
    pub fn by_docs(fold: &Fold, docs: &[Vec<u32>]) -> Self {
        Self { sets: docs.iter().map(|docs| fold.train.with_docs(docs)).collect(), ..Self::same(fold.clone()) }
    }
}

/// Why data cannot be divided among the clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PartitionError(pub String);

/// What a partition needs to know about the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Intents,
    Users,
}

/// The parameters of one partition.
pub trait PartitionMethod: Copy {
    const NEEDS: Option<Needs> = None;
    /// Whether all clients hold the same.
    const IS_IID: bool = false;

    /// Every parameter that is out of range.
    fn check(&self) -> Vec<ParameterError> {
        Vec::new()
    }

    /// What each of `n_clients` clients holds.
    fn divide(&self, fold: &Fold, n_clients: usize, streams: &Streams) -> Result<PartitionedData, PartitionError>;
}

/// Defines [`Partition`], its list, its examples and its delegation from one line a partition.
macro_rules! partitions {
    ($($name:literal: $partition:ident $example:tt, $about:literal;)*) => {
        /// Which queries, documents and labels each client holds, as files name it.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Partition {
            $(#[doc = $about] #[serde(rename = $name)] $partition($partition),)*
        }

        impl Partition {
            /// Every partition: its name in an experiment file, and what it does.
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            /// One of each kind, for conformance tests.
            pub fn examples() -> Vec<Self> {
                vec![$(Self::$partition($partition $example)),*]
            }

            pub const fn needs(&self) -> Option<Needs> {
                match self {
                    $(Self::$partition(_) => $partition::NEEDS,)*
                }
            }

            pub const fn is_iid(&self) -> bool {
                match self {
                    $(Self::$partition(_) => $partition::IS_IID,)*
                }
            }

            pub fn check(&self) -> Vec<ParameterError> {
                match self {
                    $(Self::$partition(partition) => partition.check(),)*
                }
            }

            pub fn divide(
                &self,
                fold: &Fold,
                n_clients: usize,
                streams: &Streams,
            ) -> Result<PartitionedData, PartitionError> {
                match self {
                    $(Self::$partition(partition) => partition.divide(fold, n_clients, streams),)*
                }
            }
        }
    };
}

partitions! {
    "iid": Iid {}, "The same for all, as without this section";
    "intents": Intents { shuffled: true }, "Type 1: labels of one intent each, stable or shuffled for each query";
    "merged-intents": MergedIntents {},
        "The IID counterpart of Type 1: relevant is what is relevant for any intent";
    "labels": Labels {
        labels_per_client: 1,
        split: LabelSplit::Disjoint,
        normalise_after: Some(true),
        shared: Some(Shared { queries: 5, warm_up: 0 }),
    }, "Type 2: documents of one or two labels each; queries that all share if wanted";
    "dirichlet": Dirichlet { alpha: 1.0 },
        "Label skew: proportions of each label's documents from a Dirichlet distribution";
    "feature-clusters": FeatureClusters {}, "Feature skew: queries that look alike, by k-means";
    "user-log": UserLog {}, "The queries of one user of a log each";
}

impl Partition {
    /// Queries that every client holds, if clients share.
    pub const fn shared(&self) -> Option<Shared> {
        if let Self::Labels(labels) = self { labels.shared } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::{Owners, Synthetic, SyntheticShape};
    use crate::letor::{ReadOptions, parse_letor};

    pub(super) fn letor(text: &str) -> Dataset {
        parse_letor(text.as_bytes(), "letor.txt".as_ref(), &ReadOptions::default()).expect("valid")
    }

    #[test]
    fn every_partition_gives_each_client_something_and_the_same_for_the_same_seed() {
        let tiny = Synthetic { n_train: 60, n_intents: 3, ..Synthetic::new(SyntheticShape::Tiny) };
        let mut fold = tiny.generate(3).expect("a sound description");
        let owners = Owners { n_users: 6, train: (0..60).map(|query| query % 6).collect(), test: Vec::new() };
        fold.owners = Some(std::sync::Arc::new(owners));
        for partition in Partition::examples() {
            assert_eq!(partition.check(), [], "{partition:?}");
            let divide = |seed| partition.divide(&fold, 6, &Streams::new(seed)).expect("enough data");
            let data = divide(1);
            assert_eq!(divide(1), data, "{partition:?}");
            assert!(
                data.sets.iter().all(|set| set.n_queries() > 0) && data.queries.iter().all(|list| !list.is_empty())
            );
            assert!([1, data.sets.len()].contains(&data.groups.len()), "{partition:?}");
            assert!(data.queries.is_empty() || (data.queries.len(), data.sets.len()) == (6, 1), "{partition:?}");
            // Lists of queries divide the training set: nothing is lost or assigned twice.
            if !data.queries.is_empty() {
                let mut all = data.queries.concat();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..60), "{partition:?}");
            }
        }
    }
}
