//! What others learn about a run may not depend on its private queries, but by way of labels.

use std::fmt::Write;
use std::path::Path;

use foltr_mimic::near_copies::near_copies;

use super::*;
use crate::mimic::training_data::Store;

const N_QUERIES: usize = 24;
const SEED: u64 = 3;

/// A query of a feature file: feature 1 is the weak label, 2 and 3 are what `others` makes of it and of the document.
fn query(name: usize, n_docs: usize, others: impl Fn(f64, usize) -> [f64; 2]) -> String {
    let mut text = String::new();
    for doc in 0..n_docs {
        let label = ((7 * name + 5 * doc) % 11) as f64;
        let [second, third] = others(label, doc);
        writeln!(text, "{} qid:{name} 1:{label} 2:{second} 3:{third}", doc % 2).expect("text");
    }
    text
}

/// Feature 2 copies the label with large differences, and feature 3 has nothing to do with it.
fn copied(name: usize) -> String {
    query(name, 40, |label, doc| [1e4 * label, (doc * doc % 5) as f64])
}

/// Neither has anything to do with it.
fn unrelated(name: usize) -> String {
    query(name, 4, |_, doc| [(doc * (doc + name) % 3) as f64, (doc * doc % 5) as f64])
}

fn experiment(folder: &Path) -> MimicExperiment {
    let text = format!(
        "seeds = [{SEED}]\n[data]\nkind = \"files\"\ntrain = [\"{0}/train.txt\"]\ntest = [\"{0}/test.txt\"]\n\
         [supervision]\nkind = \"weak\"\nfeature = 1\n",
        folder.display()
    );
    MimicExperiment::from_table(text.parse().expect("TOML")).expect("a sound experiment")
}

/// A run's data, if the training queries have these texts.
fn run(texts: &[String]) -> (TrainingData, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("train.txt"), texts.concat()).expect("written");
    std::fs::write(folder.path().join("test.txt"), unrelated(99)).expect("written");
    let experiment = experiment(folder.path());
    let store = Store::load(&experiment).expect("files");
    (store.training_data(&experiment, 1, SEED).expect("data"), store.describe())
}

/// The columns that all training queries together would leave.
fn by_all_queries(data: &TrainingData, texts: &[String]) -> Vec<usize> {
    assert_eq!(data.private.len() + data.public.len(), texts.len());
    let (mut rows, mut starts) = (Vec::new(), vec![0]);
    for text in texts {
        for line in text.lines() {
            let values = line.split_whitespace().skip(2).map(|pair| pair[2..].parse::<f32>().expect("a number"));
            rows.extend(values);
        }
        starts.push(rows.len() / 3);
    }
    let copies = near_copies(&rows, 3, &starts, 0, 0.9);
    (0..3).filter(|column| !copies.contains(column)).collect()
}

/// Feature 2 is unrelated to the label in public queries. An owner whose private queries have it as a copy, and more
/// documents, gets other columns if all queries choose them: a student's file would tell one owner from the other, with
/// certainty. The numbers of public documents would too, if documents were numbered through the file.
#[test]
fn private_queries_change_neither_columns_nor_numbers_of_documents() {
    let texts: Vec<String> = (0..N_QUERIES).map(unrelated).collect();
    let (here, description) = run(&texts);
    let is_public = |name: usize| here.public_names.contains(&name.to_string());
    let other: Vec<String> =
        (0..N_QUERIES).map(|name| if is_public(name) { unrelated(name) } else { copied(name) }).collect();
    let (there, other_description) = run(&other);
    assert_ne!(by_all_queries(&here, &texts), by_all_queries(&there, &other), "private queries matter to all together");
    assert_eq!(here.columns, [1, 2]);
    assert_eq!(there.columns, here.columns);
    assert_eq!((&there.public, &there.public_names), (&here.public, &here.public_names));
    assert_eq!((&there.taken_as_public, other_description), (&here.taken_as_public, description));
    let rows = |data: &TrainingData| match &data.inputs {
        Inputs::Features { rows, .. } => rows.clone(),
        Inputs::Text { .. } => panic!("features"),
    };
    let n_public = here.public.iter().map(|list| list.documents.len()).sum::<usize>() * here.columns.len();
    assert_eq!(rows(&here)[..n_public], rows(&there)[..n_public]);
    assert_ne!(here.private, there.private);
}

/// The counterpart: public queries choose, whatever the private ones are.
#[test]
fn copies_in_public_queries_leave_the_inputs() {
    let texts: Vec<String> = (0..N_QUERIES).map(unrelated).collect();
    let (before, _) = run(&texts);
    let is_public = |name: usize| before.public_names.contains(&name.to_string());
    let texts: Vec<String> =
        (0..N_QUERIES).map(|name| if is_public(name) { copied(name) } else { unrelated(name) }).collect();
    let (data, description) = run(&texts);
    assert_eq!(data.columns, [2]);
    assert!(description.contains("1 of 3 features are inputs (not 1, 2)"), "{description}");
    assert!(
        data.taken_as_public[0].contains("1 of 3 features") && data.taken_as_public[0].contains("public queries alone")
    );
}

#[test]
fn every_document_keeps_its_row_and_its_label() {
    let texts: Vec<String> = (0..N_QUERIES).map(unrelated).collect();
    let (data, _) = run(&texts);
    let Inputs::Features { n_features, rows } = &data.inputs else { panic!("features") };
    let mut numbers: Vec<u32> = Vec::new();
    for list in data.private.iter().chain(&data.public) {
        let lines: Vec<&str> = texts[list.query as usize].lines().collect();
        for (position, &document) in list.documents.iter().enumerate() {
            let values: Vec<f32> =
                lines[position].split_whitespace().skip(2).map(|pair| pair[2..].parse().expect("a number")).collect();
            assert_eq!(rows[document as usize * n_features..][..*n_features], values[1..]);
            assert!(list.scores.get(position).is_none_or(|&score| score == values[0]));
            numbers.push(document);
        }
    }
    numbers.extend(data.judged.iter().flat_map(|query| &query.list.documents));
    numbers.sort_unstable();
    assert_eq!(numbers, (0..(rows.len() / n_features) as u32).collect::<Vec<_>>());
    assert!(data.public.iter().all(|list| list.scores.is_empty()) && data.judged.len() == 1);
}
