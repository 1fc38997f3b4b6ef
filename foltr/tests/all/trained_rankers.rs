//! `foltr evaluate`, `foltr rank` and `foltr qrels` as a user meets them: output, files, errors, exit codes.

use std::path::Path;

use foltr_experiment::model::Model;
use foltr_experiment::spec::Normalisation;
use foltr_rank::Shape;
use serde_json::json;

use crate::binary::{self, assert_contains, foltr, stderr, stdout};

fn foltr_without_data(arguments: &[&str]) -> assert_cmd::assert::Assert {
    foltr().env_remove("FOLTR_DATA").args(arguments).assert()
}

fn said(arguments: &[&str]) -> String {
    stdout(&foltr_without_data(arguments).success())
}

fn refused(arguments: &[&str], code: i32) -> String {
    stderr(&foltr_without_data(arguments).code(code))
}

/// Query 1: label 2 has the highest score of feature 1, label 1 the lowest. Query 2: nothing is relevant.
const TEXT: &str = "0 qid:1 1:5 2:1\n2 qid:1 1:9 2:1\n1 qid:1 1:1 2:1\n0 qid:2 1:3 2:0\n0 qid:2 1:3 2:0\n";

/// A folder with a model of feature 1, a file, and a data set of two folds.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let folder = binary::temporary();
        let model =
            Model { shape: Shape::Linear { n_features: 2 }, normalise: Normalisation::None, params: vec![1.0, 0.0] };
        model.write(&folder.path().join("model.safetensors"), None).expect("written");
        std::fs::write(folder.path().join("file.txt"), TEXT).expect("a file");
        for (fold, shift) in [("Fold1", 0), ("Fold2", 10)] {
            let fold = folder.path().join("set").join(fold);
            std::fs::create_dir_all(&fold).expect("a folder");
            for (split, shift) in [("train.txt", shift + 4), ("test.txt", shift)] {
                let text = TEXT.replace("qid:1", &format!("qid:{}", 1 + shift));
                std::fs::write(fold.join(split), text.replace("qid:2", &format!("qid:{}", 2 + shift))).expect("a file");
            }
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn model(&self) -> String {
        self.path("model.safetensors")
    }

    fn read(&self, name: &str) -> String {
        binary::read(self.folder.path(), name)
    }
}

#[test]
fn a_model_is_measured_in_our_words_and_those_of_ir_measures() {
    let folder = Folder::new();
    let (model, file) = (folder.model(), folder.path("file.txt"));
    let text = said(&["evaluate", &model, &file, "--metric", "ndcg@2", "--metric", "dcg@1", "--metric", "AP"]);
    // DCG@2 = 3; ideal 3 + 1 / log2(3); the relevant documents are first and third.
    let expected = [
        "metric  in ir-measures          queries  value",
        "ndcg@2  nDCG(dcg='exp-log2')@2  1        0.826235",
        "dcg@1   -                       1        3.000000",
        "map     AP                      1        0.833333",
    ];
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = text.lines().map(words).filter(|line| line.len() > 1).collect();
    assert_eq!(lines, expected.map(words), "{text}");

    let by_query = ["evaluate", &model, &file, "--metric", "p@10", "--per-query"];
    let text = said(&[&by_query[..], &["--queries-without-relevant", "zero", "--json"]].concat());
    let measured: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let metric = json!({"metric": "p@10", "ir_measures": "P@10", "n_queries": 2, "value": 0.1});
    let queries = json!([{"query": "1", "values": {"p@10": 0.2}}, {"query": "2", "values": {"p@10": 0.0}}]);
    assert_eq!(measured, json!([{"n_queries": 2, "metrics": [metric], "queries": queries}]));
    let text = said(&by_query);
    assert_eq!(text.lines().rev().nth(1).map(words), Some(words("2 -")), "{text}");
}

#[test]
fn folds_and_splits_are_measured_one_by_one() {
    let folder = Folder::new();
    let set = folder.path("set");
    let text =
        said(&["evaluate", &folder.model(), &set, "--metric", "map", "--split", "test", "--split", "train", "--json"]);
    let measured: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let places: Vec<String> =
        measured.as_array().expect("parts").iter().map(|it| format!("{} {}", it["fold"], it["split"])).collect();
    assert_eq!(places, ["1 \"train\"", "1 \"test\"", "2 \"train\"", "2 \"test\""]);
    let text = refused(&["evaluate", &folder.model(), &set, "--fold", "3"], 1);
    assert!(text.contains("fold 3 was asked for, but there are only 2"), "{text}");
    let text = refused(&["evaluate", &folder.model(), &set, "--split", "validation"], 1);
    assert!(text.contains("fold 1, validation has no queries; choose another --split"), "{text}");
}

