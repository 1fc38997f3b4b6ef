//! Chooses settings on validation queries, then runs them with other seeds and reads the test queries.

use anyhow::{Context, Result};

use super::{Collection, USERS};
use crate::reproduce::Study;
use crate::reproduce::study::mean;
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};
use crate::statistics::Estimate;

/// Ways to run one method, from which validation queries choose.
pub struct Candidates<'a> {
    /// For the folders of its runs.
    pub slug: String,
    /// Experiment file.
    pub spec: &'a str,
    /// What is set in it; lists are what is chosen from.
    pub overrides: Vec<String>,
}

/// What was chosen for one kind of users.
pub struct Chosen {
    /// Which users.
    pub users: &'static str,
    /// nDCG@10 of test queries, one a run.
    pub test: Vec<f64>,
    /// What was chosen, in words; empty if there was no choice.
    pub words: String,
}

impl Chosen {
    /// The mean over runs.
    pub fn mean(&self) -> f64 {
        mean(&self.test)
    }

    /// Mean minus that of another, of runs that pair up, with its confidence interval.
    pub fn loss_against(&self, other: &Self) -> Option<Estimate> {
        if other.test.len() != self.test.len() {
            return None;
        }
        let pairs = other.test.iter().zip(&self.test);
        Estimate::of(&pairs.map(|(other, own)| other - own).collect::<Vec<_>>())
    }
}

/// A loss with its interval; one run has none.
pub fn told_loss(loss: &Estimate) -> String {
    match loss.confidence_interval_95 {
        Some(_) => format!("{:+.4} ± {:.4}", loss.mean, loss.half_width()),
        None => format!("{:+.4} (one run)", loss.mean),
    }
}

/// nDCG@10 on a split.
fn ndcg(split: Split) -> MetricName {
    MetricName::Offline(split, Metric::Ndcg(10))
}

/// Chooses for each kind of users with one seed, and runs what was chosen with `n_seeds` others.
///
/// # Errors
/// If a run fails or is interrupted.
pub fn choose(
    study: &mut Study<'_>,
    collection: &Collection,
    candidates: &Candidates<'_>,
    n_seeds: u64,
) -> Result<Vec<Chosen>> {
    let name = format!("{}-{}", collection.slug, candidates.slug);
    let with = |more: Vec<String>| -> Vec<String> {
        let data = [collection.data.setting()];
        data.into_iter().chain(candidates.overrides.iter().cloned()).chain(more).collect()
    };
    let tried = with(vec!["seeds=[101]".into(), "metrics.evaluate_on=[\"validation\"]".into()]);
    let tried = study.shared_grid(&format!("privacy-{name}-choice"), candidates.spec, &tried)?;
    let seeds: Vec<u64> = (1..=n_seeds).collect();
    let mut chosen = Vec::new();
    for users in USERS {
        let best = best_of(&tried, users).with_context(|| format!("no candidate of {name} has been run"))?;
        let labels: Vec<String> =
            tried.grid.settings[best].labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let mut more = vec![format!("seeds={seeds:?}"), "metrics.evaluate_on=[\"test\"]".into()];
        more.push(format!("users.preset={users}"));
        more.extend(labels.iter().cloned());
        let folder = format!("privacy-{name}-{users}-{n_seeds}");
        let results = study.shared_grid(&folder, candidates.spec, &with(more))?;
        let words = labels.iter().filter(|label| !label.starts_with("users.")).map(|label| short(label));
        let words = words.collect::<Vec<_>>().join(", ");
        chosen.push(Chosen { users, test: results.final_values(0, ndcg(Split::Test)), words });
    }
    Ok(chosen)
}

/// A label without the section that it stands in.
fn short(label: &str) -> String {
    label.rsplit_once('.').filter(|(_, rest)| rest.contains('=')).map_or(label, |(_, rest)| rest).to_owned()
}

/// The setting of these users with the best mean on validation queries.
fn best_of(tried: &Results, users: &str) -> Option<usize> {
    let of_users = |i: &usize| tried.grid.settings[*i].label("users.preset").is_none_or(|label| label == users);
    let value = |i: usize| mean(&tried.final_values(i, ndcg(Split::Validation)));
    (0..tried.grid.settings.len()).filter(of_users).max_by(|&a, &b| value(a).total_cmp(&value(b)))
}
