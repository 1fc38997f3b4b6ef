//! Who is represented in a round by what, and what is refused before that.

use super::*;
use crate::aggregate::{Mean, Median, NormClipping, Radius, TrimmedMean};

/// The median of the coordinates of three clients, whose steps can be read from the model.
fn median(stand_ins: u32) -> Coordinator {
    let defence = Defence { stand_ins, ..Defence::of_rule(Aggregation::Median(Median {})) };
    Coordinator::new(Setup { defence, ..Setup::averaging(vec![0.0, 0.0], 3, 5) }).expect("a good setup")
}

/// Sends these steps and closes; how far the first parameter moved, and how many stood in.
fn round(coordinator: &mut Coordinator, steps: &[(u32, f32)]) -> (f64, u32) {
    let (round, before) = (coordinator.task().round, coordinator.master()[0]);
    for &(client, value) in steps {
        coordinator.receive(step(round, client, 1, [value, 0.0])).expect("a good message");
    }
    let report = coordinator.close(&mut noise()).expect("somebody came");
    assert_eq!(report.n_contributions, Some(steps.len() as u32));
    (coordinator.master()[0] - before, report.n_stand_ins)
}

/// Two attackers of three would have the median if the honest messages of a round could be lost: the last ones stand in.
#[test]
fn the_last_message_stands_in_until_it_is_too_old() {
    let mut coordinator = median(2);
    // Nobody else has ever sent anything: (0, 0, 8).
    assert_eq!(round(&mut coordinator, &[(2, 8.0)]), (0.0, 2));
    assert_eq!(round(&mut coordinator, &[(0, 1.0), (1, 3.0), (2, 8.0)]), (3.0, 0));
    // (1, 3, 9), twice: of rounds 2 and 3, the messages of round 1 are one and two rounds old.
    assert_eq!(round(&mut coordinator, &[(2, 9.0)]), (3.0, 2));
    assert_eq!(round(&mut coordinator, &[(2, 9.0)]), (3.0, 2));
    // A stand-in is no message: it does not get younger.
    assert_eq!(coordinator.checkpoint().stand_ins.len(), 1);
    assert_eq!(round(&mut coordinator, &[(2, 9.0)]), (0.0, 2));
    let mut forgetful = median(0);
    assert_eq!(round(&mut forgetful, &[(0, 1.0), (1, 3.0), (2, 8.0)]), (3.0, 0));
    assert_eq!(round(&mut forgetful, &[(2, 9.0)]), (0.0, 2));
}

/// Rounds in which nobody sends anything move nothing: the past does not go on by itself.
#[test]
fn a_round_without_a_fresh_message_stays_open() {
    let mut coordinator = median(5);
    round(&mut coordinator, &[(0, 1.0), (1, 3.0), (2, 8.0)]);
    assert_eq!(coordinator.close(&mut noise()), Err(CloseError::Empty { round: 1 }));
    assert_eq!(coordinator.n_messages(), 0, "nothing stood in");
    assert_eq!(round(&mut coordinator, &[(0, 7.0)]), (7.0, 2), "of 3, 7 and 8");
}

/// A client that was not drawn could make itself heard in every round.
#[test]
fn only_the_clients_of_the_round_are_heard_and_represented() {
    let mut coordinator = median(5);
    round(&mut coordinator, &[(0, 1.0), (1, 3.0), (2, 8.0)]);
    assert_eq!(coordinator.open(&[3]), Err(Rejected::UnknownClient { client: 3, n_clients: 3 }));
    coordinator.open(&[2, 1]).expect("known clients");
    let refused = Err(Rejected::NotDrawn { client: 0, round: 1 });
    assert_eq!(coordinator.receive(step(1, 0, 1, [9.0, 9.0])), refused);
    assert_eq!(coordinator.receive_step(0, coordinator.task().round, 1, &[9.0, 9.0]), refused);
    // (3, 5): the median of two is their mean.
    assert_eq!(round(&mut coordinator, &[(2, 5.0)]), (4.0, 1));
    assert_eq!(round(&mut coordinator, &[(0, 1.0)]), (3.0, 2), "all are drawn again: 1, 3, 5");
}

