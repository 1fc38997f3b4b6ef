//! What the way through a worker costs.

use std::time::Instant;

use super::*;

/// The worker must stay far cheaper than indexing, which takes some 20 to 50 MB a second.
#[test]
fn plain_text_through_a_worker() {
    const N_FILES: usize = 5000;
    const N_BYTES: usize = 4096;
    let folder = Folder::new();
    let words = "the tide comes and goes with the moon ".repeat(N_BYTES / 38 + 1);
    let paths: Vec<_> = (0..N_FILES).map(|n| folder.write(&format!("{n}.txt"), &words.as_bytes()[..N_BYTES])).collect();
    let megabytes = (N_FILES * N_BYTES) as f64 / 1e6;

    let start = Instant::now();
    let n_read: usize = paths.iter().map(|path| std::fs::read(path).expect("a file").len()).sum();
    let alone = start.elapsed().as_secs_f64();
    assert_eq!(n_read, N_FILES * N_BYTES);

    let extractor = extractor("real", Limits::default());
    extractor.texts(&paths[0]).expect("a text");
    let start = Instant::now();
    for path in &paths {
        let (_, texts) = extractor.texts(path).expect("a text");
        assert_eq!(texts[0].body.len(), N_BYTES);
    }
    let through = start.elapsed().as_secs_f64();
    println!(
        "{N_FILES} files of {N_BYTES} bytes: read alone {:.0} MB/s, through a worker {:.0} MB/s ({:.0} us a file)",
        megabytes / alone,
        megabytes / through,
        through / N_FILES as f64 * 1e6
    );
    assert!(through < 10.0, "{through} s");
}
