//! Counts on real collections.

use foltr_simulation::cache::Cache;
use foltr_simulation::dataset::{Dataset, Summary, summary};
use foltr_simulation::datasets::{Fold, Layout, LoadOptions, Source};
use foltr_simulation::letor::{ReadOptions, letor_text, parse_letor};

fn uncached() -> LoadOptions {
    LoadOptions { normalise: false, cache: Cache::Off, read: ReadOptions::default() }
}

fn joined(fold: &Fold) -> Summary {
    let validation = fold.validation.clone().expect("a validation part");
    summary(&Dataset::concat(&[fold.train.clone(), validation, fold.test.clone()]).expect("one width"))
}

#[test]
fn mq2008_has_its_published_counts() {
    let Some(folder) = foltr_test::data("MQ2008") else { return };
    let source = Source::open(&folder).expect("MQ2008");
    assert_eq!((source.layout, source.n_folds()), (Layout::Folds, 5));
    for fold_idx in 0..5 {
        let all = joined(&source.load_fold(fold_idx, &uncached()).expect("a fold"));
        assert_eq!((all.n_queries, all.n_docs, all.n_features), (784, 15_211, 46));
        assert_eq!(all.label_counts, [12_279, 2_001, 931]);
        assert_eq!(all.n_queries_without_relevant, 220);
        assert!(all.is_unit_range);
    }
}

#[test]
fn the_sample_of_mq2007_has_its_counts_from_parts() {
    let Some(folder) = foltr_test::data("MQ2007-85") else { return };
    let source = Source::open(&folder).expect("parts");
    assert_eq!((source.layout, source.n_folds()), (Layout::Parts, 5));
    let fold = source.load_fold(1, &uncached()).expect("a fold");
    let all = joined(&fold);
    assert_eq!((all.n_queries, all.n_docs, all.n_features, all.label_counts.len()), (1_692, 59_135, 46, 3));
}

#[test]
fn the_sample_of_mslr_has_its_counts_and_survives_a_round_trip() {
    let Some(folder) = foltr_test::data("MSLR-sample") else { return };
    let source = Source::open(&folder).expect("train and test files");
    let fold = source.load_fold(0, &uncached()).expect("a fold");
    for data in [&fold.train, &fold.test] {
        let numbers = summary(data);
        assert_eq!((numbers.n_queries, numbers.n_docs, numbers.n_features), (43, 5_000, 136));
        assert_eq!(numbers.label_counts.len(), 5);
        let again =
            parse_letor(&letor_text(data), "again.txt".as_ref(), &ReadOptions::default()).expect("our own text");
        assert_eq!(&again, data);
    }
    assert!(fold.validation.is_none());
}
