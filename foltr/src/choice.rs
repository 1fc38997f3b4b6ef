//! The first stage of `foltr tune` and of files with `[choose]`: candidates on validation queries, and which are chosen.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;

use foltr_experiment::execute::{Execution, Shard};
use foltr_experiment::grid::{Grid, Setting};
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;
use foltr_experiment::store::RunStore;
use foltr_experiment::study::{Choose, Chosen, Study, chosen_csv};
use foltr_report::assemble::{is_finished, run_grid};
use foltr_report::distinct;
use foltr_report::expect::At;
use foltr_report::names::{axis_names, metric_name};
use foltr_report::statistics::Estimate;
use foltr_report::table::{table, with_interval};

/// Candidates that a table shows; `choice/summary.json` has all.
const MOST_SHOWN: usize = 60;

pub enum Stage {
    Interrupted,
    /// A share of the candidates was run, and others are missing: the choice needs all.
    Incomplete,
    Chosen(Box<Choice>),
}

/// What to do when [`Stage::Incomplete`].
pub const INCOMPLETE: &str = "a share of the candidates is finished: `foltr merge` the folders of all shares, then run the \
                              same command in the merged folder (or, with --shard, in copies of it)";

/// What is run after the choice, and how it was made.
pub struct Choice {
    pub grid: Grid,
    /// None for a study that chooses nothing.
    pub made: Option<ChoiceMade>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ChoiceMade {
    pub rule: String,
    pub metric: String,
    /// What was chosen runs with others, those of the file.
    pub seeds: Vec<u64>,
    pub axes: Vec<String>,
    pub candidates: Vec<Candidate>,
    pub chosen: Vec<Chosen>,
    /// Values at an end of what was tried: better ones may lie beyond.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    pub labels: Vec<(String, String)>,
    /// None if no run has a value.
    pub score: Option<Estimate>,
    pub is_chosen: bool,
}

/// Runs the candidates of a study in its folder `choice`, or a share of them, and chooses.
pub fn choose(
    study: &Study,
    store: &RunStore,
    name: Option<&str>,
    how: &Execution<'_>,
    shard: Option<Shard>,
) -> Result<Stage> {
    let Some(choose) = &study.choose else {
        return Ok(Stage::Chosen(Box::new(Choice { grid: study.grid.clone(), made: None })));
    };
    let folder = name.map_or_else(|| "choice".to_owned(), |name| format!("{name}/choice"));
    let candidates = choose.candidates(&study.grid);
    let run = |shard| {
        run_grid(candidates.clone(), store, Some(&folder), how, shard).context("the choice on validation queries")
    };
    if candidates.settings.is_empty() {
        return Ok(Stage::Chosen(Box::new(chosen(study, choose, &candidates, Vec::new()))));
    }
    if shard.is_some() && !is_finished(&candidates, store)? {
        if run(shard)?.interrupted {
            return Ok(Stage::Interrupted);
        }
        if !is_finished(&candidates, store)? {
            return Ok(Stage::Incomplete);
        }
    }
    let first = run(None)?;
    if first.interrupted {
        return Ok(Stage::Interrupted);
    }
    let choice = chosen(study, choose, &candidates, scores(choose, &first.results)?);
    let chosen = choice.made.iter().flat_map(|made| made.chosen.clone()).collect::<Vec<_>>();
    store.study(name)?.write("chosen.csv", &chosen_csv(&chosen)?)?;
    Ok(Stage::Chosen(Box::new(choice)))
}

fn chosen(study: &Study, choose: &Choose, candidates: &Grid, scores: Vec<Option<Estimate>>) -> Choice {
    let by_labels: HashMap<_, Option<Estimate>> =
        candidates.settings.iter().map(|setting| &setting.labels).zip(scores).collect();
    let score = |setting: &Setting| by_labels.get(&setting.labels).copied().flatten();
    let (grid, chosen) = choose.chosen(&study.grid, |setting| score(setting).map(|estimate| estimate.mean));
    let is_chosen = |setting: &Setting| {
        let all = |one: &Chosen| one.labels.iter().chain(&one.values).all(|pair| setting.labels.contains(pair));
        chosen.iter().any(|one| one.labels.len() + one.values.len() == setting.labels.len() && all(one))
    };
    let candidate = |setting: &Setting| Candidate {
        labels: setting.labels.clone(),
        score: score(setting),
        is_chosen: is_chosen(setting),
    };
    let made = ChoiceMade {
        rule: "the highest mean over folds and seeds; of equal ones the first of the file".into(),
        metric: choose.metric.clone(),
        seeds: choose.seeds.clone(),
        axes: choose.axes.clone(),
        candidates: candidates.settings.iter().map(candidate).collect(),
        warnings: ends(choose, candidates, &chosen),
        chosen,
    };
    Choice { grid, made: Some(made) }
}

fn scores(choose: &Choose, results: &Results) -> Result<Vec<Option<Estimate>>> {
    let metric: MetricName = choose.metric.parse()?;
    let at = At::try_from(choose.at.clone()).map_err(|message| anyhow!("choose.at: {message}"))?;
    let score = |setting: usize| {
        let values: Vec<f64> = results.runs_of(setting).filter_map(|run| at.of(run, metric)).collect();
        Estimate::of(&values)
    };
    Ok((0..results.grid.settings.len()).map(score).collect())
}

/// Chosen numbers that are the smallest or the largest of those tried.
fn ends(choose: &Choose, candidates: &Grid, chosen: &[Chosen]) -> Vec<String> {
    let mut all = Vec::new();
    for (one, axis) in chosen.iter().flat_map(|one| choose.axes.iter().map(move |axis| (one, axis))) {
        let is_rival = |setting: &&Setting| one.labels.iter().all(|pair| setting.labels.contains(pair));
        let labels = candidates.settings.iter().filter(is_rival).filter_map(|setting| setting.label(axis));
        let Some(tried) = labels.map(|label| label.parse::<f64>().ok()).collect::<Option<Vec<f64>>>() else { continue };
        let value = one.values.iter().find(|(of, _)| of == axis);
        let Some((label, value)) = value.and_then(|(_, label)| Some((label, label.parse::<f64>().ok()?))) else {
            continue;
        };
        let (low, high) = tried.iter().fold((value, value), |(low, high), &x| (low.min(x), high.max(x)));
        if low == high || (value != low && value != high) {
            continue;
        }
        let end = if value == low { "smallest" } else { "largest" };
        let case = names(&one.labels);
        let case = if case.is_empty() { case } else { format!(" for {case}") };
        all.push(format!("{axis} = {label}, chosen{case}, is the {end} value tried: try values beyond it"));
    }
    all
}

fn names(labels: &[(String, String)]) -> String {
    labels.iter().map(|(axis, label)| format!("{axis} = {label}")).collect::<Vec<_>>().join(", ")
}

impl ChoiceMade {
    /// All candidates with their values on validation queries; what was chosen has a mark.
    pub fn render(&self) -> String {
        let labels = self.candidates.iter().flat_map(|candidate| &candidate.labels);
        let axes: Vec<String> = distinct(labels.map(|(axis, _)| axis.clone()));
        let (names, metric) = (axis_names(&axes), format!("{}, mean", metric_name(&self.metric)));
        let header = names.iter().map(String::as_str).chain([metric.as_str(), "runs", "chosen"]);
        let header: Vec<&str> = header.collect();
        let row = |candidate: &Candidate| {
            let label = |axis: &String| {
                let pair = candidate.labels.iter().find(|(name, _)| name == axis);
                pair.map_or_else(String::new, |(_, label)| label.clone())
            };
            let score = candidate.score.as_ref();
            let n_runs = score.map_or(0, |score| score.n).to_string();
            let mark = if candidate.is_chosen { "*" } else { "" };
            let cells = [score.map_or_else(|| "none".into(), with_interval), n_runs, mark.into()];
            axes.iter().map(label).chain(cells).collect()
        };
        let shown = self.candidates.iter().take(MOST_SHOWN).map(row).collect();
        let seeds = self.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let mut text = format!("The choice, on validation queries with seeds {seeds}: {}\n", self.rule);
        text += &table(&header, axes.len(), shown);
        text += "\n";
        if self.candidates.len() > MOST_SHOWN {
            text += &format!("{MOST_SHOWN} of {} candidates; all are in choice/\n", self.candidates.len());
        }
        text + "\nWhat was chosen, with the seeds of the file:\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_test::ExperimentFile;

    #[test]
    fn a_value_at_the_end_of_what_was_tried_is_a_warning() {
        let file = ExperimentFile::fpdgd().set("learner.learning_rate", "[0.1, 0.01, 0.001]");
        let grid = Grid::from_toml(&file.to_string(), &[]).expect("a sound file");
        let choose = Choose::of_grid(&grid);
        let of = |best: &str| {
            let (_, chosen) =
                choose.chosen(&grid, |it| Some(f64::from(it.label("learner.learning_rate") == Some(best))));
            ends(&choose, &choose.candidates(&grid), &chosen)
        };
        assert_eq!(of("0.01"), [""; 0]);
        let expected = "learner.learning_rate = 0.1, chosen, is the largest value tried: try values beyond it";
        assert_eq!(of("0.1"), [expected]);
        assert!(of("0.001")[0].contains("smallest"));
    }
}
