//! A collection whose documents were judged for several intents: one file of features, one file of judgements an intent.
//!
//! `ZZ21` Zhuang, Zuccon: *How do Online Learning to Rank Methods Adapt to Changes of Intent?*, SIGIR 2021, published such a
//! collection (TREC Web Track 2009 to 2012, four intents), which `WZ22` and `W24` (section 4.3.1) use. A folder has
//!
//! * one LETOR file, itself or in the folder `datasets`, with the name of the document as the comment of each line:
//!   `0 qid:7 1:0.5 2:3 #clueweb09-en0000-00-00000`, or `#docid = clueweb09-...`; its labels are not used;
//! * `intents/1.txt`, `intents/2.txt` and so on: TREC qrels, `query subtopic document relevance`.
//!
//! A document that an intent does not judge is not relevant, nor is one judged below 0. There is no held-out set: test
//! queries are the training queries, as in the papers.
//!
//! Deviation: the published `intents/0.txt`, which joins all intents, is not read; see
//! [`MergedIntents`](crate::partition::MergedIntents).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use super::{DataError, Fold, IntentLabels, LoadOptions};
use crate::cache::load_letor;
use crate::dataset::Dataset;
use crate::letor::{Unnamed, read_names};

fn unreadable(path: &Path) -> impl Fn(io::Error) -> DataError {
    move |source| DataError::of(path, format!("cannot be read: {source}"))
}

/// Loads a folder as one fold with the labels of its intents.
pub fn load_intent_folder(folder: &Path, options: &LoadOptions) -> Result<Fold, DataError> {
    let features = features_file(folder)?;
    let data = load_letor(&features, &options.read, options.normalise, &options.cache)?.data;
    let names = document_names(&features, &data)?;
    let mut intents = Vec::new();
    for number in 1.. {
        let file = folder.join("intents").join(format!("{number}.txt"));
        if !file.is_file() {
            if number <= 2 {
                let expected = "judgements of two intents or more: intents/1.txt, intents/2.txt, ...";
                return Err(DataError::of(&file, format!("no such file; expected {expected}")));
            }
            break;
        }
        let judgements = read_judgements(&file, options.read.max_label)?;
        let labels: Arc<[u8]> = labels(&data, &names, &judgements, &file, &features)?.into();
        intents.push(IntentLabels { train: labels.clone(), validation: Arc::new([]), test: labels });
    }
    let data = data.with_labels(intents[0].train.clone());
    Ok(Fold { intents, ..Fold::new(data.clone(), None, data) })
}

/// The only LETOR file of a folder.
fn features_file(folder: &Path) -> Result<PathBuf, DataError> {
    let mut found = Vec::new();
    for place in [folder.to_path_buf(), folder.join("datasets")] {
        if place != folder && !place.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&place).map_err(unreadable(&place))? {
            let path = entry.map_err(unreadable(&place))?.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            if path.is_file() && matches!(ending, Some("txt" | "gz" | "zst")) {
                found.push(path);
            }
        }
    }
    found.sort();
    if let [only] = found.as_slice() {
        return Ok(only.clone());
    }
    let names = found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let found = if names.is_empty() { "none" } else { &names };
    let expected = "exactly one LETOR file (.txt, .gz or .zst), here or in `datasets`";
    Err(DataError::of(folder, format!("expected {expected}; found {found}")))
}

fn document_names(file: &Path, data: &Dataset) -> Result<Vec<Box<str>>, DataError> {
    let expected = "the name of the document behind the features, such as `#clueweb09-en0000-00-00000`";
    let names = read_names(file, data, |_| true).map_err(unreadable(file))?;
    names.map_err(|Unnamed { line, comment }| wrong_line(file, line, &comment, expected))
}

fn wrong_line(file: &Path, line: usize, found: &str, expected: &str) -> DataError {
    DataError::of_line(file, line, format!("found `{found}`, expected {expected}"))
}

/// Relevance by query and document.
type Judgements = HashMap<Box<str>, HashMap<Box<str>, u8>>;

