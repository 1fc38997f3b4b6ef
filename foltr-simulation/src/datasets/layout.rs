//! Finds out by names how a folder's files make training, validation and test data.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{DataError, FoldFiles};

/// How the files of a collection are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `Fold1/{train,vali,test}.txt` and so on: MQ2007, MQ2008, MSLR-WEB10K, MSLR-WEB30K.
    Folds,
    /// `S1.txt` to `S5.txt`, from which five folds are made: fold `i` trains on parts `i`, `i+1`, `i+2`, validates on
    /// `i+3` and tests on `i+4`, counting round.
    Parts,
    /// `set1.{train,valid,test}.txt`.
    Yahoo,
    /// `train.txt`, `vali.txt` (optional) and `test.txt`: Istella-S and others.
    Split,
    /// Other names with the words `train`, `vali` or `dev` (optional), and `test`.
    Named,
    /// Files given one by one.
    Files,
}

impl Layout {
    /// The width that a layout's names promise. Other widths are read off the data.
    pub(super) fn n_features(self) -> Option<usize> {
        // Set 1 uses 519 of the challenge's 700 features; the numbering is that of the challenge.
        (self == Self::Yahoo).then_some(700)
    }
}

/// Parts that LETOR collections come in.
const N_PARTS: usize = 5;

const LOOKED_FOR: &str = "Fold1/train.txt, S1.txt to S5.txt, set1.train.txt with set1.test.txt, train.txt with test.txt, \
                          or other files with the words `train` and `test` in their names (.txt, .letor, .svm, .dat; also .gz, .zst)";

/// Names of files in a folder.
struct Listing<'a> {
    folder: &'a Path,
    files: Vec<String>,
    folders: Vec<String>,
}

/// The layout of a folder and the files of its folds.
pub(super) fn detect(folder: &Path) -> Result<(Layout, Vec<FoldFiles>), DataError> {
    let listing = Listing::read(folder)?;
    let one = |layout, files: Option<FoldFiles>| files.map(|files| (layout, vec![files]));
    let by_fixed_names = match listing.folds()? {
        Some(folds) => Some((Layout::Folds, folds)),
        None => listing
            .parts()
            .map(|folds| (Layout::Parts, folds))
            .or_else(|| one(Layout::Yahoo, listing.split("set1.")))
            .or_else(|| one(Layout::Split, listing.split(""))),
    };
    let found = match by_fixed_names {
        Some(found) => Some(found),
        None => one(Layout::Named, listing.named()?),
    };
    found.ok_or_else(|| listing.not_found(LOOKED_FOR))
}

