//! What the final rankers of every setting are worth on every held-out query, as means over seeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;
use rayon::prelude::*;

use crate::statistics::{TTest, Test};

/// By setting and metric; nothing where queries were not stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryMeans(Vec<BTreeMap<MetricName, Means>>);

#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// The same query may be in several folds, so that its fold belongs to its name.
    queries: Arc<Vec<(usize, String)>>,
    /// Over seeds, in the order of the queries.
    values: Vec<f64>,
}

/// A query by fold and id, and its mean over seeds.
pub type QueryMean = (usize, String, f64);

/// Query, sum over seeds and how many there were, in the order of the file.
type Sums = Vec<(String, f64, u32)>;

impl QueryMeans {
    pub fn read(results: &Results) -> Result<Self> {
        let settings = 0..results.grid.settings.len();
        let of_setting = |setting: usize| read_setting(results, setting);
        let mut all: Vec<BTreeMap<MetricName, Means>> =
            settings.into_par_iter().map(of_setting).collect::<Result<_>>()?;
        share_queries(&mut all);
        Ok(Self(all))
    }

    /// Means by metric of every setting, each a list of fold, query and value.
    pub fn of(settings: Vec<BTreeMap<MetricName, Vec<QueryMean>>>) -> Self {
        let means = |list: Vec<QueryMean>| {
            let (queries, values) = list.into_iter().map(|(fold, query, value)| ((fold, query), value)).unzip();
            Means { queries: Arc::new(queries), values }
        };
        let of_setting =
            |metrics: BTreeMap<_, _>| metrics.into_iter().map(|(metric, list)| (metric, means(list))).collect();
        Self(settings.into_iter().map(of_setting).collect())
    }

    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
        share_queries(&mut self.0);
    }

    /// Two settings on the same queries; none where they have different ones.
    pub fn compare(&self, metric: MetricName, setting: usize, other: usize) -> Option<QueryTest> {
        let (one, other) = (self.0.get(setting)?.get(&metric)?, self.0.get(other)?.get(&metric)?);
        let result = (one.queries == other.queries).then(|| Test::Paired.compare(&one.values, &other.values))?.ok()?;
        Some(QueryTest { result, n_queries: one.values.len() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryTest {
    pub result: TTest,
    pub n_queries: usize,
}

fn read_setting(results: &Results, setting: usize) -> Result<BTreeMap<MetricName, Means>> {
    // Mimic learning has a file of the same name and tests of its own.
    if results.grid.settings[setting].training().is_err() {
        return Ok(BTreeMap::new());
    }
    let mut sums: BTreeMap<MetricName, BTreeMap<usize, Sums>> = BTreeMap::new();
    for run in results.runs_of(setting) {
        let mut seen: BTreeMap<MetricName, usize> = BTreeMap::new();
        for value in results.queries(run).context("rerun the experiment to repair it")? {
            let place = seen.entry(value.metric).or_default();
            let queries = sums.entry(value.metric).or_default().entry(run.fold).or_default();
            match queries.get_mut(*place) {
                Some((query, sum, n)) if *query == value.query => (*sum, *n) = (*sum + value.value, *n + 1),
                _ => queries.push((value.query, value.value, 1)),
            }
            *place += 1;
        }
    }
    let means = |folds: BTreeMap<usize, Sums>| {
        let all = folds.into_iter().flat_map(|(fold, queries)| queries.into_iter().map(move |query| (fold, query)));
        let (queries, values) = all.map(|(fold, (query, sum, n))| ((fold, query), sum / f64::from(n))).unzip();
        Means { queries: Arc::new(queries), values }
    };
    Ok(sums.into_iter().map(|(metric, folds)| (metric, means(folds))).collect())
}

/// Settings with the same queries hold them once.
fn share_queries(settings: &mut [BTreeMap<MetricName, Means>]) {
    let mut known: Vec<Arc<Vec<(usize, String)>>> = Vec::new();
    for means in settings.iter_mut().flat_map(BTreeMap::values_mut) {
        match known.iter().find(|queries| **queries == means.queries) {
            Some(queries) => means.queries = Arc::clone(queries),
            None => known.push(Arc::clone(&means.queries)),
        }
    }
}
