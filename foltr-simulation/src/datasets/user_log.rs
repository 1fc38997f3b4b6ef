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
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

use super::{Fold, Owners};
use crate::cache::{Cache, Streamed, load_streamed};
use crate::dataset::Dataset;
use crate::letor::{LetorError, ReadOptions};
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

/// Why a log cannot be loaded.
#[derive(Debug, Error)]
pub enum UserLogError {
    /// The features cannot be read.
    #[error(transparent)]
    Letor(#[from] LetorError),
    /// The metadata is not a table.
    #[error("{}: cannot be read: {source}", file.display())]
    Table {
        /// The file.
        file: PathBuf,
        /// What is wrong, with its line.
        source: csv::Error,
    },
    /// A column is missing.
    #[error("{}: no column `{column}`; expected the columns qid, user_id and timestamp", file.display())]
    Column {
        /// The file.
        file: PathBuf,
        /// Its name.
        column: &'static str,
    },
    /// A time that is none.
    #[error("{}:{line}: timestamp `{found}`, expected such as `2006-03-01 07:17:12`", file.display())]
    Time {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is there.
        found: String,
    },
    /// A query with two users or times.
    #[error("{}:{line}: query {query} is there already; every query has one line", file.display())]
    Twice {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The query.
        query: String,
    },
    /// Two stretches of lines with the same query.
    #[error("{}: the lines of query {query} do not stand together", file.display())]
    Apart {
        /// The file.
        file: PathBuf,
        /// The query.
        query: String,
    },
    /// Nobody is left.
    #[error("{}: no user has {min_queries} queries or more", file.display())]
    NoUsers {
        /// The metadata.
        file: PathBuf,
        /// The fewest queries of a user.
        min_queries: usize,
    },
    /// A user that cannot take part.
    #[error("{}: none of the training queries of user {user} is there, but {} has some", letor.display(), metadata.display())]
    NothingToLearn {
        /// The features.
        letor: PathBuf,
        /// The metadata.
        metadata: PathBuf,
        /// The user.
        user: String,
    },
    /// Nothing to measure.
    #[error("{}: no test queries; a larger test_share or min_queries is needed", letor.display())]
    NoTest {
        /// The features.
        letor: PathBuf,
    },
}

const TRAIN: usize = 0;
const TEST: usize = 1;

/// Where one query belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    user: u32,
    part: usize,
    is_read: bool,
}

/// Users that are kept, and the places of their queries.
#[derive(Debug)]
struct Assignment {
    users: Vec<Box<str>>,
    places: HashMap<Box<str>, Place>,
    /// Hash of all places.
    selection: u64,
}

impl UserLog {
    /// Loads the log as a fold that knows the user of each query.
    pub fn load(&self, cache: &Cache) -> Result<Fold, UserLogError> {
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
            (0..data.n_queries()).map(|query| assignment.places[data.query_id(query)].user).collect()
        };
        let owners =
            Owners { n_users: assignment.users.len() as u32, train: owners_of(&train), test: owners_of(&test) };
        self.check(&assignment, &owners)?;
        Ok(Fold { owners: Some(Arc::new(owners)), ..Fold::new(train, None, test) })
    }

    /// Chooses users, and splits their queries in the order of time.
    fn assign(&self, names: Vec<Box<str>>, mut entries: Vec<Entry>) -> Result<Assignment, UserLogError> {
        let mut n_queries = vec![0_usize; names.len()];
        entries.iter().for_each(|entry| n_queries[entry.user as usize] += 1);
        let mut kept: Vec<usize> =
            (0..names.len()).filter(|&user| n_queries[user] >= self.min_queries.max(1)).collect();
        kept.sort_by(|&a, &b| n_queries[b].cmp(&n_queries[a]).then_with(|| names[a].cmp(&names[b])));
        kept.truncate(self.max_users.unwrap_or(kept.len()));
        if kept.is_empty() {
            return Err(UserLogError::NoUsers { file: self.metadata.clone(), min_queries: self.min_queries });
        }
        let mut number = vec![None; names.len()];
        kept.iter().enumerate().for_each(|(i, &user)| number[user] = Some(i as u32));
        // Stable: queries of the same second stay in the order of the file.
        entries.sort_by_key(|entry| entry.time);
        let (mut places, mut hash) = (HashMap::new(), Xxh3::new());
        let mut n_seen = vec![0_usize; names.len()];
        for Entry { query, user, .. } in entries {
            let Some(number) = number[user as usize] else { continue };
            let (seen, all) = (&mut n_seen[user as usize], n_queries[user as usize]);
            let n_test = (self.test_share * all as f64) as usize;
            let part = if *seen + n_test < all { TRAIN } else { TEST };
            *seen += 1;
            hash.update(query.as_bytes());
            hash.update(&[0, part as u8]);
            places.insert(query, Place { user: number, part, is_read: false });
        }
        let users = kept.iter().map(|&user| names[user].clone()).collect();
        Ok(Assignment { users, places, selection: hash.digest() })
    }

    fn check(&self, assignment: &Assignment, owners: &Owners) -> Result<(), UserLogError> {
        if owners.test.is_empty() {
            return Err(UserLogError::NoTest { letor: self.letor.clone() });
        }
        let mut learns = vec![false; assignment.users.len()];
        owners.train.iter().for_each(|&user| learns[user as usize] = true);
        match learns.iter().position(|learns| !learns) {
            None => Ok(()),
            Some(user) => Err(UserLogError::NothingToLearn {
                letor: self.letor.clone(),
                metadata: self.metadata.clone(),
                user: assignment.users[user].clone().into(),
            }),
        }
    }
}

impl Assignment {
    fn part_of(&mut self, query: &str, letor: &Path) -> Result<Option<usize>, UserLogError> {
        let Some(place) = self.places.get_mut(query) else { return Ok(None) };
        if std::mem::replace(&mut place.is_read, true) {
            return Err(UserLogError::Apart { file: letor.into(), query: query.into() });
        }
        Ok(Some(place.part))
    }
}

#[cfg(test)]
mod tests;
