//! What a coordinator takes, refuses and closes.

use super::*;
use crate::Aggregation;
use crate::aggregate::Bulyan;
use crate::message::Kind;

fn coordinator(n_clients: u32) -> Coordinator {
    Coordinator::new(Setup::averaging(vec![1.0, -1.0], n_clients, 5)).expect("a good setup")
}

fn step(round: u32, client: u32, n_interactions: u32, delta: [f32; 2]) -> Message {
    Message { round, client, payload: Payload::Step { n_interactions, delta: delta.to_vec() } }
}

#[test]
fn a_round_moves_the_model_by_the_weighted_mean() {
    let mut coordinator = coordinator(3);
    for message in [step(0, 2, 5, [0.0, 4.0]), step(0, 0, 1, [1.0, 2.0]), step(0, 1, 3, [3.0, -2.0])] {
        coordinator.receive(message).expect("a good message");
    }
    let report = coordinator.close().expect("three clients");
    assert_eq!((report.round, report.n_contributions, report.weight), (0, 3, 9.0));
    assert!((report.step_norm - (356_f64).sqrt() / 9.0).abs() < 1e-12);
    assert_eq!(coordinator.master(), [1.0 + 10.0 / 9.0, -1.0 + 16.0 / 9.0]);
    assert_eq!((coordinator.task().round, coordinator.task().global[1]), (1, (7.0 / 9.0) as f32));
    assert_eq!(coordinator.receive(step(1, 2, 5, [0.0, 4.0])), Ok(()));
}

#[test]
fn every_reason_to_refuse_has_a_name_and_changes_nothing() {
    let mut coordinator = coordinator(2);
    coordinator.receive(step(0, 0, 1, [1.0, 0.0])).expect("a good message");
    for (message, refusal) in [
        (step(1, 1, 1, [9.0, 9.0]), Rejected::Round { expected: 0, got: 1 }),
        (step(0, 2, 1, [9.0, 9.0]), Rejected::UnknownClient { client: 2, n_clients: 2 }),
        (step(0, 0, 1, [9.0, 9.0]), Rejected::Duplicate { client: 0 }),
        (step(0, 0, 1, [1.0, 0.0]), Rejected::Duplicate { client: 0 }),
        (step(0, 1, 0, [9.0, 9.0]), PayloadError::Interactions { max: 5, got: 0 }.into()),
        (step(0, 1, 6, [9.0, 9.0]), PayloadError::Interactions { max: 5, got: 6 }.into()),
        (step(0, 1, 1, [9.0, f32::NAN]), PayloadError::NotFinite { index: 1 }.into()),
        (
            Message { round: 0, client: 1, payload: Payload::Step { n_interactions: 1, delta: vec![9.0] } },
            PayloadError::Params { expected: 2, got: 1 }.into(),
        ),
        (
            Message { round: 0, client: 1, payload: Payload::default() },
            PayloadError::Kind { expected: Kind::Step, got: Kind::Evolution }.into(),
        ),
    ] {
        assert_eq!(coordinator.receive(message), Err(refusal));
    }
    assert_eq!(coordinator.close().map(|report| report.n_contributions), Ok(1));
    assert_eq!(coordinator.task().global, [2.0, -1.0]);
}

#[test]
fn a_reward_that_would_make_an_infinite_update_is_refused_where_updates_are_compared() {
    let mut coordinator = Coordinator::new(Setup {
        rule: PayloadSemantics::Evolution { sigma: 0.01, antithetic: false },
        defence: Defence { rule: Aggregation::Bulyan(Bulyan { attackers: 1 }), ..Defence::NONE },
        ..Setup::averaging(vec![1.0, -1.0], 7, 5)
    })
    .expect("a good setup");
    let reward = |client: u32, plus: f32| {
        let payload = Payload::Evolution { seed: client + 1, plus, minus: None };
        Message { round: 0, client, payload }
    };
    let refusal = coordinator.receive(reward(3, f32::MAX));
    assert!(matches!(refusal, Err(Rejected::Payload(PayloadError::NotFinite { .. }))), "{refusal:?}");
    // It may still send something sound, and the round goes on with whoever did.
    for client in [0, 1, 2, 3, 5] {
        coordinator.receive(reward(client, 0.5)).expect("a sound reward");
    }
    assert_eq!(coordinator.close().map(|report| report.n_contributions), Ok(5));
    assert!(coordinator.task().global.iter().all(|value| value.is_finite()));
}

