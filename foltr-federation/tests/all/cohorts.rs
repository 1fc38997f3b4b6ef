//! Whole rounds: the same bits for any order of arrival, and a million clients in little memory.

use std::sync::Arc;
use std::time::Instant;

use crate::noise::{SeededNoise, seeded};
use foltr_federation::aggregate::{AggregationRule, Mean};
use foltr_federation::privacy::{CentralMode, Clip, Gaussian};
use foltr_federation::{
    Aggregator, CHUNK, Combined, Contributions, Coordinator, Message, PartialSum, Payload, PayloadSemantics,
    RoundReport, Setup,
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
        PayloadSemantics::Integers { .. } | PayloadSemantics::Shares { .. } => unreachable!("not among the rules"),
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
        coordinator
            .receive(Message { round: 0, start: 0, client, payload: payload(rule, client) })
            .expect("a good message");
    }
    let report = coordinator.close(&mut noise()).expect("a full round");
    assert!(says(&report, rule, clients.len() as u32) && coordinator.n_messages() == 0, "{report:?}");
    bits(&coordinator)
}

/// The round's result when chunks of those present are folded elsewhere.
fn by_chunk(rule: &PayloadSemantics, n_clients: u32, absent: &[u32]) -> Vec<u64> {
    let mut coordinator = coordinator(*rule, n_clients);
    let mut direction = vec![0.0; N_PARAMS];
    let present: Vec<u32> = (0..n_clients).filter(|client| !absent.contains(client)).collect();
    for (chunk_idx, chunk) in present.chunks(CHUNK).enumerate() {
        let mut partial = PartialSum::new(N_PARAMS);
        for &client in chunk {
            partial.add_payload(&payload(rule, client), rule, 1.0, &mut direction);
        }
        coordinator.receive_partial(chunk_idx, &partial).expect("the next chunk");
    }
    coordinator.close(&mut noise()).expect("a full round");
    bits(&coordinator)
}

#[test]
fn the_bits_do_not_depend_on_the_order_of_arrival() {
    let n_clients = 1000;
    let absent = [0, 255, 256, 700, 999];
    for rule in RULES {
        let mut clients: Vec<u32> = (0..n_clients).collect();
        let all = by_chunk(&rule, n_clients, &[]);
        assert_eq!(by_message(&rule, n_clients, &clients), all);
        for seed in 0..3 {
            shuffle(&mut clients, seed);
            assert_eq!(by_message(&rule, n_clients, &clients), all, "{rule:?}, order {seed}");
        }
        let some = by_chunk(&rule, n_clients, &absent);
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
    assert_eq!(moved, by_chunk(&PayloadSemantics::Averaging, 1000, &[]));
}

#[test]
fn the_next_round_starts_empty() {
    let rule = PayloadSemantics::Averaging;
    let want = by_chunk(&rule, 600, &[]);
    let mut coordinator = coordinator(rule, 600);
    for round in 0..2 {
        let before = coordinator.master().to_vec();
        for client in 0..600 {
            let message = Message { round, start: round, client, payload: payload(&rule, client) };
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
        let (mut sent, mut partial) = (payload(&rule, 0), PartialSum::new(N_PARAMS));
        let mut direction = vec![0.0; N_PARAMS];
        let start = Instant::now();
        // As a server reads what it has stored, in the order of clients' numbers.
        for first in (0..N_CLIENTS).step_by(CHUNK) {
            partial.clear();
            for client in first..N_CLIENTS.min(first + CHUNK as u32) {
                match &mut sent {
                    Payload::Step { delta, .. } | Payload::Clipped { delta, .. } => {
                        delta[client as usize % N_PARAMS] = (client % 7) as f32;
                    }
                    Payload::Evolution { seed, .. } => *seed = client,
                    Payload::Share(_) => unreachable!("no rule here takes shares"),
                }
                partial.add_payload(&sent, &rule, 1.0, &mut direction);
            }
            coordinator.receive_partial(first as usize / CHUNK, &partial).expect("the next chunk");
        }
        let report = coordinator.close(&mut noise()).expect("a full round");
        let seconds = start.elapsed().as_secs_f64();
        println!("{rule:?}: {seconds:.2} s");
        assert!(says(&report, &rule, N_CLIENTS), "{report:?}");
        assert_eq!(coordinator.n_messages(), 0);
        assert!(seconds < 60.0, "a million messages took {seconds} s");
    }
}
