//! Model files and states of training meet broken bytes: they are refused with a reason, and nothing panics.

use std::path::Path;

use foltr_mimic::analyser::AnalyserSettings;
use foltr_mimic::model_file::{Model, Reading};
use foltr_mimic::training::Training;
use foltr_mimic::vocabulary::Vocabulary;
use foltr_mimic::{FileError, InitialTerms, Network, NetworkSettings, Shape, Structure};
use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;

fn settings() -> NetworkSettings {
    NetworkSettings { hidden: vec![4, 2], dimensions: 2, product: true, ..NetworkSettings::student() }
}

fn network(shape: Shape) -> Network {
    Network::new(shape, InitialTerms::default(), &Streams::new(1)).expect("a good shape")
}

fn texts(terms: &[&str], idf: &[f32]) -> Reading {
    let terms = terms.iter().map(|&term| term.into()).collect();
    let vocabulary = Vocabulary { terms, idf: idf.into(), words: Vec::new() };
    Reading::Text { vocabulary, analyser: AnalyserSettings::default() }
}

fn text_model() -> Model {
    let reading = texts(&["wing", "Flügel", "line\nbreak \""], &[0.5, 1.0, 2.0]);
    Model { network: network(settings().text_shape(3, 1)), reading }
}

fn interaction_model() -> Model {
    let settings = NetworkSettings { structure: Structure::Interaction, product: false, ..settings() };
    Model { network: network(settings.text_shape(3, 7)), ..text_model() }
}

fn feature_model() -> Model {
    let network = network(NetworkSettings::student().feature_shape(3));
    Model { network, reading: Reading::Features { columns: vec![1, 5, 7] } }
}

fn training() -> Training {
    Training::new(text_model().network, settings(), 1).expect("good settings")
}

fn read(bytes: &[u8]) -> Result<Model, FileError> {
    Model::from_bytes(bytes, Path::new("a.safetensors"))
}

#[test]
fn what_is_written_is_read() {
    for model in [text_model(), interaction_model(), feature_model()] {
        let bytes = model.to_bytes("a test");
        assert_eq!(read(&bytes).expect("our own bytes"), model);
        assert_eq!(model.to_bytes("a test"), bytes, "the same model is the same bytes");
    }
}

#[test]
fn a_reading_that_does_not_fit_the_network_is_refused() {
    let refused = |model: Model, word: &str| {
        let error = read(&model.to_bytes("")).expect_err("refused").to_string();
        assert!(error.contains(word), "{error}");
    };
    let with = |reading: Reading| Model { reading, ..text_model() };
    refused(with(texts(&["a", "b"], &[1.0; 3])), "2 terms");
    refused(with(texts(&["a", "b", "c"], &[1.0; 4])), "`idf` is F32 [4]");
    refused(with(texts(&["a", "b", "c"], &[1.0, f32::NAN, 1.0])), "`idf` has NaN at position 1");
    refused(with(texts(&["a", "b", "a"], &[1.0; 3])), "`a` twice");
    refused(with(Reading::Features { columns: vec![1, 2, 3] }), "without `analyser`");
    let with = |reading: Reading| Model { reading, ..feature_model() };
    refused(with(texts(&["a", "b", "c"], &[1.0; 3])), "with `analyser`");
    refused(with(Reading::Features { columns: vec![1, 2] }), "`columns` is U32 [2]");
    refused(with(Reading::Features { columns: vec![0, 1, 2] }), "column 0");
}

#[test]
fn a_missing_file_is_named() {
    let error = Model::read(Path::new("nowhere/model.safetensors")).expect_err("not there").to_string();
    assert!(error.starts_with("nowhere/model.safetensors: cannot be read"), "{error}");
}

#[test]
fn wrong_content_is_named() {
    let bytes = text_model().to_bytes("a test");
    let replaced = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len(), "lengths are in the header");
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).expect("it is there");
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        read(&changed).expect_err("refused").to_string()
    };
    let cases = [
        (r#"\"format\":1"#, r#"\"format\":2"#, "newer foltr"),
        (r#"\"kind\":\"mimic\""#, r#"\"kind\":\"mimes\""#, "`kind` is"),
        (r#"\"n_terms\":3"#, r#"\"n_terms\":4"#, "terms.embeddings"),
        (r#"\"n_terms\":3"#, r#"\"n_terms\":0"#, "`n_terms` is 0"),
        (r#""idf""#, r#""iff""#, "no tensor `idf`"),
        (r#"[4,2]"#, r#"[4,3]"#, "layers"),
        (r#"\"composition\":\"mean\""#, r#"\"composition\":\"meat\""#, "meat"),
        (r#"["wing""#, r#"{"wing""#, "`vocabulary`"),
    ];
    for (from, to, word) in cases {
        let error = replaced(from, to);
        assert!(error.contains(word) && error.starts_with("a.safetensors: "), "{from}: {error}");
    }
    let error = read(&bytes[..bytes.len() - 1]).expect_err("cut off").to_string();
    assert!(error.contains("safetensors format"), "{error}");
}

#[test]
fn a_training_is_no_model_and_a_model_no_training() {
    assert!(read(&training().to_bytes()).expect_err("refused").to_string().contains("`kind` is \"training\""));
    let error = Training::from_bytes(&text_model().to_bytes("")).expect_err("refused").to_string();
    assert!(error.contains("`kind` is \"mimic\""), "{error}");
}

/// Real files, changed in a few bytes of their header or anywhere.
#[test]
fn changed_files_never_panic() {
    let files = [
        text_model().to_bytes("a test"),
        interaction_model().to_bytes("a test"),
        feature_model().to_bytes("a test"),
        training().to_bytes(),
    ];
    let streams = Streams::new(11);
    let mut n_refused = 0;
    for iteration in 0..10_000 {
        let mut stream = streams.open(Purpose::Data, iteration, 0);
        let mut bytes = files[iteration as usize % files.len()].clone();
        for _ in 0..stream.random_range(1..4) {
            let end = if stream.random() { bytes.len() } else { bytes.len().min(1_500) };
            let at = stream.random_range(0..end);
            match stream.random_range(0..4) {
                0 => bytes[at] = b'0' + stream.random_range(0..10),
                1 => bytes[at] ^= 1 << stream.random_range(0..8),
                2 => drop(bytes.drain(at..end.min(at + 3))),
                _ => bytes.truncate(at.max(8)),
            }
        }
        let model = read(&bytes);
        n_refused += u32::from(model.is_err() && Training::from_bytes(&bytes).is_err());
        if let Ok(model) = model {
            read(&model.to_bytes("again")).expect("what was accepted can be written");
        }
    }
    assert!((5_000..10_000).contains(&n_refused), "{n_refused} refused: both outcomes must be met");
}

#[test]
fn arbitrary_bytes_never_panic() {
    bolero::check!().with_iterations(20_000).for_each(|bytes: &[u8]| {
        // A header of the right length, so that more than the first eight bytes is met.
        let framed = [&(bytes.len() as u64).to_le_bytes(), bytes].concat();
        for bytes in [bytes, &framed] {
            assert!(read(bytes).is_err());
            assert!(Training::from_bytes(bytes).is_err());
        }
    });
}