fn read_judgements(file: &Path, max_label: u8) -> Result<Judgements, DataError> {
    let text = fs::read_to_string(file).map_err(unreadable(file))?;
    let mut judgements = Judgements::new();
    for (line, content) in (1..).zip(text.lines()) {
        let wrong = |expected: &str| wrong_line(file, line, content, expected);
        let fields: Vec<&str> = content.split_whitespace().collect();
        let [query, _, document, relevance] = match fields.as_slice() {
            [] => continue,
            fields => fields.try_into().map_err(|_| wrong("`query subtopic document relevance`"))?,
        };
        let relevance: i64 = relevance.parse().map_err(|_| wrong("a whole number as the relevance"))?;
        let label = u8::try_from(relevance.max(0)).ok().filter(|&label| label <= max_label);
        let label = label.ok_or_else(|| wrong(&format!("a relevance of {max_label} at most")))?;
        let of_query = judgements.entry(query.into()).or_default();
        if of_query.insert(document.into(), label).is_some_and(|before| before != label) {
            return Err(wrong("one judgement of a document, not two that differ"));
        }
    }
    Ok(judgements)
}

fn labels(
    data: &Dataset,
    names: &[Box<str>],
    judgements: &Judgements,
    file: &Path,
    features: &Path,
) -> Result<Vec<u8>, DataError> {
    let mut labels = Vec::with_capacity(names.len());
    for query in 0..data.n_queries() {
        let id = data.query_id(query);
        let of_query = judgements.get(id).ok_or_else(|| {
            DataError::of(file, format!("no judgement of query {id}, which {} has", features.display()))
        })?;
        labels.extend(names[data.docs(query)].iter().map(|name| of_query.get(name).copied().unwrap_or(0)));
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use tempfile::TempDir;

    const FEATURES: &str =
        "0 qid:7 1:1 2:5 #doc-a\n0 qid:7 1:2 #docid = doc-b\n0 qid:9 1:3 # doc-a more\n0 qid:7 2:1 #doc-c\n";

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("intents")).expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    fn load(files: &[(&str, &str)]) -> Result<Fold, String> {
        let folder = folder(files);
        let options = LoadOptions::new(false, &Cache::Off);
        let place = format!("{}/", folder.path().display());
        load_intent_folder(folder.path(), &options).map_err(|error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn labels_come_from_each_intents_judgements() {
        let one = "7 1 doc-a 1\n7 1 doc-c -2\n7 1 elsewhere 1\n9 1 doc-a 0\n";
        let two = "9 2 doc-a 1\n\n7 2 doc-b 1\n7 2 doc-c 2\n";
        let fold =
            load(&[("web.txt", FEATURES), ("intents/0.txt", "?"), ("intents/1.txt", one), ("intents/2.txt", two)]);
        let fold = fold.expect("two intents");
        assert_eq!((fold.n_intents(), fold.max_label()), (2, 2));
        // Query 7 has documents a, b and c; query 9 has document a.
        assert_eq!(*fold.intents[0].train, [1, 0, 0, 0]);
        assert_eq!(*fold.intents[1].train, [0, 1, 2, 1]);
        assert_eq!(
            (fold.train.all_labels(), fold.train.query(0).row(2)[..2].to_vec()),
            (&[1, 0, 0, 0][..], vec![0.0, 1.0])
        );
        assert_eq!(fold.train, fold.test);
    }

    #[test]
    fn errors_name_file_and_line() {
        let one = ("intents/1.txt", "7 1 doc-a 1\n9 1 doc-a 0\n");
        let web = ("web.txt", FEATURES);
        let wrong = |files: &[(&str, &str)]| load(files).expect_err("wrong");
        assert!(wrong(&[one]).contains("expected exactly one LETOR file"));
        assert!(wrong(&[web, ("more.txt", FEATURES), one]).ends_with("found more.txt, web.txt"));
        assert!(wrong(&[web, one]).starts_with("intents/2.txt: no such file; expected judgements of two intents"));
        let with = |two| wrong(&[web, one, ("intents/2.txt", two)]);
        assert_eq!(with("7 2 doc-a 1\n"), "intents/2.txt: no judgement of query 9, which web.txt has");
        assert_eq!(
            with("7 2 doc-a 1\n7 2 doc-b\n"),
            "intents/2.txt:2: found `7 2 doc-b`, expected `query subtopic document relevance`"
        );
        assert!(with("7 2 doc-a yes\n").ends_with("expected a whole number as the relevance"));
        assert!(with("7 2 doc-a 9\n").ends_with("expected a relevance of 4 at most"));
        assert!(
            with("7 2 doc-a 1\n7 2 doc-a 0\n").contains("intents/2.txt:2: found `7 2 doc-a 0`, expected one judgement")
        );
        let unnamed = wrong(&[("web.txt", "0 qid:7 1:1 #a\n0 qid:7 1:2\n"), one]);
        assert!(unnamed.starts_with("web.txt:2: found ``, expected the name of the document"), "{unnamed}");
    }
}
