//! Has a client been forgotten? What is left of it in the parameters, and whether somebody can tell.
//!
//! *Influence*: how far the unlearned ranker is from what the same method makes, with the same random numbers, of a
//! federation that never had the client, over how far the trained ranker is from the retrained one. *Membership*: an
//! attacker who sees one ranker tells whether the client was ever there; after `SAKS21` Sekhari et al., both rankers have
//! gone through the method. What those who stay lose is an expectation of the files.

use anyhow::{Context, Result};
use foltr_rank::Params;

use super::{judgement, membership};
use foltr_experiment::grid::Setting;
use foltr_experiment::model::Model;
use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::Forgotten;
use foltr_experiment::spec::Experiment;
use foltr_experiment::study::{COLLECTION_AXIS, Study};
use foltr_report::expect::{Judgement, Verdict};
use foltr_report::statistics::Auc;

const LEFT: f64 = 0.2;
/// The control: nobody is forgotten.
const NOTHING: &str = "nothing";
/// What exact methods cost is compared with this way.
const ONE_FEDERATION: &str = "one federation, retrain";

pub fn judge(entry: &str, study: &Study, results: &Results) -> Result<Vec<Judgement>> {
    let mut judgements = Vec::new();
    for (name, data) in &study.collections {
        let runs = Runs { results, collection: name };
        for with in runs.cases() {
            let (way, never) = (runs.way(with), runs.never(with)?);
            let control = runs.control(with)?;
            let scale = mean_distance(&runs.params(control)?, &runs.params(runs.never(control)?)?);
            let (with_params, never_params) = (runs.params(with)?, runs.params(never)?);
            let influence = mean_distance(&with_params, &never_params) / scale;
            let labels = runs.labels(with);
            let mut case = |says: &str, expected: &str, value: f64, verdict: Verdict| {
                let judged = judgement(entry, says, &labels, verdict, value);
                let (expected, n) = (expected.to_owned(), with_params.len());
                judgements.push(Judgement { expected, n, data: Some(data.name.clone()), ..judged });
            };
            let (expected, verdict) = judge_influence(way, influence);
            case("influence of the client that is left", expected, influence, verdict);
            if let Some(auc) = membership::auc(&with_params, &never_params) {
                let expected =
                    format!("no better than chance (interval {:.2} to {:.2})", auc.interval.0, auc.interval.1);
                case("membership inference: area under the curve", &expected, auc.value, judge_membership(way, &auc));
            }
            if let Some(share) = runs.cost(with)? {
                let verdict = verdict_of(share <= 0.25);
                case("largest share of the cost of retraining one federation", "at most 1/4", share, verdict);
            }
        }
    }
    Ok(judgements)
}

fn verdict_of(is_met: bool) -> Verdict {
    if is_met { Verdict::Holds } else { Verdict::Fails }
}

/// Ways that promise nothing are reported.
fn judge_influence(way: &str, influence: f64) -> (&'static str, Verdict) {
    match way {
        _ if way.starts_with(NOTHING) => ("above .2: the control must fail", verdict_of(influence > LEFT)),
        "retrain" | "shard isolation" => ("none, bit by bit", verdict_of(influence == 0.0)),
        "noisy rollback" => ("at most .2", verdict_of(influence <= LEFT)),
        _ => ("no promise", Verdict::NotJudged),
    }
}

fn judge_membership(way: &str, auc: &Auc) -> Verdict {
    match way {
        "retrain" | "noisy rollback" | "certificate" | "shard isolation" => verdict_of(auc.is_chance()),
        _ => Verdict::NotJudged,
    }
}

fn mean_distance(a: &[Params], b: &[Params]) -> f64 {
    let distance =
        |(a, b): (&Params, &Params)| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    a.iter().zip(b).map(distance).sum::<f64>() / a.len() as f64
}

struct Runs<'a> {
    results: &'a Results,
    collection: &'a str,
}

