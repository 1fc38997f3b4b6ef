//! Which features of real LETOR files go with the BM25 score of the whole document?

use std::fs;
use std::path::Path;

use foltr_mimic::near_copies::near_copies;

const N_FEATURES: usize = 46;
/// Feature 25: BM25 of the whole document.
const WHOLE_BM25: usize = 24;

/// Rows and where queries start, of files in which a query's lines stand together.
fn read(files: &[String]) -> (Vec<f32>, Vec<usize>) {
    let (mut rows, mut query_start, mut last) = (Vec::new(), Vec::new(), String::new());
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
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

/// Features that leave, as the files number them.
fn leaving(files: &[String], threshold: f64) -> Vec<usize> {
    let (rows, query_start) = read(files);
    let copies = near_copies(&rows, N_FEATURES, &query_start, WHOLE_BM25, threshold);
    copies.into_iter().map(|column| column + 1).collect()
}

#[test]
fn body_and_whole_document_leave_together() {
    let Ok(data) = std::env::var("FOLTR_DATA") else {
        println!("skipped: FOLTR_DATA names no folder with MQ2008 and MQ2007-85");
        return;
    };
    let mq2008 = ["train", "vali", "test"].map(|part| format!("{data}/MQ2008/Fold1/{part}.txt"));
    let mq2007 = [1, 2, 3, 4, 5].map(|part| format!("{data}/MQ2007-85/S{part}.txt"));
    for (name, files) in [("MQ2008", &mq2008[..]), ("MQ2007-85", &mq2007[..])] {
        if !files.iter().all(|file| Path::new(file).exists()) {
            println!("skipped: no {name} in FOLTR_DATA");
            continue;
        }
        let sets = [0.8, 0.9, 0.95].map(|threshold| leaving(files, threshold));
        println!("{name}: {sets:?}");
        assert!(sets.iter().all(|set| set.contains(&25)));
        assert!(sets.windows(2).all(|pair| pair[1].iter().all(|feature| pair[0].contains(feature))));
    }
}
