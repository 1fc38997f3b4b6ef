//! The example does what it says.

#[path = "../../examples/one_round.rs"]
mod one_round;

#[test]
fn a_round_makes_the_next_release() {
    let next = one_round::round().expect("a round");
    assert_eq!((next.header().version, next.params().len()), (1, 2));
    assert_ne!(next.params(), [0.0, 0.0]);
    one_round::main().expect("the same, printed");
}
