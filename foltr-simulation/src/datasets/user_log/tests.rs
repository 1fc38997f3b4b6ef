//! Tests of user logs: users, splits, cache, and what can be wrong with the files.

use super::*;
use crate::cache::Cache;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fmt::Write;
use std::fs;
use tempfile::TempDir;

/// Users a (5 queries), b (3) and c (1), lines in another order than time; query 9 has no metadata.
const METADATA: &str = "qid,user_id,timestamp,query,target_doc_id\n\
    5,a,2006-03-05 00:00:00,\"words, with a comma\",x\n\
    1,a,2006-03-01 10:00:00,w,x\n2,b,2006-03-01 09:00:00,w,x\n3,a,2006-03-02 00:00:00,w,x\n\
    4,c,2006-03-02 00:00:00,w,x\n6,b,2006-04-01 00:00:00,w,x\n7,a,2006-03-03 00:00:00,w,x\n\
    8,a,2006-03-04 00:00:00,w,x\n10,b,2006-03-20 00:00:00,w,x\n";

/// Two documents a query; feature 1 is the number of the query, feature 2 tells the documents apart.
fn letor(queries: impl IntoIterator<Item = u32>) -> String {
    let mut text = String::new();
    for query in queries {
        writeln!(text, "0 qid:{query} 1:{query} 2:1\n1 qid:{query} 1:{query} 2:3").expect("a text grows");
    }
    text
}

fn files(letor: &str, metadata: &str) -> (TempDir, UserLog) {
    let folder = tempfile::tempdir().expect("a folder");
    let log = UserLog {
        letor: folder.path().join("letor.txt"),
        metadata: folder.path().join("metadata.csv"),
        min_queries: 2,
        max_users: None,
        test_share: 0.4,
        n_features: None,
        normalise: Normalisation::None,
    };
    fs::write(&log.letor, letor).expect("a file");
    fs::write(&log.metadata, metadata).expect("a file");
    (folder, log)
}

fn ids(data: &Dataset) -> Vec<&str> {
    (0..data.n_queries()).map(|query| data.query_id(query)).collect()
}

#[test]
fn queries_go_to_their_users_and_the_last_ones_are_for_testing() {
    let (folder, log) = files(&letor(1..=10), METADATA);
    for cache in [Cache::Off, Cache::Folder(folder.path().join("cache"))] {
        let fold = log.load(&cache).expect("two users");
        let owners = fold.owners.as_deref().expect("a log has users");
        // Of a's five queries in time (1 3 7 8 5) the last two, of b's three (2 10 6) the last one; c has only one query.
        assert_eq!((ids(&fold.train), ids(&fold.test)), (vec!["1", "2", "3", "7", "10"], vec!["5", "6", "8"]));
        assert_eq!(owners.n_users, 2);
        assert_eq!((&owners.train[..], &owners.test[..]), (&[0, 1, 0, 0, 1][..], &[0, 1, 0][..]));
        assert_eq!((fold.train.labels(3), fold.train.query(3).row(1)[..2].to_vec()), (&[0, 1][..], vec![7.0, 3.0]));
    }
}

#[test]
fn users_with_the_most_queries_come_first() {
    let (_folder, mut log) = files(&letor(1..=10), METADATA);
    (log.min_queries, log.max_users) = (1, Some(1));
    let fold = log.load(&Cache::Off).expect("one user");
    assert_eq!((ids(&fold.train), ids(&fold.test)), (vec!["1", "3", "7"], vec!["5", "8"]));
    log.max_users = None;
    let fold = log.load(&Cache::Off).expect("three users");
    assert_eq!(fold.owners.as_ref().map(|owners| owners.n_users), Some(3));
    assert!(ids(&fold.train).contains(&"4"), "one query is for learning");
}

#[test]
fn a_second_load_comes_from_the_cache_and_other_users_have_another() {
    let (folder, mut log) = files(&letor(1..=10), METADATA);
    let cache = folder.path().join("cache");
    let first = log.load(&Cache::Folder(cache.clone())).expect("two users");
    let stored = || -> Vec<_> {
        let entries = fs::read_dir(&cache).expect("a folder").map(|entry| entry.expect("an entry"));
        entries.map(|entry| (entry.file_name(), entry.metadata().and_then(|of| of.modified()).ok())).collect()
    };
    assert_eq!(stored().len(), 3, "two parts and a stamp");
    assert_eq!(log.load(&Cache::Folder(cache.clone())).expect("two users"), first);
    log.max_users = Some(1);
    assert_ne!(log.load(&Cache::Folder(cache.clone())).expect("one user"), first);
    assert_eq!(stored().len(), 5);
    // A changed source is read again, and all its old parts go.
    fs::write(&log.letor, letor(1..=11)).expect("a file");
    log.load(&Cache::Folder(cache.clone())).expect("one user");
    assert_eq!(stored().len(), 3);
}

#[test]
fn compressed_and_normalised_logs_are_read() {
    let (folder, mut log) = files("", METADATA);
    let text = letor(1..=10);
    log.letor = folder.path().join("letor.txt.zst");
    fs::write(&log.letor, compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)).expect("a file");
    log.normalise = Normalisation::Query;
    let fold = log.load(&Cache::Off).expect("two users");
    // Feature 1 is the same for both documents and becomes 0.
    assert_eq!(fold.train.query(3).row(1)[..2], [0.0, 1.0]);
    assert_eq!(fold.train.query(3).row(0)[..2], [0.0, 0.0]);
}

#[test]
fn errors_name_file_and_line() {
    let wrong = |letor: &str, metadata: &str| {
        let (folder, log) = files(letor, metadata);
        let place = format!("{}/", folder.path().display());
        log.load(&Cache::Off).expect_err("wrong").to_string().replace(&place, "")
    };
    let all = letor(1..=10);
    assert_eq!(
        wrong(&all, "qid,user\n1,a\n"),
        "metadata.csv: no column `user_id`; expected the columns qid, user_id and timestamp"
    );
    assert_eq!(
        wrong(&all, "qid,user_id,timestamp\n1,a,2006-03-01 10:00:00\n2,a,yesterday\n"),
        "metadata.csv:3: timestamp `yesterday`, expected such as `2006-03-01 07:17:12`"
    );
    let twice = METADATA.replace("\n8,a", "\n5,a");
    assert_eq!(wrong(&all, &twice), "metadata.csv:9: query 5 is there already; every query has one line");
    assert!(
        wrong(&all, "qid,user_id,timestamp\n1,a\n").starts_with("metadata.csv: cannot be read: CSV error: record 1")
    );
    assert_eq!(wrong(&all, "qid,user_id,timestamp\n"), "metadata.csv: no user has 2 queries or more");
    assert_eq!(wrong(&letor([1, 2, 3, 1]), METADATA), "letor.txt: the lines of query 1 do not stand together");
    assert_eq!(
        wrong(&letor([1, 5, 6]), METADATA),
        "letor.txt: none of the training queries of user b is there, but metadata.csv has some"
    );
    assert!(wrong(&letor([1, 2]), METADATA).starts_with("letor.txt: no test queries"));
    assert!(wrong("2 qid:1 1:1\n", METADATA).starts_with("letor.txt:1:1: found `2`, expected a label"));
}
