//! The index against a plain computation of BM25 over all documents.

use super::*;

const PLAIN: AnalyserSettings = AnalyserSettings { stop_words: false, stem: false };

fn documents(texts: &[&str]) -> Vec<Document> {
    let document = |(id, text): (usize, &&str)| (format!("d{id}"), text.to_string());
    texts.iter().enumerate().map(document).map(|(id, text)| Document { id, text, ..Document::default() }).collect()
}

fn by_definition(texts: &[&str], query: &str) -> Vec<f64> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let texts: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    let average = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len() as f64;
    let count = |text: &[String], term: &String| text.iter().filter(|word| *word == term).count() as f64;
    let score = |text: &Vec<String>| {
        let terms = words(query);
        let parts = terms.iter().map(|term| {
            let with = texts.iter().filter(|text| text.contains(term)).count() as f64;
            let idf = (1.0 + (texts.len() as f64 - with + 0.5) / (with + 0.5)).ln();
            let tf = count(text, term);
            idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * text.len() as f64 / average))
        });
        parts.sum()
    };
    texts.iter().map(score).collect()
}

#[test]
fn scores_are_those_of_the_definition_at_any_length() {
    let long = "wing ".repeat(300) + "tail";
    let texts = ["wing tail", "tail tail nose", long.as_str(), "nose", "engine of a wing"];
    let index = TextIndex::in_memory(&documents(&texts), PLAIN);
    for query in ["wing", "wing tail", "tail tail nose", "of engine wing wing"] {
        let expected = by_definition(&texts, query);
        for (score, expected) in index.scores(query).iter().zip(expected) {
            assert!((f64::from(*score) - expected).abs() < 1e-6, "{query}: {score} {expected}");
        }
    }
}

#[test]
fn scores_are_those_of_the_specification_in_memory_and_from_a_file() {
    let vector: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/vectors/mimic_vectors.json")).unwrap();
    let text = |terms: &serde_json::Value| serde_json::from_value::<Vec<String>>(terms.clone()).unwrap().join(" ");
    let documents = vector["docs"].as_object().unwrap().iter().map(|(id, terms)| (id.clone(), text(terms)));
    let documents: Vec<Document> = documents.map(|(id, text)| Document { id, text, ..Document::default() }).collect();
    let made = TextIndex::in_memory(&documents, PLAIN);
    for index in [TextIndex::from_bytes(&made.to_bytes()).unwrap(), made] {
        let ranked = index.search(&text(&vector["query"]), 10);
        let ids: Vec<&str> =
            ranked.iter().map(|&(document, _)| index.documents[document as usize].id.as_str()).collect();
        assert_eq!(ids, ["d1", "d3", "d2"]);
        for (id, (_, score)) in ids.into_iter().zip(&ranked) {
            let expected = vector["scores"][id].as_f64().unwrap();
            assert!((f64::from(*score) - expected).abs() < 1e-6, "{score} {expected}");
        }
    }
}

#[test]
fn the_best_come_first_and_equals_by_number() {
    let index = TextIndex::in_memory(&documents(&["b a", "a c", "c c", "a b", "d"]), PLAIN);
    let numbers = |query, k| index.search(query, k).iter().map(|found| found.0).collect::<Vec<_>>();
    assert_eq!(numbers("a", 9), [0, 1, 3]);
    assert_eq!(numbers("a", 2), [0, 1]);
    assert_eq!(numbers("c a", 9), [1, 2, 0, 3]);
    assert_eq!(numbers("nothing", 9), [0; 0]);
    assert_eq!(numbers("", 9), [0; 0]);
    assert_eq!(numbers("a", 0), [0; 0]);
    let scores = index.scores("c a");
    assert_eq!((scores[4], scores[1]), (0.0, index.search("c a", 1)[0].1));
}

#[test]
fn a_file_has_analyser_and_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/text.index");
    let settings = AnalyserSettings { stop_words: true, stem: false };
    let mut documents = documents(&["Wings of ducks ducks", "the duck", ""]);
    documents[1].title = "A title".to_owned();
    let made = TextIndex::in_memory(&documents, settings);
    made.save(&path).unwrap();
    let index = TextIndex::open(&path).unwrap();
    let found = index.search("ducks", 5);
    assert_eq!(found, made.search("ducks", 5));
    assert_eq!((found.len(), found[0].0), (1, 0));
    assert_eq!(index.analyser.settings, settings);
    assert_eq!(index.documents, documents);
    assert_eq!(index.to_bytes(), made.to_bytes());
    // A second index does not silently take the place of the first one.
    assert!(made.save(&path).unwrap_err().to_string().contains("exists already"));
}

#[test]
fn no_index_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.index");
    let message = |path: &Path| TextIndex::open(path).err().expect("no index").to_string();
    for missing in [&path, folder.path()] {
        let message = message(missing);
        assert!(message.contains(": no index (") && message.ends_with("`foltr index` makes one"), "{message}");
    }
    fs::write(&path, "{}").unwrap();
    assert!(message(&path).contains("not an index that foltr can read"), "{}", message(&path));
}

/// Each byte in turn, and each length.
#[test]
fn damage_is_detected() {
    let bytes = TextIndex::in_memory(&documents(&["a b", "b c"]), PLAIN).to_bytes();
    assert!(TextIndex::from_bytes(&bytes).is_ok());
    for position in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1;
        assert!(TextIndex::from_bytes(&damaged).is_err(), "byte {position} of {}", bytes.len());
        assert!(TextIndex::from_bytes(&bytes[..position]).is_err(), "{position} bytes");
    }
    let last = [&bytes[..bytes.len() - 1], b"x"].concat();
    let wrong = TextIndex::from_bytes(&last).err().expect("damaged");
    assert!(wrong.expected.contains("the file is damaged"), "{wrong:?}");
}

#[test]
fn an_index_of_nothing_finds_nothing() {
    let index = TextIndex::in_memory(&[], PLAIN);
    assert_eq!(index.search("a", 3), []);
    assert_eq!(TextIndex::from_bytes(&index.to_bytes()).unwrap().documents.len(), 0);
}
