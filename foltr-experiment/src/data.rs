//! From `[data]` to folds in memory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use foltr_simulation::datasets::intent_folder::load_intent_folder;
use foltr_simulation::datasets::user_log::UserLog;
use foltr_simulation::datasets::{Fold, LoadOptions, Source, Synthetic};
use foltr_simulation::normalise::normalise_per_query;

use crate::spec::{Conflict, Data, Normalise};

/// Environment variable that names the folder with data sets.
pub const DATA_VARIABLE: &str = "FOLTR_DATA";

/// All folds that an experiment asks for, with their numbers from 1.
///
/// # Errors
/// If data cannot be found or read.
pub fn load(data: &Data) -> Result<Vec<(usize, Fold)>> {
    let options = |n_features: Option<usize>| {
        let mut options = LoadOptions::new(data.normalise() == Normalise::Query);
        options.read.n_features = n_features;
        options
    };
    match data {
        Data::Synthetic { shape, queries, validation_queries, test_queries, seed, intents, conflict, normalise } => {
            let mut synthetic = Synthetic { n_train: *queries, ..Synthetic::new(*shape) };
            synthetic.n_validation = validation_queries.unwrap_or(synthetic.n_validation);
            synthetic.n_test = test_queries.unwrap_or(synthetic.n_test);
            synthetic.n_intents = intents.unwrap_or(1);
            synthetic.conflict = conflict.map_or(synthetic.conflict, Conflict::share);
            let fold = synthetic.generate(*seed)?;
            Ok(vec![(1, if *normalise == Normalise::Query { normalised(&fold) } else { fold })])
        }
        Data::Folder { path, folds, n_features, .. } => {
            let source = Source::open(&found(path)?)?;
            let all = || (1..=source.n_folds()).collect();
            let numbers: Vec<usize> = folds.clone().unwrap_or_else(all);
            let load = |number: usize| Ok((number, source.load_fold(number - 1, &options(*n_features))?));
            numbers.into_iter().map(load).collect()
        }
        Data::Files { train, validation, test, n_features, .. } => {
            let all_found = |paths: &[PathBuf]| paths.iter().map(|path| found(path)).collect::<Result<Vec<_>>>();
            let source = Source::from_files(&all_found(train)?, &all_found(validation)?, &all_found(test)?)?;
            Ok(vec![(1, source.load_fold(0, &options(*n_features))?)])
        }
        Data::Intents { path, n_features, .. } => {
            Ok(vec![(1, load_intent_folder(&found(path)?, &options(*n_features))?)])
        }
        Data::UserLog { letor, metadata, min_queries, max_users, test_share, n_features, .. } => {
            let log = UserLog {
                letor: found(letor)?,
                metadata: found(metadata)?,
                min_queries: *min_queries,
                max_users: *max_users,
                test_share: *test_share,
            };
            Ok(vec![(1, log.load(&options(*n_features))?)])
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
///
/// # Errors
/// If it is in neither place.
pub fn found(path: &Path) -> Result<PathBuf> {
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
