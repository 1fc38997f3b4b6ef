//! `foltr models`: the trained rankers of a folder, and what they are.

use std::path::Path;

use anyhow::Result;

use super::End;
use crate::output::{self, say};
use foltr_experiment::spec::label;
use foltr_experiment::trained::{Ranker, TrainedRanker, trained_rankers};
use foltr_report::distinct;
use foltr_report::names::{axis_names, name_of};
use foltr_report::table::table;

pub fn run(path: &Path) -> Result<End> {
    let rankers = trained_rankers(path)?;
    say(render(&rankers));
    output::answer(&rankers)?;
    Ok(End::Done)
}

fn render(rankers: &[TrainedRanker]) -> String {
    let columns = Columns::of(rankers);
    let about = ["learner", "ranker", "features", "data", "normalise", "metric", "value", "file"];
    let header: Vec<&str> = columns.header().into_iter().chain(about).collect();
    let row = |ranker: &TrainedRanker| -> Vec<String> {
        let (metric, value) = ranker.first_value().unzip();
        let (kind, features) = described(&ranker.ranker);
        let about = [
            ranker.learner.clone(),
            Some(kind),
            features.map(|features| features.to_string()),
            ranker.data.clone(),
            ranker.normalise.map(|normalise| label(&normalise)),
            metric.map(name_of),
            value.map(|value| format!("{value:.6}")),
            Some(ranker.path.display().to_string()),
        ];
        identity(&columns, ranker).into_iter().chain(about.map(or_dash)).collect()
    };
    table(&header, header.len(), rankers.iter().map(row).collect())
}

/// What kind of ranker it is, and how many features it looks at.
fn described(ranker: &Ranker) -> (String, Option<usize>) {
    match ranker {
        Ranker::Linear { features } => ("linear".into(), Some(*features)),
        Ranker::Mlp { features, hidden, activation } => {
            (format!("mlp {hidden} {}", label(activation)), Some(*features))
        }
        Ranker::Network { name } => (name.clone(), None),
    }
}

/// The columns that tell rankers of one folder apart.
pub(super) struct Columns {
    axes: Vec<String>,
    names: Vec<String>,
    has_forgotten: bool,
}

impl Columns {
    pub(super) fn of<'a>(rankers: impl IntoIterator<Item = &'a TrainedRanker>) -> Self {
        let rankers: Vec<&TrainedRanker> = rankers.into_iter().collect();
        let axes = rankers.iter().flat_map(|ranker| ranker.setting.iter().map(|(axis, _)| axis.clone()));
        let axes = distinct(axes);
        Self {
            names: axis_names(&axes),
            axes,
            has_forgotten: rankers.iter().any(|ranker| !ranker.forgotten.is_empty()),
        }
    }

    pub(super) fn header(&self) -> Vec<&str> {
        let forgotten = self.has_forgotten.then_some("forgotten clients");
        self.names.iter().map(String::as_str).chain(["fold", "seed"]).chain(forgotten).collect()
    }
}

/// The cells of these columns.
pub(super) fn identity(columns: &Columns, ranker: &TrainedRanker) -> Vec<String> {
    let label = |axis: &String| ranker.setting.iter().find(|(name, _)| name == axis).map(|(_, label)| label.clone());
    let clients = ranker.forgotten.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let forgotten = columns.has_forgotten.then(|| Some(clients).filter(|clients| !clients.is_empty()));
    let place = [ranker.fold.map(|fold| fold.to_string()), ranker.seed.map(|seed| seed.to_string())];
    columns.axes.iter().map(label).chain(place).chain(forgotten).map(or_dash).collect()
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".into())
}
