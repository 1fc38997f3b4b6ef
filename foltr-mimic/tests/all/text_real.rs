//! Counts of real collections and BM25's measures on them.

use foltr_mimic::analyser::{Analyser, AnalyserSettings};
use foltr_mimic::collection::{Collection, Form, Notes, ZeroGrade};
use foltr_mimic::embeddings::{EmbeddingSource, SkipGram, mean_cosine};
use foltr_mimic::index::TextIndex;
use foltr_mimic::made_queries::make_queries;
use foltr_mimic::retrieval::{Quality, grades_of, mean};
use foltr_mimic::vocabulary::Vocabulary;
use foltr_rank::rng::{Purpose, Streams};

fn real(name: &str) -> Option<(Collection, Notes)> {
    let folder = foltr_test::data(name)?;
    Some(Collection::read(&folder, None).expect("a collection"))
}

/// MAP, P@20 and nDCG@20 of BM25's first thousand, over the queries of a part that have a relevant document.
fn bm25(collection: &Collection, settings: AnalyserSettings, part: Option<&str>) -> Quality {
    let index = TextIndex::in_memory(&collection.documents, settings);
    let mut qualities = Vec::new();
    for (query, grades) in collection.queries.iter().zip(grades_of(collection)) {
        if query.part.as_deref() == part {
            let ranked: Vec<u32> = index.search(&query.text, 1000).into_iter().map(|(document, _)| document).collect();
            qualities.extend(grades.quality(&ranked, 20));
        }
    }
    println!("{} queries", qualities.len());
    mean(&qualities).expect("judged queries")
}

fn check(collection: &Collection, part: Option<&str>, expected: [(bool, bool, [f64; 3]); 3]) {
    for (stop_words, stem, expected) in expected {
        let quality = bm25(collection, AnalyserSettings { stop_words, stem }, part);
        println!("stop words {stop_words} stem {stem}: {quality:?}");
        for (ours, expected) in quality.iter().zip(expected) {
            assert!((ours - expected).abs() < 5e-5, "{ours} {expected}");
        }
    }
}

#[test]
fn cranfield() {
    let Some((collection, notes)) = real("cranfield") else { return };
    assert_eq!((collection.documents.len(), collection.queries.len()), (1400, 225));
    assert_eq!(collection.judgements.len(), 1837);
    assert_eq!(collection.judgements.iter().filter(|judgement| judgement.grade > 0).count(), 1612);
    assert_eq!((notes.form, notes.by_position), (Some(Form::Trec), true));
    assert_eq!((notes.unknown_documents.count, notes.unknown_queries.count, notes.n_negative), (0, 0, 0));
    let expected = [
        (true, true, [0.2942, 0.1533, 0.4066]),
        (true, false, [0.2706, 0.1451, 0.3836]),
        (false, false, [0.2692, 0.1453, 0.3835]),
    ];
    check(&collection, None, expected);
}

#[test]
fn nfcorpus() {
    let Some((collection, notes)) = real("nfcorpus") else { return };
    assert_eq!((collection.documents.len(), collection.queries.len()), (3395, 3244));
    let in_part = |part: &str| collection.queries.iter().filter(|query| query.part.as_deref() == Some(part)).count();
    assert_eq!(["train", "dev", "test"].map(in_part), [2594, 325, 325]);
    assert_eq!((notes.unknown_documents.count, notes.unknown_queries.count), (500, 0));
    assert_eq!(collection.judgements.len() + notes.unknown_documents.count + notes.n_repeated, 134_294);
    let expected = [
        (true, true, [0.1544, 0.1706, 0.3074]),
        (true, false, [0.1474, 0.1607, 0.2923]),
        (false, false, [0.1433, 0.1551, 0.2840]),
    ];
    check(&collection, Some("test"), expected);
}

#[test]
fn queries_made_of_nfcorpus() {
    let Some((collection, _)) = real("nfcorpus") else { return };
    let analyser = Analyser::new(AnalyserSettings::default());
    let vocabulary = Vocabulary::of(&collection.documents, &analyser, 2, 100_000);
    let mut stream = Streams::new(1).open(Purpose::Data, 0, 0);
    let queries = make_queries(&collection.documents, &analyser, &vocabulary, 10_000, &mut stream);
    println!("{} terms, {} queries, such as {:?}", vocabulary.terms.len(), queries.len(), &queries[..5]);
    assert_eq!(queries.len(), 10_000);
}

/// 225 documents have grade 0, which BM25 ranks far above those with grade 1: a code of their own, not "not relevant".
#[test]
fn cranfield_with_every_judged_document_relevant() {
    let Some((mut collection, _)) = real("cranfield") else { return };
    assert_eq!(collection.read_grades(ZeroGrade::NotRelevant), 0);
    assert_eq!(collection.read_grades(ZeroGrade::Relevant), 226, "225 of grade 0, one of grade 3");
    let [_, _, ndcg] = bm25(&collection, AnalyserSettings::default(), None);
    assert!((ndcg - 0.5348).abs() < 5e-5, "{ndcg}");
}

#[test]
fn vectors_trained_on_small_collections_come_apart() {
    for name in ["cranfield", "nfcorpus"] {
        let Some((collection, _)) = real(name) else { return };
        let analyser = Analyser::new(AnalyserSettings::default());
        let vocabulary = Vocabulary::of(&collection.documents, &analyser, 2, 50_000);
        let mut stream = Streams::new(1).open(Purpose::Initialisation, 0, 0);
        let source = EmbeddingSource::Trained(SkipGram::default());
        let vectors = source.embed(&vocabulary, &collection.documents, &analyser, 32, &mut stream).expect("vectors");
        let cosine = mean_cosine(&vectors.expect("trained ones"), 32, &mut stream);
        println!("{name}: {cosine}");
        assert!(cosine < 0.3, "{name}: {cosine}");
    }
}
