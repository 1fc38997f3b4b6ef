//! `foltr mimic`: the steps of mimic learning on the command line.

use std::path::Path;

use anyhow::Result;

use super::End;
use super::run;
use crate::cli::{MimicArgs, MimicCommand, RunArgs};
use crate::output::say;
use foltr_experiment::mimic::{PrivacyStatement, Step};

pub fn run(command: &MimicCommand) -> Result<End> {
    let (arguments, steps): (&MimicArgs, &[Step]) = match command {
        MimicCommand::Run(arguments) => (arguments, &Step::ALL),
        MimicCommand::TrainTeacher(arguments) => (arguments, &[Step::TrainTeachers]),
        MimicCommand::Label(arguments) => (arguments, &[Step::Label]),
        MimicCommand::TrainStudent(arguments) => (arguments, &[Step::TrainStudents]),
        MimicCommand::Evaluate(arguments) => (arguments, &[Step::Evaluate]),
    };
    let MimicArgs { spec, out, overrides, shard } = arguments.clone();
    run::run(&RunArgs { spec, overrides, out: Some(out), shard, ..RunArgs::default() }, steps)
}

/// Prints what steps have written to the folder of a run.
pub fn print_files(folder: &Path, names: &[&str], steps: &[Step]) -> Result<()> {
    if steps.contains(&Step::TrainTeachers) {
        say(format_args!("teachers: {}", folder.join("teacher-1.safetensors").display()));
    }
    for name in names {
        if steps.contains(&Step::Label) {
            say(format_args!("labels {name}: {}", folder.join(name).join("labels.jsonl").display()));
            for sentence in PrivacyStatement::read(&folder.join(name))?.sentences {
                say(format_args!("  {sentence}"));
            }
        }
        if steps.contains(&Step::TrainStudents) {
            say(format_args!("student {name}: {}", folder.join(name).join("student.safetensors").display()));
        }
    }
    Ok(())
}
