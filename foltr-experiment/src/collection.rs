//! Which data stands in for a paper's: the real collection if it is there, else the best at hand, with the words to say
//! so.

use std::path::{Path, PathBuf};

use foltr_simulation::datasets::{Fold, Source};

use crate::data;
use crate::spec::Data;

/// A collection that a paper used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// LETOR 4.0 MQ2007, five folds.
    Mq2007,
    /// The validation queries of MQ2007's first fold as training queries: the exploratory runs of `KO19`.
    Mq2007Validation,
    /// LETOR 4.0 MQ2008, five folds.
    Mq2008,
    /// MSLR-WEB10K, five folds.
    Mslr,
    /// Yahoo set 1, one fold.
    Yahoo,
    /// Istella-S, one fold.
    IstellaS,
    /// 200 queries of TREC's Web Track with judgements for four intents, for training and testing.
    IntentChange,
    /// Texts for mimic learning.
    Cranfield,
    /// Texts for mimic learning.
    NfCorpus,
    /// Generated, in the shape of MSLR-WEB10K: always there, and nobody's.
    SyntheticMslr,
    /// Generated, in the shape of MQ2007, with four intents in mild conflict.
    SyntheticIntents,
}

/// What is used instead of a paper's collection, or the collection itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedCollection {
    /// The section `[data]` as a TOML value, for the override `data=...`.
    pub section: String,
    /// What it is, in words for tables and figures.
    pub name: String,
    /// Whether it is the paper's own collection, so that numbers can be compared.
    pub is_the_papers: bool,
    /// Whether it was collected, not generated; a sample of a collection is.
    pub is_real: bool,
}

/// The sample of MQ2007 that some machines have instead of the whole.
const MQ2007_SAMPLE: (&str, &str) = ("MQ2007-85", "MQ2007, 85 % sample");

struct Facts {
    /// In files.
    key: &'static str,
    /// In the papers.
    name: &'static str,
    /// Names that its folder may have.
    folders: &'static [&'static str],
    n_features: usize,
    /// Generated data in its place: shape, queries, and other keys of `[data]`.
    synthetic: (&'static str, usize, &'static str),
}

impl Collection {
    const ALL: [Self; 11] = [
        Self::Mq2007,
        Self::Mq2007Validation,
        Self::Mq2008,
        Self::Mslr,
        Self::Yahoo,
        Self::IstellaS,
        Self::IntentChange,
        Self::Cranfield,
        Self::NfCorpus,
        Self::SyntheticMslr,
        Self::SyntheticIntents,
    ];

    fn facts(self) -> Facts {
        let facts = |key, name, folders, n_features, synthetic| Facts { key, name, folders, n_features, synthetic };
        let (mq2007, yahoo): (&[&str], &[&str]) = (
            &["MQ2007", "mq2007"],
            &["Yahoo", "yahoo", "YAHOO", "Yahoo-set1", "set1", "ltrc_yahoo", "Webscope_C14_Set1"],
        );
        let mslr = &["MSLR-WEB10K", "MSLR10K", "MSLR-10K", "mslr-web10k", "mslr10k", "MSLR-WEB10k"];
        let intent_change = &["intent-change", "intent_change", "ClueWeb09_intent_change"];
        let istella = &["Istella-S", "istella-s", "istella-s-letor"];
        let strong = ", intents = 4, conflict = \"strong\"";
        let mild = ", intents = 4, conflict = \"mild\"";
        let scaled = ", validation_queries = 200, test_queries = 200, normalise = \"query\"";
        match self {
            Self::Mq2007 => facts("mq2007", "MQ2007", mq2007, 46, ("mq2007", 1000, "")),
            // A fifth of 1,692 and 784 queries, and three fifths of 784.
            Self::Mq2007Validation => facts("mq2007-validation", "MQ2007", mq2007, 46, ("mq2007", 339, "")),
            Self::Mq2008 => facts("mq2008", "MQ2008", &["MQ2008", "mq2008"], 46, ("mq2007", 470, "")),
            Self::Mslr => facts("mslr-web10k", "MSLR-WEB10K", mslr, 136, ("mslr", 2000, "")),
            Self::Yahoo => facts("yahoo", "Yahoo set 1", yahoo, 700, ("yahoo", 2000, "")),
            Self::IstellaS => facts("istella-s", "Istella-S", istella, 220, ("istella", 2000, "")),
            Self::IntentChange => facts("intent-change", "intent-change", intent_change, 105, ("mq2007", 200, strong)),
            Self::Cranfield => facts("cranfield", "Cranfield", &["cranfield"], 0, ("", 0, "")),
            Self::NfCorpus => facts("nfcorpus", "NFCorpus", &["nfcorpus"], 0, ("", 0, "")),
            Self::SyntheticMslr => facts("synthetic-mslr", "synthetic MSLR", &[], 0, ("mslr", 600, scaled)),
            Self::SyntheticIntents => facts("synthetic-intents", "synthetic intents", &[], 0, ("mq2007", 1000, mild)),
        }
    }

