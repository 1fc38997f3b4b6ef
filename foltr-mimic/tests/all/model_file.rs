//! Model files and states of training meet broken bytes: they are refused with a reason, and nothing panics.

use std::path::Path;

use foltr_mimic::model_file::{Model, ModelError, Reading};
use foltr_mimic::training::{Settings, Training};
use foltr_mimic::{Composition, Network, Representation, Shape, Start};
use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;

fn text_model() -> Model {
    let representation =
        Representation::Text { n_terms: 3, n_dimensions: 2, composition: Composition::Mean, product: true };
    let shape = Shape { representation, hidden: vec![4, 2], dropout: 0.1 };
    let network = Network::new(shape, Start::default(), &Streams::new(1)).expect("a good shape");
    let vocabulary = ["wing", "Flügel", "line\nbreak \""].map(String::from).to_vec();
    let analyser = r#"{"stem":"english"}"#.into();
    Model { network, reading: Reading::Text { vocabulary, idf: vec![0.5, 1.0, 2.0], analyser } }
}

fn feature_model() -> Model {
    let shape = Shape::student(Representation::Features { n_features: 3 });
    let network = Network::new(shape, Start::default(), &Streams::new(1)).expect("a good shape");
    Model { network, reading: Reading::Features { columns: vec![1, 5, 7] } }
}

fn read(bytes: &[u8]) -> Result<Model, ModelError> {
    Model::from_bytes(bytes, Path::new("a.safetensors"))
}

#[test]
fn what_is_written_is_read() {
    for model in [text_model(), feature_model()] {
        let bytes = model.to_bytes("a test");
        assert_eq!(read(&bytes).expect("our own bytes"), model);
        assert_eq!(model.to_bytes("a test"), bytes, "the same model is the same bytes");
    }
}

#[test]
fn models_that_could_not_be_read_are_not_written() {
    let folder = std::env::temp_dir();
    let fails = |model: Model, word: &str| {
        let error = model.write(&folder.join("foltr-never-written.safetensors"), "").expect_err("refused").to_string();
        assert!(error.contains(word), "{error}");
    };
    let with = |reading: Reading| Model { reading, ..text_model() };
    let text = |terms: &[&str], idf: &[f32]| Reading::Text {
        vocabulary: terms.iter().map(|&term| term.into()).collect(),
        idf: idf.into(),
        analyser: String::new(),
    };
    fails(with(text(&["a", "b"], &[1.0; 3])), "2 terms");
    fails(with(text(&["a", "b", "c"], &[1.0; 4])), "4 IDF");
    fails(with(text(&["a", "b", "a"], &[1.0; 3])), "`a` twice");
    fails(with(Reading::Features { columns: vec![1, 2, 3] }), "different kinds");
    fails(Model { reading: Reading::Features { columns: vec![1, 2] }, ..feature_model() }, "2 columns");
    fails(Model { reading: Reading::Features { columns: vec![0, 1, 2] }, ..feature_model() }, "column 0");
}

#[test]
fn a_missing_file_is_told() {
    let error = Model::read(Path::new("nowhere/model.safetensors")).expect_err("not there").to_string();
    assert!(error.starts_with("nowhere/model.safetensors: cannot be read"), "{error}");
}

#[test]
fn wrong_content_is_told() {
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
    let training = Training::new(text_model().network, Settings::default()).expect("good settings");
    assert!(read(&training.to_bytes()).expect_err("refused").to_string().contains("`kind` is \"training\""));
    let error = Training::from_bytes(&text_model().to_bytes("")).expect_err("refused").to_string();
    assert!(error.contains("`kind` is \"mimic\""), "{error}");
}

/// Real files, changed in a few bytes of their header or anywhere.
#[test]
fn changed_files_never_panic() {
    let training = Training::new(text_model().network, Settings::default()).expect("good settings");
    let files = [text_model().to_bytes("a test"), feature_model().to_bytes("a test"), training.to_bytes()];
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
