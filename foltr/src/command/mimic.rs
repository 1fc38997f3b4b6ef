//! `foltr mimic`: the steps of mimic learning on the command line.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::End;
use super::run;
use crate::cli::{MimicArgs, MimicCommand, RunArgs};
use crate::output::{chat, say};
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

/// A file that a step has written, and what labels hide.
#[derive(Serialize)]
pub struct Written {
    what: String,
    path: PathBuf,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    privacy: Vec<String>,
}

/// What steps have written to the folder of a run.
pub fn written(folder: &Path, names: &[&str], steps: &[Step]) -> Result<Vec<Written>> {
    let file = |what: String, path: PathBuf| Written { what, path, privacy: Vec::new() };
    let mut all = Vec::new();
    if steps.contains(&Step::TrainTeachers) {
        all.push(file("teachers".into(), folder.join("teacher-1.safetensors")));
    }
    for name in names {
        let within = folder.join(name);
        if steps.contains(&Step::Label) {
            let privacy = PrivacyStatement::read(&within)?.sentences;
            all.push(Written { privacy, ..file(format!("labels {name}"), within.join("labels.jsonl")) });
        }
        if steps.contains(&Step::TrainStudents) {
            all.push(file(format!("student {name}"), within.join("student.safetensors")));
        }
    }
    Ok(all)
}

impl Written {
    pub fn print(&self) {
        chat(format_args!("{}: {}", self.what, self.path.display()));
        self.privacy.iter().for_each(|sentence| say(format_args!("  {sentence}")));
    }
}
