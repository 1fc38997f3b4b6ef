//! `foltr run`: one experiment file, with everything that it sweeps.

use std::path::Path;

use anyhow::{Context, Result};

use super::{End, STOP, catch_interrupts, results};
use crate::choice::{self, Stage};
use crate::cli::RunArgs;
use crate::output::{note, say};
use crate::progress::{progress_bar, show, step_bar};
use crate::{catalogue, judged_study};
use foltr_experiment::execute::{Execution, Interrupted, run_jobs};
use foltr_experiment::mimic::Step;
use foltr_experiment::spec::{Problem, SpecError};
use foltr_experiment::store::RunStore;
use foltr_experiment::study::{Asked, Study, StudyFile};
use foltr_report::assemble::{GridOutcome, StudyRun};
use foltr_report::expect::Criteria;

/// Runs an experiment file into a result folder; continues what an earlier start has left.
pub fn run(arguments: &RunArgs, steps: &[Step]) -> Result<End> {
    run_study(&SpecError::reading(&arguments.spec, |text| read(text, arguments))?, arguments, steps)
}

pub fn run_text(text: &str, arguments: &RunArgs) -> Result<End> {
    let wrong = |problems| SpecError::Wrong { path: arguments.spec.clone(), problems };
    run_study(&read(text, arguments).map_err(wrong)?, arguments, &Step::ALL)
}

pub(super) fn read(text: &str, arguments: &RunArgs) -> Result<(Study, Criteria), Vec<Problem>> {
    let asked = Asked { entry: None, is_quick: arguments.quick, overrides: &arguments.overrides };
    catalogue::checked(&StudyFile::from_toml(text)?, &asked)
}

pub(super) fn run_study((study, criteria): &(Study, Criteria), arguments: &RunArgs, steps: &[Step]) -> Result<End> {
    let out = arguments.out.as_deref().context("--out is needed")?;
    if arguments.parquet {
        foltr_report::parquet::ensure_available()?;
    }
    let store = RunStore::open(out)?;
    catch_interrupts()?;
    let is_mimic = study.grid.settings.iter().all(|setting| setting.experiment.mimic().is_some());
    let bar = if is_mimic { step_bar() } else { progress_bar() };
    let progress = |event| show(&bar, event);
    let how = Execution { retrain_forgotten: arguments.retrain_forgotten, steps, ..Execution::new(&progress, &STOP) };
    let choice = match choice::choose(study, &store, None, &how, arguments.shard)? {
        Stage::Interrupted => {
            note(Interrupted);
            return Ok(End::Interrupted);
        }
        Stage::Incomplete => {
            note(choice::INCOMPLETE);
            return Ok(End::Done);
        }
        Stage::Chosen(choice) => choice,
    };
    let prepared = StudyRun::prepare(choice.grid, &store, None, arguments.shard)?;
    prepared.data.stores().for_each(|data| say(format_args!("data: {}", data.describe())));
    let executed = run_jobs(&prepared.plan, &prepared.data, &store, &how)?;
    let outcome = prepared.finish(executed, arguments.parquet)?;
    judged_study::remove_verdicts(out)?;
    if let Some(made) = &choice.made {
        say(made.render());
    }
    print_outcome(&outcome, &store, out, steps)?;
    choice.made.iter().flat_map(|made| &made.warnings).for_each(|warning| note(format_args!("warning: {warning}")));
    if outcome.interrupted {
        let (n_finished, n_requested) = (outcome.results.runs.len(), outcome.n_requested);
        note(format_args!(
            "interrupted: {n_finished} of {n_requested} runs are finished; rerun the same command to resume"
        ));
        return Ok(End::Interrupted);
    }
    if criteria.is_empty() || arguments.shard.is_some() {
        return Ok(End::Done);
    }
    let judged = judged_study::judge(study, criteria, &outcome.results, out)?;
    judged.print(out);
    Ok(if judged.is_failure() { End::Failed } else { End::Done })
}

fn print_outcome(outcome: &GridOutcome, store: &RunStore, out: &Path, steps: &[Step]) -> Result<()> {
    outcome.notes.iter().for_each(|text| note(format_args!("note: {text}")));
    if outcome.n_finished_before > 0 {
        say(format_args!("{} of {} runs had been finished before", outcome.n_finished_before, outcome.n_requested));
    }
    let settings = &outcome.results.grid.settings;
    let mimic = outcome.jobs.iter().find_map(|job| Some((job, settings[job.setting].experiment.mimic()?)));
    if let Some((job, experiment)) = mimic.filter(|_| !outcome.interrupted) {
        let finished = store.run_folder(&job.key);
        let folder = if finished.exists() { finished } else { finished.with_extension("partial") };
        let names: Vec<&str> = experiment.aggregation.iter().map(|how| how.name.as_str()).collect();
        super::mimic::print_files(&folder, &names, steps)?;
    }
    if steps.contains(&Step::Evaluate) {
        results::print(&outcome.results, out)?;
    }
    outcome.warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
    Ok(())
}
