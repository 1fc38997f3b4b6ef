//! Whole rounds: the same bits for any order of arrival, and a million clients in little memory.

use std::sync::Arc;
use std::time::Instant;

use crate::noise::{SeededNoise, seeded};
use foltr_federation::aggregate::{AggregationRule, Mean};
use foltr_federation::privacy::{CentralMode, Clip, Gaussian};
use foltr_federation::{
    Aggregator, CHUNK, Combined, Contributions, Coordinator, Message, PartialSum, Payload, PayloadSemantics,
    RoundReport, Setup, decode, encode,
};
use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::RngExt;

/// How messages are read, that of clipped updates first: those have a mechanism, which adds its noise.
const RULES: [PayloadSemantics; 4] = [
    PayloadSemantics::Summing { divisor: 7.0 },
    PayloadSemantics::Averaging,
    PayloadSemantics::Evolution { sigma: 0.01, antithetic: false },
    PayloadSemantics::Evolution { sigma: 0.01, antithetic: true },
];
const N_PARAMS: usize = 46;

fn coordinator(rule: PayloadSemantics, n_clients: u32) -> Coordinator {
    // From 0 the model after a round is the step, to the last bit.
    let plain = Setup::averaging(vec![0.0; N_PARAMS], n_clients, 8);
    let setup = match rule {
        PayloadSemantics::Summing { divisor } => {
            let gaussian = Gaussian::new(Clip::Fixed(1.0), 1.0, CentralMode::Clear).expect("positive");
            Setup { privacy: Arc::new(gaussian), divisor, ..plain }
        }
        rule => Setup { rule, ..plain },
    };
    Coordinator::new(setup).expect("a good setup")
}

fn noise() -> SeededNoise {
    seeded(4, Purpose::Noise, 0, 0)
}

/// Whether it says so, how many clients came.
fn says(report: &RoundReport, rule: &PayloadSemantics, n_clients: u32) -> bool {
    let is_hidden = matches!(rule, PayloadSemantics::Summing { .. });
    report.n_contributions == (!is_hidden).then_some(n_clients)
}

fn payload(rule: &PayloadSemantics, client: u32) -> Payload {
    let mut stream: Stream = Streams::new(4).open(Purpose::Data, client, 0);
    match *rule {
        PayloadSemantics::Averaging => Payload::Step {
            n_interactions: stream.random_range(1..=8),
            // Of very different sizes: sums of similar f32 are exact in f64 and would hide the order of addition.
            delta: (0..N_PARAMS)
                .map(|_| (stream.random::<f32>() - 0.3) * (-40.0 * stream.random::<f32>()).exp2())
                .collect(),
        },
        PayloadSemantics::Evolution { antithetic, .. } => Payload::Evolution {
            seed: stream.random(),
            plus: stream.random(),
            minus: antithetic.then(|| stream.random()),
        },
        PayloadSemantics::Summing { .. } => {
            Payload::Clipped { within: stream.random(), delta: (0..N_PARAMS).map(|_| stream.random()).collect() }
        }
        PayloadSemantics::Shares { .. } => unreachable!("single shares are not received"),
    }
}

fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut stream = Streams::new(seed).open(Purpose::Cohort, 0, 0);
    for i in (1..items.len()).rev() {
        items.swap(i, stream.random_range(0..=i as u64) as usize);
    }
}

fn bits(coordinator: &Coordinator) -> Vec<u64> {
    coordinator.master().iter().map(|value| value.to_bits()).collect()
}

/// The round's result when the given clients send messages in the given order.
fn by_message(rule: &PayloadSemantics, n_clients: u32, clients: &[u32]) -> Vec<u64> {
    let mut coordinator = coordinator(*rule, n_clients);
    for &client in clients {
        coordinator.receive(Message { round: 0, client, payload: payload(rule, client) }).expect("a good message");
    }
    let report = coordinator.close(&mut noise()).expect("a full round");
    assert!(says(&report, rule, clients.len() as u32) && coordinator.n_waiting() == 0, "{report:?}");
    bits(&coordinator)
}

/// The round's result when whole chunks are folded elsewhere and arrive in the given order.
fn by_chunk(rule: &PayloadSemantics, n_clients: u32, absent: &[u32], chunk_order: &[usize]) -> Vec<u64> {
    let mut coordinator = coordinator(*rule, n_clients);
    let mut direction = vec![0.0; N_PARAMS];
    for &chunk_idx in chunk_order {
        let first = (chunk_idx * CHUNK) as u32;
        let mut partial = PartialSum::new(N_PARAMS);
        for client in (first..n_clients.min(first + CHUNK as u32)).filter(|client| !absent.contains(client)) {
            partial.add_payload(&payload(rule, client), rule, &mut direction);
        }
        coordinator.receive_partial(chunk_idx, partial).expect("a new chunk");
    }
    coordinator.close(&mut noise()).expect("a full round");
    bits(&coordinator)
}

