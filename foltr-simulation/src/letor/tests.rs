//! Tests of the reader: every rule of the format once, every error once.

use super::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn parse(text: &str) -> Result<Dataset, LetorError> {
    parse_letor(text.as_bytes(), Path::new("train.txt"), &ReadOptions::default())
}

fn message(text: &str) -> String {
    parse(text).expect_err("a bad file").to_string()
}

#[test]
fn the_same_data_in_many_dresses() {
    let plain = parse("1 qid:a 1:0.5 3:2\n0 qid:a\n2 qid:b 2:4\n").expect("valid");
    for dressed in [
        "1 qid:a 1:0.5 3:2\n0 qid:a\n2 qid:b 2:4",
        "1 qid:a 1:0.5 3:2\r\n0 qid:a\r\n2 qid:b 2:4\r\n",
        "\u{feff}1 qid:a 1:0.5 3:2\n0 qid:a\n2 qid:b 2:4\n",
        "# head\n\n1.0 qid:a 3:2 1:0.5 # x\n   \n0.0 qid:a #\n2e0\tqid:b\t2:4.000  \n# end",
        "1 qid:a 1:0.5 3:2#1:9\n0 qid:a\n2 qid:b 002:4 000000001:0\n",
        "1 qid:a 1:.5 3:+2\n2 qid:b 2:4\n0 qid:a\n\n\n",
    ] {
        assert_eq!(parse(dressed).expect(dressed), plain, "{dressed:?}");
    }
    assert_eq!(plain.query(0).row(0)[..3], [0.5, 0.0, 2.0]);
}

#[test]
fn a_declared_width_is_enforced() {
    let read = |width| {
        let options = ReadOptions { n_features: Some(width), ..ReadOptions::default() };
        parse_letor(b"1 qid:1 2:5\n0 qid:1 9:5\n", Path::new("w.txt"), &options)
    };
    assert_eq!(read(46).expect("wide enough").n_features(), 46);
    assert_eq!(read(9).expect("wide enough").query(0).row(1)[8], 5.0);
    let refused = read(8).expect_err("too narrow").to_string();
    assert_eq!(refused, "w.txt:2:9: found `9:5`, expected a feature index from 1 to 8");
    assert!(matches!(read(0), Err(LetorError::Width { n_features: 0, .. })));
    assert!(matches!(read(MAX_FEATURES + 1), Err(LetorError::Width { .. })));
}

#[test]
fn bad_lines_are_refused_with_place_and_reason() {
    let good = "1 qid:1 1:1\n\n";
    for (line, column, found, expected) in [
        ("x qid:1 1:1", 1, "x", "a label, a whole number from 0 to 4 (max_label allows more)"),
        ("-1 qid:1 1:1", 1, "-1", "a label, a whole number from 0 to 4 (max_label allows more)"),
        ("5 qid:1 1:1", 1, "5", "a label, a whole number from 0 to 4 (max_label allows more)"),
        ("300 qid:1 1:1", 1, "300", "a label, a whole number from 0 to 4 (max_label allows more)"),
        ("0.5 qid:1 1:1", 1, "0.5", "a label, a whole number from 0 to 4 (max_label allows more)"),
        ("nan qid:1 1:1", 1, "nan", "a label, a whole number from 0 to 4 (max_label allows more)"),
        ("1 1:1 2:1", 3, "1:1", "`qid:` and the query's name behind the label"),
        ("1", 2, "end of line", "`qid:` and the query's name behind the label"),
        ("1 qid: 1:1", 3, "qid:", "`qid:` and the query's name behind the label"),
        ("1 qid:1 1:1 foo", 13, "foo", "`feature:value`, such as `3:0.25`"),
        ("1 qid:1 1:1 7", 13, "7", "`feature:value`, such as `3:0.25`"),
        ("1 qid:1 -1:1", 9, "-1:1", "`feature:value`, such as `3:0.25`"),
        ("1 qid:1 :1", 9, ":1", "`feature:value`, such as `3:0.25`"),
        ("1 qid:1 0:1", 9, "0:1", "a feature index from 1 to 16384"),
        ("1 qid:1 1:1 16385:1", 13, "16385:1", "a feature index from 1 to 16384"),
        ("1 qid:1 99999999999999999999:1", 9, "99999999999999999999:1", "a feature index from 1 to 16384"),
        ("1 qid:1 1:1 2:3 1:5 2:6", 17, "1:5", "each feature at most once on a line"),
        ("1 qid:1 1:nan", 9, "1:nan", "a finite number as the value"),
        ("1 qid:1 1:-inf", 9, "1:-inf", "a finite number as the value"),
        ("1 qid:1 1:1e39", 9, "1:1e39", "a finite number as the value"),
        ("1 qid:1 1:", 9, "1:", "a finite number as the value"),
        ("1 qid:1 1: 2:3", 9, "1:", "a finite number as the value"),
        ("1 qid:1 1:2:3", 9, "1:2:3", "a finite number as the value"),
        ("1 qid:1 1:0.5x", 9, "1:0.5x", "a finite number as the value"),
        ("1 qid:1 1:1.2.3", 9, "1:1.2.3", "a finite number as the value"),
    ] {
        let refusal = format!("train.txt:3:{column}: found `{found}`, expected {expected}");
        assert_eq!(message(&format!("{good}{line}\n1 qid:2 1:1\n")), refusal, "{line}");
        let cut = format!("{refusal}; the file ends in the middle of this line: it may have been cut");
        assert_eq!(message(&format!("{good}{line}")), cut, "{line}, last");
        if found != "end of line" {
            assert_eq!(message(&format!("{good}{line}\r\n")), refusal, "{line}, Windows");
        }
    }
}

