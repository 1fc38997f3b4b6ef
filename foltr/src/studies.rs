//! What is code: entries that no experiment file can say, and findings about more than the metrics of runs.

mod membership;
mod privacy_loss;
mod unlearning;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use foltr_experiment::results::{Results, Run};
use foltr_experiment::study::Study;
use foltr_report::expect::{Judgement, Verdict};

/// An entry that is code.
#[derive(Clone, Copy, Debug)]
pub struct CodeEntry {
    pub id: &'static str,
    pub paper: &'static str,
    pub item: &'static str,
    pub title: &'static str,
    pub run: fn() -> Result<Vec<Judgement>>,
}

pub const ENTRIES: [CodeEntry; 1] = [privacy_loss::TABLE_2];

/// What code says about the runs of a study, beside its expectations.
///
/// # Errors
/// If a file of a run cannot be read.
pub fn judge(study: &Study, results: &Results, out: &Path) -> Result<Vec<Judgement>> {
    let runs = out.join(if study.is_quick { "quick" } else { "full" }).join("runs");
    let folder = |run: &Run| -> PathBuf { runs.join(&run.key) };
    match study.entry.as_ref().map(|entry| entry.id.as_str()) {
        Some(id) if id.starts_with("unlearning-") => unlearning::judge(id, study, results, &folder),
        _ => Ok(Vec::new()),
    }
}

/// A printed number beside ours.
fn cell(entry: &str, case: &[(&str, &str)], paper: f64, ours: f64, tolerance: f64) -> Judgement {
    let verdict = if (ours - paper).abs() <= tolerance { Verdict::Agrees } else { Verdict::Differs };
    let expected = format!("{paper} ± {tolerance}");
    Judgement { expected, ..judgement(entry, "printed numbers", case, verdict, ours) }
}

/// A claim about one number.
fn claim(entry: &str, says: &str, case: &[(&str, &str)], holds: bool, value: f64) -> Judgement {
    judgement(entry, says, case, if holds { Verdict::Holds } else { Verdict::Fails }, value)
}

fn judgement(entry: &str, says: &str, case: &[(&str, &str)], verdict: Verdict, value: f64) -> Judgement {
    let pair = |(axis, label): &(&str, &str)| ((*axis).to_owned(), (*label).to_owned());
    Judgement {
        entry: Some(entry.into()),
        says: says.into(),
        finding: None,
        case: case.iter().map(pair).collect::<BTreeMap<_, _>>(),
        verdict,
        value: Some(value).filter(|value| value.is_finite()),
        values: Vec::new(),
        expected: String::new(),
        interval: None,
        n: 0,
        because: None,
        data: None,
        quick: false,
    }
}
