//! The evaluated rankers of one run, as `queries.csv` and as rows.

use std::path::Path;

use anyhow::{Context, Result};
use foltr_mimic::Candidates;
use foltr_mimic::aggregation::AggregationMethod;
use foltr_mimic::retrieval::NDCG;

use super::evaluator::{AS_FILED, RankerEvaluator, RankerResult, aggregate};
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
        // Those from outside may have left judged queries out: then there is no teacher to evaluate.
        let teachers = match &pipeline.data.outside {
            Some(outside) => outside.judged.clone().unwrap_or_default(),
            None => pipeline.teachers()?.iter().map(|teacher| evaluator.scores(teacher)).collect(),
        };
        let of_source = |source: &LabelSource| {
            let has_none = teachers.is_empty();
            let is_teacher = teachers.len() == 1 && matches!(source.method, AggregationMethod::Scores { scale: 0.0 });
            let noise = pipeline.noise(source, 1)?;
            let aggregate =
                (!is_teacher && !has_none).then(|| aggregate(source.method, &teachers, &noise)).transpose()?;
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
        } else if !self.teachers.is_empty() {
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
        evaluated.flat_map(|result| {
            let mean = |i: usize| mean(&result.values.iter().map(|(_, quality)| quality[i]).collect::<Vec<_>>());
            let means: Vec<f64> = (0..MEASURES.len()).map(mean).collect();
            let measured = MEASURES.into_iter().zip(means).chain(self.against_bm25(result));
            let row = |(measure, value): (&str, f64)| {
                let metric = RankerMeasure::new(&format!("{}/{measure}", result.ranker))?;
                Some(Row { round: 0, metric: MetricName::Ranker(metric), value })
            };
            measured.filter_map(row).collect::<Vec<_>>()
        })
    }

    /// nDCG@20 as a share of BM25's, and the statistic of a paired t-test by query against it; nothing of BM25 itself.
    fn against_bm25(&self, result: &RankerResult) -> Vec<(&'static str, f64)> {
        let bm25 = if result.ranker.ends_with(AS_FILED) { format!("bm25{AS_FILED}") } else { "bm25".into() };
        let first = self.rankers.iter().find(|other| other.ranker == bm25 && other.ranker != result.ranker);
        let Some(first) = first else { return Vec::new() };
        let ndcg = |result: &RankerResult| result.values.iter().map(|(_, quality)| quality[NDCG]).collect::<Vec<_>>();
        let (ours, theirs) = (ndcg(result), ndcg(first));
        let differences: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs).collect();
        let (n, difference) = (differences.len() as f64, mean(&differences));
        let variance = differences.iter().map(|value| (value - difference).powi(2)).sum::<f64>() / (n - 1.0);
        let against = [("of-bm25", mean(&ours) / mean(&theirs)), ("t", difference / (variance / n).sqrt())];
        against.into_iter().filter(|(_, value)| value.is_finite()).collect()
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

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences of .1, .2 and .6: mean .3, standard deviation sqrt(.07), t = .3 / sqrt(.07 / 3).
    #[test]
    fn rows_have_means_and_a_paired_statistic_against_bm25() {
        let result = |ranker: &str, ndcg: [f64; 3]| {
            let values = (1..).zip(ndcg).map(|(query, ndcg)| (format!("q{query}"), [0.5, 0.25, ndcg])).collect();
            RankerResult { ranker: ranker.into(), weights: Vec::new(), values }
        };
        let rankers = vec![result("bm25", [0.1, 0.2, 0.3]), result("teacher", [0.2, 0.4, 0.9])];
        let rows: Vec<(String, f64)> =
            Evaluation { seed: 1, fold: 1, rankers }.rows().map(|row| (row.metric.to_string(), row.value)).collect();
        let value = |name: &str| rows.iter().find(|(metric, _)| metric == name).map(|(_, value)| *value);
        assert!((value("teacher/ndcg@20").expect("a row") - 0.5).abs() < 1e-12);
        assert!((value("teacher/t").expect("a row") - 0.3 / (0.07f64 / 3.0).sqrt()).abs() < 1e-9);
        assert!((value("teacher/of-bm25").expect("a row") - 2.5).abs() < 1e-12);
        assert_eq!((value("bm25/map"), value("bm25/t"), value("bm25/of-bm25")), (Some(0.5), None, None));
    }
}
