//! Chains, erasure, retention and returns, on histories of made-up rounds.

mod parts;
mod tampering;

use foltr_rank::rng::{Purpose, Streams};
use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::stand_ins::LastMessage;
use crate::tail_mean::TailMean;
use crate::unlearn::{FedEraser, Retrain, Unlearning, Variant};

const N_PARAMS: usize = 6;
const N_CLIENTS: u32 = 4;

const ALL: HistoryPolicy =
    HistoryPolicy { updates_every: Some(2), checkpoints_every: Some(3), ledger: true, retention: None };

fn header(policy: HistoryPolicy) -> Header {
    Header {
        policy,
        n_clients: N_CLIENTS,
        optimiser: ServerOptimiser::Momentum { rate: 1.0, momentum: 0.5 },
        settings: Fingerprint::of(b"settings"),
        initial: vec![0.5; N_PARAMS],
    }
}

fn last_message(client: u32, round: u32) -> LastMessage {
    let values = (0..N_PARAMS).map(|i| 1000.0 + (client * 10) as f32 + i as f32).collect();
    LastMessage { round: round - 1, weight: f64::from(client), values }
}

fn checkpoint(round: u32) -> Checkpoint {
    let mut tail = TailMean::new(2, N_PARAMS);
    tail.add(round, &[1.5; N_PARAMS]);
    Checkpoint {
        round,
        master: (0..N_PARAMS).map(|i| f64::from(round) + 0.1 * i as f64).collect(),
        optimiser: header(ALL).optimiser.start(N_PARAMS),
        clip_norm: (round % 2 == 1).then_some(0.25),
        tail: Some(tail),
        devices: Devices { len: 4, values: (0..4 * N_CLIENTS).map(|i| 100.0 + i as f32).collect() },
        // Client 0 has never sent anything that is left.
        stand_ins: (1..N_CLIENTS).filter(|_| round > 0).map(|client| (client, last_message(client, round))).collect(),
    }
}

/// Rounds in which client 3 comes from round 3 on.
fn go_on(history: &mut History, until: u32) {
    let streams = Streams::new(3);
    for round in history.n_rounds()..until {
        // Other salts every time, as from an operating system.
        let salts = &mut streams.open(Purpose::Noise, history.links.len() as u32, round);
        if history.policy().stores_checkpoint(round) {
            history.add_checkpoint(checkpoint(round), salts);
        }
        let mut updates = Contributions::new(N_PARAMS);
        for client in (0..N_CLIENTS).filter(|&client| !history.is_forgotten(client) && (client < 3 || round >= 3)) {
            let mut stream = streams.open(Purpose::Interaction, client, round);
            let row: Vec<f32> = (0..N_PARAMS).map(|_| stream.random()).collect();
            updates.push(client, f64::from(client + 1), &row);
        }
        history.close(round, &[round as f32; N_PARAMS], updates.clients(), &updates, salts);
    }
}

/// Some rounds, and the newest state, as every run stores it at its end.
fn history(policy: HistoryPolicy, n_rounds: u32) -> History {
    let mut history = History::new(header(policy));
    go_on(&mut history, n_rounds);
    end(&mut history);
    history
}

fn end(history: &mut History) {
    let round = history.n_rounds();
    let salts = &mut Streams::new(4).open(Purpose::Noise, history.links.len() as u32, round);
    history.add_checkpoint(checkpoint(round), salts);
}

fn erasure(history: &History, clients: &[u32]) -> Erasure {
    let (round, clients) = (history.n_rounds(), clients.to_vec());
    Erasure { round, clients, method: Unlearning::Retrain(Retrain {}), fresh_rounds: 0 }
}

fn erase(history: &mut History, clients: &[u32], touched: Touched) -> Result<(), UnknownClient> {
    history.erase(erasure(history, clients), touched)
}

/// As it is read: nobody remembers up to which link nothing is too old.
fn fresh(history: &History) -> History {
    History { n_dropped: 0, ..history.clone() }
}

fn rounds(history: &History) -> Vec<u32> {
    history.records().map(|record| record.round).collect()
}

fn states(history: &History) -> Vec<u32> {
    history.checkpoints().map(|checkpoint| checkpoint.round).collect()
}