#[test]
fn runs_and_qrels_are_written_for_trec_eval() {
    let folder = Folder::new();
    let (model, file, out) = (folder.model(), folder.path("file.txt"), folder.path("a.run"));
    let text = said(&["rank", &model, &file, "--out", &out, "--tag", "mine"]);
    assert_eq!(text, format!("{out}: 2 queries, 5 documents\n"));
    let run = "1 Q0 1-000002 1 9 mine\n1 Q0 1-000001 2 5 mine\n1 Q0 1-000003 3 1 mine\n\
               2 Q0 2-000002 1 3 mine\n2 Q0 2-000001 2 3 mine\n";
    assert_eq!(folder.read("a.run"), run);
    let first = "1 Q0 1-000002 1 3 foltr\n2 Q0 2-000002 1 2 foltr\n";
    assert_eq!(said(&["rank", &model, &file, "--depth", "1", "--scores", "rank"]), first);
    let qrels = "1 0 1-000001 0\n1 0 1-000002 2\n1 0 1-000003 1\n2 0 2-000001 0\n2 0 2-000002 0\n";
    assert_eq!(said(&["qrels", &file]), qrels);
    assert_eq!(said(&["qrels", &file, "--gain", "exponential"]), qrels.replace("002 2", "002 3"));
    let lines = |arguments: &[&str]| said(arguments).lines().count();
    assert_eq!(lines(&["qrels", &folder.path("set")]), 10, "the test queries of both folds");
    assert_eq!(lines(&["qrels", &folder.path("set"), "--fold", "2"]), 5);
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let folder = Folder::new();
    let (model, file) = (folder.model(), folder.path("file.txt"));
    let wide = folder.path("wide.txt");
    std::fs::write(Path::new(&wide), "1 qid:1 3:1\n").expect("a file");
    for command in ["evaluate", "rank"] {
        let text = refused(&[command, &model, &wide], 1);
        let expected = "has 3 features, but the model knows 2: it was trained on other data";
        assert_eq!(text, format!("error: {wide} {expected}\n"));
        let text = refused(&[command, &file, &file], 1);
        assert_contains(&text, &["file.txt: not a model that foltr can read", "safetensors"]);
        let text = refused(&[command, &model, &file, "--fold", "1"], 1);
        assert!(text.contains("a single file has no folds or splits"), "{text}");
        assert!(refused(&[command, &model, "no-such-data"], 1).contains("no-such-data: no such file or folder"));
    }
    let text = refused(&["evaluate", &model, &file, "--metric", "expected-maxrr"], 2);
    assert!(text.contains("clicks of an experiment's users, and a model has none"), "{text}");
    let text = refused(&["evaluate", &model, &file, "--metric", "ndgc@10"], 2);
    assert!(text.contains("unknown metric `ndgc@10`, expected one of `ndcg@K`"), "{text}");
    assert!(refused(&["evaluate", &model, &file, "--queries-without-relevant", "half"], 2).contains("skip, zero, one"));
    assert!(refused(&["rank", &model, &file, "--tag", "two words"], 2).contains("one word"));
    std::fs::write(Path::new(&wide), "0 qid:1 1:1\n").expect("a file");
    let text = refused(&["evaluate", &model, &wide], 1);
    assert_contains(&text, &["no query has a relevant document", "--queries-without-relevant zero"]);
    std::fs::copy(&file, folder.path("set/Fold2/test.txt")).expect("copied");
    let text = refused(&["qrels", &folder.path("set")], 1);
    assert_eq!(text, "error: query 1 occurs twice in these folds and splits; choose one --fold and one --split\n");
}

/// A narrower file lacks features that are 0; normalisation is the model's.
#[test]
fn features_are_filled_up_and_scaled_as_in_training() {
    let folder = Folder::new();
    let (narrow, by_query) = (folder.path("narrow.txt"), folder.path("scaled.safetensors"));
    std::fs::write(Path::new(&narrow), "1 qid:1 1:4\n0 qid:1 1:2\n0 qid:1 1:3\n").expect("a file");
    let shape = Shape::Linear { n_features: 20 };
    let mut params = vec![1.0; 20];
    params[0] = 2.0;
    Model { shape, normalise: Normalisation::Query, params }.write(Path::new(&by_query), None).expect("written");
    let run = "1 Q0 1-000001 1 2 foltr\n1 Q0 1-000003 2 1 foltr\n1 Q0 1-000002 3 0 foltr\n";
    assert_eq!(said(&["rank", &by_query, &narrow]), run);
}