#[test]
fn the_first_bad_line_is_named_even_behind_many_pieces() {
    let line = "0 qid:1 1:0.25 2:0.125\n";
    let n_lines = 3 * CHUNK_BYTES / line.len();
    let text = format!("{}1 qid:1 x\n{}1 qid:1 y\n", line.repeat(n_lines), line.repeat(n_lines));
    assert!(message(&text).starts_with(&format!("train.txt:{}:9: found `x`", n_lines + 1)));
}

#[test]
fn a_long_token_is_cut_in_the_message() {
    let text = format!("1 qid:1 {}\n", "y".repeat(1000));
    assert_eq!(message(&text).matches('y').count(), MAX_QUOTED);
}

#[test]
fn files_without_documents_or_features_are_refused() {
    for text in ["", "\n\n", "# nothing\n", "   ", "\u{feff}"] {
        assert!(matches!(parse(text), Err(LetorError::Empty { .. })), "{text:?}");
    }
    assert!(matches!(parse("1 qid:1\n0 qid:1\n"), Err(LetorError::NoFeatures { .. })));
    let bad_name = parse_letor(b"1 qid:\xff 1:1", Path::new("b.txt"), &ReadOptions::default());
    assert!(bad_name.expect_err("no UTF-8").to_string().starts_with("b.txt:1:7:"));
}

#[test]
fn labels_up_to_the_limit_are_accepted() {
    let options = ReadOptions { max_label: 12, ..ReadOptions::default() };
    let data = parse_letor(b"12 qid:1 1:1\n10.0 qid:1 1:1\n-0 qid:1 1:2", Path::new("l.txt"), &options);
    assert_eq!(data.expect("labels in range").labels(0), [12, 10, 0]);
}

/// Lines of three queries that alternate, over several pieces, with widths that grow.
fn alternating_text() -> String {
    let n_lines = 3 * CHUNK_BYTES / 24;
    (0..n_lines).map(|i| format!("{} qid:{} {}:{}.5 777:{i}\n", i % 3, i % 7 / 2, 1 + i / 4000, i % 100)).collect()
}

#[test]
fn alternating_queries_are_appended_the_same_way_for_any_number_of_threads() {
    let text = alternating_text();
    let with_threads = |n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool");
        pool.install(|| parse(&text).expect("valid"))
    };
    let single = with_threads(1);
    assert_eq!(single, with_threads(3));
    assert_eq!((single.n_queries(), single.n_features()), (4, 777));
    // Query 1 has the lines with i % 7 in {2, 3}: feature 777 tells which line a row came from.
    let lines: Vec<f32> = (0..4).map(|doc| single.query(1).row(doc)[776]).collect();
    assert_eq!(lines, [2.0, 3.0, 9.0, 10.0]);
    let last = single.query(1).row(single.query(1).n_docs() - 1);
    let line = last[776] as usize;
    assert_eq!(last[line / 4000], (line % 100) as f32 + 0.5);
}

#[test]
fn compressed_files_read_as_the_plain_one() {
    use std::io::Write;
    let folder = tempfile::tempdir().expect("a folder");
    let text = b"2 qid:10 1:0.5 2:-3\n0 qid:10 1:7.25\n";
    let plain = folder.path().join("train.txt");
    std::fs::write(&plain, text).expect("written");
    let gz = folder.path().join("train.txt.gz");
    let mut members = Vec::new();
    for part in text.chunks(20) {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).expect("compressed");
        members.extend(encoder.finish().expect("compressed"));
    }
    std::fs::write(&gz, &members).expect("written");
    let zst = folder.path().join("train.txt.zst");
    std::fs::write(&zst, compress_to_vec(&text[..], CompressionLevel::Fastest)).expect("written");
    let read = |path: &Path| read_letor(path, &ReadOptions::default());
    assert_eq!(read(&gz).expect("gzip"), read(&plain).expect("plain"));
    assert_eq!(read(&zst).expect("zstd"), read(&plain).expect("plain"));
    std::fs::write(&gz, &members[..30]).expect("written");
    assert!(matches!(read(&gz), Err(LetorError::Read { .. })), "a truncated archive is an error");
    assert!(matches!(read(&folder.path().join("absent.txt")), Err(LetorError::Read { .. })));
}

#[test]
fn a_last_line_without_an_end_may_have_been_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let ends = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        ends_in_mid_line(&path)
    };
    assert!(ends("cut.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.2"));
    assert!(!ends("whole.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.25\n"));
    assert!(!ends("empty.txt", "") && !ends_in_mid_line(&folder.path().join("no-such-file")));
    assert!(!ends("packed.gz", "bytes that end anyhow"), "a compressed file knows whether it is whole");
}
