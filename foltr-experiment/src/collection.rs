//! Which data stands in for a paper's: the real collection if it is there, else the best at hand, with the words to say
//! so.

use std::path::{Path, PathBuf};

use foltr_simulation::datasets::{Fold, Source};
use toml::{Table, Value};

use crate::data;
use crate::spec::Data;

/// A collection that a paper used, or generated data in its place.
#[derive(Debug, PartialEq, Eq)]
pub struct Collection {
    /// In files.
    key: &'static str,
    /// In the papers.
    name: &'static str,
    kind: Kind,
    /// Names that its folder may have.
    folders: &'static [&'static str],
    n_features: usize,
    /// Generated data in its place: shape, queries, and other keys of `[data]`.
    synthetic: (&'static str, usize, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Folds in LETOR layout.
    Folds,
    /// The validation queries of the first fold as training queries.
    FirstValidation,
    /// Judgements by intent.
    Intents,
    /// Texts for mimic learning, which no paper of ours used.
    Texts,
    /// Always there, and nobody's.
    Generated,
}

/// What is used instead of a paper's collection, or the collection itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedCollection {
    /// The section `[data]`.
    pub data: Table,
    /// What it is, in words for tables and figures.
    pub name: String,
    /// Whether it is the paper's own collection, so that numbers can be compared.
    pub is_the_papers: bool,
    /// Whether it was collected, not generated; a sample of a collection is.
    pub is_real: bool,
}

/// The sample of MQ2007 that some machines have instead of the whole.
const MQ2007_SAMPLE: (&str, &str) = ("MQ2007-85", "MQ2007, 85 % sample");

const MQ2007: &[&str] = &["MQ2007", "mq2007"];
const MSLR: &[&str] = &["MSLR-WEB10K", "MSLR10K", "MSLR-10K", "mslr-web10k", "mslr10k", "MSLR-WEB10k"];
const YAHOO: &[&str] = &["Yahoo", "yahoo", "YAHOO", "Yahoo-set1", "set1", "ltrc_yahoo", "Webscope_C14_Set1"];
const ISTELLA: &[&str] = &["Istella-S", "istella-s", "istella-s-letor"];
const INTENT_CHANGE: &[&str] = &["intent-change", "intent_change", "ClueWeb09_intent_change"];
const STRONG: &str = ", intents = 4, conflict = \"strong\"";
const MILD: &str = ", intents = 4, conflict = \"mild\"";
const SCALED: &str = ", validation_queries = 200, test_queries = 200, normalise = \"query\"";

static COLLECTIONS: [Collection; 11] = [
    collection("mq2007", "MQ2007", Kind::Folds, MQ2007, 46, ("mq2007", 1000, "")),
    // The exploratory runs of `KO19`. A fifth of 1,692 and 784 queries, and three fifths of 784.
    collection("mq2007-validation", "MQ2007", Kind::FirstValidation, MQ2007, 46, ("mq2007", 339, "")),
    collection("mq2008", "MQ2008", Kind::Folds, &["MQ2008", "mq2008"], 46, ("mq2007", 470, "")),
    collection("mslr-web10k", "MSLR-WEB10K", Kind::Folds, MSLR, 136, ("mslr", 2000, "")),
    collection("yahoo", "Yahoo set 1", Kind::Folds, YAHOO, 700, ("yahoo", 2000, "")),
    collection("istella-s", "Istella-S", Kind::Folds, ISTELLA, 220, ("istella", 2000, "")),
    // 200 queries of TREC's Web Track with judgements for four intents, for training and testing.
    collection("intent-change", "intent-change", Kind::Intents, INTENT_CHANGE, 105, ("mq2007", 200, STRONG)),
    collection("cranfield", "Cranfield", Kind::Texts, &["cranfield"], 0, ("", 0, "")),
    collection("nfcorpus", "NFCorpus", Kind::Texts, &["nfcorpus"], 0, ("", 0, "")),
    collection("synthetic-mslr", "synthetic MSLR", Kind::Generated, &[], 0, ("mslr", 600, SCALED)),
    collection("synthetic-intents", "synthetic intents", Kind::Generated, &[], 0, ("mq2007", 1000, MILD)),
];

const fn collection(
    key: &'static str,
    name: &'static str,
    kind: Kind,
    folders: &'static [&'static str],
    n_features: usize,
    synthetic: (&'static str, usize, &'static str),
) -> Collection {
    Collection { key, name, kind, folders, n_features, synthetic }
}

