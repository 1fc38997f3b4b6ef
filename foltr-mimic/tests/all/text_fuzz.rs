//! Readers of texts and vectors meet broken files: they never panic, and what they accept holds together.
//!
//! Bounded in the suite; `docs/campaigns/fuzzing.md` says how to run it for longer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use foltr_mimic::collection::{CollectionBuilder, Form, beir, nfcorpus, trec};
use foltr_mimic::embeddings::parse_vectors;
use foltr_mimic::run_file::Run;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_test::fuzzing::{Campaign, label, n_iterations};
use rand::RngExt;

/// Pieces of all formats, good and bad.
const SHORT_PIECES: [&str; 29] = [
    "<doc>", "</doc>", "<DOCNO>", "</docno>", "<text>", "</text>", "<title>", "</title>", "<top>", "</top>", "<num>",
    "</num>", "<", ">", "&amp;", "\n", "\t", " ", "é", "0", "1", "-1", "31", "d1", "q1", "{", "2 3\n", "nan", "1e39",
];
const LONG_PIECES: [&str; 6] = [
    "{\"_id\": \"d1\", \"text\": \"x\"}",
    "query-id\tcorpus-id\tscore\n",
    "q1\td1\t1\n",
    "q1 0 d1 1\n",
    "word 1 2 3\n",
    "q1 Q0 d1 1 0.5 tag\n",
];

fn made_of_pieces(stream: &mut Stream) -> String {
    let n_pieces = stream.random_range(0..24);
    let pieces = [&SHORT_PIECES[..], &LONG_PIECES].concat();
    (0..n_pieces).map(|_| pieces[stream.random_range(0..pieces.len())]).collect()
}

/// All readers of a collection, one after the other; why what they found is no collection.
fn read_texts(text: &str) -> Result<(), String> {
    let file = Path::new("fuzz");
    let mut builder = CollectionBuilder::default();
    let results = [
        trec::parse_documents(text, file, &mut builder),
        trec::parse_topics(text, file, &mut builder),
        trec::parse_judgements(text, file, &mut builder),
        beir::parse_corpus(text, file, &mut builder),
        beir::parse_queries(text, file, &mut builder),
        beir::parse_judgements(text, file, "test", &mut builder),
        nfcorpus::parse_documents(text, file, &mut builder),
        nfcorpus::parse_queries(text, file, "test", &mut builder),
    ];
    for error in results.into_iter().filter_map(Result::err) {
        assert!(error.to_string().starts_with("fuzz:"), "{error}");
    }
    match builder.finish(file, Form::Trec) {
        Ok((collection, _)) => {
            for judgement in &collection.judgements {
                assert!((judgement.query as usize) < collection.queries.len());
                assert!((judgement.document as usize) < collection.documents.len());
            }
            assert!(collection.documents.iter().all(|document| !document.text.contains(['\n', '\t'])));
            Ok(())
        }
        Err(error) => Err(label(&error)),
    }
}

/// Whether it is a run, whose scores are numbers.
fn read_run(text: &str) -> bool {
    let documents = HashMap::from([("d1", 7)]);
    match Run::parse(text, Path::new("fuzz"), &documents) {
        Ok(run) => {
            let scores = run.scores("q1", &[7, 8]);
            assert!(scores.is_none_or(|scores| scores[0].is_none_or(f32::is_finite) && scores[1].is_none()));
            run.n_queries() > 0
        }
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz:"), "{error}");
            false
        }
    }
}

fn read_vectors(bytes: &[u8]) {
    let mut width = None;
    let result = parse_vectors(bytes, Path::new("fuzz"), |_, vector| {
        assert!(vector.iter().all(|value| value.is_finite()));
        assert_eq!(*width.get_or_insert(vector.len()), vector.len());
        Ok(())
    });
    if let Err(error) = result {
        assert!(error.to_string().starts_with("fuzz:"), "{error}");
    }
}

#[test]
fn pieces_of_formats_never_panic() {
    let streams = Streams::new(2026);
    let (n_texts, campaign) = (n_iterations(20_000), Campaign::start());
    let mut outcomes = BTreeMap::<Result<(), String>, usize>::new();
    let mut n_runs = 0;
    for iteration in 0..n_texts {
        let text = made_of_pieces(&mut streams.open(Purpose::Data, iteration as u32, 0));
        *outcomes.entry(read_texts(&text)).or_default() += 1;
        n_runs += usize::from(read_run(&text));
        read_vectors(text.as_bytes());
        read_vectors(format!("3 2\n{text}").as_bytes());
        read_vectors(format!("word 1 2\n{text}").as_bytes());
    }
    campaign.report("collection-text", n_texts, outcomes.len());
    let n_accepted = outcomes.get(&Ok(())).copied().unwrap_or(0);
    assert!(n_accepted > n_texts / 50, "{n_accepted} with a document: both outcomes must be met");
    assert!(n_runs > n_texts / 500, "{n_runs} runs: both outcomes must be met");
}

#[test]
fn arbitrary_bytes_never_panic() {
    let (n_inputs, campaign) = (n_iterations(10_000), Campaign::start());
    let mut outcomes = BTreeSet::new();
    bolero::check!().with_iterations(n_inputs).for_each(|bytes: &[u8]| {
        outcomes.insert(read_texts(&String::from_utf8_lossy(bytes)));
        read_run(&String::from_utf8_lossy(bytes));
        read_vectors(bytes);
        read_vectors(&[b"2 1\n".as_slice(), bytes].concat());
        read_vectors(&[b"word 1\n".as_slice(), bytes].concat());
    });
    campaign.report("collection-bytes", n_inputs, outcomes.len());
}
