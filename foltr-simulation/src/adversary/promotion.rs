//! Promotion: attackers click so that documents of one kind rise for queries of one kind, and nothing else changes.
//!
//! Our own, after the backdoors of `BVHES20` Bagdasaryan, Veit, Hua, Estrin, Shmatikov: *How To Backdoor Federated
//! Learning*, AISTATS 2020. Attackers learn as everybody does, by the usual clicks, but from labels of their own: in
//! target queries target documents are as relevant as can be and all others are not; in other queries they are honest,
//! which makes them hard to tell. A boost makes their updates longer.
//!
//! Whether it succeeds is not seen in the effectiveness of the ranker, so it is measured by the ranks of the documents.

use foltr_federation::ParameterError;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::{Adversary, Own, Seen, require};
use crate::dataset::Dataset;

/// Which documents are pushed for which queries.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// The feature that target documents have much of, as LETOR numbers it: from 1.
    pub feature: u32,
    /// Target documents have at least this quantile of the feature within their query.
    #[serde(default = "Promotion::quantile")]
    pub quantile: f64,
    /// Target queries are those whose mean of this feature is above that of the median training query; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_feature: Option<u32>,
    /// Factor of the attackers' updates.
    #[serde(default = "Promotion::boost")]
    pub boost: f64,
}

impl Adversary for Promotion {
    fn check(&self) -> Result<(), ParameterError> {
        let number = "a feature, counted from 1";
        require("feature", self.feature.into(), self.feature > 0, number)?;
        let query_feature = self.query_feature.unwrap_or(1);
        require("query_feature", query_feature.into(), query_feature > 0, number)?;
        require("quantile", self.quantile, (0.0..=1.0).contains(&self.quantile), "from 0 to 1")?;
        require("boost", self.boost, self.boost > 0.0, "positive and finite")
    }

    fn changes_messages(&self) -> bool {
        self.boost != 1.0
    }

    fn corrupt(&mut self, _seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        own.scale(self.boost);
    }
}

impl Promotion {
    const fn quantile() -> f64 {
        0.9
    }

    const fn boost() -> f64 {
        1.0
    }

    /// Checks that data of this width have the features.
    pub fn check_width(&self, n_features: usize) -> Result<(), ParameterError> {
        let right = "the number of a feature of the data";
        for (name, feature) in [("feature", self.feature), ("query_feature", self.query_feature.unwrap_or(1))] {
            require(name, feature.into(), (1..=n_features).contains(&(feature as usize)), right)?;
        }
        Ok(())
    }

    /// The targets, as these training data define them.
    pub fn targets(&self, training: &Dataset) -> Targets {
        let of_query = |feature: u32| {
            let feature = feature as usize - 1;
            let mut means: Vec<f64> = (0..training.n_queries()).map(|query| mean(training, query, feature)).collect();
            means.sort_unstable_by(f64::total_cmp);
            let at = means.len().saturating_sub(1) / 2;
            (feature, means.get(at).copied().unwrap_or(0.0))
        };
        let query_feature = self.query_feature.map(of_query);
        Targets { feature: self.feature as usize - 1, quantile: self.quantile, query_feature }
    }
}

/// Which documents of which queries are targets, in any data of the same features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Targets {
    /// From 0.
    feature: usize,
    quantile: f64,
    /// A feature, from 0, and the mean above which queries are targets.
    query_feature: Option<(usize, f64)>,
}

impl Targets {
    /// Whether each document of a query is a target; nothing if the query is none, or all its documents are alike.
    pub fn of(&self, data: &Dataset, query: usize) -> Option<Vec<bool>> {
        if self.query_feature.is_some_and(|(feature, least)| mean(data, query, feature) <= least) {
            return None;
        }
        let values: Vec<f32> = values(data, query, self.feature).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let threshold = sorted[(self.quantile * (sorted.len() - 1) as f64).ceil() as usize];
        (least < most).then(|| values.iter().map(|&value| value >= threshold).collect())
    }

    /// The labels that attackers learn from: only targets are relevant in target queries; honest ones elsewhere.
    pub fn relabel(&self, data: &Dataset) -> Dataset {
        let mut labels = data.all_labels().to_vec();
        for query in 0..data.n_queries() {
            let Some(targets) = self.of(data, query) else { continue };
            for (label, is_target) in labels[data.docs(query)].iter_mut().zip(targets) {
                *label = if is_target { data.max_label() } else { 0 };
            }
        }
        data.with_labels(labels)
    }

