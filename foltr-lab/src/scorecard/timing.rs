//! How long every rule takes: one round of n updates of d parameters, on one thread.

use std::time::{Duration, Instant};

use foltr_federation::{Combined, Contributions};
use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;
use serde::Serialize;

use super::{DEFENCES, NamedDefence};

/// Clients of a round.
const CLIENTS: [u32; 3] = [10, 100, 1000];

/// Parameters: a linear ranker on LETOR and MSLR features, and one with a hidden layer.
const PARAMS: [usize; 3] = [46, 136, 8800];

/// Different rounds, so that rules that remember have something to compare.
const ROUNDS: u32 = 3;

/// Calls until a rule that remembers a window of ten rounds does all of its work.
const WARM_UP: usize = 12;

/// A rule is called again and again for this long.
const WINDOW: Duration = Duration::from_millis(100);

/// One measured rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleTime {
    /// The defence, without what devices do.
    pub defence: String,
    /// Clients of the round.
    pub clients: u32,
    /// Parameters of the model.
    pub params: usize,
    /// The median of the calls.
    pub microseconds: f64,
}

/// Times of all rules that differ in what the server does; attackers to reckon with are a fifth of the clients.
pub fn rule_times(told: impl Fn(&str)) -> Vec<RuleTime> {
    let mut times = Vec::new();
    let is_new = |i: usize| !DEFENCES[..i].iter().any(|other| other.has_same_rule(&DEFENCES[i]));
    for defence in (0..DEFENCES.len()).filter(|&i| is_new(i)).map(|i| &DEFENCES[i]) {
        for (clients, params) in CLIENTS.into_iter().flat_map(|n| PARAMS.map(|d| (n, d))) {
            told(&format!("{} of {clients} clients, {params} parameters", defence.name));
            if let Some(microseconds) = measure(defence, clients, params) {
                times.push(RuleTime { defence: defence.name.into(), clients, params, microseconds });
            }
        }
    }
    times
}

fn measure(defence: &NamedDefence, clients: u32, params: usize) -> Option<f64> {
    let rounds: Vec<(Vec<f32>, Contributions)> = (0..ROUNDS).map(|round| some_round(clients, params, round)).collect();
    let (mut rule, mut combined) = (defence.defence(clients, clients / 5).start(), Combined::default());
    let warm_up = if defence.remembers() { WARM_UP } else { 0 };
    let mut times = Vec::new();
    let started = Instant::now();
    for (i, (global, round)) in rounds.iter().cycle().enumerate() {
        let before = Instant::now();
        rule.aggregate(global, round, &mut combined).ok()?;
        if i >= warm_up {
            times.push(before.elapsed().as_secs_f64() * 1e6);
        }
        if !times.is_empty() && started.elapsed() > WINDOW {
            break;
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// A model, and noisy updates that point from it to the same summit.
fn some_round(clients: u32, params: usize, round: u32) -> (Vec<f32>, Contributions) {
    let mut stream = Streams::new(1).open(Purpose::Data, clients, round);
    let global: Vec<f32> = (0..params).map(|_| stream.random::<f32>()).collect();
    let mut updates = Contributions::new(params);
    for client in 0..clients {
        let update: Vec<f32> = global.iter().map(|&at| 0.1 * (0.6 - at) + stream.random::<f32>() - 0.5).collect();
        updates.push(client, 5.0, &update);
    }
    (global, updates)
}
