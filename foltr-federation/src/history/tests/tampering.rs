//! Whatever somebody changes who knows the format is found.

use super::*;

/// Contributions, first rounds, numbers of messages and of rounds, the ledger and what devices remember stood outside of
/// the chain: with four other bytes and a new checksum `certificate` signed epsilon .6 for a true 4.5, and
/// `noisy-rollback` had nothing to do. Every bit of a history with something of everything is tried.
#[test]
fn no_bit_can_be_changed_even_with_a_right_checksum() {
    let mut history = history(HistoryPolicy { retention: Some(7), ..ALL }, 13);
    erase(&mut history, &[3], Touched::Stay).expect("a client");
    go_on(&mut history, 14);
    erase(&mut history, &[2], Touched::Drop).expect("a client");
    history.roll_back(0);
    go_on(&mut history, 3);
    end(&mut history);
    let whole = history.encode();
    let kinds = history.links.iter().map(|link| std::mem::discriminant(&link.event));
    assert_eq!(kinds.collect::<std::collections::HashSet<_>>().len(), 6, "something of everything");
    assert!(history.ledger.as_ref().is_some_and(|accounts| accounts.sums.len() == 2));
    let body_len = whole.len() - 32;
    for bit in 0..8 * body_len {
        let mut altered = whole[..body_len].to_vec();
        altered[bit / 8] ^= 1 << (bit % 8);
        let checksum = Fingerprint::of(&altered);
        altered.extend(checksum.as_bytes());
        let believed = History::decode(&altered).and_then(|history| history.verify());
        assert!(believed.is_err(), "bit {} of byte {} of {body_len}", bit % 8, bit / 8);
    }
}

fn place(history: &History, round: u32) -> usize {
    let is_it = |link: &Link| link.event.round().is_some_and(|it| it.round == round);
    history.links.iter().position(is_it).expect("a round")
}

fn at(history: &mut History, round: u32) -> &mut Link {
    let place = place(history, round);
    &mut history.links[place]
}

fn record(history: &mut History, round: u32) -> &mut Record {
    let Event::Round(Round { updates: Updates::Stored(record), .. }) = &mut at(history, round).event else {
        unreachable!()
    };
    record
}

/// What client 2 contributed to round 4.
fn entry(history: &mut History) -> &mut Entry {
    record(history, 4).entries.iter_mut().find(|entry| entry.client == 2).expect("it came")
}

fn update(history: &mut History) -> &mut Committed {
    entry(history).update.as_mut().expect("stored")
}

fn round(history: &mut History, number: u32) -> &mut Round {
    let Event::Round(round) = &mut at(history, number).event else { unreachable!() };
    round
}

fn took_part(history: &mut History, number: u32, clients: &[u32]) {
    round(history, number).participants = Participants::new(clients, N_CLIENTS);
}

fn state(history: &mut History, round: u32) -> &mut Event {
    let is_it = |link: &&mut Link| link.event.stored().is_some_and(|stored| stored.state.round == round);
    &mut history.links.iter_mut().find(is_it).expect("a checkpoint").event
}

fn stored(history: &mut History, round: u32) -> &mut StoredState {
    let Event::Checkpoint(stored) = state(history, round) else { unreachable!() };
    stored
}

fn last(history: &mut History, round: u32, client: u32) -> &mut LastMessage {
    stored(history, round).state.stand_ins.of_mut(client).expect("it has sent something")
}

fn accounts(history: &mut History) -> &mut Accounts {
    history.ledger.as_mut().expect("stored")
}

