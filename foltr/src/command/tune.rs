//! `foltr tune`: swept values are chosen on validation queries, and the choice is reported on test queries.

use anyhow::Result;
use toml::Value;

use super::{End, run};
use crate::cli::{RunArgs, TuneArgs};
use foltr_experiment::mimic::Step;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::{Problem, SpecError, Split};
use foltr_experiment::study::{Choose, Study};

/// Runs a file as if its section `[choose]` said what was asked for.
pub fn run(arguments: &TuneArgs) -> Result<End> {
    let TuneArgs { spec, out, overrides, quick, shard, .. } = arguments;
    let of_run = RunArgs {
        spec: spec.clone(),
        out: Some(out.clone()),
        overrides: overrides.clone(),
        quick: *quick,
        shard: *shard,
        ..RunArgs::default()
    };
    let study = SpecError::reading(spec, |text| {
        let (mut study, criteria) = run::read(text, &of_run)?;
        study.choose = Some(choice_of(&study, arguments)?);
        Ok((study, criteria))
    })?;
    run::run_study(&study, &of_run, &Step::ALL)
}

fn choice_of(study: &Study, arguments: &TuneArgs) -> Result<Choose, Vec<Problem>> {
    let grid = &study.grid;
    let mut choose = study.choose.clone().unwrap_or_else(|| Choose::of_grid(grid));
    if !arguments.axes.is_empty() {
        choose.axes.clone_from(&arguments.axes);
    }
    if let Some(metric) = &arguments.metric {
        choose.metric = on_validation_queries(metric);
    }
    if let Some(at) = &arguments.at {
        choose.at = Value::String(at.clone());
    }
    if !arguments.choice_seeds.is_empty() {
        choose.seeds.clone_from(&arguments.choice_seeds);
    }
    let mut problems = choose.check(grid);
    if let Err(message) = foltr_report::expect::At::try_from(choose.at.clone()) {
        problems.push(Problem::new("choose.at", message));
    }
    if choose.axes.is_empty() {
        let swept = grid.axes();
        let swept = if swept.is_empty() { "nothing".into() } else { swept.join(", ") };
        let message =
            "nothing to choose from: no number of learner, ranker, personalisation or server optimiser is a list";
        problems.push(Problem::new("choose.axes", format!("{message}; swept is {swept}; name an axis with --choose")));
    }
    if problems.is_empty() { Ok(choose) } else { Err(study.located(problems)) }
}

/// `ndcg@10` is `validation-ndcg@10`; a whole name of a result folder stays as it is.
fn on_validation_queries(metric: &str) -> String {
    let is_whole = metric.parse::<MetricName>().is_ok();
    if is_whole { metric.into() } else { format!("{}-{metric}", Split::Validation.name()) }
}
