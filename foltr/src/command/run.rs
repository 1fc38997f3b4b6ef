//! `foltr run`: one experiment file, with everything that it sweeps.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{End, STOP, catch_interrupts, results};
use crate::progress::{progress_bar, show, step_bar};
use crate::{catalogue, judged_study};
use foltr_experiment::execute::{Execution, Interrupted, Shard, run_jobs};
use foltr_experiment::mimic::Step;
use foltr_experiment::spec::{Problem, SpecError};
use foltr_experiment::store::RunStore;
use foltr_experiment::study::{Asked, Study, StudyFile};
use foltr_report::assemble::{GridOutcome, StudyRun};
use foltr_report::expect::Criteria;

pub struct RunOptions<'a> {
    pub spec: &'a Path,
    pub overrides: &'a [String],
    pub out: &'a Path,
    pub shard: Option<Shard>,
    pub parquet: bool,
    pub is_quick: bool,
    pub retrain_forgotten: bool,
    pub steps: &'a [Step],
}

impl<'a> RunOptions<'a> {
    pub fn new(spec: &'a Path, overrides: &'a [String], out: &'a Path) -> Self {
        let steps = &Step::ALL;
        Self { spec, overrides, out, shard: None, parquet: false, is_quick: false, retrain_forgotten: false, steps }
    }

    fn read(&self, text: &str) -> Result<(Study, Criteria), Vec<Problem>> {
        let asked = Asked { entry: None, is_quick: self.is_quick, overrides: self.overrides };
        catalogue::checked(&StudyFile::from_toml(text)?, &asked)
    }
}

/// Runs an experiment file into a result folder; continues what an earlier start has left.
pub fn run(options: &RunOptions<'_>) -> Result<End> {
    run_study(&SpecError::reading(options.spec, |text| options.read(text))?, options)
}

pub fn run_text(text: &str, options: &RunOptions<'_>) -> Result<End> {
    let wrong = |problems| SpecError::Wrong { path: options.spec.into(), problems };
    run_study(&options.read(text).map_err(wrong)?, options)
}

fn run_study((study, criteria): &(Study, Criteria), options: &RunOptions<'_>) -> Result<End> {
    if options.parquet {
        foltr_report::parquet::ensure_available()?;
    }
    ensure!(
        study.choose.is_none() || options.shard.is_none(),
        "--shard is not supported with [choose]: requires all runs of the choice"
    );
    let store = RunStore::open(options.out)?;
    catch_interrupts()?;
    let is_mimic = study.grid.settings.iter().all(|setting| setting.experiment.mimic().is_some());
    let bar = if is_mimic { step_bar() } else { progress_bar() };
    let progress = |event| show(&bar, event);
    let how = Execution {
        retrain_forgotten: options.retrain_forgotten,
        steps: options.steps,
        ..Execution::new(&progress, &STOP)
    };
    let Some(grid) = judged_study::chosen_grid(study, &store, None, &how)? else {
        eprintln!("{Interrupted}");
        return Ok(End::Interrupted);
    };
    let prepared = StudyRun::prepare(grid, &store, None, options.shard)?;
    prepared.data.stores().for_each(|data| println!("data: {}", data.describe()));
    let executed = run_jobs(&prepared.plan, &prepared.data, &store, &how)?;
    let outcome = prepared.finish(executed, options.parquet)?;
    print_outcome(&outcome, &store, options)?;
    if outcome.interrupted {
        let (n_finished, n_requested) = (outcome.results.runs.len(), outcome.n_requested);
        eprintln!("interrupted: {n_finished} of {n_requested} runs are finished; rerun the same command to resume");
        return Ok(End::Interrupted);
    }
    if criteria.is_empty() || options.shard.is_some() {
        return Ok(End::Done);
    }
    let judged = judged_study::judge(study, criteria, &outcome.results, options.out)?;
    judged.print(options.out);
    Ok(if judged.is_failure() { End::Failed } else { End::Done })
}

fn print_outcome(outcome: &GridOutcome, store: &RunStore, options: &RunOptions<'_>) -> Result<()> {
    outcome.notes.iter().for_each(|note| eprintln!("note: {note}"));
    if outcome.n_finished_before > 0 {
        println!("{} of {} runs had been finished before", outcome.n_finished_before, outcome.n_requested);
    }
    let settings = &outcome.results.grid.settings;
    let mimic = outcome.jobs.iter().find_map(|job| Some((job, settings[job.setting].experiment.mimic()?)));
    if let Some((job, experiment)) = mimic.filter(|_| !outcome.interrupted) {
        let finished = store.run_folder(&job.key);
        let folder = if finished.exists() { finished } else { finished.with_extension("partial") };
        let names: Vec<&str> = experiment.aggregation.iter().map(|how| how.name.as_str()).collect();
        super::mimic::print_files(&folder, &names, options.steps)?;
    }
    if options.steps.contains(&Step::Evaluate) {
        results::print(&outcome.results, options.out)?;
    }
    outcome.privacy_warnings.iter().for_each(|warning| eprintln!("caution: {warning}"));
    Ok(())
}
