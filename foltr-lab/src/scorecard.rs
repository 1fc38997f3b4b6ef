//! `foltr scorecard`: every attack against every defence, by share of attackers and kind of user.
//!
//! A cell is the nDCG@10 of the final ranker on test queries, mean over seeds. *Clean* is federated averaging without
//! attackers on the same data and seeds; a defence's *clean loss* is what it costs when nobody attacks; its *worst* is
//! the least value over all attacks. The promotion attack does not aim at nDCG and is judged by the rank of what it
//! promotes, separately. What each defence and attack is: `scorecard/defences.rs` and `scorecard/attacks.rs`, written
//! before the runs. Every finished run is kept in `runs.jsonl`, so that a card that was interrupted goes on.

mod attacks;
mod card;
mod collections;
mod defences;
mod figure;
mod kept;
mod setting;
mod timing;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use foltr_rank::metric::{discount, gain, ideal_dcg};
use foltr_simulation::dataset::Dataset;
use indicatif::ProgressBar;
use rayon::prelude::*;

pub use attacks::{ATTACKS, NamedAttack};
pub use card::{Line, Promotion, breakdown_points};
pub use collections::{COLLECTIONS, is_at_hand};
pub use defences::{DEFENCES, NamedDefence, RECOMMENDED};
pub use figure::heat_maps;
pub use setting::{Place, SETTINGS};
pub use timing::{RuleTime, rule_times};

use crate::data;
use crate::promoted::promoted_place;
use crate::rows::{MetricName, Row};
use crate::run::{resolve_grades, run_one};
use crate::spec::{Experiment, Metric, Split};
use kept::{Kept, Values};
use setting::Job;

/// What a card covers.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Names of [`COLLECTIONS`]; those that are not at hand are left out and told.
    pub data: Vec<String>,
    /// Presets of cascade users.
    pub users: Vec<String>,
    /// Name of one of [`SETTINGS`].
    pub setting: String,
    /// Shares of attackers.
    pub shares: Vec<f64>,
    /// Names of [`DEFENCES`].
    pub defences: Vec<String>,
    /// Names of [`ATTACKS`].
    pub attacks: Vec<String>,
    /// One run a seed; with folds, seed s is run on fold s modulo their number.
    pub seeds: Vec<u64>,
    /// Rounds of a run.
    pub rounds: usize,
}

/// A finished card.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorecard {
    /// One line for each data, users, share and defence.
    pub lines: Vec<Line>,
    /// Where documents of the promoted kind ended up.
    pub promotions: Vec<Promotion>,
    /// Collections that were asked for and are not there.
    pub missing: Vec<String>,
    /// Ctrl-C: what is there is incomplete.
    pub interrupted: bool,
}

/// Runs what is not yet in `folder`, in parallel, and makes the card of everything.
///
/// # Errors
/// If a name is unknown, data cannot be read, a run fails or a file cannot be written.
pub fn run(effort: &Effort, folder: Option<&Path>, bar: &ProgressBar, stop: &AtomicBool) -> Result<Scorecard> {
    let place = setting::find(&effort.setting)?;
    let (collections, missing) = collections::at_hand(&effort.data)?;
    if collections.is_empty() {
        bail!("none of the collections {} is at hand; synthetic-mslr always is", missing.join(", "));
    }
    let kept = Kept::open(folder)?;
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for collection in &collections {
        jobs.extend(setting::jobs(effort, place, collection)?);
    }
    let work = |key: &str, job: &Job<'_>| -> Result<Option<Values>> {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let values = match kept.of(key) {
            Some(values) => values,
            None => {
                bar.set_message(job.name());
                let Some(values) = measure(job, stop).with_context(|| job.name())? else { return Ok(None) };
                kept.add(key, &values)?;
                values
            }
        };
        bar.inc(1);
        Ok(Some(values))
    };
    // Runs without attackers are the same at every share.
    let mut distinct: BTreeMap<String, &Job<'_>> = BTreeMap::new();
    jobs.iter().for_each(|job| _ = distinct.entry(job.key()).or_insert(job));
    bar.set_length(distinct.len() as u64);
    let values: Vec<Option<Values>> = distinct.par_iter().map(|(key, job)| work(key, job)).collect::<Result<_>>()?;
    let interrupted = values.iter().any(Option::is_none);
    let known: HashMap<String, Values> =
        distinct.into_keys().zip(values).filter_map(|(key, values)| Some((key, values?))).collect();
    let done: Vec<(Job<'_>, Values)> =
        jobs.into_iter().filter_map(|job| known.get(&job.key()).copied().map(|values| (job, values))).collect();
    Ok(Scorecard { lines: card::lines(&done), promotions: card::promotions(&done), missing, interrupted })
}

/// Trains and evaluates one ranker; nothing if Ctrl-C came.
fn measure(job: &Job<'_>, stop: &AtomicBool) -> Result<Option<Values>> {
    let mut values = Values::default();
    let mut sink = |row: Row| match row.metric {
        MetricName::Offline(Split::Test, Metric::Ndcg(_)) => values.test = row.value,
        MetricName::Offline(Split::Validation, Metric::Ndcg(_)) => values.validation = row.value,
        _ => {}
    };
    let outcome = run_one(&job.experiment, job.fold, job.fold_number, job.seed, &|_| {}, &mut sink, stop)?;
    if outcome.interrupted {
        return Ok(None);
    }
    let params = outcome.params.context("one ranker for all")?;
    let place = promoted_place(&attacks::promotion(job.promoted_feature), job.fold, outcome.shape, &params);
    values.promoted = place.context("no test document is of the promoted kind")?;
    values.random = random_ndcg(&job.fold.test, 10);
    Ok(Some(values))
}

/// nDCG@k of a random ranking on average: every place holds the mean gain of the query's documents.
fn random_ndcg(data: &Dataset, k: usize) -> f64 {
    let mut values = Vec::new();
    for query in 0..data.n_queries() {
        let (labels, n_docs) = (data.labels(query), data.labels(query).len());
        let ideal = ideal_dcg(labels, k);
        if ideal > 0.0 {
            let gain = labels.iter().map(|&label| gain(label)).sum::<f64>() / n_docs as f64;
            values.push(gain * (0..k.min(n_docs)).map(discount).sum::<f64>() / ideal);
        }
    }
    values.iter().sum::<f64>() / values.len() as f64
}

/// Reads `[data]` and everything else of a job's experiment; all its folds.
fn load(experiment: &mut Experiment) -> Result<Vec<(usize, foltr_simulation::datasets::Fold)>> {
    let folds = data::load(&experiment.data)?;
    resolve_grades(experiment, folds.iter().map(|(_, fold)| fold));
    Ok(folds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};
    use foltr_simulation::datasets::{Synthetic, SyntheticShape};
    use rand::seq::SliceRandom;

    #[test]
    fn a_random_ranking_is_worth_what_shuffled_ones_are() {
        let data = Synthetic::new(SyntheticShape::Tiny).generate(1).expect("sound").test;
        let mut stream = Streams::new(1).open(Purpose::Data, 0, 0);
        let (mut sum, mut n) = (0.0, 0.0);
        for _ in 0..2000 {
            for query in 0..data.n_queries() {
                let mut labels = data.labels(query).to_vec();
                let ideal = ideal_dcg(&labels, 10);
                labels.shuffle(&mut stream);
                if let Some(value) = foltr_rank::metric::ndcg(labels, ideal, 10) {
                    (sum, n) = (sum + value, n + 1.0);
                }
            }
        }
        assert!((random_ndcg(&data, 10) - sum / n).abs() < 0.005, "{} {}", random_ndcg(&data, 10), sum / n);
    }
}
