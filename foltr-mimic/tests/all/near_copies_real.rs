//! Which features of real LETOR files go with the BM25 score of the whole document?

use std::fs;
use std::path::PathBuf;

use foltr_mimic::near_copies::near_copies;

const N_FEATURES: usize = 46;
/// Column of feature 37: BM25 of the whole document.
const WHOLE_BM25: usize = 36;

/// Rows and where queries start, of files in which a query's lines stand together.
fn read(files: &[PathBuf]) -> (Vec<f32>, Vec<usize>) {
    let (mut rows, mut query_start, mut last) = (Vec::new(), Vec::new(), String::new());
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for line in text.lines() {
            let mut tokens = line.split('#').next().unwrap_or("").split_whitespace().skip(1);
            let query = tokens.next().expect("qid");
            if query != last {
                query_start.push(rows.len() / N_FEATURES);
                last = query.into();
            }
            rows.extend(tokens.map(|token| token.split_once(':').expect(":").1.parse::<f32>().expect("a number")));
        }
    }
    query_start.push(rows.len() / N_FEATURES);
    (rows, query_start)
}

/// The files of each collection.
fn collections() -> Option<[Vec<PathBuf>; 2]> {
    let (mq2008, mq2007) = (foltr_test::data("MQ2008/Fold1")?, foltr_test::data("MQ2007-85")?);
    let mq2008 = ["train", "vali", "test"].map(|part| mq2008.join(format!("{part}.txt"))).to_vec();
    let mq2007 = (1..=5).map(|part| mq2007.join(format!("S{part}.txt"))).collect();
    Some([mq2008, mq2007])
}

#[test]
fn body_and_whole_document_leave_together() {
    let Some(collections) = collections() else { return };
    for files in collections {
        let (rows, query_start) = read(&files);
        // Features that leave, as the files number them.
        let leaving = |threshold: f64| -> Vec<usize> {
            let copies = near_copies(&rows, N_FEATURES, &query_start, WHOLE_BM25, threshold);
            copies.into_iter().map(|column| column + 1).collect()
        };
        println!(
            "{}: {:?} at .8, {:?} at .9, {:?} at .95",
            files[0].display(),
            leaving(0.8),
            leaving(0.9),
            leaving(0.95)
        );
        // BM25 of the body and of the whole document; language models of both are further off.
        assert_eq!(leaving(0.95), [21, 37]);
        assert_eq!(leaving(0.9), [21, 37]);
        let loose = leaving(0.8);
        assert!([21, 37, 38].iter().all(|feature| loose.contains(feature)) && loose.len() <= 4, "{loose:?}");
    }
}

#[test]
fn features_stand_by_field_with_bm25_first() {
    let Some(collections) = collections() else { return };
    for files in collections {
        let (rows, _) = read(&files);
        let is_zero = |row: &[f32], feature: usize| row[feature - 1] == 0.0;
        let agreement = |a: usize, b: usize| {
            let n_agreeing = rows.chunks_exact(N_FEATURES).filter(|row| is_zero(row, a) == is_zero(row, b)).count();
            n_agreeing as f64 / (rows.len() / N_FEATURES) as f64
        };
        // Of anchor, title and URL: the count of terms, and what must be their BM25, which is 0 where the count is.
        // Values were scaled a query at a time, which turns a few lowest values into 0.
        for (count, bm25) in [(2, 25), (3, 29), (4, 33)] {
            let share = agreement(count, bm25);
            assert!(share > 0.99, "features {count} and {bm25} of {}: {share}", files[0].display());
            assert!((1..=5).all(|other| other == count || agreement(other, bm25) < 0.9), "feature {bm25}");
            assert!((1..4).all(|model| agreement(count, bm25 + model) < share), "language models behind {bm25}");
        }
    }
}