/// Whether four consecutive numbers of `values` are somewhere in the bytes.
fn contains_window(bytes: &[u8], values: &[f32]) -> bool {
    values.windows(4).any(|window| {
        let wanted: Vec<u8> = window.iter().flat_map(|value| value.to_le_bytes()).collect();
        bytes.windows(wanted.len()).any(|bytes| bytes == wanted)
    })
}

#[test]
fn what_is_asked_for_is_stored() {
    let history = history(ALL, 8);
    assert_eq!((rounds(&history), states(&history)), (vec![0, 2, 4, 6], vec![0, 3, 6, 8]));
    assert_eq!(history.verify(), Ok(()));
    assert_eq!((history.first_round(3), history.first_round(1), history.first_round(9)), (Some(3), Some(0), None));
    assert_eq!((history.messages(3).total(), history.messages(1).total()), (5, 8));
    assert_eq!(history.before(3).map(|state| state.round), Some(3));
    assert_eq!(history.before(2).map(|state| state.round), Some(0));
    let record = history.records().nth(1).expect("round 2");
    assert_eq!(record.model, Fingerprint::of_model(&[2.0; N_PARAMS]));
    assert!(record.update(2).is_some() && record.update(3).is_none());
}

#[test]
fn the_ledger_adds_up_to_the_averaged_steps() {
    let history = history(HistoryPolicy { updates_every: Some(1), ..ALL }, 5);
    let mut sum = [0.0; N_PARAMS];
    for record in history.records() {
        let weight: f64 = record.entries.iter().map(|entry| entry.weight).sum();
        for entry in &record.entries {
            let delta = &entry.update.as_ref().expect("stored").delta;
            sum.iter_mut().zip(delta).for_each(|(sum, &value)| *sum += entry.weight / weight * f64::from(value));
        }
    }
    let ledger = history.ledger().expect("stored");
    for index in 0..N_PARAMS {
        let booked: f64 = ledger.values().map(|account| account[index]).sum();
        assert!((booked - sum[index]).abs() < 1e-12);
    }
}

#[test]
fn nothing_of_an_erased_client_is_in_the_bytes() {
    let mut history = history(ALL, 9);
    let own = |history: &History, client: u32| -> Vec<Vec<f32>> {
        history.records().filter_map(|record| record.update(client)).map(<[f32]>::to_vec).collect()
    };
    let (leaver, other) = (own(&history, 3), own(&history, 1));
    let of_updates = history.records().flat_map(|record| record.entries.iter().filter(|entry| entry.client == 3));
    let mut salts: Vec<Salt> = of_updates.filter_map(|entry| Some(entry.update.as_ref()?.salt)).collect();
    salts.extend(history.links.iter().filter_map(|link| link.event.stored()?.devices[3].salt));
    let of_last = |stored: &StoredState| stored.stand_ins.iter().find(|(client, _)| *client == 3)?.1.salt;
    salts.extend(history.links.iter().filter_map(|link| of_last(link.event.stored()?)));
    salts.push(history.ledger.as_ref().expect("stored").salts[&3]);
    assert_eq!(salts.len(), 3 + 4 + 3 + 1, "updates, devices, last messages and the account");
    let ledger = history.ledger().expect("stored")[&3].clone();
    let (devices, last) = (checkpoint(0).devices.of(3).to_vec(), last_message(3, 9).values);
    let before = history.encode();
    assert!(
        leaver.iter().chain([&devices, &last]).all(|update| contains_window(&before, update)),
        "the test can see them"
    );
    let head = history.head();
    erase(&mut history, &[3], Touched::Stay).expect("a client");
    let after = history.encode();
    assert_eq!(leaver.len(), 3);
    assert!(!leaver.iter().chain([&devices, &last]).any(|update| contains_window(&after, update)));
    assert!(other.iter().all(|update| contains_window(&after, update)), "the others are still there");
    assert!(!salts.iter().any(|salt| after.windows(salt.len()).any(|bytes| bytes == salt)));
    assert!(!ledger.iter().any(|sum| after.windows(8).any(|bytes| bytes == sum.to_le_bytes())));
    // That it was there, and when, stays in the chain.
    assert_eq!((history.verify(), history.first_round(3), history.messages(3).total()), (Ok(()), Some(3), 6));
    assert_ne!(history.head(), head);
    let back = History::decode(&after).expect("our own bytes");
    assert_eq!((back.verify(), back.head(), back.encode()), (Ok(()), history.head(), after));
}

