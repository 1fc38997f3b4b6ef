//! The index against a plain computation of BM25 over all documents.

use super::*;

const PLAIN: AnalyserSettings = AnalyserSettings { stop_words: false, stem: false };

fn documents(texts: &[&str]) -> Vec<Document> {
    let document = |(number, text): (usize, &&str)| Document {
        id: format!("d{number}"),
        title: String::new(),
        text: text.to_string(),
    };
    texts.iter().enumerate().map(document).collect()
}

/// BM25 by its definition.
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
    let index = TextIndex::in_memory(&documents(&texts), PLAIN).unwrap();
    for query in ["wing", "wing tail", "tail tail nose", "of engine wing wing"] {
        let expected = by_definition(&texts, query);
        for (score, expected) in index.scores(query).unwrap().iter().zip(expected) {
            assert!((f64::from(*score) - expected).abs() < 1e-6, "{query}: {score} {expected}");
        }
    }
}

#[test]
fn the_best_come_first_and_equals_by_number() {
    let index = TextIndex::in_memory(&documents(&["b a", "a c", "c c", "a b", "d"]), PLAIN).unwrap();
    let numbers = |query, k| index.search(query, k).unwrap().iter().map(|found| found.0).collect::<Vec<_>>();
    assert_eq!(numbers("a", 9), [0, 1, 3]);
    assert_eq!(numbers("a", 2), [0, 1]);
    assert_eq!(numbers("c a", 9), [1, 2, 0, 3]);
    assert_eq!(numbers("nothing", 9), [0; 0]);
    assert_eq!(numbers("", 9), [0; 0]);
    assert_eq!(numbers("a", 0), [0; 0]);
    let scores = index.score("c a", &[4, 1]).unwrap();
    assert_eq!((scores[0], scores[1]), (0.0, index.search("c a", 1).unwrap()[0].1));
}

#[test]
fn a_folder_remembers_analyser_and_documents() {
    let folder = tempfile::tempdir().unwrap();
    let settings = AnalyserSettings { stop_words: true, stem: false };
    let mut documents = documents(&["Wings of ducks", "the duck"]);
    documents[1].title = "A title".to_owned();
    let made = TextIndex::create(folder.path(), &documents, settings).unwrap().search("ducks", 5).unwrap();
    let index = TextIndex::open(folder.path()).unwrap();
    assert_eq!(index.search("ducks", 5).unwrap(), made);
    assert_eq!((made.len(), made[0].0), (1, 0));
    assert_eq!(index.analyser().settings(), settings);
    assert_eq!([0, 1].map(|number| index.document(number).unwrap()), documents[..]);
    // A second index does not silently take the place of the first one.
    assert!(TextIndex::create(folder.path(), &documents, settings).is_err());
}

#[test]
fn no_index_is_an_error_that_names_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let message = |folder: &Path| TextIndex::open(folder).err().expect("no index").to_string();
    assert!(message(folder.path()).contains("no index is here"), "{}", message(folder.path()));
    fs::write(folder.path().join(SETTINGS), "{}").unwrap();
    assert!(message(folder.path()).contains(&folder.path().display().to_string()));
    fs::write(folder.path().join(SETTINGS), "[").unwrap();
    assert!(message(folder.path()).contains("expected such as"));
}

#[test]
fn an_index_of_nothing_finds_nothing() {
    let index = TextIndex::in_memory(&[], PLAIN).unwrap();
    assert_eq!(index.search("a", 3).unwrap(), []);
}

#[test]
fn several_segments_score_as_one() {
    let documents = documents(&["a b", "b b c", "a a a d", "c", "d b a"]);
    let whole = TextIndex::in_memory(&documents, PLAIN).unwrap();
    let index = Index::create_in_ram(Fields::schema());
    let numbered: Vec<(u64, &Document)> = (0..).zip(&documents).collect();
    for part in [&numbered[3..], &numbered[..2], &numbered[2..3]] {
        TextIndex::fill(&index, part.iter().copied(), &Analyser::new(PLAIN)).unwrap();
    }
    let parts = TextIndex::over(&index, PLAIN).unwrap();
    assert_eq!((parts.numbers.len(), whole.numbers.len()), (3, 1));
    for query in ["a", "b c", "d a d"] {
        assert_eq!(parts.search(query, 9).unwrap(), whole.search(query, 9).unwrap());
    }
    assert_eq!(parts.document(2).unwrap(), documents[2]);
}