impl<'a> Listing<'a> {
    fn read(folder: &'a Path) -> Result<Self, DataError> {
        let failed = |source: io::Error| DataError::of(folder, format!("cannot be listed: {source}"));
        let mut listing = Self { folder, files: Vec::new(), folders: Vec::new() };
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            // Names that are not UTF-8 are none of ours.
            if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                let list = if path.is_dir() { &mut listing.folders } else { &mut listing.files };
                list.push(name.to_owned());
            }
        }
        listing.files.sort_unstable();
        listing.folders.sort_unstable();
        Ok(listing)
    }

    fn not_found(&self, looked_for: &str) -> DataError {
        const MAX_LISTED: usize = 20;
        let names: Vec<&str> = self.folders.iter().chain(&self.files).map(String::as_str).collect();
        let listed = names[..names.len().min(MAX_LISTED)].join(", ");
        let found = match names.len() {
            0 => "an empty folder".to_owned(),
            n if n > MAX_LISTED => format!("{listed} and {} more", n - MAX_LISTED),
            _ => listed,
        };
        DataError::of(self.folder, format!("no data found; looked for {looked_for}; found {found}"))
    }

    /// The first of the names that is there, plain or compressed.
    fn file(&self, names: &[String]) -> Option<PathBuf> {
        let endings = ["", ".gz", ".zst"];
        let candidates = names.iter().flat_map(|name| endings.map(|ending| format!("{name}{ending}")));
        candidates.into_iter().find(|name| self.files.contains(name)).map(|name| self.folder.join(name))
    }

    /// `train`, `vali` and `test` files with a common beginning of their names.
    fn split(&self, prefix: &str) -> Option<FoldFiles> {
        let find = |names: &[&str]| self.file(&names.iter().map(|n| format!("{prefix}{n}.txt")).collect::<Vec<_>>());
        Some(FoldFiles {
            train: vec![find(&["train"])?],
            validation: find(&["vali", "valid", "validation"]).into_iter().collect(),
            test: vec![find(&["test"])?],
        })
    }

    /// `Fold1`, `Fold2`, ...: all that are there must be complete and without a gap.
    fn folds(&self) -> Result<Option<Vec<FoldFiles>>, DataError> {
        let number = |name: &String| name.to_ascii_lowercase().strip_prefix("fold")?.parse::<usize>().ok();
        let mut folds: Vec<_> = self.folders.iter().filter_map(|name| Some((number(name)?, name))).collect();
        folds.sort_unstable();
        if folds.is_empty() {
            return Ok(None);
        }
        if folds.iter().enumerate().any(|(i, &(number, _))| number != i + 1) {
            return Err(self.not_found("Fold1, Fold2 and so on without a gap"));
        }
        let read = |(_, name): (usize, &String)| {
            let folder = self.folder.join(name);
            let listing = Listing::read(&folder)?;
            listing.split("").ok_or_else(|| listing.not_found("train.txt, vali.txt (optional) and test.txt"))
        };
        folds.into_iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// Five folds from the parts `S1` to `S5`.
    fn parts(&self) -> Option<Vec<FoldFiles>> {
        let parts: Vec<PathBuf> =
            (1..=N_PARTS).map(|number| self.file(&[format!("S{number}.txt")])).collect::<Option<_>>()?;
        let part = |i: usize| parts[i % N_PARTS].clone();
        let fold = |i| FoldFiles {
            train: vec![part(i), part(i + 1), part(i + 2)],
            validation: vec![part(i + 3)],
            test: vec![part(i + 4)],
        };
        Some((0..N_PARTS).map(fold).collect())
    }

    /// Files that say in their names what they are for.
    fn named(&self) -> Result<Option<FoldFiles>, DataError> {
        let mut files = FoldFiles::default();
        for name in &self.files {
            let roles = roles(name);
            let Some(&first) = roles.first() else { continue };
            if let Some(&second) = roles.get(1) {
                let (first, second) = (ROLES[first].0, ROLES[second].0);
                let advice = "rename the file, or give the files one by one";
                let message = format!("the name says both {first} and {second}; {advice}");
                return Err(DataError::of(&self.folder.join(name), message));
            }
            [&mut files.train, &mut files.validation, &mut files.test][first].push(self.folder.join(name));
        }
        Ok((!files.train.is_empty() && !files.test.is_empty()).then_some(files))
    }
}

/// What a file may be for, and the words that say so.
const ROLES: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["vali", "valid", "validation", "dev"]),
    ("test", &["test", "testing"]),
];

/// The roles that the words of a data file's name give it; a number behind a word, as in `train2`, does not count.
fn roles(name: &str) -> Vec<usize> {
    let plain = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let Some(stem) = [".txt", ".letor", ".svm", ".dat"].iter().find_map(|ending| plain.strip_suffix(ending)) else {
        return Vec::new();
    };
    let stem = stem.to_ascii_lowercase();
    let words: Vec<&str> = stem
        .split(|letter: char| !letter.is_alphanumeric())
        .map(|word| word.trim_end_matches(|letter: char| letter.is_ascii_digit()))
        .collect();
    (0..ROLES.len()).filter(|&role| ROLES[role].1.iter().any(|word| words.contains(word))).collect()
}
