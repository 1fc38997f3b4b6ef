//! `[partition]`: what clients hold, and how they differ (spec section 10).

use foltr_simulation::partition::labels::LabelSplit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which queries, documents and labels each client holds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Partition {
    /// Every client draws from all queries, as without this section.
    Iid {},
    /// Type 1: client c has intent c modulo their number. Needs data with intents.
    Intents {
        /// Whether intents change places anew for each query, by the seed of the run, as in the papers; then no client
        /// has a preference that it keeps.
        shuffled: bool,
    },
    /// The IID counterpart of Type 1: a document has the highest label that any intent gives it.
    MergedIntents {},
    /// Type 2: every client holds documents of one or two labels.
    Labels {
        /// 1, or 2 for one client a pair of labels.
        labels_per_client: usize,
        /// Which documents of its labels a client holds.
        #[serde(default)]
        split: LabelSplit,
        /// Whether each client scales its features to [0, 1] within each query, over the documents that it holds; when
        /// absent, as the released code does if `data.normalise` scales at all (spec section 1.3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        normalise_after: Option<bool>,
        /// Data sharing: queries that every client holds with all documents (spec section 11).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shared: Option<Shared>,
    },
    /// Label skew: each label's documents go to clients in proportions from a Dirichlet distribution.
    Dirichlet {
        /// Concentration: small is skewed, large is even.
        alpha: f64,
    },
    /// Feature skew: queries are clustered by k-means over their mean features, one cluster a client.
    FeatureClusters {},
    /// Every client is a user of the log. Needs data.kind = "user-log".
    UserLog {},
}

/// Queries that every client holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Draws with replacement from the training queries.
    pub queries: usize,
    /// Interactions of PDGD on the shared queries before the first round; they are no part of the rounds.
    #[serde(default)]
    pub warm_up: usize,
}

impl Partition {
    /// Fills in what follows from how features are scaled.
    pub(crate) fn resolve(&mut self, scaled: bool) {
        if let Self::Labels { normalise_after, .. } = self {
            normalise_after.get_or_insert(scaled);
        }
    }

    /// Data sharing, if clients share.
    pub const fn shared(&self) -> Option<Shared> {
        if let Self::Labels { shared, .. } = self { *shared } else { None }
    }
}
