//! Clients that have left, histories that change nothing, and runs that go on with the same bits.

use foltr_federation::Participation;
use foltr_federation::aggregate::{CentredClipping, Radius};
use foltr_federation::privacy::{CentralMode, Clip, Gaussian};
use foltr_federation::{Aggregation, Defence, History, HistoryPolicy, Mechanism};
use foltr_rank::personal::{Ditto, Personalisation};
use foltr_simulation::adversary::{Attack, Attackers, Drift};
use foltr_simulation::federation_run::{FederationError, FederationRun, FederationSettings};
use foltr_simulation::pace::Stragglers;

use crate::scene::*;

#[test]
fn who_leaves_changes_nothing_for_those_who_stay() {
    for (participation, dropout) in
        [(Participation::Everyone, 0.0), (Participation::PoissonSampling(0.5), 0.2), (Participation::Sample(5), 0.2)]
    {
        let settings = FederationSettings { participation, dropout, ..settings() };
        let left = FederationSettings { absent: vec![2, 7], ..settings.clone() };
        let (with, without) = (trained(&settings, updates(1), 1).1, trained(&left, updates(1), 1).1);
        let (with, without) = (with.records().next().expect("round 0"), without.records().next().expect("round 0"));
        let stay: Vec<u32> = with.entries.iter().map(|entry| entry.client).filter(|it| ![2, 7].contains(it)).collect();
        let own: Vec<u32> = without.entries.iter().map(|entry| entry.client).collect();
        assert_eq!(own, stay, "{participation:?}");
        // From the same model they send the same, bit by bit.
        assert!(stay.iter().all(|&client| with.update(client) == without.update(client)));
        assert!(!stay.is_empty());
    }
}

#[test]
fn rounds_without_anybody_are_passed_over() {
    let all = FederationSettings { absent: (0..N_CLIENTS).collect(), ..settings() };
    for defence in [Defence::NONE, clipped(0.1)] {
        let (ranker, history) = trained(&FederationSettings { defence, ..all.clone() }, EVERYTHING, 4);
        assert_eq!((ranker, history.n_rounds(), history.verify()), (all.initial.clone(), 4, Ok(())));
    }
}

#[test]
fn absent_clients_must_exist_and_be_sorted() {
    for (absent, client) in [(vec![10], 10), (vec![3, 3], 3), (vec![4, 1], 1)] {
        let refused = FederationRun::new(FederationSettings { absent, ..settings() }, partition()).err();
        assert_eq!(refused, Some(FederationError::Absent { client, n_clients: 10 }));
    }
}

#[test]
fn a_history_changes_no_result_and_describes_the_run() {
    for (name, settings) in variants() {
        let (ranker, history) = trained(&settings, policy_of(&settings), 6);
        let plain = run(&settings, 6);
        assert_eq!(ranker, plain.ranker(), "{name}");
        assert_eq!(history.verify(), Ok(()), "{name}");
        let state = plain.checkpoint().expect("it can be resumed");
        assert_eq!(latest(&history), &state, "{name}");
        let size = history.size();
        assert_eq!(size.total(), history.encode().len(), "{name}");
        let back = History::decode(&history.encode()).expect("our own bytes");
        assert_eq!((back.verify(), latest(&back)), (Ok(()), &state), "{name}");
    }
}

#[test]
fn recorded_updates_are_what_moved_the_model() {
    let everyone = settings();
    let marked = FederationSettings { attackers: Some(marked()), ..everyone.clone() };
    for settings in [everyone.clone(), marked, FederationSettings { n_clients: 150, ..everyone }] {
        let (_, history) = trained(&settings, EVERYTHING, 3);
        let states: Vec<_> = history.checkpoints().collect();
        for (record, pair) in history.records().zip(states.windows(2)) {
            assert_eq!(record.entries.len() as u32, settings.n_clients);
            let weight: f64 = record.entries.iter().map(|entry| entry.weight).sum();
            for index in 0..settings.initial.len() {
                let value = |entry: &foltr_federation::history::Entry| {
                    entry.weight * f64::from(entry.update.as_ref().expect("recorded").delta[index])
                };
                let step = record.entries.iter().map(value).sum::<f64>() / weight;
                let moved = pair[1].master[index] - pair[0].master[index];
                assert!((step - moved).abs() < 1e-9, "round {}: {step} is not {moved}", record.round);
            }
        }
    }
}

