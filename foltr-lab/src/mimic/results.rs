//! Evaluations as tables, files and a figure: means over seeds, and tests over queries.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use foltr_mimic::retrieval::Quality;
use serde::Serialize;

use super::judge::CUTOFF;
use super::{Evaluation, Judged};
use crate::kept::{put, put_json};
use crate::plot::{self, Bar, BarFigure, BarGroup};
use crate::statistics::{Estimate, TTest, Test};
use crate::table::table;

/// A measure, by name.
type Measure = (&'static str, fn(&Quality) -> f64);

/// As the paper's tables have them.
pub const MEASURES: [Measure; 3] = [
    ("MAP", |quality| quality.average_precision),
    ("P@20", |quality| quality.precision),
    ("nDCG@20", |quality| quality.ndcg),
];
const NDCG: usize = 2;

/// One ranker in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What ranked.
    pub ranker: String,
    /// MAP, P@20 and nDCG@20: means over seeds.
    pub means: [f64; 3],
    /// 95 % interval of nDCG@20 over seeds; none with fewer than three: it would be as wide as anything.
    pub interval: Option<(f64, f64)>,
    /// Mean nDCG@20 of each seed.
    pub by_seed: Vec<f64>,
    /// Network's weight beside BM25, over splits and seeds.
    pub weight: Option<f64>,
    /// nDCG@20 against BM25, query by query (means over seeds); none without BM25.
    pub against_first: Option<TTest>,
}

impl Line {
    /// Mean nDCG@20.
    pub fn ndcg(&self) -> f64 {
        self.means[NDCG]
    }
}

/// All rankers of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// In the order of evaluation.
    pub lines: Vec<Line>,
    /// Seeds.
    pub n_seeds: usize,
    /// Judged test queries, each once.
    pub n_queries: usize,
    /// nDCG@20 by ranker and query: means over seeds.
    #[serde(skip)]
    by_query: Vec<BTreeMap<(usize, String), f64>>,
}

impl Summary {
    /// Of all folds and seeds, which have the same rankers.
    pub fn of(evaluations: &[Evaluation]) -> Self {
        let names: Vec<String> = evaluations
            .first()
            .map(|first| first.judged.iter().map(|one| one.ranker.clone()).collect())
            .unwrap_or_default();
        let mut seeds: Vec<u64> = evaluations.iter().map(|one| one.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let by_query: Vec<BTreeMap<(usize, String), f64>> =
            (0..names.len()).map(|ranker| by_query(evaluations, ranker, seeds.len())).collect();
        let first = names.iter().position(|name| name == "BM25");
        let line = |(ranker, name): (usize, &String)| {
            let judged = || evaluations.iter().map(move |one| (one.seed, &one.judged[ranker]));
            let mean = |seed: u64, measure: fn(&Quality) -> f64| {
                let of_seed = judged().filter(|(of, _)| *of == seed).flat_map(|(_, one)| &one.values);
                let values: Vec<f64> = of_seed.map(|value| measure(&value.quality)).collect();
                values.iter().sum::<f64>() / values.len() as f64
            };
            let over_seeds =
                |measure: fn(&Quality) -> f64| -> Vec<f64> { seeds.iter().map(|&seed| mean(seed, measure)).collect() };
            let by_seed = over_seeds(MEASURES[NDCG].1);
            let weights: Vec<f64> = judged().flat_map(|(_, one)| &one.weights).map(|&weight| weight.into()).collect();
            let estimate = Estimate::of(&by_seed).filter(|_| by_seed.len() > 2);
            Line {
                ranker: name.clone(),
                means: MEASURES.map(|(_, measure)| average(&over_seeds(measure))),
                interval: estimate
                    .map(|estimate| (estimate.mean - estimate.half_width(), estimate.mean + estimate.half_width())),
                by_seed,
                weight: (!weights.is_empty()).then(|| average(&weights)),
                against_first: first
                    .filter(|&first| first != ranker)
                    .and_then(|first| tested(&by_query[ranker], &by_query[first])),
            }
        };
        let lines = names.iter().enumerate().map(line).collect();
        let n_queries = by_query.first().map_or(0, BTreeMap::len);
        Self { lines, n_seeds: seeds.len(), n_queries, by_query }
    }

    /// The line of a ranker.
    pub fn line(&self, ranker: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.ranker == ranker)
    }

