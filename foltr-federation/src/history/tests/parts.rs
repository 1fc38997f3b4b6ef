//! Clients' parts of a history beside what is shared.

use super::*;

fn without(history: &History, clients: &[u32]) -> Result<History, HistoryError> {
    let mut parts = history.to_parts();
    for client in clients {
        assert!(parts.clients.remove(client).is_some(), "client {client} has a part");
    }
    History::from_parts(&parts)
}

#[test]
fn a_missing_part_is_an_erased_client() {
    let history = history(ALL, 9);
    for (leavers, touched) in [(&[3][..], Touched::Stay), (&[0, 2], Touched::Stay), (&[1, 3], Touched::Drop)] {
        let mut lost = without(&history, leavers).expect("the others are there");
        let (round, client) = (history.records().next().expect("stored").round, leavers[0]);
        if client < 3 {
            assert_eq!(lost.verify(), Err(HistoryError::Device { round, client }), "nobody said that it was forgotten");
        } else {
            assert!(lost.verify().is_err());
        }
        let mut erased = fresh(&history);
        for history in [&mut lost, &mut erased] {
            erase(history, leavers, touched).expect("clients");
        }
        assert_eq!(lost, erased);
        assert_eq!(lost.verify(), Ok(()));
        assert_eq!(lost.to_parts(), erased.to_parts());
        assert!(
            leavers.iter().all(|leaver| !lost.to_parts().clients.contains_key(leaver)),
            "nothing is stored of them"
        );
    }
}

#[test]
fn nothing_of_a_client_is_in_what_is_shared_or_in_other_parts() {
    let history = history(ALL, 9);
    let Parts { shared, clients } = history.to_parts();
    assert_eq!(clients.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let stored = history.links.iter().filter_map(|link| link.event.stored());
    let mut salts: Vec<Salt> = Vec::new();
    salts.extend(history.records().flat_map(|it| &it.entries).filter_map(|it| Some(it.update.as_ref()?.salt)));
    salts.extend(stored.clone().flat_map(|it| &it.devices).filter_map(|seal| seal.salt));
    salts.extend(stored.flat_map(|it| &it.stand_ins).filter_map(|(_, seal)| seal.salt));
    salts.extend(history.ledger.as_ref().expect("stored").salts.values());
    assert_eq!(salts.len(), 18 + 16 + 9 + 4, "updates, devices, last messages and accounts");
    let has = |bytes: &[u8], salt: &Salt| bytes.windows(16).any(|window| window == salt);
    for salt in &salts {
        assert!(!has(&shared, salt));
        assert_eq!(clients.values().filter(|own| has(own, salt)).count(), 1);
    }
    for client in 0..N_CLIENTS {
        let mut rows: Vec<Vec<f32>> = history.records().filter_map(|it| Some(it.update(client)?.to_vec())).collect();
        rows.push(checkpoint(0).devices.of(client).to_vec());
        if client > 0 {
            rows.push(last_message(client, 9).values);
        }
        for row in rows {
            assert!(!contains_window(&shared, &row));
            let with: Vec<u32> =
                clients.iter().filter(|(_, own)| contains_window(own, &row)).map(|(&client, _)| client).collect();
            assert_eq!(with, [client]);
        }
        let account = &history.ledger().expect("stored")[&client];
        let sum = account[0].to_le_bytes();
        assert!(!shared.windows(8).any(|window| window == sum));
        assert!(clients[&client].windows(8).any(|window| window == sum));
    }
}

#[test]
fn parts_that_do_not_belong_together_have_names() {
    let history = history(ALL, 9);
    let parts = history.to_parts();
    let read = |change: &dyn Fn(&mut Parts)| {
        let mut other = parts.clone();
        change(&mut other);
        History::from_parts(&other).map(|history| history.verify())
    };
    assert_eq!(read(&|_| ()), Ok(Ok(())));
    let wrong = |client, what| Err(HistoryError::Part { client, what });
    let (more, fewer) = ("more bytes than the history has of it, or none", "fewer bytes than the history has of it");
    assert_eq!(read(&|it| it.clients.entry(2).or_default().push(0)), wrong(2, more));
    assert_eq!(read(&|it| _ = it.clients.entry(2).or_default().pop()), wrong(2, fewer));
    assert_eq!(read(&|it| it.clients.entry(2).or_default().clear()), wrong(2, fewer));
    assert_eq!(read(&|it| _ = it.clients.insert(9, vec![1])), wrong(9, more));
    assert_eq!(read(&|it| _ = it.clients.insert(9, Vec::new())), wrong(9, more));
    assert_eq!(read(&|it| it.shared = history.encode()), Err(HistoryError::Mark));
    assert_eq!(read(&|it| it.shared[100] ^= 1), Err(HistoryError::Damaged));
    assert!(History::decode(&parts.shared).is_err());
    // Two clients' parts are of the same length: the commitments tell them apart.
    let swapped = read(&|it| {
        let (one, two) = (it.clients[&1].clone(), it.clients[&2].clone());
        it.clients.extend([(1, two), (2, one)]);
    });
    assert!(matches!(swapped, Ok(Err(_))), "{swapped:?}");
}

#[test]
fn no_bit_of_a_part_can_be_changed() {
    let mut history = history(ALL, 7);
    erase(&mut history, &[0], Touched::Stay).expect("a client");
    let parts = history.to_parts();
    assert_eq!(parts.clients.len(), 3);
    for (&client, own) in &parts.clients {
        for bit in 0..8 * own.len() {
            let mut altered = parts.clone();
            altered.clients.entry(client).or_default()[bit / 8] ^= 1 << (bit % 8);
            let believed = History::from_parts(&altered).and_then(|history| history.verify());
            assert!(believed.is_err(), "bit {} of byte {} of client {client}", bit % 8, bit / 8);
        }
    }
}

#[test]
fn a_history_that_is_stored_between_checkpoints_goes_on() {
    let whole = history(ALL, 12);
    let mut stopped = History::new(header(ALL));
    for until in 1..=12 {
        go_on(&mut stopped, until);
        stopped = History::from_parts(&stopped.to_parts()).expect("its own parts");
        stopped = History::decode(&stopped.encode()).expect("its own bytes");
    }
    end(&mut stopped);
    assert_eq!(stopped.verify(), Ok(()));
    assert_eq!(stopped, whole);
}
