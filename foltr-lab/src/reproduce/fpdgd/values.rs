//! Results by kind of users and by level (privacy budget, clients, batch): the form in which findings are judged.

use std::collections::BTreeMap;

use crate::grid::Setting;
use crate::results::Results;
use crate::rows::MetricName;
use crate::statistics::Estimate;

/// The axis of every experiment of this paper that tells users apart.
const AXIS: &str = "users.preset";

/// Its labels, in the paper's order.
pub const USERS: [&str; 3] = ["perfect", "navigational", "informational"];

/// One setting: a number for every run, by fold and seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its labels without the users'.
    pub name: String,
    /// One number a run.
    pub runs: Vec<f64>,
}

/// All settings of one kind of users.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Which users.
    pub users: String,
    /// In the order of the experiment file.
    pub levels: Vec<Level>,
}

impl Level {
    /// The mean over runs; not a number without any.
    pub fn mean(&self) -> f64 {
        self.runs.iter().sum::<f64>() / self.runs.len() as f64
    }
}

impl Group {
    /// The level of two labels.
    pub fn level_of(&self, words: [&str; 2]) -> Option<&Level> {
        self.levels.iter().find(|level| words.iter().all(|word| level.name.split(", ").any(|label| label == *word)))
    }
}

/// The labels of a setting without the users', in one line.
pub fn level_name(setting: &Setting) -> String {
    let labels = setting.labels.iter().filter(|(axis, _)| axis != AXIS);
    labels.map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ")
}

/// The users of a setting; empty if the experiment has only one kind.
pub fn users_of(setting: &Setting) -> String {
    setting.label(AXIS).unwrap_or_default().to_owned()
}

/// Groups the settings that are `wanted`; `value` gives the numbers of a setting by its index.
pub fn groups(results: &Results, wanted: impl Fn(&Setting) -> bool, value: impl Fn(usize) -> Vec<f64>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (idx, setting) in results.grid.settings.iter().enumerate().filter(|(_, setting)| wanted(setting)) {
        let level = Level { name: level_name(setting), runs: value(idx) };
        let users = users_of(setting);
        match groups.iter_mut().find(|group| group.users == users) {
            Some(group) => group.levels.push(level),
            None => groups.push(Group { users, levels: vec![level] }),
        }
    }
    groups
}

/// Whether a setting reads features as the published code did: raw ones for the baseline on MSLR-WEB10K.
pub fn is_as_published(setting: &Setting) -> bool {
    setting.label("data.normalise").is_none_or(|label| label == "none")
}

/// The last value of a metric in every run.
pub fn finals(results: &Results, metric: MetricName) -> Vec<Group> {
    groups(results, is_as_published, |setting| results.final_values(setting, metric))
}

/// Online performance of every run.
pub fn online(results: &Results) -> Vec<Group> {
    groups(results, is_as_published, |setting| results.online(setting))
}

/// The mean over rounds from the first on, for every run: how high a curve lies.
pub fn curve_heights(curve: &BTreeMap<usize, Vec<f64>>) -> Vec<f64> {
    mean_of_runs(curve.range(1..).map(|(_, values)| values.as_slice()))
}

/// The mean over interactions `from` to `to` of the ranker in use, for every run. Round r takes `per_round` interactions
/// and uses the ranker after r rounds; steps are of `step` interactions.
pub fn in_use(curve: &BTreeMap<usize, Vec<f64>>, per_round: usize, step: usize, from: usize, to: usize) -> Vec<f64> {
    mean_of_runs((from..to).step_by(step).filter_map(|n| curve.get(&(n / per_round)).map(Vec::as_slice)))
}

fn mean_of_runs<'a>(rounds: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let (mut sums, mut n) = (Vec::new(), 0.0);
    for values in rounds {
        sums.resize(values.len().max(sums.len()), 0.0);
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        n += 1.0;
    }
    sums.iter_mut().for_each(|sum| *sum /= n);
    sums
}

/// The difference of two levels, run by run: same fold, same seed.
pub fn difference(a: &Level, b: &Level) -> Option<Estimate> {
    let paired: Vec<f64> = a.runs.iter().zip(&b.runs).map(|(a, b)| a - b).collect();
    Estimate::of(&paired).filter(|_| a.runs.len() == b.runs.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranker_in_use_is_that_of_the_last_round() {
        // Two runs, three rounds of four interactions: interactions 4 to 8 use round 1, 8 to 12 round 2.
        let curve =
            BTreeMap::from([(0, vec![9.0, 9.0]), (1, vec![1.0, 2.0]), (2, vec![3.0, 6.0]), (3, vec![5.0, 5.0])]);
        assert_eq!(in_use(&curve, 4, 2, 4, 12), [2.0, 4.0]);
        assert_eq!(curve_heights(&curve), [3.0, 13.0 / 3.0]);
    }

    #[test]
    fn differences_are_of_pairs() {
        let level = |runs: &[f64]| Level { name: String::new(), runs: runs.to_vec() };
        let estimate = difference(&level(&[1.0, 11.0]), &level(&[0.0, 10.0])).expect("two pairs");
        assert_eq!((estimate.mean, estimate.standard_deviation), (1.0, Some(0.0)));
        assert_eq!(difference(&level(&[1.0]), &level(&[0.0, 10.0])), None);
    }

    #[test]
    fn levels_are_found_by_their_labels() {
        let level = |name: &str| Level { name: name.into(), runs: vec![1.0] };
        let group = Group { users: "perfect".into(), levels: vec![level("with DP, 10"), level("with DP, 100")] };
        assert_eq!(group.level_of(["with DP", "100"]).map(|level| level.name.as_str()), Some("with DP, 100"));
        assert_eq!(group.level_of(["with DP", "1"]), None);
    }
}