    /// By the name that files use.
    pub fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|collection| collection.facts().key == key)
    }

    /// All names that files use.
    pub fn keys() -> Vec<&'static str> {
        Self::ALL.map(|collection| collection.facts().key).to_vec()
    }

    /// The name of the paper's collection.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    const fn is_text(self) -> bool {
        matches!(self, Self::Cranfield | Self::NfCorpus)
    }

    /// Generated data of the same shape, under a name that says so.
    fn synthetic(self) -> ResolvedCollection {
        let Facts { name, folders, synthetic: (shape, queries, more), .. } = self.facts();
        if self.is_text() {
            return self.text(folders[0], false);
        }
        ResolvedCollection {
            section: format!("{{ kind = \"synthetic\", shape = \"{shape}\", queries = {queries}, seed = 1{more} }}"),
            name: format!("synthetic {}", name.trim_start_matches("synthetic ")),
            is_the_papers: false,
            is_real: false,
        }
    }

    /// No paper of ours used these texts.
    fn text(self, folder: &str, is_real: bool) -> ResolvedCollection {
        let section = format!("{{ kind = \"text\", path = \"{folder}\" }}");
        ResolvedCollection { section, name: self.name().into(), is_the_papers: false, is_real }
    }

    /// Whether it can be loaded.
    pub fn is_at_hand(self) -> bool {
        !self.is_text() || self.find().is_real
    }

    /// The best data at hand: the paper's, a sample of it, or generated data of its shape. Texts that are not here are
    /// looked for again, and missed, when they are loaded.
    pub fn find(self) -> ResolvedCollection {
        let real = self.facts().folders.iter().map(|&folder| (folder, self.name(), true));
        let sample =
            matches!(self, Self::Mq2007 | Self::Mq2007Validation).then_some((MQ2007_SAMPLE.0, MQ2007_SAMPLE.1, false));
        let at_hand = |(folder, name, is_the_papers): (&str, &str, bool)| {
            let path = data::resolve_path(Path::new(folder)).ok()?;
            let section = match self {
                Self::IntentChange => self.intents(folder, &path)?,
                _ if self.is_text() => return Some(self.text(folder, true)),
                _ => self.section(folder, &Source::open(&path).ok()?)?,
            };
            Some(ResolvedCollection { section, name: self.title(name), is_the_papers, is_real: true })
        };
        real.chain(sample).find_map(at_hand).unwrap_or_else(|| self.synthetic())
    }

    fn title(self, name: &str) -> String {
        if self == Self::Mq2007Validation { format!("{name}, fold 1, validation queries") } else { name.to_owned() }
    }

    /// `[data]` for judgements by intent; none if the folder has no such judgements.
    fn intents(self, folder: &str, source: &Path) -> Option<String> {
        let (path, width) = (quoted(Path::new(folder)), self.facts().n_features);
        let section = format!("{{ kind = \"intents\", path = {path}, n_features = {width}, normalise = \"query\" }}");
        source.join("intents").is_dir().then_some(section)
    }

    /// `[data]` for a collection in a folder; none if it lacks what is needed.
    fn section(self, folder: &str, source: &Source) -> Option<String> {
        let width = self.facts().n_features;
        if self != Self::Mq2007Validation {
            let path = quoted(Path::new(folder));
            return Some(format!("{{ kind = \"folder\", path = {path}, n_features = {width} }}"));
        }
        let first = source.folds().first()?;
        let list = |paths: &[PathBuf]| paths.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(", ");
        let (train, test) = (list(&first.validation), list(&first.test));
        (!first.validation.is_empty())
            .then(|| format!("{{ kind = \"files\", train = [{train}], test = [{test}], n_features = {width} }}"))
    }
}

/// A path as TOML.
fn quoted(path: &Path) -> String {
    toml::Value::String(path.to_string_lossy().into_owned()).to_string()
}

impl ResolvedCollection {
    /// All folds, with their numbers from 1.
    pub fn load(&self) -> anyhow::Result<Vec<(usize, Fold)>> {
        data::load(&self.data()?.try_into::<Data>()?)
    }

    /// The section `[data]`.
    pub fn data(&self) -> Result<toml::Table, toml::de::Error> {
        let document: toml::Table = toml::from_str(&format!("data = {}", self.section))?;
        Ok(document["data"].as_table().cloned().unwrap_or_default())
    }

    /// The same data with these folds only; generated data and lists of files have one.
    #[must_use]
    pub fn only_folds(mut self, folds: &[usize]) -> Self {
        if self.section.contains("kind = \"folder\"") {
            self.section = self.section.replacen(" }", &format!(", folds = {folds:?} }}"), 1);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_of(stand_in: &ResolvedCollection) -> Data {
        stand_in.data().expect("TOML").try_into().expect("a section [data]")
    }

    #[test]
    fn generated_data_stands_in_for_everything_and_is_never_the_papers() {
        for wanted in Collection::ALL.into_iter().filter(|wanted| !wanted.is_text()) {
            assert_eq!(Collection::named(wanted.facts().key), Some(wanted));
            let stand_in = wanted.synthetic();
            assert!(data_of(&stand_in).generated().is_some(), "{wanted:?}");
            assert!(!stand_in.is_the_papers && stand_in.name.starts_with("synthetic "), "{wanted:?}");
            assert_eq!(stand_in.clone().only_folds(&[1]), stand_in);
        }
    }

    #[test]
    fn judgements_by_intent_are_asked_for_where_they_are() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(Collection::IntentChange.intents("intent-change", folder.path()), None);
        std::fs::create_dir(folder.path().join("intents")).expect("a folder");
        let section = Collection::IntentChange.intents("intent-change", folder.path()).expect("judgements");
        let stand_in = ResolvedCollection { section, name: String::new(), is_the_papers: true, is_real: true };
        let Data::Intents { path, n_features, .. } = data_of(&stand_in) else { panic!("{stand_in:?}") };
        assert_eq!((path.as_path(), n_features), (Path::new("intent-change"), Some(105)));
    }

    #[test]
    fn folds_are_chosen_in_the_section() {
        let section = "{ kind = \"folder\", path = \"MQ2008\", n_features = 46 }".to_owned();
        let chosen =
            ResolvedCollection { section, name: String::new(), is_the_papers: true, is_real: true }.only_folds(&[1, 3]);
        let Data::Folder { folds, .. } = data_of(&chosen) else { panic!("{chosen:?}") };
        assert_eq!(folds, Some(vec![1, 3]));
    }
}