impl Collection {
    /// By the name that files use.
    pub fn named(key: &str) -> Option<&'static Self> {
        COLLECTIONS.iter().find(|collection| collection.key == key)
    }

    /// All names that files use.
    pub fn keys() -> Vec<&'static str> {
        COLLECTIONS.iter().map(|collection| collection.key).collect()
    }

    /// Generated data of the same shape, under a name that says so; nobody generates texts.
    fn synthetic(&self) -> Option<ResolvedCollection> {
        let (shape, queries, more) = self.synthetic;
        let section = format!("kind = \"synthetic\", shape = \"{shape}\", queries = {queries}, seed = 1{more}");
        let name = format!("synthetic {}", self.name.trim_start_matches("synthetic "));
        let generated = || ResolvedCollection { data: table(&section), name, is_the_papers: false, is_real: false };
        (self.kind != Kind::Texts).then(generated)
    }

    /// The best data at hand: the paper's, a sample of it, or generated data of its shape.
    pub fn find(&self) -> Option<ResolvedCollection> {
        let real = self.folders.iter().map(|&folder| (folder, self.name, true));
        let sample = (self.name == "MQ2007").then_some((MQ2007_SAMPLE.0, MQ2007_SAMPLE.1, false));
        let at_hand = |(folder, name, is_whole): (&str, &str, bool)| {
            let data = table(&self.section(folder, &data::resolve_path(Path::new(folder)).ok()?)?);
            let part = if self.kind == Kind::FirstValidation { ", fold 1, validation queries" } else { "" };
            let is_the_papers = is_whole && self.kind != Kind::Texts;
            Some(ResolvedCollection { data, name: format!("{name}{part}"), is_the_papers, is_real: true })
        };
        real.chain(sample).find_map(at_hand).or_else(|| self.synthetic())
    }

    /// `[data]` for a collection in a folder; none if it lacks what is needed.
    fn section(&self, folder: &str, path: &Path) -> Option<String> {
        let (folder, width) = (quoted(Path::new(folder)), self.n_features);
        match self.kind {
            Kind::Folds => {
                Source::open(path).ok()?;
                Some(format!("kind = \"folder\", path = {folder}, n_features = {width}"))
            }
            Kind::FirstValidation => {
                let source = Source::open(path).ok()?;
                let first = source.folds().first().filter(|first| !first.validation.is_empty())?;
                let list = |paths: &[PathBuf]| paths.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(", ");
                let (train, test) = (list(&first.validation), list(&first.test));
                Some(format!("kind = \"files\", train = [{train}], test = [{test}], n_features = {width}"))
            }
            Kind::Intents => path
                .join("intents")
                .is_dir()
                .then(|| format!("kind = \"intents\", path = {folder}, n_features = {width}, normalise = \"query\"")),
            Kind::Texts => Some(format!("kind = \"text\", path = {folder}")),
            Kind::Generated => None,
        }
    }
}

/// A path as TOML.
fn quoted(path: &Path) -> String {
    Value::String(path.to_string_lossy().into_owned()).to_string()
}

fn table(section: &str) -> Table {
    let mut document: Table = toml::from_str(&format!("data = {{ {section} }}")).expect("our own TOML");
    document.remove("data").and_then(|data| data.try_into().ok()).expect("a table")
}

impl ResolvedCollection {
    /// All folds, with their numbers from 1.
    pub fn load(&self) -> anyhow::Result<Vec<(usize, Fold)>> {
        data::load(&self.data.clone().try_into::<Data>()?)
    }

    /// The same data with these folds only; generated data and lists of files have one.
    #[must_use]
    pub fn only_folds(mut self, folds: &[usize]) -> Self {
        if self.data["kind"].as_str() == Some("folder") {
            let folds = folds.iter().map(|&fold| Value::Integer(fold as i64)).collect();
            self.data.insert("folds".into(), Value::Array(folds));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_data_stands_in_for_everything_and_is_never_the_papers() {
        for collection in COLLECTIONS.iter().filter(|collection| collection.kind != Kind::Texts) {
            assert_eq!(Collection::named(collection.key), Some(collection));
            let stand_in = collection.synthetic().expect("generated");
            assert!(stand_in.data.clone().try_into::<Data>().expect("sound").generated().is_some(), "{collection:?}");
            assert!(!stand_in.is_the_papers && stand_in.name.starts_with("synthetic "), "{collection:?}");
            assert_eq!(stand_in.clone().only_folds(&[1]), stand_in);
        }
    }

    #[test]
    fn judgements_by_intent_are_asked_for_where_they_are() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let collection = Collection::named("intent-change").expect("known");
        assert_eq!(collection.section("intent-change", folder.path()), None);
        std::fs::create_dir(folder.path().join("intents")).expect("a folder");
        let section = collection.section("intent-change", folder.path()).expect("judgements");
        let data = table(&section).try_into().expect("a section [data]");
        let Data::Intents { path, n_features, .. } = data else { panic!("{data:?}") };
        assert_eq!((path.as_path(), n_features), (Path::new("intent-change"), Some(105)));
    }

    #[test]
    fn folds_are_chosen_in_the_section() {
        let data = table("kind = \"folder\", path = \"MQ2008\", n_features = 46");
        let whole = ResolvedCollection { data, name: String::new(), is_the_papers: true, is_real: true };
        let chosen = whole.only_folds(&[1, 3]).data.try_into().expect("a section [data]");
        let Data::Folder { folds, .. } = chosen else { panic!("{chosen:?}") };
        assert_eq!(folds, Some(vec![1, 3]));
    }
}