fn chunks(n_clients: u32) -> Vec<usize> {
    (0..(n_clients as usize).div_ceil(CHUNK)).collect()
}

#[test]
fn the_bits_do_not_depend_on_the_order_of_arrival() {
    let n_clients = 1000;
    let absent = [0, 255, 256, 700, 999];
    for rule in RULES {
        let mut clients: Vec<u32> = (0..n_clients).collect();
        let mut chunks = chunks(n_clients);
        let all = by_chunk(&rule, n_clients, &[], &chunks);
        assert_eq!(by_message(&rule, n_clients, &clients), all);
        for seed in 0..3 {
            shuffle(&mut clients, seed);
            shuffle(&mut chunks, seed);
            assert_eq!(by_message(&rule, n_clients, &clients), all, "{rule:?}, order {seed}");
            assert_eq!(by_chunk(&rule, n_clients, &[], &chunks), all, "{rule:?}, order {seed}");
        }
        let some = by_chunk(&rule, n_clients, &absent, &chunks);
        assert_ne!(all, some);
        clients.retain(|client| !absent.contains(client));
        assert_eq!(by_message(&rule, n_clients, &clients), some, "{rule:?}");
    }
}

#[test]
fn a_rule_that_sees_all_has_the_bits_of_the_fold() {
    let mut contributions = Contributions::new(N_PARAMS);
    for client in 0..1000 {
        let Payload::Step { n_interactions, delta } = payload(&PayloadSemantics::Averaging, client) else {
            unreachable!("averaging takes steps")
        };
        contributions.push(client, n_interactions.into(), &delta);
    }
    let mut combined = Combined::default();
    Mean {}.start().aggregate(&[], &contributions, &mut combined).expect("1000 clients");
    let moved: Vec<u64> = combined.step.iter().map(|step| step.to_bits()).collect();
    assert_eq!(moved, by_chunk(&PayloadSemantics::Averaging, 1000, &[], &chunks(1000)));
}

#[test]
fn chunks_and_messages_mix_and_the_next_round_starts_empty() {
    let rule = PayloadSemantics::Averaging;
    let want = by_chunk(&rule, 600, &[], &chunks(600));
    let mut coordinator = coordinator(rule, 600);
    for round in 0..2 {
        let before = coordinator.master().to_vec();
        let mut middle = PartialSum::new(N_PARAMS);
        let (first, last) = (CHUNK as u32, 2 * CHUNK as u32);
        (first..last).for_each(|client| middle.add_payload(&payload(&rule, client), &rule, &mut []));
        coordinator.receive_partial(1, middle).expect("a new chunk");
        for client in (last..600).chain(0..first) {
            let message = Message { round, client, payload: payload(&rule, client) };
            coordinator.receive(message).expect("a good message");
        }
        let report = coordinator.close(&mut noise()).expect("a full round");
        assert_eq!((report.round, report.n_contributions), (round, Some(600)));
        if round == 0 {
            assert_eq!(bits(&coordinator), want);
        } else {
            let moved = coordinator.master().iter().zip(&before).map(|(after, before)| after - before);
            moved.zip(&want).for_each(|(step, &want)| assert!((step - f64::from_bits(want)).abs() < 1e-12));
        }
    }
}

#[test]
fn a_million_clients_pass_through_one_chunk_of_memory() {
    const N_CLIENTS: u32 = 1_000_000;
    for rule in RULES {
        let mut coordinator = coordinator(rule, N_CLIENTS);
        let (mut bytes, mut most_waiting) = (Vec::new(), 0);
        let mut message = Message { round: 0, client: 0, payload: payload(&rule, 0) };
        let start = Instant::now();
        for client in 0..N_CLIENTS {
            message.client = client;
            match &mut message.payload {
                Payload::Step { delta, .. } | Payload::Clipped { delta, .. } => {
                    delta[client as usize % N_PARAMS] = (client % 7) as f32;
                }
                Payload::Evolution { seed, .. } => *seed = client,
                Payload::Share(_) => unreachable!("no rule here takes shares"),
            }
            // Through the codec, as a server would.
            bytes.clear();
            encode(&message, &mut bytes);
            let received = decode(&bytes, coordinator.expected()).expect("an encoded message");
            coordinator.receive(received).expect("a good message");
            most_waiting = most_waiting.max(coordinator.n_waiting());
        }
        let report = coordinator.close(&mut noise()).expect("a full round");
        let seconds = start.elapsed().as_secs_f64();
        println!("{rule:?}: {seconds:.2} s, at most {most_waiting} messages waiting");
        assert!(says(&report, &rule, N_CLIENTS), "{report:?}");
        assert!(most_waiting < CHUNK, "{most_waiting} messages were waiting");
        assert!(seconds < 60.0, "a million messages took {seconds} s");
    }
}
