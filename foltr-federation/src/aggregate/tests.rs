use super::*;

#[test]
fn a_regenerated_direction_gives_the_same_bits() {
    let payload = Payload::Evolution { seed: 77, plus: 0.7, minus: Some(0.1) };
    let rule = PayloadSemantics::Evolution { sigma: 0.01, antithetic: true };
    let (mut direction, mut scratch) = (vec![0.0; 46], vec![9.0; 46]);
    fill_direction(77, &mut direction);
    let (mut with, mut without) = (PartialSum::new(46), PartialSum::new(46));
    with.add_payload_with(&payload, &rule, 1.0, &direction);
    without.add_payload(&payload, &rule, 1.0, &mut scratch);
    assert_eq!(with, without);
    assert!(with.mean().expect("one client").iter().any(|&value| value != 0.0));
}

#[test]
fn a_fixed_divisor_does_not_follow_the_number_of_clients() {
    let mut partial = PartialSum::new(2);
    let summing = PayloadSemantics::Summing { divisor: 4.0 };
    assert_eq!(partial.step(&summing), Some(vec![0.0, 0.0]));
    partial.add_payload(&Payload::Clipped { within: true, delta: vec![1.0, 2.0] }, &summing, 1.0, &mut []);
    partial.add_payload(&Payload::Clipped { within: false, delta: vec![3.0, 2.0] }, &summing, 1.0, &mut []);
    assert_eq!((partial.step(&summing), partial.n_within()), (Some(vec![1.0, 1.0]), 1));
}

#[test]
fn a_sealed_sum_is_opened_when_enough_survive() {
    let shares = PayloadSemantics::Shares { unit: 0.5, divisor: 4.0, min_survivors: 2 };
    let mut partial = PartialSum::new(1);
    partial.add_payload(&Payload::Share(crate::message::Share::new(vec![16])), &shares, 1.0, &mut []);
    assert_eq!(partial.step(&shares), None);
    partial.add_payload(&Payload::Share(crate::message::Share::new(vec![-8])), &shares, 1.0, &mut []);
    assert_eq!(partial.step(&shares), Some(vec![1.0]));
}

#[test]
fn the_empty_sum_has_no_mean() {
    let mut partial = PartialSum::new(2);
    assert_eq!(partial.mean(), None);
    partial.add_step(&[1.0, 2.0], 3.0);
    assert_eq!(partial.mean(), Some(vec![1.0, 2.0]));
    partial.clear();
    assert_eq!(partial, PartialSum::new(2));
}

#[test]
#[should_panic(expected = "kind Step cannot enter a sum of kind Evolution")]
fn a_payload_of_another_kind_is_a_broken_invariant() {
    let step = Payload::Step { n_interactions: 1, delta: vec![1.0] };
    PartialSum::new(1).add_payload(
        &step,
        &PayloadSemantics::Evolution { sigma: 0.01, antithetic: false },
        1.0,
        &mut [0.0],
    );
}
