//! The contributions of a round. Most are read and compared with their hashes while the round is still open, so that devices
//! wait only for the rest of the work.

use foltr_federation::protocol::Contribution;

use super::{RoundError, is_closed_by};
use crate::database::{Connection, DatabaseError};
use crate::service::Service;
use crate::store::contributions::{self, Stored};
use crate::store::federations::{self, FederationRow};

/// Intact contributions of a round, in the order of numbers; perhaps not all.
#[derive(Default)]
pub(crate) struct Gathered {
    /// Of the federation when they were read. Until it changes, contributions are only added.
    revision: i64,
    contributions: Vec<Stored>,
}

impl Service {
    /// What has come to a round that is about to be marked as closing.
    pub(crate) fn gather(&self, row: &FederationRow) -> Result<Gathered, DatabaseError> {
        let read = self.pool.read(|tables| contributions::of_round(tables, row.id, row.plan, row.round, 0))?;
        Ok(Gathered { revision: row.revision, contributions: read.into_iter().filter(is_intact).collect() })
    }

    /// All contributions of a round that this replica has marked. Nothing if another replica has taken it over.
    pub(super) fn gather_all(
        &self,
        marked: &FederationRow,
        gathered: Gathered,
    ) -> Result<Option<Vec<Stored>>, RoundError> {
        let known = if gathered.revision + 1 == marked.revision { gathered.contributions } else { Vec::new() };
        let acknowledged = marked.n_contributions as usize;
        let read = self.pool.read(|tables| -> Result<_, DatabaseError> {
            if !is_closed_by(marked, &federations::find(tables, marked.id)?) {
                return Ok(None);
            }
            let rest = not_among(&known, newest(tables, marked, &known)?);
            // A clock that went back hides what came after that.
            if known.len() + rest.len() == acknowledged {
                return Ok(Some((true, rest)));
            }
            Ok(Some((false, contributions::of_round(tables, marked.id, marked.plan, marked.round, 0)?)))
        })?;
        let Some((is_rest, read)) = read else { return Ok(None) };
        let round = marked.round;
        if let Some(Stored { number, .. }) = read.iter().find(|stored| !is_intact(stored)) {
            let why = "its bytes were altered".into();
            return Err(RoundError::Contribution { round, number: *number, why });
        }
        let mut all = if is_rest { known } else { Vec::new() };
        all.extend(read);
        if all.len() != acknowledged {
            return Err(RoundError::Lost { round, found: all.len(), acknowledged: marked.n_contributions });
        }
        all.sort_unstable_by_key(|stored| stored.number);
        Ok(Some(all))
    }
}

/// What came at the time of the newest known contribution or later.
fn newest(tables: &mut dyn Connection, marked: &FederationRow, known: &[Stored]) -> Result<Vec<Stored>, DatabaseError> {
    let since = known.iter().map(|stored| stored.time).max().unwrap_or_default();
    contributions::of_round(tables, marked.id, marked.plan, marked.round, since)
}

fn not_among(known: &[Stored], mut read: Vec<Stored>) -> Vec<Stored> {
    read.retain(|new| known.binary_search_by_key(&new.number, |stored| stored.number).is_err());
    read
}

pub(crate) fn is_intact(stored: &Stored) -> bool {
    stored.bytes.as_deref().is_none_or(|bytes| Contribution::hash_of(bytes) == stored.hash)
}
