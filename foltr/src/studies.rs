//! What is code: entries that no experiment file can say, and findings about more than the metrics of runs.

mod membership;
mod privacy_loss;
mod unlearning;

use anyhow::Result;

use foltr_experiment::results::Results;
use foltr_experiment::study::Study;
use foltr_report::expect::{Judgement, Verdict};

pub use privacy_loss::{table_2, table_2_entry};

/// What code says about the runs of a study, beside its expectations.
pub fn judge(study: &Study, results: &Results) -> Result<Vec<Judgement>> {
    match study.entry.as_ref().map(|entry| entry.id.as_str()) {
        Some(id) if id.starts_with("unlearning-") => unlearning::judge(id, study, results),
        _ => Ok(Vec::new()),
    }
}

fn judgement(entry: &str, says: &str, case: &[(&str, &str)], verdict: Verdict, value: f64) -> Judgement {
    let pair = |(axis, label): &(&str, &str)| ((*axis).to_owned(), (*label).to_owned());
    Judgement {
        entry: Some(entry.into()),
        says: says.into(),
        case: case.iter().map(pair).collect(),
        verdict,
        value: Some(value).filter(|value| value.is_finite()),
        ..Judgement::default()
    }
}
