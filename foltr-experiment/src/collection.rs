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

impl Collection {
    /// All of them, with the names that files use.
    pub const ALL: [(&'static str, Self); 11] = [
        ("mq2007", Self::Mq2007),
        ("mq2007-validation", Self::Mq2007Validation),
        ("mq2008", Self::Mq2008),
        ("mslr-web10k", Self::Mslr),
        ("yahoo", Self::Yahoo),
        ("istella-s", Self::IstellaS),
        ("intent-change", Self::IntentChange),
        ("cranfield", Self::Cranfield),
        ("nfcorpus", Self::NfCorpus),
        ("synthetic-mslr", Self::SyntheticMslr),
        ("synthetic-intents", Self::SyntheticIntents),
    ];

    /// By the name that files use.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, collection)| collection)
    }

    /// The name of the paper's collection.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mq2007 | Self::Mq2007Validation => "MQ2007",
            Self::Mq2008 => "MQ2008",
            Self::Mslr => "MSLR-WEB10K",
            Self::Yahoo => "Yahoo set 1",
            Self::IstellaS => "Istella-S",
            Self::IntentChange => "intent-change",
            Self::Cranfield => "Cranfield",
            Self::NfCorpus => "NFCorpus",
            Self::SyntheticMslr => "synthetic MSLR",
            Self::SyntheticIntents => "synthetic intents",
        }
    }

    /// Names that its folder may have.
    const fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Mq2007 | Self::Mq2007Validation => &["MQ2007", "mq2007"],
            Self::Mq2008 => &["MQ2008", "mq2008"],
            Self::Mslr => &["MSLR-WEB10K", "MSLR10K", "MSLR-10K", "mslr-web10k", "mslr10k", "MSLR-WEB10k"],
            Self::Yahoo => &["Yahoo", "yahoo", "YAHOO", "Yahoo-set1", "set1", "ltrc_yahoo", "Webscope_C14_Set1"],
            Self::IstellaS => &["Istella-S", "istella-s", "istella-s-letor"],
            Self::IntentChange => &["intent-change", "intent_change", "ClueWeb09_intent_change"],
            Self::Cranfield => &["cranfield"],
            Self::NfCorpus => &["nfcorpus"],
            Self::SyntheticMslr | Self::SyntheticIntents => &[],
        }
    }

    const fn n_features(self) -> usize {
        match self {
            Self::Mq2007 | Self::Mq2007Validation | Self::Mq2008 => 46,
            Self::Mslr => 136,
            Self::Yahoo => 700,
            Self::IstellaS => 220,
            Self::IntentChange => 105,
            Self::Cranfield | Self::NfCorpus | Self::SyntheticMslr | Self::SyntheticIntents => 0,
        }
    }

    /// Generated data of the same shape, under a name that says so.
    fn synthetic(self) -> ResolvedCollection {
        let (shape, queries) = match self {
            Self::Mq2007 => ("mq2007", 1000),
            // A fifth of 1,692 and 784 queries, and three fifths of 784.
            Self::Mq2007Validation => ("mq2007", 339),
            Self::Mq2008 => ("mq2007", 470),
            Self::Mslr => ("mslr", 2000),
            Self::Yahoo => ("yahoo", 2000),
            Self::IstellaS => ("istella", 2000),
            Self::IntentChange => ("mq2007", 200),
            Self::Cranfield | Self::NfCorpus => return self.text(self.folders()[0], false),
            Self::SyntheticMslr => ("mslr", 600),
            Self::SyntheticIntents => ("mq2007", 1000),
        };
        let more = match self {
            Self::IntentChange => ", intents = 4, conflict = \"strong\"",
            Self::SyntheticIntents => ", intents = 4, conflict = \"mild\"",
            Self::SyntheticMslr => ", validation_queries = 200, test_queries = 200, normalise = \"query\"",
            _ => "",
        };
        let name = format!("synthetic {}", self.name().trim_start_matches("synthetic "));
        ResolvedCollection {
            section: format!("{{ kind = \"synthetic\", shape = \"{shape}\", queries = {queries}, seed = 1{more} }}"),
            name,
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
        !matches!(self, Self::Cranfield | Self::NfCorpus) || self.find().is_real
    }

    /// The best data at hand: the paper's, a sample of it, or generated data of its shape. Texts that are not here are
    /// looked for again, and missed, when they are loaded.
    pub fn find(self) -> ResolvedCollection {
        let real = self.folders().iter().map(|&folder| (folder, self.name(), true));
        let sample =
            matches!(self, Self::Mq2007 | Self::Mq2007Validation).then_some((MQ2007_SAMPLE.0, MQ2007_SAMPLE.1, false));
        let at_hand = |(folder, name, is_the_papers): (&str, &str, bool)| {
            let found = data::resolve_path(Path::new(folder)).ok()?;
            let section = match self {
                Self::IntentChange => self.intents(folder, &found)?,
                Self::Cranfield | Self::NfCorpus => return Some(self.text(folder, true)),
                _ => self.section(folder, &Source::open(&found).ok()?)?,
            };
            Some(ResolvedCollection { section, name: self.title(name), is_the_papers, is_real: true })
        };
        real.chain(sample).find_map(at_hand).unwrap_or_else(|| self.synthetic())
    }

    fn title(self, name: &str) -> String {
        if self == Self::Mq2007Validation { format!("{name}, fold 1, validation queries") } else { name.to_owned() }
    }

    /// `[data]` for judgements by intent; none if the folder has no such judgements.
    fn intents(self, folder: &str, found: &Path) -> Option<String> {
        let (path, width) = (quoted(Path::new(folder)), self.n_features());
        let section = format!("{{ kind = \"intents\", path = {path}, n_features = {width}, normalise = \"query\" }}");
        found.join("intents").is_dir().then_some(section)
    }

    /// `[data]` for a collection in a folder; none if it lacks what is needed.
    fn section(self, folder: &str, source: &Source) -> Option<String> {
        let width = self.n_features();
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
    ///
    /// # Errors
    /// If data is there but cannot be read.
    pub fn load(&self) -> anyhow::Result<Vec<(usize, Fold)>> {
        let section: toml::Table = toml::from_str(&self.setting().replacen("data=", "data = ", 1))?;
        let data: Data = section["data"].clone().try_into()?;
        data::load(&data)
    }

    /// The override that puts this data into an experiment.
    pub fn setting(&self) -> String {
        format!("data={}", self.section)
    }

    /// The section `[data]`.
    ///
    /// # Errors
    /// If a path cannot be written as TOML.
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

    /// Whether it was made up.
    pub fn is_generated(&self) -> bool {
        !self.is_real
    }

    /// Why numbers on it cannot be compared with the paper's; none if they can.
    pub fn why_not(&self, wanted: Collection) -> Option<String> {
        (!self.is_the_papers).then(|| format!("{} instead of {}", self.name, wanted.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Data;

    fn data_of(stand_in: &ResolvedCollection) -> Data {
        let value: toml::Table = toml::from_str(&format!("data = {}", stand_in.section)).expect("TOML");
        value["data"].clone().try_into().expect("a section [data]")
    }

    #[test]
    fn generated_data_stands_in_for_everything_and_is_never_the_papers() {
        let all =
            [Collection::Mq2007, Collection::Mq2007Validation, Collection::Mq2008, Collection::Mslr, Collection::Yahoo];
        for wanted in all.into_iter().chain([Collection::IstellaS, Collection::IntentChange]) {
            let stand_in = wanted.synthetic();
            assert!(data_of(&stand_in).generated().is_some(), "{wanted:?}");
            assert!(stand_in.why_not(wanted).is_some_and(|why| why.contains(wanted.name())), "{wanted:?}");
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
