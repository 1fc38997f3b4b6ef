//! The log of a search engine: every client is one of its users.

use foltr_rank::rng::Streams;
use serde::{Deserialize, Serialize};

use super::{Needs, PartitionError, PartitionMethod, PartitionedData};
use crate::datasets::Fold;

/// Every client is a user of the log. Needs data.kind = "user-log".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UserLog {}

impl PartitionMethod for UserLog {
    const NEEDS: Option<Needs> = Some(Needs::Users);

    fn divide(&self, fold: &Fold, n_clients: usize, _streams: &Streams) -> Result<PartitionedData, PartitionError> {
        let owners = fold.owners.as_ref();
        let owners = owners.ok_or_else(|| PartitionError("the data does not know its users".into()))?;
        let n_users = owners.n_users as usize;
        if n_clients != n_users {
            return Err(PartitionError(format!(
                "the log has {n_users} users for {n_clients} clients; every user is a client: set clients.n_clients to \
                 {n_users}, or choose users with data.max_users and data.min_queries"
            )));
        }
        let mut queries = vec![Vec::new(); n_users];
        (0..).zip(&owners.train).for_each(|(query, &user)| queries[user as usize].push(query));
        Ok(PartitionedData::by_queries(fold, queries))
    }
}
