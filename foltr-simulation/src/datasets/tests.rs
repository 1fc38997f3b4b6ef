//! Tests of layouts on folders of tiny files, one document each, whose query id says which file they came from.

use super::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use tempfile::TempDir;

fn folder_with(names: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (i, name) in names.iter().enumerate() {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        let text = format!("{} qid:{name} {}:1\n", i % 3, i + 1);
        let packed = || compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        fs::write(path, if name.ends_with(".zst") { packed() } else { text.into_bytes() }).expect("written");
    }
    folder
}

fn options() -> LoadOptions {
    LoadOptions { normalise: false, cache: Cache::Off, read: ReadOptions::default() }
}

fn ids(data: &Dataset) -> Vec<&str> {
    (0..data.n_queries()).map(|query| data.query_id(query)).collect()
}

fn refused(names: &[&str]) -> String {
    Source::open(folder_with(names).path()).expect_err("no layout").to_string()
}

#[test]
fn folds_are_found_and_get_one_width() {
    let names = ["Fold1/train.txt", "Fold1/vali.txt", "Fold1/test.txt", "Fold2/train.txt", "Fold2/test.txt.zst"];
    let folder = folder_with(&names);
    let source = Source::open(folder.path()).expect("two folds");
    assert_eq!((source.layout, source.n_folds()), (Layout::Folds, 2));
    let first = source.load_fold(0, &options()).expect("loaded");
    let validation = first.validation.expect("a validation part");
    assert_eq!((first.train.n_features(), validation.n_features(), first.test.n_features()), (3, 3, 3));
    assert_eq!((ids(&first.train), ids(&validation)), (vec!["Fold1/train.txt"], vec!["Fold1/vali.txt"]));
    let second = source.load_fold(1, &options()).expect("loaded");
    assert_eq!((second.validation, ids(&second.test)), (None, vec!["Fold2/test.txt.zst"]));
    let error = source.load_fold(2, &options()).expect_err("only two").to_string();
    assert!(error.contains("fold 3 was asked for, but there are only 2"), "{error}");
}

#[test]
fn parts_make_folds_counting_round() {
    let folder = folder_with(&["S1.txt", "S2.txt", "S3.txt", "S4.txt", "S5.txt"]);
    let source = Source::open(folder.path()).expect("five parts");
    assert_eq!((source.layout, source.n_folds()), (Layout::Parts, 5));
    let fold = source.load_fold(3, &options()).expect("loaded");
    assert_eq!(ids(&fold.train), ["S4.txt", "S5.txt", "S1.txt"]);
    assert_eq!(ids(&fold.validation.expect("a validation part")), ["S2.txt"]);
    assert_eq!(ids(&fold.test), ["S3.txt"]);
    assert_eq!(fold.train.n_features(), 5);
}

#[test]
fn yahoo_has_its_declared_width() {
    let folder = folder_with(&["set1.train.txt", "set1.valid.txt", "set1.test.txt", "set2.train.txt"]);
    let source = Source::open(folder.path()).expect("set 1");
    assert_eq!(source.layout, Layout::Yahoo);
    let fold = source.load_fold(0, &options()).expect("loaded");
    assert_eq!((fold.train.n_features(), ids(&fold.test)), (700, vec!["set1.test.txt"]));
}

#[test]
fn a_split_and_named_files_are_found() {
    let folder = folder_with(&["train.txt", "vali.txt", "test.txt", "README"]);
    assert_eq!(Source::open(folder.path()).expect("a split").layout, Layout::Split);
    let folder = folder_with(&["msn.train.5k.txt", "msn.test.5k.txt", "latest.pdf"]);
    let source = Source::open(folder.path()).expect("named files");
    assert_eq!((source.layout, source.folds()[0].train.len()), (Layout::Named, 1));
    assert!(source.folds()[0].validation.is_empty());
}

#[test]
fn roles_are_whole_words_of_a_name() {
    let folder = folder_with(&["latest_train.txt", "web-Train2.svm", "devices-test.dat", "contest.txt", "x_dev.letor"]);
    let source = Source::open(folder.path()).expect("named files");
    let paths = |names: &[&str]| names.iter().map(|name| folder.path().join(name)).collect::<Vec<_>>();
    let files = &source.folds()[0];
    assert_eq!(files.train, paths(&["latest_train.txt", "web-Train2.svm"]));
    assert_eq!((&files.validation, &files.test), (&paths(&["x_dev.letor"]), &paths(&["devices-test.dat"])));

    let error = refused(&["a.train.txt", "a.test.txt", "train-vs-test.txt.zst"]);
    let expected =
        "train-vs-test.txt.zst: the name says both train and test; rename the file, or give the files one by one";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn explicit_lists_are_joined() {
    let folder = folder_with(&["a", "b", "c"]);
    let path = |name: &str| folder.path().join(name);
    let source = Source::from_files(&[path("b"), path("a")], &[], &[path("c")]).expect("files");
    let fold = source.load_fold(0, &options()).expect("loaded");
    assert_eq!((ids(&fold.train), fold.train.n_features()), (vec!["b", "a"], 3));
    let none = Source::from_files(&[path("a")], &[], &[]).expect_err("no test data").to_string();
    assert_eq!(none, "no file was given for the test data; expected at least one");
}

#[test]
fn errors_list_what_was_looked_for_and_what_is_there() {
    let error = refused(&["notes.md", "train.txt"]);
    assert!(error.contains("looked for Fold1/train.txt") && error.ends_with("found notes.md, train.txt"), "{error}");
    let error = refused(&["Fold1/train.txt"]);
    assert!(error.contains("test.txt") && error.ends_with("found train.txt"), "{error}");
    let error = refused(&["Fold1/train.txt", "Fold1/test.txt", "Fold3/train.txt", "Fold3/test.txt"]);
    assert!(error.contains("without a gap") && error.ends_with("found Fold1, Fold3"), "{error}");
    assert!(refused(&[]).ends_with("found an empty folder"));
    let error = Source::open(Path::new("absent-folder")).expect_err("no such folder").to_string();
    assert!(error.starts_with("absent-folder: cannot be listed: "), "{error}");
}

#[test]
fn a_bad_line_is_reported_through_the_source() {
    let folder = folder_with(&["train.txt", "test.txt"]);
    fs::write(folder.path().join("test.txt"), "1 qid:1 1:1\n1 qid:1 1:x\n").expect("written");
    let source = Source::open(folder.path()).expect("a split");
    let error = source.load_fold(0, &options()).expect_err("a bad line").to_string();
    assert!(error.contains("test.txt:2:9: found `1:x`"), "{error}");
}
