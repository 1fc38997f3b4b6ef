//! Wrong experiment files, each with what a user is told: `wrong/<name>.toml` and `wrong/<name>.txt`.
//!
//! To pin a new message, put the file there, run this test, and read what it prints with care.

use std::path::Path;

use assert_cmd::Command;

#[test]
fn every_wrong_file_is_refused_with_a_helpful_message_before_any_work() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let mut n_files = 0;
    let mut wrong = String::new();
    for entry in std::fs::read_dir(&folder).expect("a folder of wrong files") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        n_files += 1;
        let name = path.file_name().expect("a name");
        let out = tempfile::tempdir().expect("a temporary folder");
        let target = out.path().join("results");
        let run = Command::cargo_bin("foltr")
            .expect("built")
            .current_dir(&folder)
            .arg("run")
            .arg(name)
            .arg("--out")
            .arg(&target)
            .assert()
            .code(2);
        assert!(!target.exists(), "{}: something was written", path.display());
        let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        let expected = std::fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        if told != expected {
            wrong += &format!("--- {}\n{told}", path.with_extension("txt").display());
        }
    }
    assert!(wrong.is_empty(), "other messages than expected:\n{wrong}");
    assert!(n_files >= 10, "{n_files} files");
}
