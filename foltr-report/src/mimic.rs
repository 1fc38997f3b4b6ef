//! Mimic learning as tables, files and a figure: means over seeds, and tests over queries.

use std::collections::BTreeMap;

use anyhow::Result;
use foltr_mimic::retrieval::NDCG;
use serde::Serialize;

use crate::plot::{self, Bar, BarFigure, BarGroup, Figure};
use crate::statistics::{Estimate, TTest, Test, mean as average};
use crate::table::table;
use foltr_experiment::mimic::{AS_FILED, CUTOFF, Evaluation, MEASURES, RankerResult};
use foltr_experiment::results::Results;
use foltr_experiment::store::StudyFolder;

/// The evaluations of a setting, by seed and fold.
pub fn evaluations(results: &Results, setting: usize) -> Result<Vec<Evaluation>> {
    let read = results.runs_of(setting).map(|run| Evaluation::read(&results.run_folder(run)));
    let mut all: Vec<Evaluation> = read.collect::<Result<_>>()?;
    all.retain(|evaluation| !evaluation.rankers.is_empty());
    let position =
        |seed: u64| results.grid.settings[setting].experiment.seeds().iter().position(|&known| known == seed);
    all.sort_by_key(|evaluation| (position(evaluation.seed), evaluation.fold));
    Ok(all)
}

/// Writes `queries.csv`, and for every setting its rankers as `mimic.json` and as a figure.
pub fn write(study: &StudyFolder<'_>, results: &Results) -> Result<()> {
    let axes = results.grid.axes();
    let mut csv = csv::Writer::from_writer(Vec::new());
    let columns = ["seed", "fold", "ranker", "query"].into_iter().chain(MEASURES);
    csv.write_record(axes.iter().map(String::as_str).chain(columns))?;
    let mut summaries = Vec::new();
    for (i, setting) in results.grid.settings.iter().enumerate() {
        let evaluations = evaluations(results, i)?;
        if evaluations.is_empty() {
            continue;
        }
        let labels: Vec<String> = axes.iter().map(|axis| setting.label(axis).unwrap_or_default().to_owned()).collect();
        write_queries(&mut csv, &labels, &evaluations)?;
        let summary = Summary::of(&evaluations);
        let (title, name) = match results.grid.settings.len() {
            1 => ("Mimic learning".to_owned(), "ndcg".to_owned()),
            _ => (setting.name(), format!("ndcg-{}", i + 1)),
        };
        plot::write(&summary.figure(&title).svg(), &study.path().join(name))?;
        summaries.push(serde_json::json!({ "labels": setting.labels, "summary": summary }));
    }
    study.write("queries.csv", &csv.into_inner()?)?;
    study.write("mimic.json", &serde_json::to_vec_pretty(&summaries)?)?;
    Ok(())
}

