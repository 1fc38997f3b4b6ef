//! Which labelled queries a command is about: a LETOR file, or some folds and splits of a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use foltr_simulation::cache::{Cache, load_letor};
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{FoldFiles, Source};
use foltr_simulation::letor::ReadOptions;

use crate::data::resolve_path;
use crate::model::Model;
use crate::spec::{Normalisation, Split};

/// What of a folder is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Fold numbers from 1; all when empty.
    pub folds: Vec<usize>,
    /// Splits; the test queries when empty.
    pub splits: Vec<Split>,
}

/// Queries that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Which fold and split of a folder; nothing for a file.
    pub place: Option<(usize, Split)>,
    /// The queries.
    pub data: Dataset,
}

impl Part {
    /// Words for messages: `fold 1, test`, or the path of a file.
    fn told(place: Option<(usize, Split)>, path: &Path) -> String {
        match place {
            Some((fold, split)) => format!("{}, fold {fold}, {}", path.display(), split.name()),
            None => path.display().to_string(),
        }
    }
}

/// The queries at `path`, which is looked up here and then below the folder with data sets.
///
/// # Errors
/// If they are not there or cannot be read.
pub fn load(path: &Path, selection: &Selection, normalise: Normalisation) -> Result<Vec<Part>> {
    let path = &resolve_path(path)?;
    let load_files = |files: &[PathBuf]| -> Result<Dataset> {
        let (options, cache) = (ReadOptions::default(), Cache::from_environment());
        let load = |file: &PathBuf| load_letor(file, &options, normalise == Normalisation::Query, &cache);
        let parts = files.iter().map(|file| Ok(load(file)?.data)).collect::<Result<Vec<_>>>()?;
        let n_features = parts.iter().map(Dataset::n_features).max().unwrap_or(0);
        let wide: Vec<Dataset> = parts.iter().map(|part| part.widen(n_features)).collect();
        // A single file stays mapped.
        Ok(if let [only] = wide.as_slice() { only.clone() } else { Dataset::concat(&wide)? })
    };
    if !path.is_dir() {
        let asked = !selection.folds.is_empty() || !selection.splits.is_empty();
        ensure!(!asked, "{}: a single file has no folds or splits; leave --fold and --split out", path.display());
        return Ok(vec![Part { place: None, data: load_files(std::slice::from_ref(path))? }]);
    }
    let source = Source::open(path)?;
    let mut parts = Vec::new();
    for (fold, split) in places(selection, source.n_folds()) {
        let files = source.folds().get(fold - 1).with_context(|| {
            format!("{}: fold {fold} was asked for, but there are only {}", path.display(), source.n_folds())
        })?;
        let files = files_of(files, split);
        if files.is_empty() {
            bail!("{} has no queries; choose another --split", Part::told(Some((fold, split)), path));
        }
        parts.push(Part { place: Some((fold, split)), data: load_files(files)? });
    }
    Ok(parts)
}

/// The queries at `path` as `model` wants them: scaled as in its training, and with as many features.
///
/// # Errors
/// If they cannot be loaded, or have features that the model does not know.
pub fn load_for(model: &Model, path: &Path, selection: &Selection) -> Result<Vec<Part>> {
    let known = model.shape.n_features();
    let fit = |part: Part| {
        let n_features = part.data.n_features();
        ensure!(
            n_features <= known,
            "{} has {n_features} features, but the model knows {known}: it was trained on other data",
            Part::told(part.place, path)
        );
        Ok(Part { data: part.data.widen(known), ..part })
    };
    load(path, selection, model.normalise)?.into_iter().map(fit).collect()
}

/// Folds and splits in order, each once.
fn places(selection: &Selection, n_folds: usize) -> Vec<(usize, Split)> {
    let folds = if selection.folds.is_empty() { (1..=n_folds).collect() } else { selection.folds.clone() };
    let splits = if selection.splits.is_empty() { &[Split::Test][..] } else { &selection.splits };
    let mut places: Vec<_> = folds.iter().flat_map(|&fold| splits.iter().map(move |&split| (fold, split))).collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn files_of(files: &FoldFiles, split: Split) -> &[PathBuf] {
    match split {
        Split::Train => &files.train,
        Split::Validation => &files.validation,
        Split::Test => &files.test,
    }
}
