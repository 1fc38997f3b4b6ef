//! Folders of judgements and user logs meet broken text: loading never panics, and what is loaded is whole.

use std::fs;
use std::path::Path;

use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_simulation::cache::Cache;
use foltr_simulation::datasets::intent_folder::load_intent_folder;
use foltr_simulation::datasets::user_log::UserLog;
use foltr_simulation::datasets::{Fold, LoadOptions};
use foltr_simulation::normalise::Normalisation;
use rand::RngExt;

const N_TRIED: usize = 400;
/// What a mutation puts in: separators, digits, signs, quotes, a byte that is no text.
const BYTES: &[u8] = b" \t\n\r,:#\"0129.-+eqid\xFF\0";

/// A text with one to four bytes changed, put in or taken out.
fn mutated(text: &str, stream: &mut Stream) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..stream.random_range(1..=4) {
        let at = stream.random_range(0..bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        let byte = BYTES[stream.random_range(0..BYTES.len())];
        match stream.random_range(0..3) {
            _ if bytes.is_empty() => bytes.push(byte),
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => _ = bytes.remove(at),
        }
    }
    bytes
}

fn check(fold: &Fold) {
    for data in [&fold.train, &fold.test] {
        assert_eq!(data.all_labels().len(), data.n_docs());
        assert!(data.rows().iter().all(|value| value.is_finite()));
    }
    assert!(fold.intents.iter().all(|labels| labels.train.len() == fold.train.n_docs()));
    if let Some(owners) = &fold.owners {
        assert_eq!(owners.train.len(), fold.train.n_queries());
        assert_eq!(owners.test.len(), fold.test.n_queries());
        assert!(owners.train.iter().chain(&owners.test).all(|&user| user < owners.n_users));
    }
}

fn options(folder: &Path, number: usize) -> LoadOptions {
    LoadOptions::new(true, &Cache::Folder(folder.join(format!("cache-{number}"))))
}

/// Damages one of some files at a time and loads all; says how often that went well.
fn try_all(files: &[(&str, &str)], load: impl Fn(&Path, &LoadOptions) -> Result<Fold, String>) -> usize {
    let mut n_loaded = 0;
    let mut stream = Streams::new(8).open(Purpose::Data, 0, 0);
    for number in 0..N_TRIED {
        let folder = tempfile::tempdir().expect("a folder");
        let damaged = stream.random_range(0..files.len());
        for (i, (name, text)) in files.iter().enumerate() {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
            let bytes = if i == damaged && number > 0 { mutated(text, &mut stream) } else { text.as_bytes().to_vec() };
            fs::write(path, bytes).expect("a file");
        }
        match load(folder.path(), &options(folder.path(), number)) {
            Ok(fold) => {
                check(&fold);
                n_loaded += 1;
            }
            Err(message) => assert!(number > 0 && !message.is_empty(), "{message}"),
        }
    }
    n_loaded
}

#[test]
fn damaged_judgements_never_panic() {
    let files = [
        ("features.txt", "0 qid:7 1:0.5 2:3 #docid = a\n0 qid:7 1:1 2:-2 #b\n0 qid:9 1:0 2:1.5 #c\n0 qid:9 1:2 #a\n"),
        ("intents/1.txt", "7 1 a 1\n7 1 b 0\n9 1 c 2\n9 1 a 0\n"),
        ("intents/2.txt", "7 2 a 0\n7 2 b 1\n9 2 c 0\n9 2 a -2\n"),
    ];
    let n_loaded = try_all(&files, |folder, options| load_intent_folder(folder, options).map_err(|e| e.to_string()));
    // Most damage is seen; some of it, such as another digit, is another sound file.
    assert!((20..N_TRIED).contains(&n_loaded), "{n_loaded}");
}

#[test]
fn damaged_logs_never_panic() {
    let lines = (0..12).map(|query| format!("1 qid:{query} 1:0.5 2:{query}\n0 qid:{query} 1:{query} 2:1\n"));
    let letor: String = lines.collect();
    let lines = (0..12).map(|query| format!("{query},user {},2006-03-01 07:17:{query:02}\n", query % 3));
    let metadata: String = std::iter::once("qid,user_id,timestamp\n".to_owned()).chain(lines).collect();
    let files = [("letor.txt", letor.as_str()), ("metadata.csv", metadata.as_str())];
    let n_loaded = try_all(&files, |folder, options| {
        let log = UserLog {
            letor: folder.join("letor.txt"),
            metadata: folder.join("metadata.csv"),
            min_queries: 2,
            max_users: None,
            test_share: 0.25,
            n_features: None,
            normalise: Normalisation::None,
        };
        log.load(&options.cache).map_err(|error| error.to_string())
    });
    assert!((20..N_TRIED).contains(&n_loaded), "{n_loaded}");
}
