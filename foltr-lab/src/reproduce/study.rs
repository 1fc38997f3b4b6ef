//! One entry while it runs: where its runs go, what was judged, drawn and noted so far.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use indicatif::ProgressBar;

use super::verdict::{Cell, Claim, Finding, Judgement, Verdict, told_cells, told_findings};
use super::{Entry, StandIn, Wanted};
use crate::execute::{Execution, run_grid};
use crate::grid::Grid;
use crate::plot::{self, Figure};
use crate::results::Results;
use crate::spec::Problem;

/// One entry while it runs.
pub struct Study<'a> {
    id: &'static str,
    out: PathBuf,
    is_quick: bool,
    bar: &'a ProgressBar,
    stop: &'a AtomicBool,
    judgements: Vec<Judgement>,
    notes: Vec<String>,
    tables: Vec<String>,
    figures: Vec<PathBuf>,
}

/// An entry that has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Everything that was judged; the content of `verdict.json`.
    pub judgements: Vec<Judgement>,
    /// Tables, verdicts and notes for people; the content of `verdict.txt`.
    pub told: String,
    /// Figures that were drawn.
    pub figures: Vec<PathBuf>,
    /// How long it took, finished runs of earlier attempts not counted.
    pub seconds: f64,
}

/// Ctrl-C: finished runs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted: finished runs are kept; the same command goes on from here")]
pub struct Interrupted;

