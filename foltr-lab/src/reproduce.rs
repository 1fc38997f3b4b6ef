//! Every table, figure and research question of the papers, run again and judged: what is an entry, and which are there?
//!
//! An entry runs experiment files of `specs/`, compares its numbers with the printed ones cell by cell, checks what the
//! paper concluded (the findings of spec section 19), and draws the figure. It says which data it used: numbers on other
//! data than the paper's are never judged, only told.

mod asynchrony;
mod course;
mod draft;
mod drawing;
mod each;
mod foltr_es;
mod forgetting;
mod fpdgd;
mod mimic;
mod personalisation;
mod privacy;
mod series;
mod specs;
mod stand_in;
mod study;
mod tally;
mod thesis_attacks;
mod thesis_evolution;
mod thesis_non_iid;
mod thesis_unlearning;
mod unlearning;
mod verdict;

use std::time::Instant;

use anyhow::Result;

pub use stand_in::{StandIn, Wanted};
pub use study::{Interrupted, Settled, Study};
pub use verdict::{Cell, Claim, Finding, Judgement, Verdict};

/// One table, figure or question of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What the command line calls it, such as `foltr-es-table-3`.
    pub id: &'static str,
    /// Where it comes from, with a key of `PAPERS.md`.
    pub paper: &'static str,
    /// What it shows, in a line.
    pub what: &'static str,
    /// Runs and judges it.
    pub run: fn(&mut Study<'_>) -> Result<()>,
}

/// All entries, in the order in which `--all` runs them.
pub const ENTRIES: &[Entry] = &[
    foltr_es::FIGURE_1,
    foltr_es::FIGURE_2,
    foltr_es::FIGURE_3,
    foltr_es::FIGURE_4,
    foltr_es::FIGURE_5,
    foltr_es::TABLE_2,
    foltr_es::TABLE_3,
    thesis_evolution::FIGURE_1,
    thesis_evolution::FIGURE_2,
    thesis_evolution::FIGURE_3,
    thesis_evolution::FIGURE_4,
    thesis_evolution::FIGURE_5,
    draft::CLIENTS,
    draft::PDGD,
    draft::DEBIASING,
    fpdgd::TABLE_2,
    fpdgd::FIGURE_2,
    fpdgd::FIGURE_3,
    fpdgd::FIGURE_4,
    fpdgd::FIGURE_5,
    fpdgd::FIGURE_6,
    fpdgd::THESIS_TABLE_1,
    fpdgd::THESIS_FIGURE_6,
    fpdgd::THESIS_FIGURE_7,
    fpdgd::THESIS_FIGURE_8,
    fpdgd::THESIS_FIGURE_9,
    fpdgd::THESIS_FIGURE_10,
    thesis_non_iid::FIGURE_3,
    thesis_non_iid::TABLE_2,
    thesis_non_iid::FIGURE_4,
    thesis_non_iid::FIGURE_5,
    thesis_non_iid::TABLE_3,
    thesis_non_iid::FIGURE_6,
    thesis_non_iid::FIGURE_7,
    thesis_non_iid::FIGURE_8,
    thesis_non_iid::FIGURE_9,
    thesis_attacks::FIGURE_2,
    thesis_attacks::FIGURE_3,
    thesis_attacks::FIGURE_4,
    thesis_attacks::FIGURE_5,
    thesis_attacks::FIGURE_6,
    thesis_attacks::FIGURE_7,
    thesis_attacks::FIGURE_8,
    thesis_attacks::FIGURE_9,
    thesis_attacks::FIGURE_10,
    thesis_attacks::FIGURE_11,
    thesis_unlearning::FIGURE_2,
    thesis_unlearning::FIGURE_3,
    thesis_unlearning::TABLE_2,
    mimic::TABLE_2,
    mimic::TABLE_3,
    privacy::TABLE,
    privacy::CLIENTS,
    privacy::CURVES,
    asynchrony::ENTRY,
    personalisation::ENTRY,
    unlearning::ENTRY,
    mimic::PRIVACY,
];

/// A name that no entry has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no entry `{id}`{} (foltr reproduce --list names all of them)", meant(.nearest))]
pub struct UnknownEntry {
    id: String,
    nearest: Option<&'static str>,
}

fn meant(nearest: &Option<&str>) -> String {
    nearest.map(|id| format!("; did you mean `{id}`?")).unwrap_or_default()
}

/// The entry with this name.
///
/// # Errors
/// If there is none, with the nearest name.
pub fn find(id: &str) -> Result<&'static Entry, UnknownEntry> {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.id == id) {
        return Ok(entry);
    }
    let nearness = |entry: &&Entry| strsim::jaro_winkler(id, entry.id);
    let nearest = ENTRIES.iter().max_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    Err(UnknownEntry { id: id.into(), nearest: nearest.map(|entry| entry.id) })
}

/// Runs an entry in its study's folder and writes its verdicts.
///
/// # Errors
/// If a run fails or is interrupted, or a file cannot be written. Finished runs stay and are not repeated.
pub fn run(entry: &Entry, mut study: Study<'_>) -> Result<Settled> {
    let started = Instant::now();
    (entry.run)(&mut study)?;
    study.settle(started.elapsed().as_secs_f64())
}
