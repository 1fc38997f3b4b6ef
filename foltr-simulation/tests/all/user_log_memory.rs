//! A user log that is larger than what may be held in memory.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};

use foltr_simulation::cache::Cache;
use foltr_simulation::datasets::user_log::UserLog;
use foltr_simulation::normalise::Normalisation;
use foltr_test::{in_own_process, peak_memory};

const N_QUERIES: usize = 20_000;
const N_FEATURES: usize = 103;

#[test]
fn a_log_is_never_in_memory_as_a_whole() {
    in_own_process(load_a_long_log);
}

fn load_a_long_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = UserLog {
        letor: folder.path().join("letor.txt"),
        metadata: folder.path().join("metadata.csv"),
        min_queries: 1,
        max_users: None,
        test_share: 0.2,
        n_features: None,
        normalise: Normalisation::Query,
    };
    let mut letor = BufWriter::new(File::create(&log.letor).expect("a file"));
    let mut metadata = String::from("qid,user_id,timestamp\n");
    for query in 0..N_QUERIES {
        for doc in 0..20 {
            let mut line = format!("{} qid:{query}", u8::from(doc == query % 20));
            (1..=N_FEATURES).for_each(|feature| write!(line, " {feature}:{}", doc % 7).expect("a text grows"));
            writeln!(letor, "{line}").expect("a file");
        }
        writeln!(metadata, "{query},{},2006-03-01 07:{:02}:{:02}", query % 100, query / 60 % 60, query % 60)
            .expect("a text grows");
    }
    letor.into_inner().expect("a file");
    fs::write(&log.metadata, metadata).expect("a file");
    let n_bytes = fs::metadata(&log.letor).expect("a file").len() as usize;

    let before = peak_memory();
    let fold = log.load(&Cache::Folder(folder.path().join("cache"))).expect("a sound log");
    assert_eq!(fold.train.n_queries() + fold.test.n_queries(), N_QUERIES);
    assert_eq!((fold.train.n_features(), fold.test.n_queries()), (N_FEATURES, N_QUERIES / 5));
    let features = size_of_val(fold.train.rows()) + size_of_val(fold.test.rows());
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let grown = (after - before) as usize;
        // A block of text and its rows, the index, and the blocks that opening checks.
        println!("{grown} bytes for {n_bytes} bytes of text and {features} of features");
        assert!(n_bytes + features > 350 << 20, "{n_bytes} bytes of text, {features} of features");
        assert!(grown < 160 << 20, "{grown} bytes for {n_bytes} bytes of text and {features} of features");
    }
}
