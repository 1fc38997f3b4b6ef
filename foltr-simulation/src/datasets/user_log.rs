//! The log of a search engine with the users behind its queries: AOL4FOLTR, or any other in the same two files.
//!
//! `GKP25` Gregoriadis, Kang, Pouwelse: *A Large-Scale Web Search Dataset for Federated Online Learning to Rank*,
//! CIKM 2025. `letor.txt` has the candidates of every query with their features, the clicked one labelled 1; `metadata.csv` has
//! the columns `qid`, `user_id` and `timestamp` among others. 55 GB of text are read once, block by block, into mapped
//! cache files; of the metadata only users, query ids and their order are kept.
//!
//! Each user's last queries in time are its test queries; users are numbered from the one with the most queries down.
//!
//! Deviations from the published experiment: the split is made for each user, not at one moment for all; features are
//! scaled within queries only, where the published code scales 21 of them over the whole collection (those are the same
//! for all documents of a query, so that they become 0 here and cannot change the order of a linear ranker anyway).

mod metadata;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::{DataError, Fold, Owners};
use crate::cache::{Cache, Streamed, load_streamed};
use crate::dataset::Dataset;
use crate::letor::ReadOptions;
use crate::normalise::Normalisation;
use metadata::{Entry, read_metadata};

/// Which part of a log to load, and how.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UserLog {
    /// Features and clicks of all queries, of any size.
    pub letor: PathBuf,
    /// Table with the columns `qid`, `user_id` and `timestamp`.
    pub metadata: PathBuf,
    /// Users with fewer queries are left out.
    #[serde(default = "one")]
    pub min_queries: usize,
    /// At most so many users, those with the most queries; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_users: Option<usize>,
    /// Share of each user's queries, the last ones in time, that are its test queries; rounded down.
    #[serde(default = "a_fifth")]
    pub test_share: f64,
    /// Features of a document; those of the first one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_features: Option<usize>,
    /// Feature scaling.
    #[serde(default)]
    pub normalise: Normalisation,
}

const fn one() -> usize {
    1
}

const fn a_fifth() -> f64 {
    0.2
}

const TRAIN: usize = 0;
const TEST: usize = 1;

/// Who issued a query, and the part that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QueryOwner {
    user: u32,
    part: usize,
    is_read: bool,
}

/// Users that take part, and their queries.
#[derive(Debug)]
struct Assignment {
    users: Vec<Box<str>>,
    queries: HashMap<Box<str>, QueryOwner>,
    /// Hash of all queries and their parts.
    selection: u64,
}

impl UserLog {
    /// Loads the log as a fold that knows the user of each query.
    pub fn load(&self, cache: &Cache) -> Result<Fold, DataError> {
        let (names, entries) = read_metadata(&self.metadata)?;
        let mut assignment = self.assign(names, entries)?;
        let source = Streamed {
            path: &self.letor,
            // A label says whether a document was clicked.
            options: &ReadOptions { max_label: 1, n_features: self.n_features },
            normalise: self.normalise == Normalisation::Query,
            cache,
            n_parts: 2,
            selection: assignment.selection,
        };
        let parts = load_streamed(&source, |query| assignment.part_of(query, &self.letor))?;
        let (train, test) = (parts[TRAIN].clone(), parts[TEST].clone());
        let owners_of = |data: &Dataset| -> Vec<u32> {
            (0..data.n_queries()).map(|query| assignment.queries[data.query_id(query)].user).collect()
        };
        let owners =
            Owners { n_users: assignment.users.len() as u32, train: owners_of(&train), test: owners_of(&test) };
        self.check(&assignment, &owners)?;
        Ok(Fold { owners: Some(Arc::new(owners)), ..Fold::new(train, None, test) })
    }

    /// Chooses users, and splits their queries in the order of time.
    fn assign(&self, names: Vec<Box<str>>, mut entries: Vec<Entry>) -> Result<Assignment, DataError> {
        let mut n_queries = vec![0_usize; names.len()];
        entries.iter().for_each(|entry| n_queries[entry.user as usize] += 1);
        let mut chosen: Vec<usize> =
            (0..names.len()).filter(|&user| n_queries[user] >= self.min_queries.max(1)).collect();
        chosen.sort_by(|&a, &b| n_queries[b].cmp(&n_queries[a]).then_with(|| names[a].cmp(&names[b])));
        chosen.truncate(self.max_users.unwrap_or(chosen.len()));
        if chosen.is_empty() {
            return Err(DataError::of(&self.metadata, format!("no user has {} queries or more", self.min_queries)));
        }
        let mut number = vec![None; names.len()];
        chosen.iter().enumerate().for_each(|(i, &user)| number[user] = Some(i as u32));
        // Stable: queries of the same second stay in the order of the file.
        entries.sort_by_key(|entry| entry.time);
        let (mut queries, mut hash) = (HashMap::new(), Xxh3::new());
        let mut n_seen = vec![0_usize; names.len()];
        for Entry { query, user, .. } in entries {
            let Some(number) = number[user as usize] else { continue };
            let (seen, all) = (&mut n_seen[user as usize], n_queries[user as usize]);
            let n_test = (self.test_share * all as f64) as usize;
            let part = if *seen + n_test < all { TRAIN } else { TEST };
            *seen += 1;
            hash.update(query.as_bytes());
            hash.update(&[0, part as u8]);
            queries.insert(query, QueryOwner { user: number, part, is_read: false });
        }
        let users = chosen.iter().map(|&user| names[user].clone()).collect();
        Ok(Assignment { users, queries, selection: hash.digest() })
    }

    fn check(&self, assignment: &Assignment, owners: &Owners) -> Result<(), DataError> {
        if owners.test.is_empty() {
            let message = "no test queries; a larger test_share or min_queries is needed";
            return Err(DataError::of(&self.letor, message));
        }
        let mut learns = vec![false; assignment.users.len()];
        owners.train.iter().for_each(|&user| learns[user as usize] = true);
        match learns.iter().position(|learns| !learns) {
            None => Ok(()),
            Some(user) => {
                let (user, metadata) = (&assignment.users[user], self.metadata.display());
                let message = format!("none of the training queries of user {user} is there, but {metadata} has some");
                Err(DataError::of(&self.letor, message))
            }
        }
    }
}

impl Assignment {
    fn part_of(&mut self, query: &str, letor: &Path) -> Result<Option<usize>, DataError> {
        let Some(owner) = self.queries.get_mut(query) else { return Ok(None) };
        if std::mem::replace(&mut owner.is_read, true) {
            return Err(DataError::of(letor, format!("the lines of query {query} do not stand together")));
        }
        Ok(Some(owner.part))
    }
}

#[cfg(test)]
mod tests;
