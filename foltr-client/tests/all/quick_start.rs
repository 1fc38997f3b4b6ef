//! The first program of a newcomer does what it says.

use crate::example::example;

#[test]
fn the_document_that_is_always_opened_comes_first() {
    // Lists are drawn with some chance: in 16 of 400 runs the last list began with another document. At that rate
    // more than 6 of 15 such runs have a probability of 8e-7 (2e-5 at .064, the upper end of its 95 % interval); without
    // learning it would be .97.
    let n_first = (0..15).filter(|_| position() == 1).count();
    assert!(n_first >= 9, "first in {n_first} of 15 runs");
}

#[test]
fn it_is_short() {
    let program = include_str!("../../examples/quick_start.rs");
    assert!(program.lines().filter(|line| !line.trim().is_empty()).count() <= 30);
}

fn position() -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let output = example("quick_start_device").env("TMPDIR", folder.path()).env("TMP", folder.path()).output();
    let output = output.expect("the example runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("text");
    let number = said.split_whitespace().find_map(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no position in {said:?}"))
}
