//! What is asked of a search, and what it answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::document::Kind;

/// What somebody looks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    pub words: String,
    pub filter: Filter,
    /// The list that this one takes the place of, while a query is being typed. If nobody has seen it, it teaches nothing.
    pub instead_of: Option<ListId>,
    /// How many documents to return at most; as many as a page has when absent.
    pub most: Option<usize>,
}

/// Which documents are looked at. What is absent or empty filters nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub kinds: Vec<Kind>,
    /// Documents below this folder.
    pub folder: Option<PathBuf>,
    /// Changed at this time or later, in seconds since 1970.
    pub changed_since: Option<i64>,
    /// Changed before this time.
    pub changed_before: Option<i64>,
}

/// A list that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct ListId(pub u64);

/// A document in the index. It stays the same when its file changes or is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct DocumentId(pub u64);

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Answer {
    /// Absent where there is nothing to show.
    pub list: Option<ListId>,
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many documents have a word of the query.
    pub n_matches: usize,
    pub microseconds: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Hit {
    pub document: DocumentId,
    pub title: String,
    /// The file, as it can be shown.
    pub path: String,
    /// The message of a mailbox; empty for a whole file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    pub kind: Kind,
    /// When the file, or the mail, was last changed: seconds since 1970.
    pub changed: i64,
    /// How often it was opened from here.
    pub n_openings: u32,
    /// The passage that matches best.
    pub snippet: Vec<Fragment>,
}

/// Consecutive text of a snippet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Fragment {
    pub text: String,
    /// Whether it is a word of the query.
    pub is_match: bool,
}

/// Why a document is where it is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Why {
    /// Its place by score in its list, from 1.
    pub rank_by_score: usize,
    /// Its place in the list as it was shown, from 1.
    pub rank_shown: usize,
    pub score: f32,
    /// What each feature added to the score, the largest first; those that added nothing are left out.
    pub shares: Vec<Share>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Share {
    /// The feature, in plain words.
    pub feature: String,
    /// Between 0 (the least of all documents that were compared) and 1 (the most).
    pub value: f32,
    /// Added to the score.
    pub share: f32,
}
