//! Names of documents, which LETOR files may have in comments: `#docid = GX000-00-0000000 inc = 1 prob = 0.02`.
//!
//! They are no part of a [`Dataset`]: training needs none, and a large collection has many. Whoever needs them reads the
//! text again.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use super::{decompressed, source_bytes};
use crate::dataset::Dataset;

/// The first line with a document but without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unnamed {
    pub(crate) line: usize,
    pub(crate) comment: String,
}

/// The names of all documents of a file, in the order of `data`, which was read from it: a query's lines need not stand
/// together. None unless every document has a name, and no query the same one twice.
pub fn document_names(file: &Path, data: &Dataset) -> io::Result<Option<Vec<Box<str>>>> {
    // A comment of several words that does not say `docid` may be about anything.
    let only_word = |comment: &str| !comment.trim().contains(char::is_whitespace);
    let named = |comment: &str| behind_docid(comment).is_some() || only_word(comment);
    let Ok(names) = read_names(file, data, named)? else { return Ok(None) };
    let are_distinct = |query: usize| {
        let own = &names[data.docs(query)];
        own.iter().collect::<HashSet<_>>().len() == own.len()
    };
    let is_whole = names.len() == data.n_docs() && (0..data.n_queries()).all(are_distinct);
    Ok(is_whole.then_some(names))
}

/// What stands behind `docid =` or `docid:`.
fn behind_docid(comment: &str) -> Option<&str> {
    let rest = comment.trim_start().strip_prefix("docid")?.trim_start();
    rest.strip_prefix(['=', ':'])?.split_whitespace().next()
}

/// The name in the comment of each document, in the order of `data`: what stands behind `docid =`, else its first word. A
/// comment that `is_named` refuses has none.
pub(crate) fn read_names(
    file: &Path,
    data: &Dataset,
    is_named: impl Fn(&str) -> bool,
) -> io::Result<Result<Vec<Box<str>>, Unnamed>> {
    let bytes = decompressed(source_bytes(file)?, file)?;
    let text = String::from_utf8_lossy(bytes.as_slice());
    let mut by_query: HashMap<&str, Vec<Box<str>>> = HashMap::new();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{FEFF}').lines()) {
        let (document, comment) = content.split_once('#').unwrap_or((content, ""));
        let Some(query) = document.split_whitespace().nth(1).and_then(|token| token.strip_prefix("qid:")) else {
            continue;
        };
        let name = behind_docid(comment).or_else(|| comment.split_whitespace().next());
        match name.filter(|_| is_named(comment)) {
            Some(name) => by_query.entry(query).or_default().push(name.into()),
            None => return Ok(Err(Unnamed { line, comment: comment.trim_start().into() })),
        }
    }
    let of_query = |query| by_query.remove(data.query_id(query)).unwrap_or_default();
    Ok(Ok((0..data.n_queries()).flat_map(of_query).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::letor::{ReadOptions, read_letor};

    fn names(text: &str) -> Option<Vec<String>> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.txt");
        std::fs::write(&file, text).expect("written");
        let data = read_letor(&file, &ReadOptions::default()).expect("valid");
        let names = document_names(&file, &data).expect("readable")?;
        Some(names.into_iter().map(String::from).collect())
    }

    #[test]
    fn names_of_the_public_collections_are_read_in_the_order_of_the_data() {
        let letor =
            "0 qid:1 1:1 #docid = GX0-1 inc = 1 prob = 0.2\n1 qid:2 1:2 #docid = GX0-1\n1 qid:1 1:3 #docid=GX0-2\n";
        assert_eq!(names(letor), Some(vec!["GX0-1".into(), "GX0-2".into(), "GX0-1".into()]));
        assert_eq!(names("# head\n0 qid:1 1:1 # clueweb09-a \n"), Some(vec!["clueweb09-a".into()]));
    }

    #[test]
    fn documents_without_names_of_their_own_have_none() {
        assert_eq!(names("0 qid:1 1:1\n"), None, "as in MSLR-WEB10K");
        assert_eq!(names("0 qid:1 1:1 #docid = a\n0 qid:1 1:2\n"), None, "one is missing");
        assert_eq!(names("0 qid:1 1:1 #docid = a\n0 qid:1 1:2 #docid = a\n"), None, "the same one twice");
        assert_eq!(names("0 qid:1 1:1 #by hand\n"), None, "a comment about something else");
    }
}
