//! What a server refuses before it stores a message is what it would refuse at the end of the round.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::*;
use crate::aggregate::{Krum, Radius};
use crate::asynchronous::{Buffered, Naive};
use crate::unlearn::ShardIsolation;
use crate::{AsynchronousCoordinator, Asynchrony, Refused, ShardedCoordinator};

const N_CLIENTS: u32 = 5;

/// Sums and rules that compare, steps, rewards and clipped steps, bounded lengths, and a federation that takes sums only.
fn setups() -> Vec<Setup> {
    let base =
        Setup { staleness: Staleness { most: 2, exponent: 0.5 }, ..Setup::averaging(vec![0.0, 0.0], N_CLIENTS, 5) };
    let krum = Aggregation::Krum(Krum { attackers: 1, squared: false, neighbours: None });
    let bounded = Defence { longest: 1.5, ..Defence::NONE };
    let compared = Defence { longest: 1.5, bound: Some(Radius::Fixed(1.0)), ..Defence::of_rule(krum) };
    let evolution = PayloadSemantics::Evolution { sigma: 0.5, antithetic: false };
    let exact = CentralDiscreteGaussian::new(Clip::Fixed(1.0), 1.0).expect("sound");
    let sealed = DiscreteGaussian::new(1.0, 1.0, 2, 0).expect("sound");
    vec![
        base.clone(),
        Setup { defence: bounded, ..base.clone() },
        Setup { defence: compared, ..base.clone() },
        Setup { rule: evolution, ..base.clone() },
        Setup { rule: evolution, defence: bounded, ..base.clone() },
        Setup { rule: evolution, defence: compared, ..base.clone() },
        Setup { privacy: Arc::new(exact), ..base.clone() },
        Setup { privacy: Arc::new(sealed), staleness: Staleness::NONE, ..base },
    ]
}

fn value() -> impl Strategy<Value = f32> {
    prop_oneof![8 => -1.5..1.5_f32, 1 => Just(f32::MAX), 1 => Just(f32::NAN)]
}

fn payload() -> impl Strategy<Value = Payload> {
    let delta = || prop_oneof![9 => prop::collection::vec(value(), 2), 1 => prop::collection::vec(value(), 0..4)];
    prop_oneof![
        (0..7_u32, delta()).prop_map(|(n_interactions, delta)| Payload::Step { n_interactions, delta }),
        (any::<bool>(), delta()).prop_map(|(within, delta)| Payload::Clipped { within, delta }),
        (any::<u32>(), value(), prop::option::weighted(0.1, value()))
            .prop_map(|(seed, plus, minus)| Payload::Evolution { seed, plus, minus }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let head = (prop_oneof![9 => Just(4_u32), 1 => 3..6_u32], 0..6_u32, 0..N_CLIENTS + 1);
    (head, payload()).prop_map(|((round, start, client), payload)| Message { round, start, client, payload })
}

/// A name for every answer, to see that the test gives all of them.
fn answer<E: std::fmt::Debug>(result: Result<(), E>) -> String {
    result.map_or_else(|error| foltr_test::fuzzing::label(&error), |()| "taken".into())
}

#[test]
fn what_is_checked_is_what_is_received() {
    let seen = RefCell::new(BTreeSet::new());
    let all = (0..setups().len(), any::<bool>(), message());
    let check = |(idx, is_drawn, message): (usize, bool, Message)| {
        let setup = setups().swap_remove(idx);
        let mut single = Coordinator::new(setup.clone()).expect("a sound setup");
        (0..4).for_each(|_| single.skip());
        if is_drawn {
            single.open(&[0, 1, 3]).expect("clients of this federation");
        }
        let before = single.save();
        let checked = single.check(&message);
        prop_assert_eq!((single.save(), single.n_messages()), (before, 0));
        seen.borrow_mut().insert(answer(checked));
        prop_assert_eq!(format!("{checked:?}"), format!("{:?}", single.receive(message.clone())));
        if let Ok(mut sharded) = ShardedCoordinator::new(&setup, ShardIsolation { shards: 2 }) {
            (0..4).for_each(|_| drop(sharded.close(&mut noise())));
            let checked = sharded.check(&message);
            prop_assert_eq!(format!("{checked:?}"), format!("{:?}", sharded.receive(message)));
        }
        Ok(())
    };
    let config = ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    runner.run(&all, check).expect("the same answers");
    let seen = seen.into_inner();
    for name in ["taken", "Round", "UnknownRelease", "TooStale", "UnknownClient", "NotDrawn", "TooLong", "Sealed"] {
        assert!(seen.contains(name), "{name} is not among {seen:?}");
    }
    assert!(seen.contains("BeyondClipNorm") && seen.iter().any(|name| name.starts_with("Payload")), "{seen:?}");
}

#[test]
fn a_second_message_is_for_the_end_of_the_round_to_refuse() {
    let compared = Defence::of_rule(Aggregation::Krum(Krum { attackers: 1, squared: false, neighbours: None }));
    for defence in [Defence::NONE, compared] {
        let setup = Setup { defence, ..Setup::averaging(vec![0.0, 0.0], N_CLIENTS, 5) };
        let mut coordinator = Coordinator::new(setup).expect("a sound setup");
        coordinator.receive(step(0, 1, 1, [1.0, 0.0])).expect("a good message");
        let again = step(0, 1, 1, [1.0, 0.0]);
        assert_eq!(coordinator.check(&again), Ok(()));
        assert_eq!(coordinator.receive(again), Err(Rejected::Duplicate { client: 1 }));
    }
}

#[test]
fn only_sums_with_noise_of_their_own_hide_who_takes_part() {
    let hiding: Vec<bool> =
        setups().into_iter().map(|setup| Coordinator::new(setup).expect("a sound setup").hides_who()).collect();
    assert_eq!(hiding, [false, false, false, false, false, false, true, false]);
}

#[test]
fn the_same_without_rounds() {
    let buffered = Buffered { buffer: 3, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 2 };
    let naive = Naive { updates_per_round: 2, max_staleness: 2 };
    let config = ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(message in message())| {
        for asynchrony in [Asynchrony::Buffered(buffered), Asynchrony::Naive(naive)] {
            let setup = Setup::averaging(vec![0.0, 0.0], N_CLIENTS, 5);
            let mut server = AsynchronousCoordinator::new(setup, asynchrony).expect("a sound setup");
            for client in (0..3).cycle().take(12) {
                let start = server.task().round;
                if start == 4 { break; }
                let payload = Payload::Step { n_interactions: 1, delta: vec![0.5, 0.5] };
                server.receive(&Message { round: start, start, client, payload }).expect("a good message");
            }
            prop_assert_eq!(server.task().round, 4);
            let (before, checked) = (server.save(), server.check(&message));
            prop_assert_eq!(server.save(), before);
            match server.receive(&message) {
                Err(Refused::Overflow { .. }) => prop_assert_eq!(checked, Ok(())),
                received => prop_assert_eq!(format!("{checked:?}"), format!("{:?}", received.map(drop))),
            }
        }
    });
}
