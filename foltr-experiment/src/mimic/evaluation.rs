//! The evaluated rankers of one run, as `queries.csv` and as rows.

use std::path::Path;

use anyhow::{Context, Result};
use foltr_mimic::Candidates;
use foltr_mimic::aggregation::AggregationMethod;

use super::evaluator::{RankerEvaluator, RankerResult, aggregate};
use super::pipeline::FoldPipeline;
use super::spec::LabelSource;
use crate::rows::{MetricName, RankerMeasure, Row};
use crate::store::{RunRecord, put};

const QUERIES_FILE: &str = "queries.csv";
/// As the paper's tables have them, in the order of [`foltr_mimic::retrieval::Quality`].
pub const MEASURES: [&str; 3] = ["map", "p@20", "ndcg@20"];
const COLUMNS: [&str; 6] = ["ranker", "weights", "query", "map", "p@20", "ndcg@20"];

#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub seed: u64,
    pub fold: usize,
    /// In the order of tables.
    pub rankers: Vec<RankerResult>,
}

/// What every network says of all judged queries.
struct Scores {
    teachers: Vec<Vec<Candidates>>,
    /// By source of labels: its name, the aggregate unless that is the teacher, and the student.
    students: Vec<(String, Option<Vec<Candidates>>, Vec<Candidates>)>,
}

impl Scores {
    fn of(pipeline: &FoldPipeline<'_>) -> Result<Self> {
        let evaluator = RankerEvaluator::new(pipeline.data);
        let teachers: Vec<_> = pipeline.teachers()?.iter().map(|teacher| evaluator.scores(teacher)).collect();
        let of_source = |source: &LabelSource| {
            let is_teacher = teachers.len() == 1 && matches!(source.method, AggregationMethod::Scores { scale: 0.0 });
            let noise = pipeline.noise(source, 1)?;
            let aggregate = (!is_teacher).then(|| aggregate(source.method, &teachers, &noise)).transpose()?;
            Ok((source.name.clone(), aggregate, evaluator.scores(&pipeline.student(source)?)))
        };
        let students = pipeline.experiment.aggregation.iter().map(of_source).collect::<Result<_>>()?;
        Ok(Self { teachers, students })
    }

    fn rankers(&self, evaluator: &RankerEvaluator<'_>) -> Vec<RankerResult> {
        let mut rankers: Vec<RankerResult> = evaluator.first().into_iter().collect();
        if let [teacher] = &self.teachers[..] {
            rankers.push(evaluator.alone("teacher", teacher));
            rankers.extend(evaluator.with_first("teacher", teacher));
        } else {
            rankers.push(evaluator.mean("teachers", &self.teachers));
        }
        for (source, aggregate, student) in &self.students {
            if let Some(aggregate) = aggregate {
                rankers.push(evaluator.alone(&format!("aggregate-{source}"), aggregate));
            }
            let name = format!("student-{source}");
            rankers.push(evaluator.alone(&name, student));
            rankers.extend(evaluator.with_first(&name, student));
        }
        rankers
    }
}

impl Evaluation {
    /// Evaluates all networks of a run; nothing where no query was judged.
    pub(super) fn of(pipeline: &FoldPipeline<'_>) -> Result<Self> {
        let (seed, fold) = (pipeline.seed, pipeline.data.fold);
        if pipeline.data.judged.is_empty() {
            return Ok(Self { seed, fold, rankers: Vec::new() });
        }
        let scores = Scores::of(pipeline)?;
        let mut rankers = scores.rankers(&RankerEvaluator::new(pipeline.data));
        if let Some(as_filed) = RankerEvaluator::as_filed(pipeline.data) {
            rankers.extend(scores.rankers(&as_filed));
        }
        Ok(Self { seed, fold, rankers })
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        let evaluated = self.rankers.iter().filter(|result| !result.values.is_empty());
        evaluated.flat_map(|RankerResult { ranker, values, .. }| {
            MEASURES.into_iter().enumerate().filter_map(move |(i, measure)| {
                let value = values.iter().map(|(_, quality)| quality[i]).sum::<f64>() / values.len() as f64;
                let metric = RankerMeasure::new(&format!("{ranker}/{measure}"))?;
                Some(Row { round: 0, metric: MetricName::Ranker(metric), value })
            })
        })
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(COLUMNS)?;
        for RankerResult { ranker, weights, values } in &self.rankers {
            let weights = weights.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            for (query, quality) in values {
                let numbers = quality.map(|value| value.to_string());
                csv.write_record([ranker, &weights, query].into_iter().chain(&numbers))?;
            }
        }
        put(&folder.join(QUERIES_FILE), &csv.into_inner()?)
    }

    pub fn read(folder: &Path) -> Result<Self> {
        let record = RunRecord::read(folder)?;
        let bytes = record.content(folder, QUERIES_FILE)?;
        let mut rankers: Vec<RankerResult> = Vec::new();
        for (number, line) in (2..).zip(csv::Reader::from_reader(&bytes[..]).records()) {
            let location =
                || format!("{}:{number}: expected {}", folder.join(QUERIES_FILE).display(), COLUMNS.join(","));
            add_line(&line.with_context(location)?, &mut rankers).with_context(location)?;
        }
        Ok(Self { seed: record.seed, fold: record.fold, rankers })
    }
}

fn add_line(line: &csv::StringRecord, rankers: &mut Vec<RankerResult>) -> Option<()> {
    let number = |column: usize| line.get(column)?.parse().ok();
    let (ranker, query) = (line.get(0)?, line.get(2)?.to_owned());
    let quality = [number(3)?, number(4)?, number(5)?];
    if rankers.last().is_none_or(|last| last.ranker != ranker) {
        let weights = line.get(1)?.split_whitespace().map(|weight| weight.parse().ok()).collect::<Option<_>>()?;
        rankers.push(RankerResult { ranker: ranker.into(), weights, values: Vec::new() });
    }
    rankers.last_mut()?.values.push((query, quality));
    Some(())
}
