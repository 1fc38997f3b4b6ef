//! Beyond the papers: clients who want different things from the same documents, and every way to serve each of them.
//!
//! Synthetic intents that stay with a client, with mild and strong conflict, and clients that are in fact alike. Of each
//! method's candidates the one with the best validation queries over both conflicts and all users is taken; numbers are
//! of test queries. What FedAvg is worth to a client is what its one ranker is worth by that client's own labels.

mod judge;
mod spread;

use anyhow::{Context, Result};

use super::course::{USERS, select};
use super::study::mean;
use super::{Entry, Study};
use crate::results::{Results, Run};
use crate::rows::MetricName;
use crate::spec::{Metric, Split};

const SPEC: &str = include_str!("../../../specs/personalisation/methods.toml");

pub(super) const ENTRY: Entry = Entry {
    id: "personalisation",
    paper: "beyond the papers",
    what: "Rankers of one's own where clients want different things, and where they do not",
    run,
};

/// A method: its name, and its candidates in the experiment file; the first is what the full study chose.
struct Method {
    name: &'static str,
    candidates: &'static [&'static str],
}

const METHODS: [Method; 8] = [
    Method { name: "FedAvg", candidates: &["FedAvg"] },
    Method { name: "local only", candidates: &["local only"] },
    Method { name: "interpolation", candidates: &["interpolation"] },
    Method { name: "Ditto", candidates: &["Ditto .003", "Ditto .01"] },
    Method { name: "clusters (IFCA)", candidates: &["clusters .99", "clusters .999"] },
    Method { name: "additive", candidates: &["additive 1 .002", "additive 1 .005", "additive .5 .002"] },
    Method { name: "additive, with clusters", candidates: &["additive, clusters 1 .01", "additive, clusters .3 .003"] },
    Method { name: "oracle groups", candidates: &["known groups"] },
];

const FED_AVG: usize = 0;
/// The method that is recommended, and that the claims are about.
const ADDITIVE: usize = 5;
const ORACLE: usize = 7;

/// Clients that differ, or do not.
struct Scene {
    name: &'static str,
    overrides: &'static [&'static str],
}

const MILD: Scene = Scene { name: "mild conflict", overrides: &["data.conflict=mild"] };
const STRONG: Scene = Scene { name: "strong conflict", overrides: &["data.conflict=strong"] };
/// The same collections, everybody with the first intent.
const ALIKE: Scene =
    Scene { name: "clients alike", overrides: &["data.conflict=mild", "partition={ kind = \"iid\" }"] };

fn run(study: &mut Study<'_>) -> Result<()> {
    if study.is_quick() { quick(study) } else { full(study) }
}

/// What the full study chose, with mild conflict and alike.
fn quick(study: &mut Study<'_>) -> Result<()> {
    let chosen: Vec<&str> = METHODS.iter().map(|method| method.candidates[0]).collect();
    let mild = Outcome::run(study, MILD, &chosen)?;
    let alike = Outcome::run(study, ALIKE, &chosen)?;
    judge::conflict(study, &mild, &chosen)?;
    judge::calibration(study, &mild, 0.065, 0.01)?;
    judge::alike(study, &alike, &chosen)?;
    study.figure("spread", spread::figure(&[&mild], &chosen)?)?;
    study.note("--quick: two collections, no strong conflict, settings as the full study chose them");
    Ok(())
}

fn full(study: &mut Study<'_>) -> Result<()> {
    let all: Vec<&str> = METHODS.iter().flat_map(|method| method.candidates).copied().collect();
    let [mild, strong, alike] = [MILD, STRONG, ALIKE].map(|scene| Outcome::run(study, scene, &all));
    let (mild, strong, alike) = (mild?, strong?, alike?);
    let chosen = chosen(&[&mild, &strong])?;
    let names: Vec<&str> =
        METHODS.iter().zip(&chosen).filter(|(m, _)| m.candidates.len() > 1).map(|(_, c)| *c).collect();
    study.note(format!("chosen on validation queries, over both conflicts and all users: {}", names.join("; ")));
    for outcome in [&mild, &strong] {
        judge::conflict(study, outcome, &chosen)?;
    }
    judge::calibration(study, &mild, 0.065, 0.01)?;
    judge::calibration(study, &strong, 0.22, 0.03)?;
    judge::alike(study, &alike, &chosen)?;
    study.figure("spread", spread::figure(&[&mild, &strong], &chosen)?)?;
    study.note("100 clients, 4 intents, 4,000 interactions of each client, linear rankers, server rate 10");
    study.note(
        "an interval is over collections; clients that share a ranker are not independent, and shares of clients that \
         are worse off count each of them",
    );
    Ok(())
}

