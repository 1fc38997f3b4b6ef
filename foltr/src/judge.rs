//! Runs a study and judges it: verdicts and figures in a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

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

/// A study that was judged.
pub struct Judged {
    pub judgements: Vec<Judgement>,
    /// For people; the content of `verdict.txt`.
    pub text: String,
    pub figures: Vec<PathBuf>,
}

impl Judged {
    pub fn is_failure(&self) -> bool {
        self.judgements.iter().any(|judgement| judgement.verdict.is_failure())
    }

    pub fn print(&self, folder: &Path) {
        print!("{}", self.text);
        self.figures.iter().for_each(|figure| println!("figure:  {}", figure.display()));
        println!("verdict: {}", folder.join("verdict.json").display());
    }
}

/// The grid to run: with `[choose]` what was chosen by a first stage, in the folder `choice` of the study.
///
/// None if it was interrupted.
///
/// # Errors
/// If a run fails, or something cannot be written.
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

/// Mean over folds and seeds of every setting.
fn scores(choose: &Choose, results: &Results) -> Result<Vec<Option<f64>>> {
    let metric: MetricName = choose.metric.parse()?;
    let at = At::try_from(choose.at.clone()).map_err(|message| anyhow!("choose.at: {message}"))?;
    let score = |setting: usize| {
        let values: Vec<f64> = results.runs_of(setting).filter_map(|run| at.of(run, metric)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Ok((0..results.grid.settings.len()).map(score).collect())
}

/// Judges results; writes `verdict.json`, `verdict.txt` and figures.
///
/// # Errors
/// If something cannot be written.
pub fn judge(study: &Study, criteria: &Criteria, results: &Results, out: &Path) -> Result<Judged> {
    let mut judgements = criteria.judge(study, results);
    judgements.extend(studies::judge(study, results, out)?);
    let (mut text, mut figures) = (String::new(), Vec::new());
    for (name, drawn) in criteria.draw(study, results) {
        match drawn {
            Drawn::Figure(figure) => figures.push(plot::write(&figure.svg(), &out.join(name))?.1),
            Drawn::Table(table) => text += &format!("{table}\n"),
        }
    }
    text += &expect::text(&judgements);
    write_verdicts(out, &judgements, &text)?;
    Ok(Judged { judgements, text, figures })
}

/// Writes `verdict.json` and `verdict.txt`.
///
/// # Errors
/// If they cannot be written.
pub fn write_verdicts(out: &Path, judgements: &[Judgement], text: &str) -> Result<()> {
    let json = serde_json::to_string_pretty(judgements)? + "\n";
    put(&out.join("verdict.json"), json.as_bytes())?;
    put(&out.join("verdict.txt"), text.as_bytes())
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("{} cannot be written", path.display()))
}
