//! Beyond the papers: what privacy that is true costs. Settings are chosen on validation queries, numbers are of test
//! queries, and every epsilon is that of one client over the whole run, delta = 1e-5.
//!
//! Adjacent runs: Gaussian noise, one client more or less; discrete shares, zero in place of one client's updates; Laplace
//! noise and the local mechanisms, anything else in their place, which is the stronger promise.
//!
//! One setting is chosen for all folds, by the mean over their validation queries. Parts of a collection change roles
//! between folds, so a fold's test queries had a say, as validation queries of another fold.

mod calibration;
mod choice;
mod clients;
mod curves;
mod table;

use crate::reproduce::{Entry, StandIn, Study, Wanted};

const PAPER: &str = "beyond the papers";

/// Of every guarantee in these studies.
const DELTA: f64 = 1e-5;

/// Interactions of all clients over a run.
const INTERACTIONS: usize = 400_000;

/// Kinds of users in these studies.
const USERS: [&str; 2] = ["navigational", "informational"];

pub(super) const TABLE: Entry = Entry {
    id: "privacy-table",
    paper: PAPER,
    what: "What sound privacy costs with 1,000 clients, beside FPDGD's",
    run: table::table,
};

pub(super) const CLIENTS: Entry = Entry {
    id: "privacy-clients",
    paper: PAPER,
    what: "What sound privacy costs with 10 to 10,000 clients",
    run: clients::clients,
};

pub(super) const CURVES: Entry = Entry {
    id: "privacy-curves",
    paper: PAPER,
    what: "Effectiveness over the true epsilon, for every mechanism",
    run: curves::curves,
};

/// A collection of these studies.
struct Collection {
    /// For folders.
    slug: &'static str,
    /// What is used.
    data: StandIn,
    /// Whether training takes long enough to do with less.
    is_large: bool,
}

/// The collections, or the first alone when a small budget must do; then with one fold.
fn collections(study: &Study<'_>) -> Vec<Collection> {
    let large = StandIn {
        section: "{ kind = \"synthetic\", shape = \"mslr\", queries = 1000, seed = 1, normalise = \"query\" }".into(),
        name: "synthetic mslr".into(),
        is_the_papers: false,
    };
    let real = |slug, wanted| Collection { slug, data: study.data(wanted), is_large: false };
    let all = vec![
        real("mq2008", Wanted::Mq2008),
        real("mq2007", Wanted::Mq2007),
        Collection { slug: "mslr", data: large, is_large: true },
    ];
    if !study.is_quick() {
        return all;
    }
    let first_fold = |collection: Collection| Collection { data: collection.data.only_folds(&[1]), ..collection };
    all.into_iter().take(1).map(first_fold).collect()
}