/// The experiment file with these candidates only.
fn spec_of(candidates: &[&str]) -> String {
    let mut parts = SPEC.split("[grid.axis.method.\"");
    let base = parts.next().unwrap_or_default().to_owned();
    let is_wanted = |part: &&str| candidates.iter().any(|name| part.starts_with(&format!("{name}\"]")));
    parts.filter(is_wanted).fold(base, |spec, part| spec + "[grid.axis.method.\"" + part)
}

/// All runs of a scene.
struct Outcome {
    name: &'static str,
    results: Results,
    seeds: Vec<String>,
}

impl Outcome {
    fn run(study: &mut Study<'_>, scene: Scene, candidates: &[&str]) -> Result<Self> {
        let seeds: Vec<String> = study.either(1..=2, 1..=5).map(|seed| seed.to_string()).collect();
        let mut overrides: Vec<String> = scene.overrides.iter().map(|&text| text.into()).collect();
        overrides.push(format!("data.seed=[{}]", seeds.join(", ")));
        let results = study.grid(&scene.name.replace(' ', "-"), &spec_of(candidates), &overrides)?;
        Ok(Self { name: scene.name, results, seeds })
    }

    fn the_run(&self, candidate: &str, users: &str, seed: &str) -> Result<&Run> {
        let labels = [("method", candidate), ("users.preset", users), ("data.seed", seed)];
        let setting = select(&self.results, &labels)?;
        self.results.runs_of(setting).next().context("a finished run")
    }

    /// What each client's ranker is worth to it, by client; one value if all have the same ranker and labels.
    fn by_client(&self, candidate: &str, users: &str, seed: &str, split: Split) -> Result<Vec<f64>> {
        let run = self.the_run(candidate, users, seed)?;
        let wanted = MetricName::Own(split, Metric::Ndcg(10));
        let own: Vec<f64> = run.clients.iter().filter(|one| one.metric == wanted).map(|one| one.value).collect();
        if !own.is_empty() {
            return Ok(own);
        }
        let global = MetricName::Offline(split, Metric::Ndcg(10));
        let last = run.rows.iter().rfind(|row| row.metric == global).context("a value of the global ranker")?;
        Ok(vec![last.value])
    }

    /// The mean over clients, one a collection.
    fn means(&self, candidate: &str, users: &str, split: Split) -> Result<Vec<f64>> {
        self.seeds.iter().map(|seed| Ok(mean(&self.by_client(candidate, users, seed, split)?))).collect()
    }
}

/// Of each method the candidate with the best validation queries.
fn chosen(outcomes: &[&Outcome]) -> Result<Vec<&'static str>> {
    let value = |candidate: &str| -> Result<f64> {
        let mut values = Vec::new();
        for outcome in outcomes {
            for users in USERS {
                values.extend(outcome.means(candidate, users, Split::Validation)?);
            }
        }
        Ok(mean(&values))
    };
    let best = |method: &Method| -> Result<&'static str> {
        let mut valued = Vec::new();
        for &candidate in method.candidates {
            valued.push((value(candidate)?, candidate));
        }
        let best = valued.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, candidate)| candidate).context("a method has candidates")
    };
    METHODS.iter().map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn every_candidate_is_in_the_file_and_nothing_else() {
        let all: Vec<&str> = METHODS.iter().flat_map(|method| method.candidates).copied().collect();
        let methods = |spec: &str| {
            let grid = Grid::from_toml(spec, &[]).expect("a sound file");
            let mut names: Vec<String> =
                grid.settings.iter().filter_map(|setting| Some(setting.label("method")?.to_owned())).collect();
            names.sort();
            names.dedup();
            names
        };
        let mut sorted: Vec<String> = all.iter().map(|&name| name.to_owned()).collect();
        sorted.sort();
        assert_eq!(methods(SPEC), sorted);
        assert_eq!(methods(&spec_of(&["FedAvg", "Ditto .01"])), ["Ditto .01", "FedAvg"]);
    }
}
