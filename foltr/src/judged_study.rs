//! Runs a study and judges it: verdicts and figures in a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use crate::command::STOP;
use crate::progress::{progress_bar, show};
use crate::studies;
use foltr_experiment::execute::Execution;
use foltr_experiment::grid::Grid;
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;
use foltr_experiment::store::RunStore;
use foltr_experiment::study::{Choose, Study, chosen_csv};
use foltr_report::assemble::run_grid;
use foltr_report::expect::{self, At, Criteria, Drawn, Judgement};
use foltr_report::plot;

const VERDICTS: [&str; 2] = ["verdict.json", "verdict.txt"];

pub struct JudgedStudy {
    pub judgements: Vec<Judgement>,
    pub text: String,
    pub figures: Vec<PathBuf>,
}

impl JudgedStudy {
    pub fn is_failure(&self) -> bool {
        self.judgements.iter().any(|judgement| judgement.verdict.is_failure())
    }

    pub fn print(&self, folder: &Path) {
        print!("{}", self.text);
        self.figures.iter().for_each(|figure| println!("figure:  {}", figure.display()));
        if !self.judgements.is_empty() {
            println!("verdict: {}", folder.join("verdict.json").display());
        }
    }
}

/// Runs and judges a study, or the entry that is code, in the folder `id` of a store; none if it was interrupted.
pub fn run(study: Option<&(Study, Criteria)>, id: &str, store: &RunStore) -> Result<Option<JudgedStudy>> {
    let folder = store.path().join(id);
    let Some((study, criteria)) = study else {
        store.study(Some(id))?;
        return write(studies::table_2()?, String::new(), Vec::new(), &folder).map(Some);
    };
    let bar = progress_bar();
    let progress = |event| show(&bar, event);
    let how = Execution::new(&progress, &STOP);
    let Some(grid) = chosen_grid(study, store, Some(id), &how)? else { return Ok(None) };
    let outcome = run_grid(grid, store, Some(id), &how)?;
    outcome.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    if outcome.interrupted {
        return Ok(None);
    }
    judge(study, criteria, &outcome.results, &folder).map(Some)
}

/// The grid to run: with `[choose]` what was chosen by a first stage, in the folder `choice` of the study.
///
/// None if it was interrupted.
pub fn chosen_grid(study: &Study, store: &RunStore, name: Option<&str>, how: &Execution<'_>) -> Result<Option<Grid>> {
    let Some(choose) = &study.choose else { return Ok(Some(study.grid.clone())) };
    let choice = name.map_or_else(|| "choice".to_owned(), |name| format!("{name}/choice"));
    let first = run_grid(choose.candidates(&study.grid), store, Some(&choice), how)?;
    if first.interrupted {
        return Ok(None);
    }
    let score = scores(choose, &first.results)?;
    let (grid, chosen) = choose.chosen(&study.grid, |setting| score[setting]);
    store.study(name)?.write("chosen.csv", &chosen_csv(&chosen)?)?;
    Ok(Some(grid))
}

fn scores(choose: &Choose, results: &Results) -> Result<Vec<Option<f64>>> {
    let metric: MetricName = choose.metric.parse()?;
    let at = At::try_from(choose.at.clone()).map_err(|message| anyhow!("choose.at: {message}"))?;
    let score = |setting: usize| {
        let values: Vec<f64> = results.runs_of(setting).filter_map(|run| at.of(run, metric)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Ok((0..results.grid.settings.len()).map(score).collect())
}

pub fn judge(study: &Study, criteria: &Criteria, results: &Results, out: &Path) -> Result<JudgedStudy> {
    let mut judgements = criteria.judge(study, results);
    judgements.extend(studies::judge(study, results)?);
    let (mut tables, mut figures) = (String::new(), Vec::new());
    for (name, drawn) in criteria.draw(study, results) {
        match drawn {
            Drawn::Figure(figure) => figures.push(plot::write(&figure.svg(), &out.join(name))?.1),
            Drawn::Table(table) => tables += &format!("{table}\n"),
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
