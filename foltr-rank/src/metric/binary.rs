//! Measures that only ask whether a document is relevant (a label above 0): precision, recall, reciprocal rank, average
//! precision, binary preference.

use super::LabelMetric;

pub(super) struct Precision;

impl LabelMetric for Precision {
    const IR_MEASURES: Option<&'static str> = Some("P");

    fn value(ranked: &[u8], k: usize, _best: f64) -> f64 {
        precision(ranked.iter().copied(), k)
    }
}

/// Relevant documents among the first `k` ranked, divided by `k` also when fewer are ranked, as trec_eval does.
pub fn precision(ranked_labels: impl IntoIterator<Item = u8>, k: usize) -> f64 {
    ranked_labels.into_iter().take(k).filter(|&label| label > 0).count() as f64 / k as f64
}

pub(super) struct Recall;

impl LabelMetric for Recall {
    const IR_MEASURES: Option<&'static str> = Some("R");

    fn value(ranked: &[u8], k: usize, n_relevant: f64) -> f64 {
        ranked.iter().take(k).filter(|&&label| label > 0).count() as f64 / n_relevant
    }
}

pub(super) struct ReciprocalRank;

impl LabelMetric for ReciprocalRank {
    const IR_MEASURES: Option<&'static str> = Some("RR");

    fn value(ranked: &[u8], k: usize, _best: f64) -> f64 {
        let first = ranked.iter().take(k).position(|&label| label > 0);
        first.map_or(0.0, |position| 1.0 / (position + 1) as f64)
    }
}

pub(super) struct AveragePrecision;

impl LabelMetric for AveragePrecision {
    const IR_MEASURES: Option<&'static str> = Some("AP");

    fn value(ranked: &[u8], _k: usize, n_relevant: f64) -> f64 {
        sum_of_precisions(ranked.iter().copied()) / n_relevant
    }
}

/// `BV04` Buckley, Voorhees: *Retrieval Evaluation with Incomplete Information*, SIGIR 2004, as trec_eval computes it. It
/// looks at judged documents only; here all are judged.
pub(super) struct BinaryPreference;

impl LabelMetric for BinaryPreference {
    const IR_MEASURES: Option<&'static str> = Some("Bpref");

    fn value(ranked: &[u8], _k: usize, n_relevant: f64) -> f64 {
        let n_irrelevant = ranked.len() as f64 - n_relevant;
        let (mut n_above, mut sum) = (0.0_f64, 0.0);
        for &label in ranked {
            if label == 0 {
                n_above += 1.0;
            } else if n_above == 0.0 {
                sum += 1.0;
            } else {
                sum += 1.0 - n_above.min(n_relevant) / n_irrelevant.min(n_relevant);
            }
        }
        sum / n_relevant
    }
}

/// Mean over the `n_relevant` relevant documents of the precision at their rank; those that the ranking misses count 0.
pub fn average_precision_among(ranked_labels: impl IntoIterator<Item = u8>, n_relevant: usize) -> Option<f64> {
    (n_relevant > 0).then(|| sum_of_precisions(ranked_labels) / n_relevant as f64)
}

fn sum_of_precisions(ranked_labels: impl IntoIterator<Item = u8>) -> f64 {
    let (mut n_relevant, mut sum) = (0_u32, 0.0);
    for (position, label) in ranked_labels.into_iter().enumerate() {
        if label > 0 {
            n_relevant += 1;
            sum += f64::from(n_relevant) / (position + 1) as f64;
        }
    }
    sum
}
