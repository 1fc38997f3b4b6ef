//! The decoder of histories against arbitrary bytes and damaged histories.

use std::sync::{Arc, OnceLock};

use foltr_federation::history::{Devices, Erasure, Header, Parts, Touched};
use foltr_federation::privacy::{AdaptiveClip, CentralMode, Clip, Gaussian};
use foltr_federation::stand_ins::LastMessage;
use foltr_federation::unlearn::Retrain;
use foltr_federation::{
    Checkpoint, Contributions, Coordinator, Fingerprint, History, HistoryPolicy, ServerOptimiser, Setup, Unlearning,
};
use foltr_rank::rng::{Purpose, Streams};
use foltr_test::fuzzing::{Form, Target, label};

use crate::noise::seeded;

const N_PARAMS: usize = 3;

fn bytes() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| history(|state| state).encode())
}

/// What devices remember and what stands in for clients, beside all else.
fn with_clients(state: Checkpoint) -> Checkpoint {
    let last = |round| LastMessage { round, weight: 2.0, values: vec![0.25; N_PARAMS] };
    let stand_ins = (0..3).filter(|client| state.round < 6 || *client != 1).map(|client| (client, last(state.round)));
    let mut devices = Devices { len: 2, values: vec![0.5; 6] };
    if state.round >= 6 {
        devices.erase(&[1]);
    }
    Checkpoint { devices, stand_ins: stand_ins.collect(), ..state }
}

fn history(add: impl Fn(Checkpoint) -> Checkpoint) -> History {
    let policy = HistoryPolicy { updates_every: Some(1), checkpoints_every: Some(2), ledger: true, retention: Some(5) };
    let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
    let initial = vec![0.0; N_PARAMS];
    let settings = Fingerprint::of(b"settings");
    let mut history = History::new(Header { policy, n_clients: 3, optimiser, settings, initial });
    let streams = Streams::new(1);
    let adaptive = AdaptiveClip { initial: 0.5, quantile: 0.5, rate: 0.2, count_noise: 1.0 };
    let privacy = Gaussian::new(Clip::Adaptive(adaptive), 1.0, CentralMode::Clear).expect("sound");
    let setup = Setup { privacy: Arc::new(privacy), ..Setup::averaging(vec![0.0; N_PARAMS], 3, 1) };
    let mut coordinator = Coordinator::new(setup).expect("a sound setup");
    coordinator.close(&mut seeded(1, Purpose::Noise, 0, 0)).expect("nobody is an answer");
    for round in 0..8 {
        let salts = &mut streams.open(Purpose::Noise, 0, round);
        if round == 6 {
            let method = Unlearning::Retrain(Retrain {});
            let erasure = Erasure { round, clients: vec![1], method, fresh_rounds: 2 };
            history.erase(erasure, Touched::Drop).expect("a client");
            history.roll_back(6);
        }
        history.add_checkpoint(add(Checkpoint { round, ..coordinator.checkpoint() }), salts);
        let mut updates = Contributions::new(N_PARAMS);
        (0..3).filter(|&client| !history.is_forgotten(client)).for_each(|client| {
            updates.push(client, 1.0, &[round as f32, client as f32, 0.5]);
        });
        history.close(round, &[round as f32; N_PARAMS], updates.clients(), &updates, salts);
        coordinator.skip();
    }
    let newest = Checkpoint { round: 8, ..coordinator.checkpoint() };
    history.add_checkpoint(add(newest), &mut streams.open(Purpose::Noise, 1, 8));
    history
}

/// What must hold for any input: no panic, and what is accepted has exactly these bytes. It must be believed, too.
fn check_total(bytes: &[u8]) -> Result<(), String> {
    let history = History::decode(bytes).map_err(|error| label(&error))?;
    assert_eq!(history.encode(), bytes);
    assert_eq!(history.size().total(), bytes.len());
    history.verify().map_err(|error| format!("chain:{}", label(&error)))
}

/// Bytes whose checksum is right, so that damage reaches what is behind it.
fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = Fingerprint::of(&body);
    body.extend(checksum.as_bytes());
    body
}

#[test]
fn histories_survive_fuzzing() {
    let decode = |_: usize, body: &[u8]| {
        check_total(body).err();
        check_total(&sealed(body.to_vec()))
    };
    let valid = vec![bytes()[..bytes().len() - 32].to_vec()];
    let corpus = Some(env!("CARGO_MANIFEST_DIR"));
    Target { name: "history", corpus, form: Form::Binary, valid, has_valid_damage: false, decode: &decode }.run(20_000);
}

/// Parts one behind the other, each behind its length; all but the checksum of what is shared.
fn joined(parts: &Parts) -> Vec<u8> {
    let shared = &parts.shared[..parts.shared.len() - 32];
    let mut bytes = (shared.len() as u32).to_le_bytes().to_vec();
    bytes.extend(shared);
    for (client, own) in &parts.clients {
        bytes.extend(client.to_le_bytes());
        bytes.extend((own.len() as u32).to_le_bytes());
        bytes.extend(own);
    }
    bytes
}

/// The parts in joined bytes, with a right checksum.
fn split(mut bytes: &[u8]) -> Option<Parts> {
    let number = |bytes: &mut &[u8]| bytes.split_off(..4)?.try_into().ok().map(u32::from_le_bytes);
    let len = number(&mut bytes)? as usize;
    let mut parts = Parts { shared: sealed(bytes.split_off(..len)?.to_vec()), ..Parts::default() };
    while !bytes.is_empty() {
        let (client, len) = (number(&mut bytes)?, number(&mut bytes)? as usize);
        let is_next = parts.clients.last_key_value().is_none_or(|(&last, _)| last < client);
        parts.clients.insert(client, bytes.split_off(..len)?.to_vec());
        is_next.then_some(())?;
    }
    Some(parts)
}

#[test]
fn parts_of_histories_survive_fuzzing() {
    let decode = |_: usize, bytes: &[u8]| {
        let parts = split(bytes).ok_or("no parts")?;
        let history = History::from_parts(&parts).map_err(|error| label(&error))?;
        let again = history.to_parts();
        assert!(again.clients == parts.clients, "every part is of use, and all of it");
        assert_eq!(History::from_parts(&again).as_ref(), Ok(&history));
        history.verify().map_err(|error| format!("chain:{}", label(&error)))?;
        assert!(again.shared == parts.shared, "where a part is missing, the history is not believed");
        Ok(())
    };
    let histories = [history(|state| state), history(with_clients)];
    let valid = histories.iter().map(|history| joined(&history.to_parts())).collect();
    let target = Target {
        name: "history-parts",
        corpus: None,
        form: Form::Binary,
        valid,
        has_valid_damage: false,
        decode: &decode,
    };
    target.run(20_000);
}

#[test]
fn every_truncation_and_every_flipped_bit_is_found() {
    let whole = bytes();
    for length in 0..whole.len() {
        assert!(History::decode(&whole[..length]).is_err(), "{length} bytes");
    }
    for bit in 0..8 * whole.len() {
        let mut damaged = whole.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(History::decode(&damaged).is_err(), "bit {bit}");
    }
}