    /// nDCG@20 of one ranker against another one, query by query.
    pub fn compare(&self, ranker: &str, other: &str) -> Option<TTest> {
        let place = |name: &str| self.lines.iter().position(|line| line.ranker == name);
        tested(&self.by_query[place(ranker)?], &self.by_query[place(other)?])
    }

    /// For people.
    pub fn told(&self) -> String {
        let has_first = self.line("BM25").is_some();
        let row = |line: &Line| {
            let mut row = vec![line.ranker.clone()];
            row.extend(line.means.map(|mean| format!("{mean:.4}")));
            row.push(line.interval.map_or_else(String::new, |(low, high)| format!("± {:.4}", (high - low) / 2.0)));
            if has_first {
                let weight = line.weight.map_or_else(String::new, |weight| format!("{weight:.2}"));
                let (difference, p) = line.against_first.map_or_else(Default::default, |test| {
                    (format!("{:+.4}", test.difference), format!("{:.2e}", test.p))
                });
                row.extend([weight, difference, p]);
            }
            row
        };
        let header = ["ranker", "MAP", "P@20", "nDCG@20", "95 %", "weight", "to BM25", "p"];
        let n_columns = if has_first { header.len() } else { 5 };
        table(&header[..n_columns], 1, self.lines.iter().map(row).collect())
    }

    /// Writes `summary.json`, `queries.csv` and the figure.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, out: &Path, title: &str, evaluations: &[Evaluation]) -> Result<()> {
        put_json(&out.join("summary.json"), self)?;
        put(&out.join("queries.csv"), csv_of(evaluations)?.as_bytes())?;
        plot::write(&self.figure(title).svg(), &out.join("ndcg"))?;
        Ok(())
    }

    /// nDCG@20 of every ranker as bars.
    pub fn figure(&self, title: &str) -> BarFigure {
        let bars = self.lines.iter().enumerate().map(|(method, line)| {
            let mean = line.means[NDCG];
            let (low, high) = line.interval.unwrap_or((mean, mean));
            Bar { method, value: mean, low, high }
        });
        BarFigure {
            title: title.into(),
            subtitle: format!(
                "{} test queries, {} seed{}",
                self.n_queries,
                self.n_seeds,
                match self.n_seeds {
                    1 => "",
                    2 => "s",
                    _ => "s; whiskers: 95 % intervals over seeds",
                }
            ),
            y_label: format!("nDCG@{CUTOFF}"),
            methods: self.lines.iter().map(|line| line.ranker.clone()).collect(),
            groups: vec![BarGroup { name: String::new(), bars: bars.collect() }],
            digits: Some(4),
        }
    }
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// nDCG@20 of one ranker by fold and query, as means over seeds. Names may come twice in different folds.
fn by_query(evaluations: &[Evaluation], ranker: usize, n_seeds: usize) -> BTreeMap<(usize, String), f64> {
    let mut sums = BTreeMap::new();
    for evaluation in evaluations {
        for value in &evaluation.judged[ranker].values {
            *sums.entry((evaluation.fold, value.query.clone())).or_insert(0.0) +=
                MEASURES[NDCG].1(&value.quality) / n_seeds as f64;
        }
    }
    sums
}

fn tested(one: &BTreeMap<(usize, String), f64>, other: &BTreeMap<(usize, String), f64>) -> Option<TTest> {
    let values = |of: &BTreeMap<(usize, String), f64>| of.values().copied().collect::<Vec<f64>>();
    Test::Paired.compare(&values(one), &values(other)).ok()
}

fn csv_of(evaluations: &[Evaluation]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["seed", "fold", "ranker", "query", "MAP", "P@20", "nDCG@20"])?;
    for Evaluation { seed, fold, judged } in evaluations {
        for Judged { ranker, values, .. } in judged {
            for value in values {
                let mut record = vec![seed.to_string(), fold.to_string(), ranker.clone(), value.query.clone()];
                for (_, measure) in MEASURES {
                    let mut text = String::new();
                    write!(text, "{}", measure(&value.quality))?;
                    record.push(text);
                }
                writer.write_record(&record)?;
            }
        }
    }
    String::from_utf8(writer.into_inner().context("rows in memory")?).context("rows are text")
}