/// Settings by their places in the grid.
impl<'a> Runs<'a> {
    fn setting(&self, idx: usize) -> &'a Setting {
        &self.results.grid.settings[idx]
    }

    fn way(&self, idx: usize) -> &'a str {
        self.setting(idx).label("way").unwrap_or_default()
    }

    /// All settings of this collection.
    fn all(&self) -> impl Iterator<Item = usize> {
        let is_here = |&idx: &usize| self.setting(idx).label(COLLECTION_AXIS).is_none_or(|own| own == self.collection);
        (0..self.results.grid.settings.len()).filter(is_here)
    }

    /// What is judged: every way of a federation with the clients.
    fn cases(&self) -> Vec<usize> {
        let is_case = |&idx: &usize| self.way(idx) != ONE_FEDERATION && self.is(idx, "with");
        let mut cases: Vec<usize> = self.all().filter(is_case).collect();
        cases.sort_by_key(|&idx| self.way(idx));
        cases
    }

    fn is(&self, idx: usize, presence: &str) -> bool {
        self.setting(idx).label("presence").is_none_or(|own| own == presence)
    }

    /// All labels that tell a case from others.
    fn labels(&self, idx: usize) -> Vec<(&str, &str)> {
        let own = self.setting(idx).labels.iter().map(|(axis, label)| (axis.as_str(), label.as_str()));
        let others = own.filter(|(axis, _)| !["presence", COLLECTION_AXIS].contains(axis));
        others.chain([(COLLECTION_AXIS, self.collection)]).collect()
    }

    /// The same in a federation that never had the clients.
    fn never(&self, with: usize) -> Result<usize> {
        let labels = self.labels(with);
        let same = |idx: &usize| self.is(*idx, "never") && self.labels(*idx) == labels;
        self.all().find(same).with_context(|| format!("{labels:?} has no runs of a federation without the clients"))
    }

    /// The same training, with the clients and without, after which nobody is forgotten.
    fn control(&self, with: usize) -> Result<usize> {
        let training = |idx: usize| -> Result<Experiment> {
            Ok(Experiment { unlearning: None, ..self.setting(idx).training()?.clone() })
        };
        let both = |idx: usize| -> Result<[Experiment; 2]> { Ok([training(idx)?, training(self.never(idx)?)?]) };
        let own = both(with)?;
        let mut controls = self.all().filter(|&idx| self.way(idx).starts_with(NOTHING) && self.is(idx, "with"));
        let control = controls.find(|&idx| both(idx).is_ok_and(|both| both == own));
        control.with_context(|| format!("{:?} has no runs in which nobody is forgotten", self.labels(with)))
    }

    fn params(&self, setting: usize) -> Result<Vec<Params>> {
        let read = |run: &Run| Ok(Model::read(&self.results.run_folder(run).join("model.safetensors"))?.params);
        self.results.runs_of(setting).map(read).collect()
    }

    /// The largest of the shares of local steps, messages and bytes, where one federation was retrained to compare with.
    fn cost(&self, setting: usize) -> Result<Option<f64>> {
        let Some(one) = self.all().find(|&idx| self.way(idx) == ONE_FEDERATION) else { return Ok(None) };
        let sums = |setting: usize| -> Result<[u64; 3]> {
            let mut sums = [0; 3];
            for run in self.results.runs_of(setting) {
                let path = self.results.run_folder(run).join("unlearning.json");
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                let cost: Forgotten = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
                let own = [cost.local_steps, cost.messages, cost.bytes];
                sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            Ok(sums)
        };
        let (own, whole) = (sums(setting)?, sums(one)?);
        let shares = own.iter().zip(whole).map(|(&own, all)| own as f64 / all as f64);
        let is_compared = whole != [0; 3] && own != [0; 3];
        Ok(is_compared.then(|| shares.fold(0.0, f64::max)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve seeds: rankers scatter along the second parameter; the first is the client's doing.
    fn rankers(first: f32) -> Vec<Params> {
        (0..12_u8).map(|seed| vec![first, f32::from(seed) / 10.0]).collect()
    }

    #[test]
    fn doing_nothing_is_noticed_and_retraining_is_not() {
        let (with, never) = (rankers(5.0), rankers(1.0));
        let influence = mean_distance(&with, &never) / mean_distance(&rankers(5.0), &rankers(1.0));
        assert_eq!(judge_influence(NOTHING, influence).1, Verdict::Holds);
        assert_eq!(judge_influence("noisy rollback", influence).1, Verdict::Fails);
        let auc = membership::auc(&with, &never).expect("twelve seeds");
        assert_eq!((auc.value, judge_membership("certificate", &auc)), (1.0, Verdict::Fails));
        let auc = membership::auc(&never, &never).expect("twelve seeds");
        assert_eq!(judge_membership("retrain", &auc), Verdict::Holds);
        assert_eq!(judge_influence("retrain", mean_distance(&never, &never)).1, Verdict::Holds);
        assert!(membership::auc(&with[..1], &never[..1]).is_none(), "one seed has no others");
    }

    #[test]
    fn what_is_not_a_number_fails() {
        let broken = mean_distance(&rankers(f32::NAN), &rankers(1.0));
        assert_eq!(judge_influence(NOTHING, broken).1, Verdict::Fails);
        assert_eq!(judge_influence("retrain", broken).1, Verdict::Fails);
    }
}
