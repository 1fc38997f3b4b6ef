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
    /// The fastest call.
    pub microseconds: f64,
}

/// Times of all rules that differ in what the server does; attackers to reckon with are a fifth of the clients.
pub fn rule_times(told: impl Fn(&str)) -> Vec<RuleTime> {
    let mut times = Vec::new();
    for defence in DEFENCES.iter().filter(|defence| !defence.has_momentum()) {
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
    let mut stream = Streams::new(1).open(Purpose::Data, clients, params as u32);
    let mut round = Contributions::new(params);
    for client in 0..clients {
        let update: Vec<f32> = (0..params).map(|_| stream.random::<f32>() - 0.4).collect();
        round.push(client, 5.0, &update);
    }
    let (mut rule, mut combined) = (defence.defence(clients, clients / 5).start(), Combined::default());
    let global = vec![0.0; params];
    let (started, mut best) = (Instant::now(), f64::INFINITY);
    loop {
        let before = Instant::now();
        rule.aggregate(&global, &round, &mut combined).ok()?;
        best = best.min(before.elapsed().as_secs_f64() * 1e6);
        if started.elapsed() > WINDOW {
            return Some(best);
        }
    }
}
