//! `foltr mimic`: the steps of mimic learning on the command line.

use anyhow::Result;

use super::{End, STOP, catch_interrupts, make_folder};
use crate::cli::{MimicArgs, MimicCommand};
use crate::mimic::{self, Evaluation, MimicExperiment, Promise, Step, Store, Summary, folder_of, step_bar};
use crate::reproduce::Interrupted;

/// Carries out what is asked for.
///
/// # Errors
/// If the file is wrong or a step fails.
pub fn run(command: &MimicCommand) -> Result<End> {
    let (arguments, steps): (&MimicArgs, &[Step]) = match command {
        MimicCommand::Run(arguments) => (arguments, &Step::ALL),
        MimicCommand::TrainTeacher(arguments) => (arguments, &[Step::TrainTeachers]),
        MimicCommand::Label(arguments) => (arguments, &[Step::Label]),
        MimicCommand::TrainStudent(arguments) => (arguments, &[Step::TrainStudents]),
        MimicCommand::Evaluate(arguments) => (arguments, &[Step::Evaluate]),
    };
    let experiment = MimicExperiment::read(&arguments.spec, &arguments.overrides)?;
    make_folder(&arguments.out)?;
    catch_interrupts()?;
    let store = Store::load(&experiment)?;
    println!("data: {}", store.told());
    if let Store::Text(store) = &store {
        store.notes().iter().for_each(|note| println!("      {note}"));
    }
    let bar = step_bar();
    let done = mimic::run(&experiment, &store, &arguments.out, steps, &bar, &STOP);
    bar.finish_and_clear();
    match done {
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("interrupted: trained networks and begun trainings are kept; the same command goes on from here");
            Ok(End::Interrupted)
        }
        Err(error) => Err(error),
        Ok(evaluations) => tell(arguments, &experiment, &store, steps, &evaluations),
    }
}

fn tell(
    arguments: &MimicArgs,
    experiment: &MimicExperiment,
    store: &Store,
    steps: &[Step],
    evaluations: &[Evaluation],
) -> Result<End> {
    let out = &arguments.out;
    let folder = folder_of(out, experiment.seeds[0], store.folds(experiment)[0]);
    if steps.contains(&Step::TrainTeachers) {
        println!("teachers: {}", folder.join("teacher-1.safetensors").display());
    }
    for how in &experiment.aggregation {
        if steps.contains(&Step::Label) {
            println!("\nlabels {}: {}", how.name, folder.join(&how.name).join("labels.jsonl").display());
            for sentence in Promise::read(&folder.join(&how.name))?.sentences {
                println!("  {sentence}");
            }
        }
        if steps.contains(&Step::TrainStudents) {
            println!("student {}: {}", how.name, folder.join(&how.name).join("student.safetensors").display());
        }
    }
    if steps.contains(&Step::Evaluate) && evaluations.is_empty() {
        println!("no query was judged: there is nothing to evaluate");
    } else if steps.contains(&Step::Evaluate) {
        let summary = Summary::of(evaluations);
        summary.write(out, "Mimic learning", evaluations)?;
        println!("\n{}", summary.told());
        if summary.line("BM25").is_some() {
            println!("p: paired t-test of nDCG@20 by query, means over seeds; weight: chosen on validation queries");
        }
        println!("by query: {}\nfigure:   {}", out.join("queries.csv").display(), out.join("ndcg.png").display());
    }
    Ok(End::Done)
}
