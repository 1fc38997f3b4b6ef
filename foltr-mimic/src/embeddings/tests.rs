//! Files of vectors in every form, broken ones, and what training finds.

use std::io::Write;

use foltr_rank::rng::{Purpose, Streams};

use super::*;
use crate::analyser::AnalyserSettings;

fn stream() -> Stream {
    Streams::new(5).open(Purpose::Initialisation, 0, 0)
}

fn vocabulary() -> Vocabulary {
    let words = ["ducks", "soup", "wing"].map(str::to_owned).to_vec();
    Vocabulary { terms: ["duck", "soup", "wing"].map(str::to_owned).to_vec(), idf: vec![1.0; 3], words }
}

fn loaded(bytes: &[u8]) -> Result<Vec<f32>, FileError> {
    load(bytes, Path::new("v"), &vocabulary(), 2, &mut stream())
}

fn error(bytes: &[u8]) -> String {
    loaded(bytes).expect_err("a broken file").to_string()
}

fn binary(header: &str, words: &[(&str, [f32; 2])], end: &str) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    for (word, vector) in words {
        bytes.extend([word.as_bytes(), b" "].concat());
        bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(end.as_bytes());
    }
    bytes
}

const WORDS: [(&str, [f32; 2]); 4] =
    [("Wing", [9.0, 9.0]), ("wing", [3.0, -4.0]), ("of", [7.0, 7.0]), ("Ducks", [0.0, 5.0])];

#[test]
fn all_formats_give_the_same_vectors() {
    let lines: String = WORDS.iter().map(|(word, [a, b])| format!("{word} {a} {b}\n")).collect();
    let files = [
        lines.clone().into_bytes(),
        format!("4 2\n{lines}").into_bytes(),
        binary("4 2\n", &WORDS, ""),
        binary("4 2\n", &WORDS, "\n"),
    ];
    for bytes in files {
        let values = loaded(&bytes).unwrap();
        // The stem `duck` has the vector of its word, met in capitals only; small letters win over capitals.
        assert_eq!((&values[..2], &values[4..]), (&[0.0, 5.0][..], &[3.0, -4.0][..]));
        let random = random(3, 2, &mut stream());
        // The others are random, as long as those of the file: 5 times 1.
        assert_eq!(values[2..4], [random[2] * 5.0, random[3] * 5.0]);
    }
}

#[test]
fn compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vectors.gz");
    let mut encoder = flate2::write::GzEncoder::new(File::create(&file).unwrap(), flate2::Compression::fast());
    encoder.write_all(b"1 2\nwing 1 2\n").unwrap();
    encoder.finish().unwrap();
    let embed = |file: PathBuf| {
        let analyser = Analyser::new(AnalyserSettings::default());
        EmbeddingSource::Loaded { file }.embed(&vocabulary(), &[], &analyser, 2, &mut stream())
    };
    assert_eq!(embed(file).unwrap().unwrap()[4..], [1.0, 2.0]);
    assert!(embed("no/such/file".into()).unwrap_err().to_string().starts_with("no/such/file: cannot be read"));
}

#[test]
fn words_with_spaces_are_words() {
    assert_eq!(error(b"wing 1 2\n. . . 3 4\nat 5 6 7\n"), line_error(3, 3));
    assert_eq!(loaded(b"wing 1 2\n. . . 3 4\nat 5 x 6 7\n").unwrap()[4..], [1.0, 2.0]);
}

fn line_error(line: usize, found: usize) -> String {
    format!("v:{line}: found {found} numbers behind the word, expected 2 as before")
}