#[test]
fn touched_checkpoints_go_if_asked() {
    let mut history = history(ALL, 9);
    erase(&mut history, &[3], Touched::Drop).expect("a client");
    // Client 3 came in round 3: the state before it is clean.
    assert_eq!((states(&history), history.verify()), (vec![0, 3], Ok(())));
    assert_eq!(history.course().newest_ranker().map(|(round, _)| round), Some(9), "its name is known");
}

#[test]
fn unknown_clients_change_nothing() {
    let mut history = history(ALL, 3);
    let before = history.clone();
    let nobody = UnknownClient::Nobody { client: 4, n_clients: 4 };
    assert_eq!(erase(&mut history, &[1, 4], Touched::Drop), Err(nobody));
    assert_eq!(history, before);
    erase(&mut history, &[1], Touched::Drop).expect("a client");
    let before = history.clone();
    assert_eq!(erase(&mut history, &[1], Touched::Drop), Err(UnknownClient::Forgotten { client: 1 }));
    assert_eq!(history, before);
}

#[test]
fn old_rounds_are_dropped_and_the_chain_holds() {
    let policy = HistoryPolicy { retention: Some(4), ..ALL };
    let mut history = history(policy, 12);
    // Rounds below 8 are too old after 12 rounds.
    assert_eq!((rounds(&history), states(&history)), (vec![8, 10], vec![9, 12]));
    assert_eq!(history.verify(), Ok(()));
    go_on(&mut history, 13);
    assert_eq!((rounds(&history), states(&history)), (vec![10, 12], vec![9, 12, 12]));
    end(&mut history);
    // Who took part in rounds that are too old is still known.
    assert_eq!((history.first_round(3), history.messages(3).total(), history.messages(0).total()), (Some(3), 10, 13));
    let all = self::history(ALL, 13);
    assert!(history.size().updates < all.size().updates && history.size().checkpoints < all.size().checkpoints);
    // The newest state stays, however old it is; updates that came after it do not.
    let mut rare = History::new(header(HistoryPolicy { checkpoints_every: Some(100), ..policy }));
    go_on(&mut rare, 12);
    assert_eq!((rounds(&rare), states(&rare)), (vec![8, 10], vec![0]));
    erase(&mut history, &[1], Touched::Drop).expect("a client");
    history.roll_back(11);
    assert_eq!(history.verify(), Ok(()), "what was dropped before a return was too old then");
}

#[test]
fn a_return_undoes_what_came_after() {
    let mut history = history(ALL, 9);
    erase(&mut history, &[3], Touched::Drop).expect("a client");
    history.roll_back(3);
    assert_eq!((history.n_rounds(), rounds(&history), states(&history)), (3, vec![0, 2], vec![0, 3]));
    assert_eq!((history.verify(), history.ledger()), (Ok(()), None));
    assert_eq!((history.first_round(1), history.messages(1)), (Some(0), Messages { before: 9, since: 0 }));
    go_on(&mut history, 9);
    assert_eq!((history.verify(), rounds(&history)), (Ok(()), vec![0, 2, 4, 6, 8]));
    history.roll_back(0);
    go_on(&mut history, 4);
    assert!(history.ledger().is_some_and(|ledger| ledger.len() == 3), "a ledger of a whole run again");
    // 9 rounds, 6 of them again, and 4 from the beginning: all of them were messages.
    assert_eq!(history.messages(1), Messages { before: 9, since: 10 });
    history.roll_back(0);
    assert_eq!((history.first_round(1), history.messages(1).total()), (None, 19));
    go_on(&mut history, 4);
    end(&mut history);
    assert_eq!(History::decode(&history.encode()).as_ref().map(History::verify), Ok(Ok(())));
}

#[test]
fn bytes_are_those_of_version_3() {
    let mut history = history(HistoryPolicy { retention: Some(7), ..ALL }, 13);
    erase(&mut history, &[3], Touched::Drop).expect("a client");
    history.roll_back(9);
    go_on(&mut history, 11);
    end(&mut history);
    let known = "c772c3419f7c070ee1bc78d005a93c661e4e0d1dee5316481bd2bca7dfb4ccd2";
    assert_eq!(history.head().to_string(), known);
    let known = "1e4545e9047fdcacfb0324a13f027af607c1c2aaae168122a2934658b3bcfbb9";
    assert_eq!(Fingerprint::of(&history.encode()).to_string(), known);
}

