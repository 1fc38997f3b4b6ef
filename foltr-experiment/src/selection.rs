//! Which labelled queries a command is about: a LETOR file, or some folds and splits of a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use foltr_simulation::cache::{Cache, load_letor};
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::Source;
use foltr_simulation::letor::{ReadOptions, USUAL_MAX_LABEL, document_names};

use crate::data::resolve_path;
use crate::model::Model;
use crate::spec::{Normalisation, Split};
use crate::warnings::{cut_file, lacking_features};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Fold numbers from 1; all when empty.
    pub folds: Vec<usize>,
    /// The test queries when empty.
    pub splits: Vec<Split>,
    /// The largest label that files may have; the usual one when absent.
    pub max_label: Option<u8>,
    /// Whether the names of documents are read as well.
    pub with_names: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// None for a file.
    pub fold_and_split: Option<(usize, Split)>,
    pub data: Dataset,
    /// What the files call the documents: none if not asked for, or unless each has a name of its own.
    pub names: Option<Vec<Box<str>>>,
    files: Vec<PathBuf>,
}

impl Part {
    pub fn new(data: Dataset) -> Self {
        Self { fold_and_split: None, data, names: None, files: Vec::new() }
    }
}

/// The queries at `path`, which is looked up here and then below the folder with data sets.
pub fn load(path: &Path, selection: &Selection, normalise: Normalisation) -> Result<Vec<Part>> {
    let path = &resolve_path(path)?;
    let load_files = |files: &[PathBuf]| -> Result<Part> {
        let max_label = selection.max_label.unwrap_or(USUAL_MAX_LABEL);
        let (options, cache) = (ReadOptions { max_label, ..ReadOptions::default() }, Cache::from_environment());
        let load = |file: &PathBuf| load_letor(file, &options, normalise == Normalisation::Query, &cache);
        let parts = files.iter().map(|file| Ok(load(file)?.data)).collect::<Result<Vec<_>>>()?;
        let names = if selection.with_names { names_of(files, &parts)? } else { None };
        let n_features = parts.iter().map(Dataset::n_features).max().unwrap_or(0);
        let wide: Vec<Dataset> = parts.iter().map(|part| part.widen(n_features)).collect();
        // A single file stays mapped.
        let data = if let [only] = wide.as_slice() { only.clone() } else { Dataset::concat(&wide)? };
        Ok(Part { names, files: files.to_vec(), ..Part::new(data) })
    };
    if !path.is_dir() {
        let asked = !selection.folds.is_empty() || !selection.splits.is_empty();
        ensure!(!asked, "{}: a single file has no folds or splits; leave --fold and --split out", path.display());
        return Ok(vec![load_files(std::slice::from_ref(path))?]);
    }
    let source = Source::open(path)?;
    let mut parts = Vec::new();
    for (fold, split) in folds_and_splits(selection, source.n_folds()) {
        let files = source.folds().get(fold - 1).with_context(|| {
            format!("{}: fold {fold} was asked for, but there are only {}", path.display(), source.n_folds())
        })?;
        let files = match split {
            Split::Train => &files.train,
            Split::Validation => &files.validation,
            Split::Test => &files.test,
        };
        let (shown, name) = (path.display(), split.name());
        ensure!(!files.is_empty(), "{shown}, fold {fold}, {name} has no queries; choose another --split");
        parts.push(Part { fold_and_split: Some((fold, split)), ..load_files(files)? });
    }
    Ok(parts)
}

fn names_of(files: &[PathBuf], parts: &[Dataset]) -> Result<Option<Vec<Box<str>>>> {
    let of_file = |(file, part): (&PathBuf, &Dataset)| {
        document_names(file, part).with_context(|| format!("{} cannot be read", file.display()))
    };
    let names = files.iter().zip(parts).map(of_file).collect::<Result<Option<Vec<_>>>>()?;
    Ok(names.map(|names| names.concat()))
}

/// The queries at `path` as `model` wants them, scaled as in its training and with as many features; and warnings where
/// the model may be meant for other data.
pub fn load_for(model: &Model, path: &Path, selection: &Selection) -> Result<(Vec<Part>, Vec<String>)> {
    let known = model.shape.n_features();
    let mut warnings = Vec::new();
    let mut fit = |part: Part| {
        let n_features = part.data.n_features();
        let of = part.fold_and_split.map(|(fold, split)| format!(", fold {fold}, {}", split.name()));
        let place = format!("{}{}", path.display(), of.unwrap_or_default());
        ensure!(
            n_features <= known,
            "{place} has {n_features} features, but the model knows {known}: it was trained on other data"
        );
        warnings.extend(part.files.iter().filter_map(|file| cut_file(file)));
        warnings.extend(lacking_features(model, &part.data).map(|words| format!("{place} {words}")));
        Ok(Part { data: part.data.widen(known), ..part })
    };
    let parts = load(path, selection, model.normalise)?.into_iter().map(&mut fit).collect::<Result<_>>()?;
    Ok((parts, warnings))
}

fn folds_and_splits(selection: &Selection, n_folds: usize) -> BTreeSet<(usize, Split)> {
    let folds = if selection.folds.is_empty() { (1..=n_folds).collect() } else { selection.folds.clone() };
    let splits = if selection.splits.is_empty() { &[Split::Test][..] } else { &selection.splits };
    folds.into_iter().flat_map(|fold| splits.iter().map(move |&split| (fold, split))).collect()
}
