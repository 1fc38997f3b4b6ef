//! Type 1, document preferences: the same queries and documents, with labels that depend on who asks (spec section 10).
//!
//! `WZ22` Wang, Zuccon: *Is Non-IID Data a Threat in Federated Online Learning to Rank?*, SIGIR 2022; `W24` Wang,
//! thesis, section 4.3.1. Client c has intent c modulo the number of intents. The papers shuffle the intents anew for each
//! query, so that no client has the easier intents; then there is no preference that a client keeps. The IID counterpart
//! has one set of labels: a document is relevant if it is for any intent (with grades: the highest).
//!
//! A query's order of intents depends on its number and the seed alone: a collection that is tested on its training
//! queries has the same labels in both places.

use std::sync::Arc;

use foltr_rank::rng::{Purpose, Streams};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::{Needs, PartitionError, PartitionMethod, PartitionedData, draws};
use crate::dataset::Dataset;
use crate::datasets::{Fold, IntentLabels};

/// Type 1: client c has intent c modulo their number. Needs data with intents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Intents {
    /// Whether intents change places anew for each query, by the seed of the run, as in the papers; then no client has a
    /// preference that stays.
    pub shuffled: bool,
}

impl PartitionMethod for Intents {
    const NEEDS: Option<Needs> = Some(Needs::Intents);

    fn divide(&self, fold: &Fold, n_clients: usize, streams: &Streams) -> Result<PartitionedData, PartitionError> {
        let n_intents = fold.n_intents();
        if n_intents < 2 {
            return Err(PartitionError("the data has but one intent".into()));
        }
        if n_clients < n_intents {
            return Err(PartitionError(format!("{n_clients} clients cannot have {n_intents} intents")));
        }
        let fold = if self.shuffled { shuffled_intents(fold, streams) } else { fold.clone() };
        let groups: Vec<Fold> = (0..n_intents).map(|intent| fold.of_intent(intent)).collect();
        let sets = groups.iter().map(|fold| fold.train.clone()).collect();
        Ok(PartitionedData { sets, queries: Vec::new(), groups, shared: None })
    }
}

/// The IID counterpart of Type 1: a document has the highest label that any intent gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MergedIntents {}

impl PartitionMethod for MergedIntents {
    const NEEDS: Option<Needs> = Some(Needs::Intents);
    const IS_IID: bool = true;

    fn divide(&self, fold: &Fold, _n_clients: usize, _streams: &Streams) -> Result<PartitionedData, PartitionError> {
        Ok(PartitionedData::same(merged_intents(fold)))
    }
}

/// The fold with the intents of every query in a random order of its own.
fn shuffled_intents(fold: &Fold, streams: &Streams) -> Fold {
    let train = shuffled(&fold.train, &labels_of(fold, |labels| &labels.train), streams);
    let test = shuffled(&fold.test, &labels_of(fold, |labels| &labels.test), streams);
    let validation = fold.validation.as_ref();
    let validation = validation.map(|data| shuffled(data, &labels_of(fold, |labels| &labels.validation), streams));
    let intents = IntentLabels::by_intent(train, validation, test);
    match intents.first() {
        Some(first) => Fold { intents: intents.clone(), ..fold.with_labels(first) },
        None => fold.clone(),
    }
}

/// The fold with the highest label that any intent gives to a document.
fn merged_intents(fold: &Fold) -> Fold {
    let merged = |labels: Vec<&Arc<[u8]>>| -> Arc<[u8]> {
        let n_docs = labels.first().map_or(0, |labels| labels.len());
        (0..n_docs).map(|doc| labels.iter().map(|labels| labels[doc]).max().unwrap_or(0)).collect()
    };
    if fold.intents.is_empty() {
        return fold.clone();
    }
    fold.with_labels(&IntentLabels {
        train: merged(labels_of(fold, |labels| &labels.train)),
        validation: merged(labels_of(fold, |labels| &labels.validation)),
        test: merged(labels_of(fold, |labels| &labels.test)),
    })
}

fn labels_of<'a>(fold: &'a Fold, part: impl Fn(&'a IntentLabels) -> &'a Arc<[u8]>) -> Vec<&'a Arc<[u8]>> {
    fold.intents.iter().map(part).collect()
}

