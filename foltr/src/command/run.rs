//! `foltr run`: one experiment file, with everything that it sweeps.

use anyhow::{Context, Result};

use super::mimic::Written;
use super::results::{self, Answer};
use super::{End, STOP, catch_interrupts, usage};
use crate::choice::{self, ChoiceMade, Stage};
use crate::cli::RunArgs;
use crate::output::{self, chat, note, say};
use crate::progress::Progress;
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

/// Runs and judges a study. All files are written before anything is printed.
pub(super) fn run_study((study, criteria): &(Study, Criteria), arguments: &RunArgs, steps: &[Step]) -> Result<End> {
    if arguments.parquet {
        usage(foltr_report::parquet::ensure_available())?;
    }
    let out = arguments.out.as_deref().context("--out is needed")?;
    let store = RunStore::open(out)?;
    let (choice, outcome) = match execute(study, arguments, &store, steps)? {
        Executed::Interrupted => {
            note(Interrupted);
            return Ok(End::Interrupted);
        }
        Executed::Incomplete => {
            note(choice::INCOMPLETE);
            return Ok(End::Done);
        }
        Executed::Done(choice, outcome) => (choice, outcome),
    };
    judged_study::remove_verdicts(out)?;
    let is_judged = !outcome.interrupted && !criteria.is_empty() && arguments.shard.is_none();
    let judged = is_judged.then(|| judged_study::judge(study, criteria, &outcome.results, out)).transpose()?;
    let mut answer = Answer::of(&outcome.results, out, None)?;
    answer.choice = choice.as_ref();
    answer.files = files_of_mimic(&outcome, &store, steps)?;
    answer.judged = judged.as_ref();
    answer.interrupted = outcome.interrupted;
    print(&answer, &outcome, steps)?;
    output::answer(&answer)?;
    Ok(match judged {
        _ if outcome.interrupted => End::Interrupted,
        Some(judged) if judged.is_failure() => End::Failed,
        _ => End::Done,
    })
}

enum Executed {
    Interrupted,
    /// A share of the candidates was run: nothing can be chosen yet.
    Incomplete,
    Done(Option<ChoiceMade>, Box<GridOutcome>),
}

/// Does what is not finished.
fn execute(study: &Study, arguments: &RunArgs, store: &RunStore, steps: &[Step]) -> Result<Executed> {
    catch_interrupts()?;
    let is_mimic = study.grid.settings.iter().all(|setting| setting.experiment.mimic().is_some());
    let bar = if is_mimic { Progress::of_steps() } else { Progress::of_interactions() };
    let progress = |event| bar.show(event);
    let how = Execution { retrain_forgotten: arguments.retrain_forgotten, steps, ..Execution::new(&progress, &STOP) };
    let choice = match choice::choose(study, store, None, &how, arguments.shard)? {
        Stage::Interrupted => return Ok(Executed::Interrupted),
        Stage::Incomplete => return Ok(Executed::Incomplete),
        Stage::Chosen(choice) => choice,
    };
    let prepared = StudyRun::prepare(choice.grid, store, None, arguments.shard)?;
    prepared.data.stores().for_each(|data| chat(format_args!("data: {}", data.describe())));
    let executed = run_jobs(&prepared.plan, &prepared.data, store, &how)?;
    Ok(Executed::Done(choice.made, Box::new(prepared.finish(executed, arguments.parquet)?)))
}

fn files_of_mimic(outcome: &GridOutcome, store: &RunStore, steps: &[Step]) -> Result<Vec<Written>> {
    let settings = &outcome.results.grid.settings;
    let mimic = outcome.jobs.iter().find_map(|job| Some((job, settings[job.setting].experiment.mimic()?)));
    let Some((job, experiment)) = mimic.filter(|_| !outcome.interrupted) else { return Ok(Vec::new()) };
    let finished = store.run_folder(&job.key);
    let folder = if finished.exists() { finished } else { finished.with_extension("partial") };
    let names: Vec<&str> = experiment.aggregation.iter().map(|how| how.name.as_str()).collect();
    super::mimic::written(&folder, &names, steps)
}

fn print(answer: &Answer<'_>, outcome: &GridOutcome, steps: &[Step]) -> Result<()> {
    if let Some(made) = answer.choice {
        say(made.render());
    }
    outcome.notes.iter().for_each(|text| note(format_args!("note: {text}")));
    if outcome.n_finished_before > 0 {
        chat(format_args!("{} of {} runs had been finished before", outcome.n_finished_before, outcome.n_requested));
    }
    answer.files.iter().for_each(Written::print);
    if steps.contains(&Step::Evaluate) {
        results::print(&outcome.results, answer.folder)?;
    }
    let of_choice = answer.choice.iter().flat_map(|made| &made.warnings);
    outcome.warnings.iter().chain(of_choice).for_each(|warning| note(format_args!("warning: {warning}")));
    if outcome.interrupted {
        let (n_finished, n_requested) = (outcome.results.runs.len(), outcome.n_requested);
        note(format_args!(
            "interrupted: {n_finished} of {n_requested} runs are finished; rerun the same command to resume"
        ));
    }
    if let Some(judged) = answer.judged {
        judged.print(answer.folder);
    }
    Ok(())
}
