//! The example that a newcomer reads does what it says.

#[path = "../../examples/one_round.rs"]
mod one_round;

#[test]
fn one_round_learns_that_new_documents_are_wanted() {
    let step = one_round::round().expect("an example without errors");
    assert!(step[1] > 0.0 && step[1] > step[0].abs(), "{step:?}");
    one_round::main().expect("an example without errors");
}