impl<'a> Study<'a> {
    /// An entry's study, with its results in `out/<id>`.
    pub fn new(entry: &Entry, out: &Path, is_quick: bool, bar: &'a ProgressBar, stop: &'a AtomicBool) -> Self {
        Self {
            id: entry.id,
            out: out.into(),
            is_quick,
            bar,
            stop,
            judgements: Vec::new(),
            notes: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Whether a small budget must do.
    pub fn is_quick(&self) -> bool {
        self.is_quick
    }

    /// One of two values, by the budget.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.is_quick { quick } else { full }
    }

    fn folder(&self) -> PathBuf {
        self.out.join(self.id)
    }

    /// The data to use for a paper's collection.
    pub fn data(&self, wanted: Wanted) -> StandIn {
        wanted.find()
    }

    /// Runs an experiment file in `out/<id>/<name>`, or takes up where it was left, and reads its results.
    ///
    /// # Errors
    /// If the file with these overrides is wrong, a run fails, or Ctrl-C came ([`Interrupted`]).
    pub fn grid(&mut self, name: &str, spec: &str, overrides: &[String]) -> Result<Results> {
        self.grid_in(&self.folder().join(name), spec, overrides)
    }

    /// The same for runs that several entries use, in `out/shared/<name>`.
    ///
    /// # Errors
    /// As [`Self::grid`].
    pub fn shared_grid(&mut self, name: &str, spec: &str, overrides: &[String]) -> Result<Results> {
        self.grid_in(&self.shared_folder(name), spec, overrides)
    }

    pub(super) fn shared_folder(&self, name: &str) -> PathBuf {
        self.out.join("shared").join(name)
    }

    /// Who shows how far it is, and who says that it must end.
    pub(super) fn watchers(&self) -> (&'a ProgressBar, &'a AtomicBool) {
        (self.bar, self.stop)
    }

    fn grid_in(&mut self, folder: &Path, spec: &str, overrides: &[String]) -> Result<Results> {
        let grid = Grid::from_toml(spec, overrides).map_err(|problems| wrong(folder, &problems))?;
        // The last grid has ended it.
        self.bar.reset();
        let how = Execution { shard: None, bar: self.bar, stop: self.stop, parquet: false };
        let completion = run_grid(grid, folder, &how)?;
        if completion.interrupted {
            return Err(Interrupted.into());
        }
        Ok(completion.results)
    }

    /// Judges a number that can be compared.
    pub fn cell(&mut self, cell: String, paper: f64, ours: f64, tolerance: f64) {
        self.judge(cell, paper, ours, tolerance, None);
    }

    /// Judges the mean of some runs, which can be compared.
    pub fn cell_of_runs(&mut self, cell: String, paper: f64, runs: &[f64], tolerance: f64) {
        self.judge(cell, paper, mean(runs), tolerance, Some(runs.len()));
    }

    fn judge(&mut self, cell: String, paper: f64, ours: f64, tolerance: f64, n: Option<usize>) {
        let verdict = Verdict::of(paper, ours, tolerance);
        let (paper, tolerance) = (Some(paper), Some(tolerance));
        self.judgements.push(Judgement::Cell(Cell {
            id: self.id.into(),
            cell,
            paper,
            ours,
            tolerance,
            verdict,
            why: None,
            n,
        }));
    }

    /// Tells a number that cannot be compared, and why.
    pub fn not_comparable(&mut self, cell: String, paper: Option<f64>, ours: f64, why: &str) {
        self.judgements.push(Judgement::Cell(Cell {
            id: self.id.into(),
            cell,
            paper,
            ours,
            tolerance: None,
            verdict: Verdict::NotComparable,
            why: Some(why.into()),
            n: None,
        }));
    }

    /// Judges a conclusion, by its number in spec section 19.
    pub fn finding(&mut self, number: u8, holds: bool, evidence: String) {
        self.judgements.push(Judgement::Finding(Finding { id: self.id.into(), finding: number, holds, evidence }));
    }

    /// Judges something that foltr promises beyond the papers.
    pub fn claim(&mut self, claim: String, holds: bool, evidence: String) {
        self.judgements.push(Judgement::Claim(Claim { id: self.id.into(), claim, holds, evidence }));
    }

    /// Says something that the reader must know: data, budget, an explanation.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Shows a table.
    pub fn table(&mut self, title: &str, table: &str) {
        self.tables.push(format!("{title}\n{table}"));
    }

    /// Draws `out/<id>/<name>.svg` and `.png`.
    ///
    /// # Errors
    /// If the figure cannot be drawn or written.
    pub fn figure(&mut self, name: &str, figure: impl Into<Figure>) -> Result<()> {
        let folder = self.made_folder()?;
        let (_, png) = plot::write(&figure.into().svg(), &folder.join(name))?;
        self.figures.push(png);
        Ok(())
    }

    fn made_folder(&self) -> Result<PathBuf> {
        let folder = self.folder();
        std::fs::create_dir_all(&folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
        Ok(folder)
    }

    /// Writes `verdict.json` and `verdict.txt`.
    pub(super) fn settle(self, seconds: f64) -> Result<Settled> {
        let folder = self.made_folder()?;
        let told = self.told();
        let json = serde_json::to_string_pretty(&self.judgements)? + "\n";
        for (name, text) in [("verdict.json", &json), ("verdict.txt", &told)] {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(Settled { judgements: self.judgements, told, figures: self.figures, seconds })
    }

    fn told(&self) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        for judgement in &self.judgements {
            if let Judgement::Cell(Cell { why: Some(why), .. }) = judgement
                && !reasons.contains(&why.as_str())
            {
                reasons.push(why);
            }
        }
        let reasons = reasons.into_iter().map(|why| format!("not comparable: {why}"));
        let lines = reasons.chain(self.notes.iter().cloned()).map(|line| format!("* {line}")).collect::<Vec<_>>();
        let parts =
            self.tables.iter().cloned().chain(told_cells(&self.judgements)).chain(told_findings(&self.judgements));
        parts.chain((!lines.is_empty()).then(|| lines.join("\n"))).map(|part| part + "\n").collect()
    }
}

/// What is wrong with an experiment, in one line.
pub(super) fn wrong(folder: &Path, problems: &[Problem]) -> anyhow::Error {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("the experiment of {} is wrong: {}", folder.display(), lines.join("; "))
}

/// The mean of some numbers; not a number if there are none.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
