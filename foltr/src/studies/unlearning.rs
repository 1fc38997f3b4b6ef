//! Has a client been forgotten? What is left of it in the parameters, and whether somebody can tell.
//!
//! *Influence*: how far the unlearned ranker is from what the same method makes, with the same random numbers, of a
//! federation that never had the client, over how far the trained ranker is from the retrained one. *Membership*: an
//! attacker who sees one ranker tells whether the client was ever there; after `SAKS21` Sekhari et al., both rankers have
//! gone through the method. What those who stay lose is an expectation of the files.

use anyhow::{Context, Result};
use foltr_rank::Params;

use super::{judgement, membership};
use foltr_experiment::model::Model;
use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::Forgotten;
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
        let scale = mean_distance(&runs.params(NOTHING, "with")?, &runs.params(NOTHING, "never")?);
        for way in runs.ways() {
            let (with, never) = (runs.params(&way, "with")?, runs.params(&way, "never")?);
            let influence = mean_distance(&with, &never) / scale;
            let labels = [("way", way.as_str()), (COLLECTION_AXIS, name)];
            let mut case = |says: &str, expected: &str, value: f64, verdict: Verdict| {
                let judged = judgement(entry, says, &labels, verdict, value);
                let (expected, n) = (expected.to_owned(), with.len());
                judgements.push(Judgement { expected, n, data: Some(data.name.clone()), ..judged });
            };
            let (expected, verdict) = judge_influence(&way, influence);
            case("influence of the client that is left", expected, influence, verdict);
            if let Some(auc) = membership::auc(&with, &never) {
                let expected =
                    format!("no better than chance (interval {:.2} to {:.2})", auc.interval.0, auc.interval.1);
                case("membership inference: area under the curve", &expected, auc.value, judge_membership(&way, &auc));
            }
            if let Some(share) = runs.cost(&way)? {
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
        NOTHING => ("above .2: the control must fail", verdict_of(influence > LEFT)),
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

impl Runs<'_> {
    fn of(&self, way: &str, presence: &str) -> impl Iterator<Item = &Run> {
        let is = |idx: usize| {
            let setting = &self.results.grid.settings[idx];
            let has = |axis: &str, label: &str| setting.label(axis).is_none_or(|own| own == label);
            has("way", way) && has("presence", presence) && has(COLLECTION_AXIS, self.collection)
        };
        let settings: Vec<usize> = (0..self.results.grid.settings.len()).filter(|&idx| is(idx)).collect();
        settings.into_iter().flat_map(|setting| self.results.runs_of(setting))
    }

    fn ways(&self) -> Vec<String> {
        let all = self.results.grid.settings.iter().filter_map(|setting| setting.label("way"));
        let mut ways: Vec<String> = all.filter(|way| *way != ONE_FEDERATION).map(str::to_owned).collect();
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    fn params(&self, way: &str, presence: &str) -> Result<Vec<Params>> {
        let read = |run: &Run| Ok(Model::read(&self.results.run_folder(run).join("model.safetensors"))?.params);
        self.of(way, presence).map(read).collect()
    }

    /// The largest of the shares of local steps, messages and bytes, where one federation was retrained to compare with.
    fn cost(&self, way: &str) -> Result<Option<f64>> {
        let sums = |way: &str| -> Result<[u64; 3]> {
            let mut sums = [0; 3];
            for run in self.of(way, "with") {
                let path = self.results.run_folder(run).join("unlearning.json");
                let Ok(text) = std::fs::read_to_string(&path) else { continue };
                let cost: Forgotten = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
                let own = [cost.local_steps, cost.messages, cost.bytes];
                sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            Ok(sums)
        };
        let (own, whole) = (sums(way)?, sums(ONE_FEDERATION)?);
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