#[test]
fn a_resumed_run_has_the_bits_of_one_that_never_stopped() {
    for (name, settings) in variants() {
        let mut whole = run(&settings, 4);
        let state = whole.checkpoint().expect("it can be resumed");
        let (_, history) = trained(&settings, checkpoints(4), 5);
        // Through the bytes of a history, too.
        let stored = History::decode(&history.encode()).expect("our own bytes");
        assert_eq!(stored.before(4), Some(&state), "{name}");
        advance(&mut whole, 5);
        let mut resumed = FederationRun::resume(settings.clone(), partition(), &state, None).expect("a good state");
        advance(&mut resumed, 5);
        assert_eq!(resumed.ranker(), whole.ranker(), "{name}");
        assert_eq!(resumed.checkpoint(), whole.checkpoint(), "{name}");
        assert_ne!(whole.ranker(), settings.initial, "{name}: something was learnt");
    }
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let plain = settings();
    let centred = Aggregation::CentredClipping(CentredClipping { radius: Radius::Median, iterations: 1 });
    let drifting = Attackers { method: Attack::Drift(Drift::default()), ..marked() };
    let refused = [
        FederationSettings { defence: Defence { rule: centred, ..Defence::NONE }, ..plain.clone() },
        FederationSettings { attackers: Some(drifting), ..plain.clone() },
        FederationSettings { personalisation: Some(Personalisation::Ditto(Ditto { pull: 0.1 })), ..plain.clone() },
        single_rewards(true),
    ];
    let state = run(&plain, 1).checkpoint().expect("it can be resumed");
    for settings in refused {
        assert!(matches!(new_run(&settings).checkpoint(), Err(FederationError::Remembers { .. })));
        let refused = new_run(&settings).with_history(checkpoints(1), fingerprint()).err();
        assert!(
            matches!(refused, Some(FederationError::Remembers { .. } | FederationError::Combination(_))),
            "{refused:?}"
        );
        let resumed = FederationRun::resume(settings.clone(), partition(), &state, None).err();
        assert!(matches!(resumed, Some(FederationError::Remembers { .. })), "{resumed:?}");
    }
    // An attacker that has left has nothing to remember.
    let gone = FederationSettings { attackers: Some(drifting), absent: vec![0], ..plain.clone() };
    assert!(new_run(&gone).checkpoint().is_ok());
    assert!(new_run(&plain).with_pace(Stragglers::default()).checkpoint().is_err());
    let devices = variant("device momentum");
    let of_devices = run(&devices, 1).checkpoint().expect("it can be resumed");
    let refused = FederationRun::resume(plain.clone(), partition(), &of_devices, None).err();
    assert_eq!(refused, Some(FederationError::Devices));
    let (_, history) = trained(&plain, checkpoints(1), 3);
    let refused = FederationRun::resume(plain, partition(), &state, Some(history)).err();
    assert_eq!(refused, Some(FederationError::Rounds { history: 3, state: 1 }));
}

#[test]
fn updates_that_nobody_may_see_are_not_recorded() {
    let gaussian = Gaussian::new(Clip::Fixed(0.1), 1.0, CentralMode::Sealed).expect("positive");
    let sealed = FederationSettings { privacy: Mechanism::Gaussian(gaussian), ..settings() };
    for settings in [sealed, single_rewards(false)] {
        for policy in [updates(5), HistoryPolicy { ledger: true, ..HistoryPolicy::default() }] {
            let refused = new_run(&settings).with_history(policy, fingerprint()).err();
            assert!(matches!(refused, Some(FederationError::Combination(_))), "{refused:?}");
        }
        assert!(new_run(&settings).with_history(checkpoints(2), fingerprint()).is_ok());
    }
}
