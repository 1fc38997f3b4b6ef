//! From `[data]` to folds in memory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use foltr_simulation::cache::Cache;
use foltr_simulation::datasets::intent_folder::load_intent_folder;
use foltr_simulation::datasets::user_log::UserLog;
use foltr_simulation::datasets::{Fold, LoadOptions, Source, Synthetic};
use foltr_simulation::normalise::normalise_per_query;

use crate::spec::{Conflict, Data, Normalisation};

pub const DATA_VARIABLE: &str = "FOLTR_DATA";

/// All folds that an experiment asks for, with their numbers from 1; parsed files come from the user's cache.
pub fn load(data: &Data) -> Result<Vec<(usize, Fold)>> {
    // Tests of this crate leave nothing there.
    load_with(data, &if cfg!(test) { Cache::Off } else { Cache::from_environment() })
}

pub fn load_with(data: &Data, cache: &Cache) -> Result<Vec<(usize, Fold)>> {
    let is_scaled = data.normalise() == Normalisation::Query;
    let mut options = LoadOptions::new(is_scaled, cache);
    options.read.n_features = data.n_features();
    options.read.max_label = data.max_label().unwrap_or(options.read.max_label);
    match data {
        Data::Synthetic { shape, queries, validation_queries, test_queries, seed, intents, conflict, .. } => {
            let mut synthetic = Synthetic { n_train: *queries, ..Synthetic::new(*shape) };
            synthetic.n_validation = validation_queries.unwrap_or(synthetic.n_validation);
            synthetic.n_test = test_queries.unwrap_or(synthetic.n_test);
            synthetic.n_intents = intents.unwrap_or(1);
            synthetic.conflict = conflict.map_or(synthetic.conflict, Conflict::share);
            let fold = synthetic.generate(*seed)?;
            Ok(vec![(1, if is_scaled { normalised(&fold) } else { fold })])
        }
        Data::Folder { path, folds, .. } => {
            let source = Source::open(&resolve_path(path)?)?;
            let all = || (1..=source.n_folds()).collect();
            let numbers: Vec<usize> = folds.clone().unwrap_or_else(all);
            let load = |number: usize| Ok((number, source.load_fold(number - 1, &options)?));
            numbers.into_iter().map(load).collect()
        }
        Data::Files { train, validation, test, .. } => {
            let resolve_all =
                |paths: &[PathBuf]| paths.iter().map(|path| resolve_path(path)).collect::<Result<Vec<_>>>();
            let source = Source::from_files(&resolve_all(train)?, &resolve_all(validation)?, &resolve_all(test)?)?;
            Ok(vec![(1, source.load_fold(0, &options)?)])
        }
        Data::Intents { path, .. } => Ok(vec![(1, load_intent_folder(&resolve_path(path)?, &options)?)]),
        Data::UserLog(log) => {
            let (letor, metadata) = (resolve_path(&log.letor)?, resolve_path(&log.metadata)?);
            Ok(vec![(1, UserLog { letor, metadata, ..log.clone() }.load(cache)?)])
        }
    }
}

fn normalised(fold: &Fold) -> Fold {
    Fold {
        train: normalise_per_query(&fold.train),
        validation: fold.validation.as_ref().map(normalise_per_query),
        test: normalise_per_query(&fold.test),
        ..fold.clone()
    }
}

/// A path as it is, or below the folder with data sets.
pub fn resolve_path(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        return Ok(path.into());
    }
    let elsewhere = std::env::var_os(DATA_VARIABLE).map(|folder| PathBuf::from(folder).join(path));
    match elsewhere {
        Some(elsewhere) if elsewhere.exists() => Ok(elsewhere),
        Some(elsewhere) => None.with_context(|| {
            format!("{}: no such file or folder, neither here nor as {}", path.display(), elsewhere.display())
        }),
        None => None.with_context(|| {
            format!("{}: no such file or folder; set {DATA_VARIABLE} to the folder with your data sets", path.display())
        }),
    }
}
