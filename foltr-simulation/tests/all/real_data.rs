//! Counts on real collections.

use foltr_simulation::cache::{Cache, load_letor};
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
    assert_eq!((source.layout(), source.n_folds()), (Layout::Folds, 5));
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
    assert_eq!((source.layout(), source.n_folds()), (Layout::Parts, 5));
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

#[test]
fn values_are_those_of_the_standard_library() {
    let Some(folder) = foltr_test::data("MSLR-sample") else { return };
    let path = folder.join("msn1.fold1.train.5k.txt");
    let text = std::fs::read_to_string(&path).expect("read");
    let data = parse_letor(text.as_bytes(), &path, &ReadOptions::default()).expect("valid");
    // Queries are contiguous in this file, so documents are in file order.
    for (line, row) in text.lines().zip(data.rows().chunks_exact(136)) {
        for (pair, value) in line.split_whitespace().skip(2).zip(row) {
            let expected: f32 = pair.split(':').nth(1).expect("a value").parse().expect("a number");
            assert_eq!(value.to_bits(), expected.to_bits(), "{pair}");
        }
    }
}

#[test]
fn a_cached_fold_is_the_same_and_quick() {
    let Some(folder) = foltr_test::data("MQ2008") else { return };
    let cache_folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::Folder(cache_folder.path().into());
    let path = folder.join("Fold1/train.txt");
    let load = || load_letor(&path, &ReadOptions::default(), true, &cache).expect("valid");
    let first = load();
    let start = std::time::Instant::now();
    let second = load();
    println!("opened from the cache in {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    assert!(!first.from_cache && second.from_cache);
    assert_eq!(first.data, second.data);
    assert!(!folder.join("Fold1/.foltr-cache").exists());
}
