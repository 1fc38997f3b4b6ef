//! Clients that have left, histories that change nothing, and runs that go on with the same bits.

use foltr_federation::Participation;
use foltr_federation::aggregate::{CentredClipping, Radius};
use foltr_federation::privacy::{CentralMode, Clip, Gaussian};
use foltr_federation::{Aggregation, Defence, History, HistoryPolicy, Mechanism};
use foltr_rank::learn::evolution::EvolutionSettings;
use foltr_rank::personal::{Ditto, Personalisation};
use foltr_simulation::adversary::{Attack, Attackers, Drift};
use foltr_simulation::federation_run::{FederationError, FederationRun, FederationSettings, Learning, ResumeError};
use foltr_simulation::pace::Stragglers;

use crate::scene::*;

#[test]
fn who_leaves_changes_nothing_for_those_who_stay() {
    let partition = partition();
    let updates = HistoryPolicy { updates_every: Some(1), ..HistoryPolicy::default() };
    for (participation, dropout) in
        [(Participation::Everyone, 0.0), (Participation::PoissonSampling(0.5), 0.2), (Participation::Sample(5), 0.2)]
    {
        let settings = FederationSettings { participation, dropout, ..settings(&partition) };
        let left = FederationSettings { absent: vec![2, 7], ..settings.clone() };
        let (with, without) = (trained(&settings, &partition, updates, 1).1, trained(&left, &partition, updates, 1).1);
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
    let partition = partition();
    let all = FederationSettings { absent: (0..N_CLIENTS).collect(), ..settings(&partition) };
    for defence in [Defence::NONE, clipped(0.1)] {
        let (ranker, history) = trained(&FederationSettings { defence, ..all.clone() }, &partition, EVERYTHING, 4);
        assert_eq!((ranker, history.n_rounds(), history.verify()), (all.initial.clone(), 4, Ok(())));
    }
}

#[test]
fn absent_clients_must_exist_and_be_sorted() {
    let partition = partition();
    for (absent, client) in [(vec![10], 10), (vec![3, 3], 3), (vec![4, 1], 1)] {
        let refused = FederationRun::new(FederationSettings { absent, ..settings(&partition) }, &partition).err();
        assert_eq!(refused, Some(FederationError::Absent { client, n_clients: 10 }));
    }
}

#[test]
fn a_history_changes_no_result_and_tells_the_run() {
    let partition = partition();
    for (name, settings) in variants(&partition) {
        let (ranker, history) = trained(&settings, &partition, keeping(&settings), 6);
        let plain = run(&settings, &partition, 6);
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
fn kept_updates_are_what_moved_the_model() {
    let partition = partition();
    let everyone = settings(&partition);
    let marked = FederationSettings { attackers: Some(marked()), ..everyone.clone() };
    for settings in [everyone.clone(), marked, FederationSettings { n_clients: 150, ..everyone }] {
        let (_, history) = trained(&settings, &partition, EVERYTHING, 3);
        let states: Vec<_> = history.checkpoints().collect();
        for (record, pair) in history.records().zip(states.windows(2)) {
            assert_eq!(record.entries.len() as u32, settings.n_clients);
            let weight: f64 = record.entries.iter().map(|entry| entry.weight).sum();
            for index in 0..settings.initial.len() {
                let value = |entry: &foltr_federation::history::Entry| {
                    entry.weight * f64::from(entry.update.as_ref().expect("kept").delta[index])
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
    let partition = partition();
    for (name, settings) in variants(&partition) {
        let mut whole = run(&settings, &partition, 4);
        let state = whole.checkpoint().expect("it can be resumed");
        let (_, history) =
            trained(&settings, &partition, HistoryPolicy { checkpoints_every: Some(4), ..HistoryPolicy::default() }, 5);
        // Through the bytes of a history, too.
        let stored = History::decode(&history.encode()).expect("our own bytes");
        assert_eq!(stored.before(4), Some(&state), "{name}");
        advance(&mut whole, 5);
        let mut resumed = FederationRun::resume(settings.clone(), &partition, &state, None).expect("a good state");
        advance(&mut resumed, 5);
        assert_eq!(resumed.ranker(), whole.ranker(), "{name}");
        assert_eq!(resumed.checkpoint(), whole.checkpoint(), "{name}");
        assert_ne!(whole.ranker(), settings.initial, "{name}: something was learnt");
    }
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let partition = partition();
    let plain = settings(&partition);
    let centred = Aggregation::CentredClipping(CentredClipping { radius: Radius::Median, iterations: 1 });
    let drifting = Attackers { method: Attack::Drift(Drift::default()), ..marked() };
    let published = Learning::Evolution {
        settings: match EVOLUTION {
            Learning::Evolution { settings, .. } => EvolutionSettings { antithetic: false, ..settings },
            Learning::Pdgd(_) => unreachable!("it is evolution"),
        },
        published_stream: true,
    };
    let refused = [
        FederationSettings { defence: Defence { rule: centred, ..Defence::NONE }, ..plain.clone() },
        FederationSettings { attackers: Some(drifting), ..plain.clone() },
        FederationSettings { personalisation: Some(Personalisation::Ditto(Ditto { pull: 0.1 })), ..plain.clone() },
        FederationSettings { learning: published, ..plain.clone() },
    ];
    let state = run(&plain, &partition, 1).checkpoint().expect("it can be resumed");
    let keeping = HistoryPolicy { checkpoints_every: Some(1), ..HistoryPolicy::default() };
    for settings in refused {
        let fresh = || FederationRun::new(settings.clone(), &partition).expect("sound settings");
        assert!(matches!(fresh().checkpoint(), Err(ResumeError::Remembers { .. })));
        let refused = fresh().with_history(keeping, fingerprint()).err();
        assert!(
            matches!(refused, Some(FederationError::History { .. } | FederationError::Combination(_))),
            "{refused:?}"
        );
        let resumed = FederationRun::resume(settings.clone(), &partition, &state, None).err();
        assert!(matches!(resumed, Some(ResumeError::Remembers { .. })), "{resumed:?}");
    }
    // An attacker that has left has nothing to remember.
    let gone = FederationSettings { attackers: Some(drifting), absent: vec![0], ..plain.clone() };
    assert!(FederationRun::new(gone, &partition).expect("sound").checkpoint().is_ok());
    let paced = FederationRun::new(plain.clone(), &partition).expect("sound").with_pace(Stragglers::default());
    assert!(paced.checkpoint().is_err());
    let devices = variants(&partition).into_iter().find(|(name, _)| *name == "device momentum").expect("listed").1;
    let of_devices = run(&devices, &partition, 1).checkpoint().expect("it can be resumed");
    let refused = FederationRun::resume(plain.clone(), &partition, &of_devices, None).err();
    assert_eq!(refused, Some(ResumeError::Devices));
    let (_, history) = trained(&plain, &partition, keeping, 3);
    let refused = FederationRun::resume(plain, &partition, &state, Some(history)).err();
    assert_eq!(refused, Some(ResumeError::Rounds { history: 3, state: 1 }));
}

#[test]
fn updates_that_nobody_may_see_are_not_kept() {
    let partition = partition();
    let gaussian = Gaussian::new(Clip::Fixed(0.1), 1.0, CentralMode::Sealed).expect("positive");
    let sealed = FederationSettings { privacy: Mechanism::Gaussian(gaussian), ..settings(&partition) };
    let evolution = FederationSettings { learning: EVOLUTION, ..settings(&partition) };
    for settings in [sealed, evolution] {
        for keeping in [
            HistoryPolicy { updates_every: Some(5), ..HistoryPolicy::default() },
            HistoryPolicy { ledger: true, ..HistoryPolicy::default() },
        ] {
            let run = FederationRun::new(settings.clone(), &partition).expect("sound settings");
            let refused = run.with_history(keeping, fingerprint()).err();
            assert!(matches!(refused, Some(FederationError::Combination(_))), "{refused:?}");
        }
        let run = FederationRun::new(settings.clone(), &partition).expect("sound settings");
        assert!(
            run.with_history(HistoryPolicy { checkpoints_every: Some(2), ..HistoryPolicy::default() }, fingerprint())
                .is_ok()
        );
    }
}