#[test]
fn documents_keep_their_names_in_runs_and_qrels() {
    let folder = Folder::new();
    let (model, named) = (folder.model(), folder.path("named.txt"));
    let text =
        "0 qid:1 1:5 2:1 #docid = GX0-7 inc = 1\n2 qid:1 1:9 2:1 #docid = GX0-3\n1 qid:1 1:5 2:1 #docid = GX0-5\n";
    std::fs::write(Path::new(&named), text).expect("a file");
    let ranked = "1 Q0 GX0-3 1 9 foltr\n1 Q0 GX0-5 2 5 foltr\n1 Q0 GX0-7 3 5 foltr\n";
    let assert = foltr_without_data(&["rank", &model, &named]).success();
    assert_eq!(stdout(&assert), ranked);
    assert_contains(&stderr(&assert), &["1 queries have equal scores", "--scores rank"]);
    assert_eq!(said(&["qrels", &named]), "1 0 GX0-7 0\n1 0 GX0-3 2\n1 0 GX0-5 1\n");
    assert!(said(&["qrels", &named, "--ids", "place"]).starts_with("1 0 1-000001 0\n"));
    let by_rank = foltr_without_data(&["rank", &model, &named, "--scores", "rank"]).success();
    assert_eq!((stdout(&by_rank).lines().next(), stderr(&by_rank).as_str()), (Some("1 Q0 GX0-3 1 3 foltr"), ""));
    // The same from the cache, which has no names.
    let cache = folder.path("cache");
    for _ in 0..2 {
        let cached = foltr().env("FOLTR_CACHE", &cache).args(["rank", &model, &named]).assert().success();
        assert_eq!(stdout(&cached), ranked);
    }
    assert!(Path::new(&cache).is_dir());
}

#[test]
fn data_that_the_model_may_not_be_meant_for_is_warned_of() {
    let folder = Folder::new();
    let (model, odd) = (folder.path("both.safetensors"), folder.path("odd.txt"));
    let both = |n_features: usize| Model {
        shape: Shape::Linear { n_features },
        normalise: Normalisation::None,
        params: vec![1.0; n_features],
    };
    let warned = |n_features: usize, text: &str, words: &[&str]| {
        both(n_features).write(Path::new(&model), None).expect("written");
        std::fs::write(Path::new(&odd), text).expect("a file");
        for command in ["evaluate", "rank"] {
            let said = stderr(&foltr_without_data(&[command, &model, &odd]).success());
            assert_eq!(said.lines().count(), words.len(), "{said}");
            words.iter().for_each(|words| assert!(said.contains(&format!("warning: {odd}{words}")), "{said}"));
        }
    };
    warned(2, "1 qid:1 1:4 2:1\n0 qid:1 1:2\n", &[]);
    let fewer = " has 2 features, but the model was trained with 3: the others count as 0";
    warned(3, "1 qid:1 1:4 2:1\n0 qid:1 1:2\n", &[fewer]);
    let lacking = " lacks features to which the model gives weight, though they are 0 in every document: 2";
    warned(3, "1 qid:1 1:4 2:0 3:1\n0 qid:1 1:2\n", &[lacking]);
    warned(2, "1 qid:1 1:4 2:1\n0 qid:1 1:2", &[": the last line has no line end"]);
}

#[test]
fn labels_above_four_are_measured_when_asked_for() {
    let folder = Folder::new();
    let (model, high) = (folder.model(), folder.path("high.txt"));
    std::fs::write(Path::new(&high), "9 qid:1 1:1 2:1\n31 qid:1 1:2 2:1\n0 qid:1 1:3 2:0\n").expect("a file");
    let text = refused(&["evaluate", &model, &high], 1);
    assert_contains(&text, &["high.txt:1:1: found `9`, expected a label, a whole number from 0 to 4", "max_label"]);
    let measured = said(&["evaluate", &model, &high, "--max-label", "31", "--metric", "dcg@1", "--metric", "dcg@2"]);
    // Second is 2^31 - 1 times 1 / log2(3).
    assert_contains(&measured, &["0.000000", "1354911328.2"]);
    let text = refused(&["evaluate", &model, &high, "--max-label", "31", "--metric", "err@3"], 1);
    assert_contains(&text, &["there is a label 31, but err@3 is defined up to 4"]);
    assert!(said(&["qrels", &high, "--max-label", "31"]).contains("1 0 1-000002 31\n"));
    refused(&["evaluate", &model, &high, "--max-label", "32"], 2);
}