#[test]
fn a_complete_chunk_takes_nothing_more() {
    let mut coordinator = coordinator(CHUNK as u32 + 1);
    let mut partial = PartialSum::new(2);
    partial.add_step(&[1.0, 1.0], 1.0);
    assert_eq!(coordinator.receive_partial(0, partial.clone()), Ok(()));
    assert_eq!(coordinator.receive(step(0, 7, 1, [1.0, 1.0])), Err(Rejected::Duplicate { client: 7 }));
    assert_eq!(coordinator.receive_partial(0, partial.clone()), Err(Rejected::DuplicateChunk { chunk_idx: 0 }));
    let unknown = Rejected::UnknownChunk { chunk_idx: 2, n_chunks: 2 };
    assert_eq!(coordinator.receive_partial(2, partial.clone()), Err(unknown));
    partial.add_step(&[1.0, 1.0], 1.0);
    assert_eq!(coordinator.receive_partial(1, partial), Err(Rejected::ChunkSize { n_clients: 1, got: 2 }));
    let short = Rejected::Payload(PayloadError::Params { expected: 2, got: 3 });
    assert_eq!(coordinator.receive_partial(1, PartialSum::new(3)), Err(short));
}

#[test]
fn an_empty_round_stays_open() {
    let mut coordinator = coordinator(2);
    assert_eq!(coordinator.close(), Err(CloseError::Empty { round: 0 }));
    assert_eq!(coordinator.receive(step(0, 1, 1, [1.0, 1.0])), Ok(()));
    assert!(coordinator.close().is_ok());
}

#[test]
fn a_model_beyond_f32_is_never_published() {
    let mut coordinator = coordinator(1);
    for round in 0..2 {
        coordinator.receive(step(round, 0, 1, [0.0, f32::MAX])).expect("finite");
        // The first one just fits.
        let closed = coordinator.close().map(|report| report.round);
        assert_eq!(closed, if round == 0 { Ok(0) } else { Err(CloseError::Overflow { round, index: 1 }) });
    }
    assert_eq!((coordinator.task().round, coordinator.task().global[1]), (2, f32::MAX));
}

#[test]
fn the_averaged_step_can_be_changed_before_it_is_applied() {
    let mut coordinator = coordinator(1);
    coordinator.receive(step(0, 0, 1, [1.0, 1.0])).expect("a good message");
    coordinator.close_with(|step| step[0] += 0.5).expect("one client");
    assert_eq!(coordinator.task().global, [2.5, 0.0]);
}

#[test]
fn a_sealed_federation_takes_sums_and_nothing_else() {
    let setup = |rule| Setup { rule, mode: Mode::Sealed, ..Setup::averaging(vec![0.0; 2], 3, 5) };
    let refused = Coordinator::new(setup(PayloadSemantics::Evolution { sigma: 0.1, antithetic: true })).err();
    let message = refused.expect("needs seeds and rewards").to_string();
    let known =
        "secure aggregation hides single updates, and FOLtR-ES, whose server reads the seed and reward of every";
    assert!(message.starts_with(known), "{message}");
    assert!([Mode::Clear, Mode::Local].iter().all(|mode| mode.admit(Some("a median")).is_ok()));
    let rule = PayloadSemantics::Shares { unit: 0.5, divisor: 4.0, min_survivors: 2 };
    let mut coordinator = Coordinator::new(setup(rule)).expect("a sum needs no single update");
    let share = |values: [i64; 2]| Payload::Share(crate::message::Share::new(values.to_vec()));
    let message = Message { round: 0, client: 0, payload: share([8, 0]) };
    assert_eq!(coordinator.receive(message), Err(Rejected::Sealed));
    let sum = |n: i64| {
        let mut partial = PartialSum::new(2);
        (0..n).for_each(|_| partial.add_payload(&share([8, -16]), &rule, &mut []));
        partial
    };
    coordinator.receive_partial(0, sum(1)).expect("a sum");
    let few = coordinator.close();
    assert_eq!(few, Err(CloseError::TooFewSurvivors { round: 0, got: 1, needed: 2 }));
    assert_eq!((coordinator.task().round, coordinator.master()), (1, [0.0; 2].as_slice()));
    coordinator.receive_partial(0, sum(2)).expect("a sum");
    coordinator.close().expect("two survivors");
    assert_eq!(coordinator.master(), [2.0, -4.0]);
}

#[test]
fn a_bad_setup_is_refused() {
    let refused = |rule, initial| Coordinator::new(Setup { rule, ..Setup::averaging(initial, 1, 1) }).expect_err("bad");
    let sigma = refused(PayloadSemantics::Evolution { sigma: 0.0, antithetic: true }, vec![0.0]);
    assert_eq!(sigma.to_string(), "sigma = 0 must be positive and finite");
    let infinite = refused(PayloadSemantics::Averaging, vec![0.0, f32::INFINITY]);
    assert_eq!(infinite, SetupError::Initial { index: 1, value: f32::INFINITY });
}
