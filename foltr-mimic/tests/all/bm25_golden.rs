//! BM25 of the specification's vector through a real index, in memory and from a file.

use std::collections::BTreeMap;

use foltr_mimic::analyser::AnalyserSettings;
use foltr_mimic::collection::Document;
use foltr_mimic::index::TextIndex;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vector {
    docs: BTreeMap<String, Vec<String>>,
    query: Vec<String>,
    scores: BTreeMap<String, f64>,
}

#[test]
fn scores_of_the_specification() {
    let vector: Vector = serde_json::from_str(include_str!("../vectors/mimic_vectors.json")).expect("a vector");
    let document =
        |(id, terms): (&String, &Vec<String>)| Document { id: id.clone(), title: String::new(), text: terms.join(" ") };
    let documents: Vec<Document> = vector.docs.iter().map(document).collect();
    let settings = AnalyserSettings { stop_words: false, stem: false };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("text.index");
    let in_memory = TextIndex::in_memory(&documents, settings);
    in_memory.save(&path).expect("an index");
    let opened = TextIndex::open(&path).expect("an index");
    for index in [opened, in_memory] {
        let found = index.search(&vector.query.join(" "), 10);
        assert_eq!(found.iter().map(|found| found.0).collect::<Vec<_>>(), [0, 2, 1]);
        for (number, score) in found {
            let expected = vector.scores[&index.document(number).id];
            assert!((f64::from(score) - expected).abs() < 1e-6, "{score} {expected}");
        }
    }
}