#[test]
fn every_way_to_tamper_is_found() {
    let chain = |what, round| Err(HistoryError::Chain { what, round });
    let missing = |round| Err(HistoryError::Missing { round });
    let of_two = Err(HistoryError::Altered { round: 4, client: 2 });
    type Case = (fn(&mut History), Result<(), HistoryError>);
    let ledger = |what| Err(HistoryError::Ledger { what });
    let cases: [Case; 30] = [
        (|_| (), Ok(())),
        (|history| update(history).delta[5] += 1e-6, of_two),
        (|history| update(history).salt[0] ^= 1, of_two),
        (|history| entry(history).weight += 1.0, of_two),
        (|history| entry(history).update = None, Err(HistoryError::MissingUpdate { round: 4, client: 2 })),
        (|history| drop(history.links.remove(place(history, 4))), missing(4)),
        // There is no reason to have dropped it.
        (|history| at(history, 4).event.drop_content(), missing(4)),
        (|history| state(history, 3).drop_content(), Err(HistoryError::MissingState { round: 3 })),
        // Somebody was not there, or was, or nobody is said to have been asked for updates.
        (|history| took_part(history, 5, &[0, 1, 2]), chain("the record", 5)),
        (|history| took_part(history, 1, &[0, 1, 2, 3]), chain("the record", 1)),
        (|history| round(history, 4).updates = Updates::None, missing(4)),
        // The ledger, and what devices remember.
        (|history| accounts(history).sums.get_mut(&1).expect("an account")[2] += 1e-9, ledger("was altered")),
        (|history| accounts(history).erase(&[1]), ledger("was altered")),
        (|history| history.ledger = None, ledger("is missing")),
        (
            |history| stored(history, 6).state.devices.values[5] += 1.0,
            Err(HistoryError::Device { round: 6, client: 1 }),
        ),
        (|history| stored(history, 6).erase(&[1]), Err(HistoryError::Device { round: 6, client: 1 })),
        (|history| stored(history, 6).devices[2].commitment = Fingerprint::default(), {
            Err(HistoryError::Device { round: 6, client: 2 })
        }),
        // What stands in for clients: its numbers, its age, its weight, and whether it is there at all.
        (|history| last(history, 6, 2).values[3] += 1.0, Err(HistoryError::StandIn { round: 6, client: 2 })),
        (|history| last(history, 6, 2).round -= 1, Err(HistoryError::StandIn { round: 6, client: 2 })),
        (|history| last(history, 6, 2).weight += 1.0, Err(HistoryError::StandIn { round: 6, client: 2 })),
        (|history| stored(history, 6).state.stand_ins.erase(&[2]), {
            Err(HistoryError::StandIn { round: 6, client: 2 })
        }),
        (|history| stored(history, 6).stand_ins.truncate(2), chain("the checkpoint", 6)),
        (|history| history.n_rounds = 8, Err(HistoryError::Order { round: 8 })),
        // The newest state is gone with it, and what is left of the ledger is older than the ledger.
        (|history| history.links.truncate(place(history, 8)), ledger("is not in its place")),
        (
            |history| {
                let (two, four) = (place(history, 2), place(history, 4));
                history.links.swap(two, four);
            },
            missing(2),
        ),
        (
            |history| {
                let (four, again) = (place(history, 4), at(history, 2).clone());
                history.links.insert(four, again);
            },
            Err(HistoryError::Order { round: 2 }),
        ),
        (|history| stored(history, 3).state.master[0] += 1e-9, chain("the checkpoint", 3)),
        (|history| record(history, 6).model = Fingerprint::default(), chain("the record", 6)),
        (|history| history.header.initial[0] = 0.25, chain("the checkpoint", 0)),
        (|history| history.header.policy.retention = Some(1000), chain("the checkpoint", 0)),
    ];
    for (index, (change, found)) in cases.into_iter().enumerate() {
        let mut history = history(ALL, 9);
        change(&mut history);
        // Through bytes whose checksum is right, as somebody would do it who knows the format.
        let verified = History::decode(&history.encode()).expect("a history by its form").verify();
        assert_eq!(verified, found, "case {index}");
    }
}

#[test]
fn erasures_cannot_be_taken_back() {
    let mut history = history(ALL, 5);
    erase(&mut history, &[2], Touched::Drop).expect("a client");
    go_on(&mut history, 7);
    let is_erasure = |link: &Link| matches!(link.event, Event::Erasure(_));
    end(&mut history);
    let at = history.links.iter().position(is_erasure).expect("an erasure");
    let mut other = history.clone();
    let Event::Erasure(erasure) = &mut other.links[at].event else { unreachable!() };
    erasure.clients = vec![1, 2];
    assert_eq!(other.verify(), Err(HistoryError::Chain { what: "the erasure", round: 5 }));
    let mut other = history.clone();
    let Event::Erasure(erasure) = &mut other.links[at].event else { unreachable!() };
    erasure.method = Unlearning::FedEraser(FedEraser { interval: 5, steps: 1, variant: Variant::Thesis });
    assert_eq!(other.verify(), Err(HistoryError::Chain { what: "the erasure", round: 5 }));
    history.links.remove(at);
    assert_eq!(history.verify(), Err(HistoryError::Device { round: 0, client: 2 }));
}

#[test]
fn a_dropped_event_keeps_its_digest() {
    let mut history = history(ALL, 3);
    let heads: Vec<Fingerprint> = history.heads().collect();
    history.drop_checkpoints();
    at(&mut history, 0).event.drop_content();
    assert!(history.links.iter().any(|link| matches!(link.event, Event::Dropped(_))));
    assert_eq!(history.heads().collect::<Vec<_>>(), heads);
    for (index, link) in history.links.iter().enumerate() {
        assert_eq!(chain::next_head(&heads[index], &link.event), link.head);
    }
}
