//! Runs a study and judges it: verdicts and figures in a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::choice::{self, Stage};
use crate::command::STOP;
use crate::output::{chat, note, say};
use crate::progress::Progress;
use crate::studies;
use foltr_experiment::execute::{Execution, Shard};
use foltr_experiment::results::Results;
use foltr_experiment::store::RunStore;
use foltr_experiment::study::Study;
use foltr_report::assemble::run_grid;
use foltr_report::expect::{self, Criteria, Drawn, Judgement};
use foltr_report::plot;

const VERDICTS: [&str; 2] = ["verdict.json", "verdict.txt"];

#[derive(Serialize)]
pub struct JudgedStudy {
    pub judgements: Vec<Judgement>,
    #[serde(skip)]
    pub text: String,
    pub figures: Vec<PathBuf>,
}

impl JudgedStudy {
    pub fn is_failure(&self) -> bool {
        self.judgements.iter().any(|judgement| judgement.verdict.is_failure())
    }

    pub fn print(&self, folder: &Path) {
        say(self.text.trim_end());
        self.figures.iter().for_each(|figure| chat(format_args!("figure:  {}", figure.display())));
        if !self.judgements.is_empty() {
            chat(format_args!("verdict: {}", folder.join("verdict.json").display()));
        }
    }
}

pub enum Outcome {
    Interrupted,
    /// One share of the runs is finished; all of them are judged after `foltr merge`.
    Share(String),
    Judged(JudgedStudy),
}

/// Runs and judges a study, or the entry that is code, in the folder `id` of a store. Of one share nothing is judged.
pub fn run(study: Option<&(Study, Criteria)>, id: &str, store: &RunStore, shard: Option<Shard>) -> Result<Outcome> {
    let folder = store.path().join(id);
    let Some((study, criteria)) = study else {
        if shard.is_some() {
            return Ok(Outcome::Share("has no runs to share".into()));
        }
        store.study(Some(id))?;
        return write(studies::table_2()?, String::new(), Vec::new(), &folder).map(Outcome::Judged);
    };
    let bar = Progress::of_interactions();
    let progress = |event| bar.show(event);
    let how = Execution::new(&progress, &STOP);
    let choice = match choice::choose(study, store, Some(id), &how, shard)? {
        Stage::Interrupted => return Ok(Outcome::Interrupted),
        Stage::Incomplete => return Ok(Outcome::Share(choice::INCOMPLETE.into())),
        Stage::Chosen(choice) => choice,
    };
    let outcome = run_grid(choice.grid, store, Some(id), &how, shard)?;
    outcome.warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
    if outcome.interrupted {
        return Ok(Outcome::Interrupted);
    }
    if let Some(shard) = shard {
        let (n_done, n_all) = (outcome.results.runs.len(), outcome.results.about.n_runs);
        return Ok(Outcome::Share(format!("share {shard}: {n_done} of {n_all} runs")));
    }
    judge(study, criteria, &outcome.results, &folder).map(Outcome::Judged)
}

pub fn judge(study: &Study, criteria: &Criteria, results: &Results, out: &Path) -> Result<JudgedStudy> {
    let mut judgements = criteria.judge(study, results);
    judgements.extend(studies::judge(study, results)?);
    let (mut tables, mut figures) = (String::new(), Vec::new());
    for (name, drawn, format) in criteria.draw(study, results) {
        match drawn {
            Drawn::Figure(figure) => figures.push(plot::write(&figure.formatted(&format), &out.join(name))?[1].clone()),
            Drawn::Table(table) => {
                table.write(&out.join(name))?;
                tables += &format!("{}\n", table.render());
            }
        }
    }
    results.check_unchanged()?;
    write(judgements, tables, figures, out)
}

/// Removes the verdicts of earlier results.
pub fn remove_verdicts(out: &Path) -> Result<()> {
    for path in VERDICTS.map(|name| out.join(name)).into_iter().filter(|path| path.exists()) {
        std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    }
    Ok(())
}

fn write(judgements: Vec<Judgement>, tables: String, figures: Vec<PathBuf>, out: &Path) -> Result<JudgedStudy> {
    let text = tables + &expect::text(&judgements);
    let json = serde_json::to_string_pretty(&judgements)? + "\n";
    for (name, content) in VERDICTS.iter().zip([&json, &text]) {
        let path = out.join(name);
        std::fs::write(&path, content).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(JudgedStudy { judgements, text, figures })
}
