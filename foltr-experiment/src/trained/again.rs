//! The rankers of finished runs evaluated again, each on its own fold and by the conventions of its own run.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use foltr_simulation::datasets::Fold;

use super::{FinishedRun, TrainedRanker, finished_runs, of_training};
use crate::data;
use crate::model::Model;
use crate::run::{SplitValues, evaluate_again};
use crate::spec::{Data, Experiment, Metric, Split, WithoutRelevant};

/// What is asked for in place of a run's own conventions; empty lists leave those as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Only rankers of these folds, from 1.
    pub folds: Vec<usize>,
    pub splits: Vec<Split>,
    pub metrics: Vec<Metric>,
    pub queries_without_relevant: Option<WithoutRelevant>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    pub ranker: TrainedRanker,
    pub queries_without_relevant: WithoutRelevant,
    pub splits: Vec<SplitValues>,
}

/// Evaluates every ranker of a result folder or of a run. Without overrides the values are those of the final rows.
pub fn evaluate_all(path: &Path, overrides: &Overrides) -> Result<Vec<Evaluated>> {
    let wanted = |run: &FinishedRun| overrides.folds.is_empty() || overrides.folds.contains(&run.record.fold);
    let runs: Vec<FinishedRun> = finished_runs(path)?.into_iter().filter(wanted).collect();
    ensure!(!runs.is_empty(), "{}: no run is of fold {:?}", path.display(), overrides.folds);
    let is_mimic = runs.iter().any(|run| run.record.settings.get("learner").is_none());
    ensure!(
        !is_mimic,
        "{}: networks of mimic learning; `foltr mimic evaluate` measures them, and `foltr models` lists their values",
        path.display()
    );
    let mut loaded = Loaded::default();
    let mut all = Vec::new();
    for run in &runs {
        if let Some(evaluated) = evaluate_run(run, overrides, &mut loaded)? {
            all.push(evaluated);
        }
    }
    ensure!(
        !all.is_empty(),
        "{}: no run has a ranker of all clients; expected a file model.safetensors in one of them",
        path.display()
    );
    Ok(all)
}

fn evaluate_run(run: &FinishedRun, overrides: &Overrides, loaded: &mut Loaded) -> Result<Option<Evaluated>> {
    if !run.record.files.contains_key(crate::model::FILE_NAME) {
        return Ok(None);
    }
    let ranker = of_training(run, &run.record.rows(&run.folder)?.to_vec()?)?;
    let mut experiment = run.experiment()?;
    let fold = loaded.fold(&experiment.data, run)?;
    overrides.apply(&mut experiment);
    let model = Model::read(&ranker.path)?;
    let splits = evaluate_again(&experiment, fold, run.record.seed, &model)
        .with_context(|| format!("{} cannot be evaluated", ranker.path.display()))?;
    let queries_without_relevant = experiment.metrics.queries_without_relevant;
    Ok(Some(Evaluated { ranker, queries_without_relevant, splits }))
}

impl Overrides {
    fn apply(&self, experiment: &mut Experiment) {
        let measures = &mut experiment.metrics;
        if !self.splits.is_empty() {
            measures.evaluate_on.clone_from(&self.splits);
        }
        if !self.metrics.is_empty() {
            measures.offline.clone_from(&self.metrics);
        }
        if let Some(convention) = self.queries_without_relevant {
            measures.queries_without_relevant = convention;
        }
    }
}

/// Every fold once: `data` of a single run names its fold.
#[derive(Default)]
struct Loaded {
    folds: Vec<(Data, Fold)>,
}

impl Loaded {
    fn fold(&mut self, data: &Data, run: &FinishedRun) -> Result<&Fold> {
        let known = self.folds.iter().position(|(known, _)| known == data);
        let position = match known {
            Some(position) => position,
            None => {
                let of_run = data::load(data)?.into_iter().find(|(number, _)| *number == run.record.fold);
                let (_, fold) = of_run.with_context(|| format!("{} has no fold {}", data.name(), run.record.fold))?;
                self.folds.push((data.clone(), fold));
                self.folds.len() - 1
            }
        };
        let fold = &self.folds[position].1;
        let (hash, before) = (format!("{:016x}", fold.content_hash()), &run.record.data_hash);
        ensure!(
            hash == *before,
            "{}: fold {} of {} is not the data of this run any more (hash {hash} instead of {before}); \
             run the experiment again",
            run.folder.display(),
            run.record.fold,
            data.name()
        );
        Ok(fold)
    }
}
