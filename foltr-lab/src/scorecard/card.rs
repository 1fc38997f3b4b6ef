//! The lines of a scorecard, from its runs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::kept::Values;
use super::setting::Job;
use super::{ATTACKS, DEFENCES, RECOMMENDED};

/// How a defence fares on one collection, under one kind of users, at one share of attackers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The collection.
    pub data: String,
    /// The federation: cross-silo, cross-device or foltr-es.
    pub setting: String,
    /// Who clicks.
    pub users: String,
    /// Share of attackers.
    pub share: f64,
    /// What is done against them.
    pub defence: String,
    /// nDCG@10 of federated averaging without attackers.
    pub clean: f64,
    /// What the defence loses of it without attackers.
    pub clean_loss: f64,
    /// nDCG@10 under every attack.
    pub attacks: BTreeMap<String, f64>,
    /// The least of these; without an attack on nDCG what the defence has without attackers.
    pub worst: f64,
    /// nDCG@10 of a random ranking, on average.
    pub random: f64,
    /// Whether this is the recommended default.
    pub recommended: bool,
    /// Runs behind every number.
    pub seeds: usize,
}

impl Line {
    /// The worst case as a share of clean.
    pub fn kept(&self) -> f64 {
        self.worst / self.clean
    }

    /// How much of the gain over a random ranking is left in the worst case.
    pub fn gain_kept(&self) -> f64 {
        (self.worst - self.random) / (self.clean - self.random)
    }

    /// The attack that hurts most.
    pub fn worst_attack(&self) -> &str {
        let least = self.attacks.iter().min_by(|a, b| a.1.total_cmp(b.1));
        least.map_or("", |(name, _)| name.as_str())
    }
}

/// Where promoted documents ended up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Promotion {
    /// The collection.
    pub data: String,
    /// Who clicks.
    pub users: String,
    /// Share of attackers.
    pub share: f64,
    /// What is done against them.
    pub defence: String,
    /// Place of the promoted kind of documents, as a share of the list (0 is the top), under the attack.
    pub attacked: f64,
    /// The same of federated averaging without attackers.
    pub clean: f64,
    /// nDCG@10 under the attack.
    pub ndcg: f64,
}

/// Data, users and share of attackers.
type Where = (String, String, String);

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn place(job: &Job<'_>) -> Where {
    (job.data.to_owned(), job.users.to_owned(), format!("{:.4}", job.share))
}

/// Values of runs by where they belong, defence and attack.
struct Runs<'a>(BTreeMap<(Where, &'a str, &'a str), Vec<Values>>);

impl<'a> Runs<'a> {
    fn of(done: &'a [(Job<'a>, Values)]) -> Self {
        let mut runs: BTreeMap<_, Vec<Values>> = BTreeMap::new();
        for (job, values) in done {
            let attack = job.attack.map_or("", |attack| attack.name);
            runs.entry((place(job), job.defence.name, attack)).or_default().push(*values);
        }
        Self(runs)
    }

    fn mean(&self, at: &Where, defence: &str, attack: &str, of: fn(&Values) -> f64) -> Option<f64> {
        let runs = self.0.iter().find(|((place, by, with), _)| place == at && *by == defence && *with == attack)?.1;
        Some(mean(&runs.iter().map(of).collect::<Vec<_>>()))
    }
}

/// All lines that have a clean run, defences in the order of their list.
pub(super) fn lines(done: &[(Job<'_>, Values)]) -> Vec<Line> {
    let runs = Runs::of(done);
    let test = |values: &Values| values.test;
    let mut lines = Vec::new();
    for (job, _) in places(done) {
        let at = place(job);
        let Some(clean) = runs.mean(&at, DEFENCES[0].name, "", test) else { continue };
        let random = runs.mean(&at, DEFENCES[0].name, "", |values| values.random).unwrap_or(f64::NAN);
        for defence in DEFENCES {
            let Some(own) = runs.mean(&at, defence.name, "", test) else { continue };
            let n_seeds = runs.0.get(&(at.clone(), defence.name, "")).map_or(0, Vec::len);
            let of = |((place, with, attack), runs): (&(Where, &str, &str), &Vec<Values>)| {
                let aims_at_ndcg = ATTACKS.iter().any(|known| known.name == *attack && !known.is_promotion());
                let is_own = *place == at && *with == defence.name && aims_at_ndcg;
                is_own.then(|| ((*attack).to_owned(), mean(&runs.iter().map(|values| values.test).collect::<Vec<_>>())))
            };
            let attacks: BTreeMap<String, f64> = runs.0.iter().filter_map(of).collect();
            lines.push(Line {
                data: job.data.into(),
                setting: job.setting.into(),
                users: job.users.into(),
                share: job.share,
                defence: defence.name.into(),
                clean,
                clean_loss: clean - own,
                worst: attacks.values().copied().reduce(f64::min).unwrap_or(own),
                attacks,
                random,
                recommended: defence.name == RECOMMENDED,
                seeds: n_seeds,
            });
        }
    }
    lines
}

/// Where the promotion attack was run.
pub(super) fn promotions(done: &[(Job<'_>, Values)]) -> Vec<Promotion> {
    let runs = Runs::of(done);
    let mut promotions = Vec::new();
    for (job, _) in places(done) {
        let at = place(job);
        for defence in DEFENCES {
            for attack in ATTACKS.iter().filter(|attack| attack.is_promotion()) {
                let place = |defence: &str, attack: &str| runs.mean(&at, defence, attack, |values| values.promoted);
                let ndcg = runs.mean(&at, defence.name, attack.name, |values| values.test);
                let (Some(attacked), Some(ndcg)) = (place(defence.name, attack.name), ndcg) else { continue };
                let clean = place(DEFENCES[0].name, "").unwrap_or(f64::NAN);
                promotions.push(Promotion {
                    data: job.data.into(),
                    users: job.users.into(),
                    share: job.share,
                    defence: defence.name.into(),
                    attacked,
                    clean,
                    ndcg,
                });
            }
        }
    }
    promotions
}

/// One run of each place, in the order in which they were run.
fn places<'a>(done: &'a [(Job<'a>, Values)]) -> Vec<&'a (Job<'a>, Values)> {
    let mut seen = Vec::new();
    done.iter()
        .filter(|(job, _)| {
            let is_new = !seen.contains(&place(job));
            if is_new {
                seen.push(place(job));
            }
            is_new
        })
        .collect()
}

/// For every defence: the largest share of attackers at which it keeps `least` of clean on all data, users and attacks
/// of the card, and at every smaller share; nothing if it fails at the smallest. What was not attacked is left out.
pub fn breakdown_points(lines: &[Line], least: f64) -> Vec<(String, Option<f64>)> {
    let lines: Vec<&Line> = lines.iter().filter(|line| !line.attacks.is_empty()).collect();
    let mut shares: Vec<f64> = lines.iter().map(|line| line.share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.dedup();
    let names =
        DEFENCES.iter().map(|defence| defence.name).filter(|name| lines.iter().any(|line| line.defence == **name));
    let holds = |name: &str, share: f64| {
        let mut own = lines.iter().filter(|line| line.defence == name && line.share == share).peekable();
        own.peek().is_some() && own.all(|line| line.kept() >= least)
    };
    names.map(|name| (name.to_owned(), shares.iter().copied().take_while(|&share| holds(name, share)).last())).collect()
}
