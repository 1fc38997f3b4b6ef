//! Every table, figure and research question of the papers: entries of experiment files, and a few that are code.

use std::path::Path;

use anyhow::Result;

use crate::catalogue::{self, Listed};
use crate::command::STOP;
use crate::judge::{self, Judged};
use crate::progress::{progress_bar, show};
use crate::studies::{self, CodeEntry};
use crate::summary::Described;
use foltr_experiment::execute::Execution;
use foltr_experiment::spec::SpecError;
use foltr_experiment::store::RunStore;
use foltr_experiment::study::Study;
use foltr_report::assemble::run_grid;
use foltr_report::expect::{self, Criteria};

/// One entry.
pub enum Item {
    Study(Box<Listed>),
    Code(&'static CodeEntry),
}

/// An entry that can be run: its file is sound.
pub enum Checked {
    Study(Box<(Study, Criteria)>),
    Code(&'static CodeEntry),
}

impl Item {
    pub fn described(&self) -> Described {
        match self {
            Self::Study(listed) => {
                let entry = &listed.entry;
                let [id, paper, item, title] = [&entry.id, &entry.paper, &entry.item, &entry.title].map(Clone::clone);
                Described { id, paper, item, title }
            }
            Self::Code(entry) => {
                let [id, paper, item, title] = [entry.id, entry.paper, entry.item, entry.title].map(str::to_owned);
                Described { id, paper, item, title }
            }
        }
    }

    /// # Errors
    /// With all problems of its file.
    pub fn checked(&self, is_quick: bool, overrides: &[String]) -> Result<Checked, SpecError> {
        Ok(match self {
            Self::Study(listed) => Checked::Study(Box::new(listed.study(is_quick, overrides)?)),
            Self::Code(entry) => Checked::Code(entry),
        })
    }
}

/// All entries.
///
/// # Errors
/// With all problems of the first file that is wrong.
pub fn items() -> Result<Vec<Item>, SpecError> {
    let studies = catalogue::entries()?.into_iter().map(|listed| Item::Study(Box::new(listed)));
    Ok(studies::ENTRIES.iter().map(Item::Code).chain(studies).collect())
}

/// Runs and judges an entry in `store/<id>`; none if it was interrupted.
///
/// # Errors
/// If a run fails or something cannot be written. Finished runs stay.
pub fn run(entry: &Checked, id: &str, store: &RunStore) -> Result<Option<Judged>> {
    let folder = store.path().join(id);
    match entry {
        Checked::Study(study) => run_study(&study.0, &study.1, id, store, &folder),
        Checked::Code(entry) => {
            let judgements = (entry.run)()?;
            let text = expect::text(&judgements);
            store.study(Some(id))?;
            judge::write_verdicts(&folder, &judgements, &text)?;
            Ok(Some(Judged { judgements, text, figures: Vec::new() }))
        }
    }
}

fn run_study(study: &Study, criteria: &Criteria, id: &str, store: &RunStore, folder: &Path) -> Result<Option<Judged>> {
    let bar = progress_bar();
    let progress = |event| show(&bar, event);
    let how = Execution::new(&progress, &STOP);
    let Some(grid) = judge::chosen_grid(study, store, Some(id), &how)? else { return Ok(None) };
    let outcome = run_grid(grid, store, Some(id), &how)?;
    if outcome.interrupted {
        return Ok(None);
    }
    judge::judge(study, criteria, &outcome.results, folder).map(Some)
}

/// A name that no entry has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no entry `{id}`{} (foltr reproduce --list names all of them)", meant(.nearest))]
pub struct UnknownEntry {
    id: String,
    nearest: Option<String>,
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|id| format!("; did you mean `{id}`?")).unwrap_or_default()
}

impl UnknownEntry {
    /// With the nearest name.
    pub fn new(id: &str, known: &[Described]) -> Self {
        let nearness = |entry: &&Described| strsim::normalized_damerau_levenshtein(id, &entry.id);
        let nearest = known.iter().max_by(|a, b| nearness(a).total_cmp(&nearness(b)));
        Self { id: id.into(), nearest: nearest.map(|entry| entry.id.clone()) }
    }
}