fn write_queries(csv: &mut csv::Writer<Vec<u8>>, labels: &[String], evaluations: &[Evaluation]) -> Result<()> {
    for Evaluation { seed, fold, rankers } in evaluations {
        for RankerResult { ranker, values, .. } in rankers {
            for (query, quality) in values {
                let numbers = quality.map(|value| value.to_string());
                let run = [seed.to_string(), fold.to_string(), ranker.clone(), query.clone()];
                csv.write_record(labels.iter().chain(&run).chain(&numbers))?;
            }
        }
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub ranker: String,
    /// MAP, P@20 and nDCG@20: means over seeds.
    pub means: [f64; 3],
    /// 95 % interval of nDCG@20 over seeds; none with fewer than three: it would be as wide as anything.
    pub interval: Option<(f64, f64)>,
    /// Mean nDCG@20.
    pub by_seed: Vec<f64>,
    /// Network's weight beside BM25, over splits and seeds.
    pub weight: Option<f64>,
    /// nDCG@20 against BM25 by the same judgements, query by query (means over seeds); none without BM25.
    pub against_first: Option<TTest>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub lines: Vec<Line>,
    pub n_seeds: usize,
    pub n_queries: usize,
}

impl Summary {
    /// Of all folds and seeds, which have the same rankers.
    pub fn of(evaluations: &[Evaluation]) -> Self {
        let rankers = evaluations.first().map_or(&[][..], |evaluation| &evaluation.rankers);
        let names: Vec<String> = rankers.iter().map(|result| result.ranker.clone()).collect();
        let mut seeds: Vec<u64> = evaluations.iter().map(|evaluation| evaluation.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let by_query: Vec<BTreeMap<(usize, String), f64>> =
            (0..names.len()).map(|ranker| by_query(evaluations, ranker, seeds.len())).collect();
        let bm25_like = |name: &str| {
            let suffix = if name.ends_with(AS_FILED) { AS_FILED } else { "" };
            names.iter().position(|other| *other == format!("bm25{suffix}"))
        };
        let line = |(ranker, name): (usize, &String)| {
            let results = || evaluations.iter().map(move |evaluation| (evaluation.seed, &evaluation.rankers[ranker]));
            let mean = |seed: u64, measure: usize| {
                let of_seed = results().filter(|(of, _)| *of == seed).flat_map(|(_, result)| &result.values);
                average(&of_seed.map(|(_, quality)| quality[measure]).collect::<Vec<f64>>())
            };
            let by_seeds = |measure: usize| seeds.iter().map(|&seed| mean(seed, measure)).collect::<Vec<f64>>();
            let by_seed = by_seeds(NDCG);
            let weights: Vec<f64> =
                results().flat_map(|(_, result)| &result.weights).map(|&weight| weight.into()).collect();
            let estimate = Estimate::of(&by_seed).filter(|_| by_seed.len() > 2);
            Line {
                ranker: name.clone(),
                means: [0, 1, 2].map(|measure| average(&by_seeds(measure))),
                interval: estimate
                    .map(|estimate| (estimate.mean - estimate.half_width(), estimate.mean + estimate.half_width())),
                by_seed,
                weight: (!weights.is_empty()).then(|| average(&weights)),
                against_first: bm25_like(name)
                    .filter(|&first| first != ranker)
                    .and_then(|first| tested(&by_query[ranker], &by_query[first])),
            }
        };
        let lines = names.iter().enumerate().map(line).collect();
        let n_queries = by_query.first().map_or(0, BTreeMap::len);
        Self { lines, n_seeds: seeds.len(), n_queries }
    }

    pub fn line(&self, ranker: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.ranker == ranker)
    }

    pub fn render(&self) -> String {
        let has_first = self.line("bm25").is_some();
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
        let header = ["ranker", "MAP", "P@20", "nDCG@20", "95 %", "weight", "to bm25", "p"];
        let n_columns = if has_first { header.len() } else { 5 };
        table(&header[..n_columns], 1, self.lines.iter().map(row).collect())
    }

    fn figure(&self, title: &str) -> Figure {
        let bars = self.lines.iter().enumerate().map(|(method, line)| {
            let mean = line.means[NDCG];
            let (low, high) = line.interval.unwrap_or((mean, mean));
            Bar { method, value: mean, low, high }
        });
        Figure::Bars(BarFigure {
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
        })
    }
}

/// nDCG@20 of one ranker by fold and query, as means over seeds. Names may come twice in different folds.
fn by_query(evaluations: &[Evaluation], ranker: usize, n_seeds: usize) -> BTreeMap<(usize, String), f64> {
    let mut sums = BTreeMap::new();
    for evaluation in evaluations {
        for (query, quality) in &evaluation.rankers[ranker].values {
            *sums.entry((evaluation.fold, query.clone())).or_insert(0.0) += quality[NDCG] / n_seeds as f64;
        }
    }
    sums
}

fn tested(ranker: &BTreeMap<(usize, String), f64>, other: &BTreeMap<(usize, String), f64>) -> Option<TTest> {
    let values = |of: &BTreeMap<(usize, String), f64>| of.values().copied().collect::<Vec<f64>>();
    Test::Paired.compare(&values(ranker), &values(other)).ok()
}
