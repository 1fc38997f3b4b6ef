//! The judged rankers of one run, as `queries.csv` and as rows.

use std::path::Path;

use anyhow::{Context, Result};
use foltr_mimic::retrieval::Quality;

use super::judge::{Judge, Judged, Value};
use super::pipeline::FoldPipeline;
use super::spec::AggregationMethod;
use crate::rows::{MetricName, RankerMeasure, Row};
use crate::store::{RunRecord, put};

const QUERIES_FILE: &str = "queries.csv";
const COLUMNS: [&str; 6] = ["ranker", "weights", "query", "map", "p@20", "ndcg@20"];

/// The judged rankers of one fold and seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub seed: u64,
    pub fold: usize,
    /// In the order of tables.
    pub judged: Vec<Judged>,
}

impl Evaluation {
    /// Judges all networks of a run; nothing where no query was judged.
    pub(super) fn of(pipeline: &FoldPipeline<'_>) -> Result<Self> {
        let (seed, fold) = (pipeline.seed, pipeline.stage.fold);
        if pipeline.stage.judged.is_empty() {
            return Ok(Self { seed, fold, judged: Vec::new() });
        }
        let judge = Judge::new(pipeline.stage);
        let teachers: Vec<Vec<Vec<f32>>> = pipeline.teachers()?.iter().map(|teacher| judge.scores(teacher)).collect();
        let mut judged: Vec<Judged> = judge.first().into_iter().collect();
        if let [teacher] = &teachers[..] {
            judged.push(judge.alone("teacher", teacher));
            judged.extend(judge.with_first("teacher", teacher));
        } else {
            judged.push(judge.mean("teachers", &teachers));
        }
        for how in &pipeline.experiment.aggregation {
            let is_teacher = teachers.len() == 1 && matches!(how.method, AggregationMethod::Scores { scale: 0.0 });
            if !is_teacher {
                let aggregate = judge.aggregate(how.method, &teachers, &pipeline.noise(how, 1))?;
                judged.push(judge.alone(&format!("aggregate-{}", how.name), &aggregate));
            }
            let student = judge.scores(&pipeline.student(how)?);
            let name = format!("student-{}", how.name);
            judged.push(judge.alone(&name, &student));
            judged.extend(judge.with_first(&name, &student));
        }
        Ok(Self { seed, fold, judged })
    }

    /// The mean of every measure over queries.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        self.judged.iter().filter(|one| !one.values.is_empty()).flat_map(|Judged { ranker, values, .. }| {
            MEASURES.into_iter().filter_map(move |(measure, of)| {
                let value = values.iter().map(|value| of(&value.quality)).sum::<f64>() / values.len() as f64;
                let metric = RankerMeasure::new(&format!("{ranker}/{measure}"))?;
                Some(Row { round: 0, metric: MetricName::Ranker(metric), value })
            })
        })
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(COLUMNS)?;
        for Judged { ranker, weights, values } in &self.judged {
            let weights = weights.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            for Value { query, quality } in values {
                let numbers = MEASURES.map(|(_, of)| of(quality).to_string());
                csv.write_record([ranker, &weights, query].into_iter().chain(&numbers))?;
            }
        }
        put(&folder.join(QUERIES_FILE), &csv.into_inner()?)
    }

    /// Reads that of a finished run.
    ///
    /// # Errors
    /// If the file is missing or damaged, with its line.
    pub fn read(folder: &Path) -> Result<Self> {
        let record = RunRecord::read(folder)?;
        let bytes = record.content(folder, QUERIES_FILE)?;
        let mut judged: Vec<Judged> = Vec::new();
        for (number, line) in (2..).zip(csv::Reader::from_reader(&bytes[..]).records()) {
            let place = || format!("{}:{number}: expected {}", folder.join(QUERIES_FILE).display(), COLUMNS.join(","));
            add_line(&line.with_context(place)?, &mut judged).with_context(place)?;
        }
        Ok(Self { seed: record.seed, fold: record.fold, judged })
    }
}

fn add_line(line: &csv::StringRecord, judged: &mut Vec<Judged>) -> Option<()> {
    let number = |column: usize| line.get(column)?.parse().ok();
    let (ranker, query) = (line.get(0)?, line.get(2)?.to_owned());
    let quality = Quality { average_precision: number(3)?, precision: number(4)?, ndcg: number(5)? };
    if judged.last().is_none_or(|last| last.ranker != ranker) {
        let weights = line.get(1)?.split_whitespace().map(|weight| weight.parse().ok()).collect::<Option<_>>()?;
        judged.push(Judged { ranker: ranker.into(), weights, values: Vec::new() });
    }
    judged.last_mut()?.values.push(Value { query, quality });
    Some(())
}

/// A measure, by name.
type Measure = (&'static str, fn(&Quality) -> f64);

/// As the paper's tables have them.
pub const MEASURES: [Measure; 3] = [
    ("map", |quality| quality.average_precision),
    ("p@20", |quality| quality.precision),
    ("ndcg@20", |quality| quality.ndcg),
];
