use std::collections::BTreeSet;

use rand::{Rng, RngExt};

use foltr_rank::Activation;
use foltr_test::fuzzing::{Campaign, n_iterations};

use super::*;

fn linear() -> Model {
    Model { shape: Shape::Linear { n_features: 3 }, normalise: Normalisation::Query, params: vec![1.0, -2.5, 1e-30] }
}

fn mlp() -> Model {
    let shape = Shape::Mlp { n_features: 3, n_hidden: 2, activation: Activation::Relu };
    Model { shape, normalise: Normalisation::None, params: (1..=10).map(|i| i as f32).collect() }
}

/// Reads bytes as a file `m.safetensors` in a temporary folder.
fn refusal(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.safetensors");
    std::fs::write(&path, bytes).expect("a file");
    let error = Model::read(&path).expect_err("not a model").to_string();
    error.rsplit_once("m.safetensors").map(|(_, rest)| format!("m.safetensors{rest}")).expect("the file is named")
}

/// A file with one tensor and this text under the key `foltr`.
fn file(header: Option<&str>, name: &str, dtype: Dtype, dimensions: &[usize]) -> Vec<u8> {
    let data = vec![0; dimensions.iter().product::<usize>() * dtype.bitsize() / 8];
    let tensor = TensorView::new(dtype, dimensions.to_vec(), &data).expect("sizes fit");
    let metadata = header.map(|text| HashMap::from([(KEY.to_owned(), text.to_owned())]));
    serialize([(name, tensor)], metadata).expect("a file")
}

fn provenance() -> Provenance {
    Provenance {
        learner: "pdgd".into(),
        run: "0f".repeat(16),
        data: "MQ2008".into(),
        data_hash: "1234".into(),
        fold: 2,
        seed: u64::MAX,
        metrics: Conventions::from(&crate::spec::Measures::default()),
    }
}

const LINEAR: &str = r#"{"format":1,"foltr":"0.1.0","ranker":"linear","normalise":"none","about":""}"#;
const MLP: &str = r#"{"format":1,"foltr":"0.1.0","ranker":"mlp","activation":"relu","normalise":"none","about":""}"#;

#[test]
fn models_are_read_as_they_were_written_and_always_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for model in [linear(), mlp()] {
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        model.write(&one, Some(&provenance())).expect("written");
        model.write(&two, Some(&provenance())).expect("written");
        let (foltr, provenance) = (env!("CARGO_PKG_VERSION").into(), Some(provenance()));
        assert_eq!(ModelFile::read(&one).expect("a model"), ModelFile { model, foltr, provenance, about: None });
        assert_eq!(std::fs::read(&one).expect("bytes"), std::fs::read(&two).expect("bytes"));
    }
}

#[test]
fn files_of_format_1_are_still_models() {
    let read = ModelFile::from_bytes(&file(Some(LINEAR), "weights", Dtype::F32, &[3])).expect("a model");
    assert_eq!((read.model.params, read.foltr.as_str(), read.provenance), (vec![0.0; 3], "0.1.0", None));
    assert_eq!(read.about.as_deref(), Some(""));
}

