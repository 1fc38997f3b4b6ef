//! Wrong experiment files, each with what a user reads: `wrong/<name>.toml` and `wrong/<name>.txt`.
//!
//! To pin a new message, put the file there, run this test, and read what it prints with care.

use std::path::Path;

use foltr_experiment::grid::Grid;

#[test]
fn every_wrong_file_is_refused_with_a_helpful_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let mut n_files = 0;
    let mut wrong = String::new();
    for entry in std::fs::read_dir(&folder).expect("a folder of wrong files") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        n_files += 1;
        let error = Grid::read(&path, &[]).expect_err("a wrong file").to_string();
        let message = error.replace(&format!("{}/", folder.display()), "") + "\n";
        let expected = std::fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        if message != expected {
            wrong += &format!("--- {}\n{message}", path.with_extension("txt").display());
        }
    }
    assert!(wrong.is_empty(), "other messages than expected:\n{wrong}");
    assert!(n_files >= 10, "{n_files} files");
}