/// For each place of a query's order: the labels of all documents.
fn shuffled(data: &Dataset, intents: &[&Arc<[u8]>], streams: &Streams) -> Vec<Vec<u8>> {
    let mut labels = vec![Vec::with_capacity(data.n_docs()); intents.len()];
    let mut order: Vec<usize> = (0..intents.len()).collect();
    for query in 0..data.n_queries() {
        order.sort_unstable();
        order.shuffle(&mut streams.open(Purpose::Data, query as u32, draws::INTENTS));
        for (labels, &intent) in labels.iter_mut().zip(&order) {
            labels.extend_from_slice(&intents[intent][data.docs(query)]);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::{Synthetic, SyntheticShape};
    use crate::partition::tests::letor;

    /// Intent i gives label i to every document.
    fn three_intents() -> Fold {
        let fold = Synthetic { n_train: 200, ..Synthetic::new(SyntheticShape::Tiny) }.generate(4).expect("valid");
        let all = |label: u8, data: Option<&Dataset>| vec![label; data.map_or(0, Dataset::n_docs)].into();
        let intent = |label| IntentLabels {
            train: all(label, Some(&fold.train)),
            validation: all(label, fold.validation.as_ref()),
            test: all(label, Some(&fold.test)),
        };
        Fold { intents: (0..3).map(intent).collect(), ..fold.clone() }
    }

    #[test]
    fn shuffling_permutes_the_intents_of_each_query() {
        let fold = three_intents();
        let shuffled = shuffled_intents(&fold, &Streams::new(1));
        assert_eq!(*shuffled.train.all_labels(), *shuffled.intents[0].train);
        assert_eq!(*shuffled.test.all_labels(), *shuffled.intents[0].test);
        assert_eq!(shuffled.train.rows().as_ptr(), fold.train.rows().as_ptr(), "features are shared");
        let mut counts = [0_u32; 6];
        for query in 0..200 {
            let of_query = |labels: &IntentLabels| labels.train[fold.train.docs(query)].to_vec();
            let order = shuffled.intents.iter().map(of_query).collect::<Vec<_>>();
            assert!(order.iter().flatten().all(|label| order.iter().filter(|own| own.contains(label)).count() == 1));
            counts[2 * usize::from(order[0][0]) + usize::from(order[1] > order[2])] += 1;
        }
        // All six orders equally often: chi-squared with five degrees of freedom is below 25.7 with probability 0.9999.
        let expected = 200.0 / 6.0;
        let chi_squared: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!(chi_squared < 25.7, "{counts:?}");
        assert_eq!(shuffled_intents(&fold, &Streams::new(1)), shuffled);
        assert_ne!(shuffled_intents(&fold, &Streams::new(2)), shuffled);
    }

    #[test]
    fn a_collection_tested_on_its_training_queries_stays_consistent() {
        let fold = three_intents();
        let same = |labels: &IntentLabels| IntentLabels { test: labels.train.clone(), ..labels.clone() };
        let intents = fold.intents.iter().map(same).collect();
        let fold = Fold { test: fold.train.clone(), intents, ..fold };
        let shuffled = shuffled_intents(&fold, &Streams::new(1));
        assert!(shuffled.intents.iter().all(|labels| labels.train == labels.test));
    }

    #[test]
    fn merged_labels_by_hand() {
        let text = "0 qid:1 1:1\n1 qid:1 1:2\n0 qid:1 1:3\n";
        let data = letor(text);
        let intent = |train: [u8; 3], test: [u8; 3]| IntentLabels {
            train: train.into(),
            validation: Arc::new([]),
            test: test.into(),
        };
        let mut fold = Fold::new(data.clone(), None, data);
        assert_eq!(merged_intents(&fold), fold);
        fold.intents = vec![intent([0, 1, 0], [0, 0, 0]), intent([2, 0, 0], [1, 0, 4])];
        let merged = merged_intents(&fold);
        assert_eq!((merged.train.all_labels(), merged.test.all_labels()), (&[2, 1, 0][..], &[1, 0, 4][..]));
        assert!(merged.intents.is_empty());
        assert_eq!(fold.of_intent(1).train.all_labels(), [2, 0, 0]);
        assert_eq!((fold.max_label(), fold.n_intents()), (4, 2));
    }
}