    /// Where these scores, one for each document of the data, rank the targets: their mean rank as a share of the list, 0
    /// for the top, 1 for the bottom, and a half what chance gives. Equal scores share their mean rank. Nothing if there
    /// is no target.
    pub fn relative_rank(&self, data: &Dataset, scores: &[f32]) -> Option<f64> {
        assert_eq!(scores.len(), data.n_docs(), "one score for each document");
        let (mut sum, mut n_targets) = (0.0, 0);
        for query in 0..data.n_queries() {
            let Some(targets) = self.of(data, query) else { continue };
            let scores = &scores[data.docs(query)];
            for (&score, _) in scores.iter().zip(targets).filter(|(_, is_target)| *is_target) {
                let n_better = scores.iter().filter(|&&other| other > score).count();
                let n_equal = scores.iter().filter(|&&other| other == score).count();
                let above = n_better as f64 + (n_equal as f64 - 1.0) / 2.0;
                // A query with a target has at least two documents.
                sum += above / (scores.len() - 1) as f64;
                n_targets += 1;
            }
        }
        (n_targets > 0).then(|| sum / f64::from(n_targets))
    }
}

fn values(data: &Dataset, query: usize, feature: usize) -> impl Iterator<Item = f32> {
    let view = data.query(query);
    (0..view.n_docs()).map(move |doc| view.row(doc)[feature])
}

fn mean(data: &Dataset, query: usize, feature: usize) -> f64 {
    let n_docs = data.docs(query).len() as f64;
    values(data, query, feature).map(f64::from).sum::<f64>() / n_docs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::letor::{ReadOptions, parse_letor};

    /// Four queries of 4, 2, 3 and 2 documents with two features.
    fn data() -> Dataset {
        let queries = "2 qid:a 1:.1 2:9\n0 qid:a 1:.4 2:9\n0 qid:a 1:.3 2:9\n1 qid:a 1:.2 2:9\n\
                       0 qid:b 1:.5 2:1\n1 qid:b 1:.6 2:1\n\
                       1 qid:c 1:.7 2:5\n0 qid:c 1:.7 2:5\n0 qid:c 1:.7 2:5\n\
                       1 qid:d 1:.8 2:2\n1 qid:d 1:.1 2:2\n";
        parse_letor(queries.as_bytes(), "data".as_ref(), &ReadOptions::default()).expect("sound lines")
    }

    const PROMOTION: Promotion = Promotion { feature: 1, quantile: 0.9, query_feature: None, boost: 1.0 };

    #[test]
    fn targets_by_hand() {
        let data = data();
        let targets = PROMOTION.targets(&data);
        assert_eq!(targets.of(&data, 0), Some(vec![false, true, false, false]));
        assert_eq!(targets.of(&data, 1), Some(vec![false, true]));
        assert_eq!(targets.of(&data, 2), None, "all documents are alike");
        let half = Promotion { quantile: 0.5, ..PROMOTION }.targets(&data);
        assert_eq!(half.of(&data, 0), Some(vec![false, true, true, false]), "0.3 is the middle");
        // Means of the second feature are 9, 1, 5 and 2, of which 2 is the (lower) median.
        let some = Promotion { query_feature: Some(2), ..PROMOTION }.targets(&data);
        let queries: Vec<bool> = (0..4).map(|query| some.of(&data, query).is_some()).collect();
        assert_eq!(queries, [true, false, false, false]);
    }

    #[test]
    fn only_target_queries_get_other_labels() {
        let data = data();
        let some = Promotion { query_feature: Some(2), ..PROMOTION }.targets(&data);
        assert_eq!(some.relabel(&data).all_labels(), [0, 2, 0, 0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(PROMOTION.targets(&data).relabel(&data).all_labels(), [0, 2, 0, 0, 0, 2, 1, 0, 0, 2, 0]);
    }

    #[test]
    fn ranks_by_hand() {
        let data = data();
        let targets = PROMOTION.targets(&data);
        // The targets are documents 1, 5 and 9.
        let scores = [3.0, 2.0, 1.0, 0.0, 1.0, 5.0, 0.0, 0.0, 0.0, 1.0, 2.0];
        assert_eq!(targets.relative_rank(&data, &scores), Some((1.0 / 3.0 + 0.0 + 1.0) / 3.0));
        assert_eq!(targets.relative_rank(&data, &[7.0; 11]), Some(0.5));
    }

    #[test]
    fn features_are_counted_from_one() {
        assert_eq!(PROMOTION.check_width(1), Ok(()));
        assert!(Promotion { feature: 3, ..PROMOTION }.check_width(2).is_err());
        let wrong = Promotion { query_feature: Some(3), ..PROMOTION }.check_width(2).expect_err("two features");
        assert_eq!(wrong.to_string(), "query_feature = 3 must be the number of a feature of the data");
        assert!(Promotion { feature: 0, ..PROMOTION }.check().is_err());
    }
}
