//! The example that a newcomer reads does what it says.

#[path = "../../examples/one_round.rs"]
mod one_round;

#[test]
fn people_see_better_lists_after_fifty_rounds() {
    let (first, last) = one_round::rounds().expect("an example without errors");
    assert!(last > first + 0.02, "{first}, then {last}");
}
