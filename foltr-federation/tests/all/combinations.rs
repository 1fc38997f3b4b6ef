//! `docs/combinations.md` is the table of what excludes what.

use std::path::Path;

use foltr_federation::Combination;

#[test]
fn the_documentation_has_the_table() {
    let rows = Combination::all()
        .map(|pair| format!("| {} | {} | {} |\n", code(pair.part.label()), code(pair.with.label()), pair.why));
    let text = format!(
        "# Combinations that are not supported\n\nOne table, `COMBINATIONS` in `foltr-federation/src/combination.rs`: \
         `foltr run` refuses these pairs, and `foltr list` prints them.\n\n| this | with this | because |\n|---|---|---|\n{}",
        rows.collect::<String>()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/combinations.md");
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).expect("docs/combinations.md");
    assert!(written == text, "docs/combinations.md is out of date: run this test with FOLTR_WRITE_DOCS=1");
}

/// Keys and values as code; words as words.
fn code(label: &str) -> String {
    if label.contains(' ') && !label.contains('=') { label.into() } else { format!("`{label}`") }
}
