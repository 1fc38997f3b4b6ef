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

pub use privacy_loss::{table_2, table_2_entry};

/// What code says about the runs of a study, beside its expectations.
pub fn judge(study: &Study, results: &Results, out: &Path) -> Result<Vec<Judgement>> {
    let runs = out.join(if study.is_quick { "quick" } else { "full" }).join("runs");
    let folder = |run: &Run| -> PathBuf { runs.join(&run.key) };
    match study.entry.as_ref().map(|entry| entry.id.as_str()) {
        Some(id) if id.starts_with("unlearning-") => unlearning::judge(id, study, results, &folder),
        _ => Ok(Vec::new()),
    }
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