/// Shares are of clients, whether they sent something or something stood in for them.
#[test]
fn a_stand_in_has_its_clients_share_of_the_step() {
    let defence = Defence::of_rule(Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(100.0) }));
    let setup = Setup { defence, ..Setup::averaging(vec![0.0, 0.0], 4, 5) };
    let mut coordinator = Coordinator::new(setup).expect("a good setup");
    round(&mut coordinator, &[(0, 1.0), (1, 3.0), (2, 8.0), (3, 0.0)]);
    assert_eq!(round(&mut coordinator, &[(2, 4.0)]), (2.0, 3), "of 1, 3, 4 and 0");
    assert_eq!(coordinator.shares(), [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]);
}

/// What overflowed did not move the model, and must not come back as a stand-in when its client is gone.
#[test]
fn messages_of_a_dropped_step_do_not_stand_in() {
    let defence = Defence { longest: 1e300, ..Defence::of_rule(Aggregation::Median(Median {})) };
    let setup = Setup { defence, ..Setup::averaging(vec![f32::MAX, 0.0], 3, 5) };
    let mut coordinator = Coordinator::new(setup).expect("a good setup");
    (0..3).for_each(|client| coordinator.receive(step(0, client, 1, [f32::MAX, 0.0])).expect("finite"));
    assert_eq!(coordinator.close(&mut noise()), Err(CloseError::Overflow { round: 0, index: 0 }));
    assert!(coordinator.checkpoint().stand_ins.is_empty() && coordinator.shares().is_empty());
    assert_eq!(round(&mut coordinator, &[(0, -1e30)]), (0.0, 2), "zeros stood in");
}

/// One message of length 1e30 makes the mean of any number of clients worthless; with a stated defence it is refused, as a
/// step or as a reward, by the mean as by a rule that compares.
#[test]
fn messages_beyond_the_longest_are_refused_by_every_rule() {
    let rules = [Aggregation::Mean(Mean {}), Aggregation::TrimmedMean(TrimmedMean { attackers: 1 })];
    for rule in rules {
        let defence = Defence { longest: 5.0, ..Defence::of_rule(rule) };
        let steps = Setup { defence, ..Setup::averaging(vec![0.0, 0.0], 3, 5) };
        let mut coordinator = Coordinator::new(steps.clone()).expect("a good setup");
        let too_long = Err(Rejected::TooLong { client: 1, length: 10.0, longest: 5.0 });
        assert_eq!(coordinator.receive(step(0, 1, 1, [6.0, 8.0])), too_long);
        assert_eq!(coordinator.receive_step(1, coordinator.task().round, 1, &[-6.0, 8.0]), too_long);
        assert_eq!(coordinator.receive(step(0, 1, 1, [3.0, 4.0])), Ok(()), "it may still send something sound");
        let rewards = Setup { rule: PayloadSemantics::Evolution { sigma: 0.01, antithetic: false }, ..steps };
        let mut coordinator = Coordinator::new(rewards).expect("a good setup");
        let reward = |plus: f32| Message {
            round: 0,
            start: 0,
            client: 1,
            payload: Payload::Evolution { seed: 7, plus, minus: None },
        };
        let refused = coordinator.receive(reward(1e6));
        assert!(matches!(refused, Err(Rejected::TooLong { client: 1, .. })), "{refused:?}");
        assert_eq!(coordinator.receive(reward(1e-3)), Ok(()));
    }
    let negative = Defence { longest: -1.0, ..Defence::of_rule(Aggregation::Median(Median {})) };
    assert_eq!(negative.check().map_err(|error| error.name), Err("longest"));
}

/// The state between two rounds has the last messages; another model's are refused.
#[test]
fn a_restored_coordinator_remembers_the_same() {
    let mut coordinator = median(5);
    round(&mut coordinator, &[(0, 1.0), (1, 3.0), (2, 8.0)]);
    let state = coordinator.checkpoint();
    let mut other = median(5);
    other.restore(&state).expect("its own state");
    for steps in [&[(2, 9.0)][..], &[(0, -4.0), (2, 1.0)]] {
        assert_eq!(round(&mut coordinator, steps), round(&mut other, steps));
        assert_eq!(coordinator.checkpoint(), other.checkpoint());
    }
    let mut foreign = state.clone();
    foreign.stand_ins = state
        .stand_ins
        .iter()
        .map(|(client, last)| {
            (client, {
                let mut last = last.clone();
                last.values.push(0.0);
                last
            })
        })
        .collect();
    assert_eq!(other.restore(&foreign), Err(PayloadError::Params { expected: 2, got: 3 }));
}