#[test]
fn rounds_of_a_million_clients_are_small() {
    let n_clients = 1_000_000;
    let everyone: Vec<u32> = (0..n_clients).collect();
    let none = Contributions::new(N_PARAMS);
    let mut history = History::new(Header { n_clients, ..header(HistoryPolicy::default()) });
    for round in 0..1000 {
        // Two stay at home, now and then.
        let clients = if round % 100 == 7 { &everyone[1..999_999] } else { &everyone };
        history.close(round, &[0.0; N_PARAMS], clients, &none, &mut Streams::new(1).open(Purpose::Noise, 0, 0));
    }
    assert!(history.encode().len() < 50_000, "{}", history.encode().len());
    assert_eq!([0, 1, 999_999].map(|client| history.messages(client).total()), [990, 1000, 990]);
    let busiest = history.course().busiest(&[1]).expect("somebody stays");
    assert_eq!(history.messages(busiest).total(), 1000);
}

#[test]
fn sizes_are_those_of_the_bytes() {
    for policy in [ALL, HistoryPolicy::default(), HistoryPolicy { ledger: true, ..HistoryPolicy::default() }] {
        let history = history(policy, 7);
        let size = history.size();
        assert_eq!(size.total(), history.encode().len());
        // 15 updates of 16 bytes of salt and six numbers.
        assert_eq!(size.updates, if policy.updates_every.is_some() { 14 * (16 + 24) } else { 0 });
        assert_eq!(size.ledger, 1 + if policy.ledger { 4 + 4 * (4 + 16 + 48) } else { 0 });
    }
}

#[test]
fn numbers_of_rounds_must_be_positive() {
    let bad = HistoryPolicy { updates_every: Some(0), ..HistoryPolicy::default() };
    assert_eq!(bad.check().map_err(|error| error.name), Err("updates_every"));
    assert_eq!(ALL.check(), Ok(()));
    assert!(serde_json::from_str::<HistoryPolicy>(r#"{"updates": 5}"#).is_err(), "unknown keys are refused");
}

#[test]
fn other_files_have_names() {
    let bytes = history(ALL, 4).encode();
    assert_eq!(History::decode(&bytes[..20]), Err(HistoryError::Truncated { at: 20 }));
    let (version, damaged) = (HistoryError::Version { got: 9 }, HistoryError::Damaged);
    for (at, bit, error) in [(0, 1, HistoryError::Mark), (8, 10, version), (200, 1, damaged)] {
        let mut other = bytes.clone();
        other[at] ^= bit;
        assert_eq!(History::decode(&other), Err(error));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_survives_a_round_trip(
        (updates, checkpoints, retention) in (0..4_u32, 0..4_u32, 0..8_u32),
        ledger in any::<bool>(),
        n_rounds in 0..14_u32,
        leavers in prop::collection::btree_set(0..N_CLIENTS, 0..3),
        to in 0..14_u32,
    ) {
        let some = |number: u32| (number > 0).then_some(number);
        let policy = HistoryPolicy {
            updates_every: some(updates),
            checkpoints_every: some(checkpoints),
            ledger,
            retention: some(retention),
        };
        let mut history = history(policy, n_rounds);
        for leaver in leavers {
            erase(&mut history, &[leaver], Touched::Drop).expect("a client");
            history.roll_back(to.min(history.n_rounds()));
            go_on(&mut history, n_rounds);
            // In the middle of it.
            prop_assert_eq!(History::decode(&history.encode()), Ok(fresh(&history)));
            prop_assert_eq!(History::from_parts(&history.to_parts()), Ok(fresh(&history)));
            end(&mut history);
        }
        prop_assert_eq!(history.verify(), Ok(()));
        let bytes = history.encode();
        let back = History::decode(&bytes);
        prop_assert_eq!(back.as_ref().map(History::encode), Ok(bytes));
        prop_assert_eq!(back.map(|back| (back.verify(), back.head())), Ok((Ok(()), history.head())));
        let parts = history.to_parts();
        let back = History::from_parts(&parts);
        prop_assert_eq!(back.as_ref(), Ok(&fresh(&history)));
        prop_assert_eq!(back.map(|back| back.to_parts()), Ok(parts));
    }
}