#[test]
fn the_bytes_are_those_of_the_format() {
    let bytes = linear().to_bytes(Some(&provenance()));
    let n_header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + n_header]).expect("JSON");
    let about: serde_json::Value =
        serde_json::from_str(header["__metadata__"]["foltr"].as_str().expect("a text")).expect("JSON");
    let version = env!("CARGO_PKG_VERSION");
    let metrics = serde_json::json!({
        "offline": ["ndcg@10"], "evaluate_on": ["test"], "queries_without_relevant": "skip", "cutoff": 10, "list_length": 10
    });
    let provenance = serde_json::json!({
        "learner": "pdgd", "run": "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", "data": "MQ2008", "data_hash": "1234", "fold": 2,
        "seed": u64::MAX, "metrics": metrics
    });
    let expected = serde_json::json!({
        "format": 2, "foltr": version, "ranker": "linear", "features": 3, "normalise": "query", "provenance": provenance
    });
    assert_eq!(about, expected);
    assert_eq!(header["weights"], serde_json::json!({"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}));
    assert_eq!(bytes[8 + n_header..8 + n_header + 8], [0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0]);
    // One hidden layer keeps its two dimensions; the writer sorts tensors by name, so the bias comes first.
    let bytes = mlp().to_bytes(None);
    let read = SafeTensors::deserialize(&bytes).expect("a file");
    assert_eq!(read.tensor("hidden.weights").expect("a tensor").shape(), [3, 2]);
    assert_eq!(read.tensor("hidden.bias").expect("a tensor").data()[..4], 7_f32.to_le_bytes());
}

#[test]
fn wrong_files_are_refused_with_what_would_be_right() {
    let good = linear().to_bytes(None);
    let refused = |bytes: &[u8], words: &[&str]| {
        let text = refusal(bytes);
        assert!(text.starts_with("m.safetensors: not a model that foltr can read: "), "{text}");
        words.iter().for_each(|word| assert!(text.contains(word), "{word} is not in {text}"));
    };
    refused(b"", &["expected a whole file in the safetensors format"]);
    refused(b"0 qid:1 1:0.5 2:0.25\n", &["expected a whole file in the safetensors format"]);
    refused(&good[..good.len() - 1], &["expected a whole file in the safetensors format"]);
    refused(&good[..20], &["expected a whole file in the safetensors format"]);
    let one = |header: &str| file(Some(header), "weights", Dtype::F32, &[3]);
    refused(&file(None, "weights", Dtype::F32, &[3]), &["no metadata key `foltr`", "a model that `foltr run` wrote"]);
    refused(&one("?"), &["metadata `foltr`"]);
    refused(&one(r#"{"kind":"mimic","format":1}"#), &["a network of mimic learning", "`foltr search`"]);
    let wide = LINEAR.replace("\"format\":1", "\"format\":2,\"features\":4");
    refused(&one(&wide), &["`weights` has the shape [3]; expected 4 features"]);
    refused(
        &one(&LINEAR.replace("\"format\":1", "\"format\":3")),
        &["`format` is 3; expected 1 to 2, or a newer foltr"],
    );
    refused(&one(&LINEAR.replace("\"format\":1,", "")), &["missing field `format`"]);
    refused(&one(&LINEAR.replace("\"normalise\":\"none\",", "")), &["missing field `normalise`"]);
    refused(&one(&LINEAR.replace("linear", "tree")), &["`tree`", "`linear` or `mlp`"]);
    refused(&one(&MLP.replace("relu", "tanh")), &["`tanh`", "`logistic` or `relu`"]);
    refused(&one(&MLP.replace("\"activation\":\"relu\",", "")), &["without `activation`"]);
    refused(&one(MLP), &["no tensor `hidden.weights`"]);
    refused(&file(Some(LINEAR), "weight", Dtype::F32, &[3]), &["no tensor `weights`"]);
    refused(&file(Some(LINEAR), "weights", Dtype::F64, &[3]), &["type F64; expected F32"]);
    refused(&file(Some(LINEAR), "weights", Dtype::F32, &[3, 1]), &["shape [3, 1]; expected [features] with 1 to"]);
    refused(&file(Some(LINEAR), "weights", Dtype::F32, &[0]), &["shape [0]; expected [features] with 1 to"]);
    refused(&file(Some(MLP), "hidden.weights", Dtype::F32, &[3, 2]), &["no tensor `hidden.bias`"]);
    refused(&one(&LINEAR.replace("none", "sum")), &["`sum`", "`none` or `query`"]);
}

#[test]
fn tensors_that_do_not_fit_together_and_numbers_that_are_none_are_refusal() {
    let floats = [0_u8; 4 * 6];
    let tensor = |sizes: &[usize]| {
        let n_bytes = 4 * sizes.iter().product::<usize>();
        TensorView::new(Dtype::F32, sizes.to_vec(), &floats[..n_bytes]).expect("sizes fit")
    };
    let with = |tensors: Vec<(&str, TensorView<'_>)>| {
        refusal(&serialize(tensors, Some(HashMap::from([(KEY.into(), MLP.into())]))).expect("a file"))
    };
    let hidden = ("hidden.weights", tensor(&[3, 2]));
    let text = with(vec![hidden.clone(), ("hidden.bias", tensor(&[3])), ("output.weights", tensor(&[2]))]);
    assert!(
        text.contains("`hidden.bias` has the shape [3]; expected `hidden.weights` [3, 2], `hidden.bias` [2]"),
        "{text}"
    );
    let text = with(vec![hidden, ("more", tensor(&[2]))]);
    assert!(text.contains("there is a tensor `more`"), "{text}");
    for value in [f32::NAN, f32::INFINITY] {
        let mut broken = mlp();
        broken.params[7] = value;
        let text = refusal(&broken.to_bytes(None));
        assert!(text.ends_with(&format!("`hidden.bias` has {value} at position 1; expected finite numbers")), "{text}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Model::read(Path::new("no-such/model.safetensors")).expect_err("no file").to_string();
    assert!(error.starts_with("no-such/model.safetensors: cannot be read: "), "{error}");
}

/// Damaged files are refused or, where the damage hit a number or free text, are still models; nothing panics.
#[test]
fn damaged_models_survive_fuzzing() {
    let (n_files, campaign) = (n_iterations(20_000), Campaign::start());
    let mut stream = foltr_rank::rng::Streams::new(7).open(foltr_rank::rng::Purpose::Data, 0, 0);
    let mut outcomes = BTreeSet::new();
    for iteration in 0..n_files {
        let mut bytes = if iteration % 2 == 0 { linear() } else { mlp() }.to_bytes(Some(&provenance()));
        for _ in 0..stream.random_range(1..4) {
            let at = stream.random_range(0..bytes.len());
            match stream.random_range(0..5) {
                0 => bytes[at] ^= 1 << stream.random_range(0..8),
                1 => bytes[at] = b"0123456789[]{}\",:"[stream.random_range(0..17)],
                2 => bytes.truncate(at.max(1)),
                3 => bytes.insert(at, stream.next_u32() as u8),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        let read = ModelFile::from_bytes(&bytes);
        if let Ok(ModelFile { model, .. }) = &read {
            assert_eq!(model.params.len(), model.shape.n_params());
            assert!(model.params.iter().all(|param| param.is_finite()));
        }
        // The words of an error up to the first name or number.
        let words = |text: String| text.split(|c: char| c != ' ' && !c.is_alphabetic()).next().map(str::to_owned);
        outcomes.insert(read.map(drop).map_err(|error| words(error.to_string())));
    }
    campaign.report("model-file", n_files, outcomes.len());
    assert!(outcomes.contains(&Ok(())), "the damage is too heavy to test anything behind the header");
}
