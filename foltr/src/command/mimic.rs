//! `foltr mimic`: the steps of mimic learning on the command line.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use super::{End, WrongUsage, run};
use crate::cli::{MimicArgs, MimicCommand, RunArgs};
use crate::output::{self, chat, say};
use foltr_experiment::mimic::{Asked, PrivacyStatement, Step, write_asked};
use foltr_experiment::spec::SpecError;
use foltr_experiment::study::Study;

pub fn run(command: &MimicCommand) -> Result<End> {
    let (arguments, steps): (&MimicArgs, &[Step]) = match command {
        MimicCommand::Run(arguments) => (arguments, &Step::ALL),
        MimicCommand::TrainTeacher(arguments) => (arguments, &[Step::TrainTeachers]),
        MimicCommand::Label(arguments) => (arguments, &[Step::Label]),
        MimicCommand::TrainStudent(arguments) => (arguments, &[Step::TrainStudents]),
        MimicCommand::Evaluate(arguments) => (arguments, &[Step::Evaluate]),
        MimicCommand::Queries(arguments) => (arguments, &[]),
    };
    let MimicArgs { spec, out, overrides, shard } = arguments.clone();
    let of_run = RunArgs { spec, overrides, out: Some(out), shard, ..RunArgs::default() };
    let study = SpecError::reading(&of_run.spec, |text| run::read(text, &of_run))?;
    let is_mimic = study.0.grid.settings.iter().all(|setting| setting.experiment.mimic().is_some());
    if !is_mimic {
        let message = "no experiment of mimic learning: [supervision] is missing; `foltr run` runs any file";
        return Err(WrongUsage(format!("{}: {message}", of_run.spec.display())).into());
    }
    if matches!(command, MimicCommand::Queries(_)) {
        return queries(&study.0, arguments);
    }
    run::run_study(&study, &of_run, steps)
}

fn queries(study: &Study, arguments: &MimicArgs) -> Result<End> {
    let MimicArgs { spec, out, .. } = arguments;
    let [setting] = &study.grid.settings[..] else {
        let message = "several settings; `--set KEY=VALUE` leaves one, whose queries are written";
        return Err(WrongUsage(format!("{}: {message}", spec.display())).into());
    };
    std::fs::create_dir_all(out).with_context(|| format!("{} cannot be made", out.display()))?;
    let experiment = setting.experiment.mimic().context("mimic learning")?;
    let asked = write_asked(experiment, out)?;
    let Asked { n_documents, n_public, n_judged, .. } = asked;
    chat(format_args!("{n_documents} documents, {n_public} public queries, {n_judged} judged queries"));
    asked.files.iter().for_each(|file| chat(format_args!("{}", file.display())));
    output::answer(&asked)?;
    Ok(End::Done)
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
    let teacher = folder.join("teacher-1.safetensors");
    // There is none where rankers from outside are the teachers.
    if steps.contains(&Step::TrainTeachers) && teacher.exists() {
        all.push(file("teachers".into(), teacher));
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
