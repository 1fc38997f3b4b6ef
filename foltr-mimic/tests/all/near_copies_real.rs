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