#[test]
fn broken_files_say_what_is_wrong() {
    assert_eq!(error(b"wing 1 2\nof 1\n"), line_error(2, 1));
    assert_eq!(error(b"2 2\nwing 1 2\nof 1 2 3\n"), line_error(3, 3));
    assert_eq!(error(b"wing 1 2\nof 1 x\n"), "v: `x` in vector 2, expected a finite number");
    assert_eq!(error(b"wing 1 2\nof 1 nan\n"), "v: `nan` in vector 2, expected a finite number");
    assert_eq!(error(b"3 2\nwing 1 2\n"), "v: ends in vector 2, expected 3 vectors as its header says");
    let mut cut = binary("4 2\n", &WORDS, "");
    cut.pop();
    assert_eq!(error(&cut), "v: ends in vector 4, expected 4 vectors as its header says");
    assert!(error(&binary("1 2\n", &[("wing", [f32::NAN, 0.0])], "")).contains("`NaN` in vector 1"));
    assert!(error(b"wing 1 2 3\n").starts_with("v: vectors have 3 numbers, expected 2; set the embedding size to 3"));
    assert!(error(b"nobody 1 2\n").contains("none of the 3 words"));
}

#[test]
fn other_files_are_recognised() {
    let kinds: [(&[u8], &str); 7] = [
        (b"", "an empty file"),
        (b"PK\x03\x04glove", "a zip archive"),
        (b"\x93NUMPY\x01", "an array of NumPy"),
        (b"\x80\x04\x95", "a Python pickle"),
        (b"{\"a\": 1}", "JSON"),
        (b"\x00\x01\xff\xfe", "binary data without word2vec's header"),
        (b"Once upon a time\n", "text whose first line is no word with numbers"),
    ];
    for (bytes, looks_like) in kinds {
        assert!(error(bytes).starts_with(&format!("v: not a file of word vectors but {looks_like}")), "{looks_like}");
    }
}

#[test]
fn random_vectors_have_length_one_on_average() {
    let values = random(200, 50, &mut stream());
    let square: f32 = values.iter().map(|value| value * value).sum();
    assert!((square / 200.0 - 1.0).abs() < 0.05, "{square}");
    assert_eq!(values, random(200, 50, &mut stream()));
}

/// Texts of two topics that share no term: 0 to 9, and 10 to 19. Term 20 never occurs.
fn two_topics() -> Vec<Vec<u32>> {
    let mut stream = stream();
    let text = |topic: u32| (0..30).map(|_| stream.random_range(0..10) + 10 * (topic % 2)).collect();
    (0..200).map(text).collect()
}

#[test]
fn terms_of_one_topic_come_together() {
    let settings = SkipGram { frequent: 1.0, ..SkipGram::default() };
    let train = || skip_gram::train(&two_topics(), 21, 20, &settings, &mut stream());
    let embeddings = train();
    assert_eq!(embeddings.len(), 21 * 20);
    assert_eq!(embeddings, train(), "the same every time");
    let vector = |term: usize| &embeddings[term * 20..][..20];
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let cosine = |a, b| {
        let (a, b) = (vector(a), vector(b));
        product(a, b) / (product(a, a) * product(b, b)).sqrt()
    };
    for term in 1..10 {
        assert!(cosine(0, term) > cosine(0, term + 10) + 0.5, "{} {}", cosine(0, term), cosine(0, term + 10));
    }
}

#[test]
fn a_common_direction_shows_in_the_mean_cosine() {
    let cosine = |values: &[f32]| mean_cosine(values, 2, &mut stream());
    assert!((cosine(&[1.0, 2.0, 2.0, 4.0, 3.0, 6.0]) - 1.0).abs() < 1e-9);
    assert!(cosine(&[1.0, 0.0, 0.0, 1.0]).abs() < 1e-9);
    assert_eq!((cosine(&[1.0, 2.0]), cosine(&[0.0; 4])), (0.0, 0.0), "nothing to compare");
    let random = random(1_000, 50, &mut stream());
    assert!(mean_cosine(&random, 50, &mut stream()).abs() < 0.01);
}

#[test]
fn texts_without_terms_train_nothing() {
    let train = |texts: &[Vec<u32>], n_terms| skip_gram::train(texts, n_terms, 3, &SkipGram::default(), &mut stream());
    assert_eq!(train(&[vec![], vec![1]], 2).len(), 6);
    assert!(train(&[], 0).is_empty());
}
