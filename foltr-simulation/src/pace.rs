//! How long does a client take for one round of its own? Simulated time, in units of a usual client's round.
//!
//! Some clients are stragglers: slow devices, or users who search rarely. Who is one is drawn once a run.

use foltr_federation::participation::sample;
use foltr_rank::parameter::{ParameterError, problems, require};
use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Clients that are slow. A synchronous round waits for the slowest of its clients; time is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Stragglers {
    /// Share of the clients that are slow, drawn once a run.
    pub share: f64,
    /// How many times as long they take for a round of their own.
    pub slowdown: f64,
    /// Every duration is multiplied by a number drawn uniformly from 1 - jitter to 1 + jitter; 0 when absent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: f64,
}

fn is_zero(jitter: &f64) -> bool {
    *jitter == 0.0
}

impl Stragglers {
    /// Every parameter that is out of range.
    pub fn check(&self) -> Vec<ParameterError> {
        let Self { share, slowdown, jitter } = *self;
        problems([
            require("share", share, (0.0..=1.0).contains(&share), "0 to 1"),
            require("slowdown", slowdown, slowdown >= 1.0, "a number of at least 1"),
            require("jitter", jitter, (0.0..1.0).contains(&jitter), "at least 0 and below 1"),
        ])
    }
}

impl Default for Stragglers {
    /// All clients take the same time.
    fn default() -> Self {
        Self { share: 0.0, slowdown: 1.0, jitter: 0.0 }
    }
}

/// The speeds of the clients of one run.
#[derive(Clone, Debug)]
pub struct Speeds {
    stragglers: Stragglers,
    is_straggler: Vec<bool>,
    streams: Streams,
}

impl Speeds {
    /// Draws who is a straggler: a share of the clients, rounded to whole ones.
    pub fn new(stragglers: Stragglers, n_clients: u32, streams: &Streams) -> Self {
        let n_stragglers = (stragglers.share * f64::from(n_clients)).round() as u32;
        let mut is_straggler = vec![false; n_clients as usize];
        let drawn = sample(&mut streams.open(Purpose::Pace, u32::MAX, 0), n_clients, n_stragglers);
        drawn.into_iter().for_each(|client| is_straggler[client as usize] = true);
        Self { stragglers, is_straggler, streams: streams.clone() }
    }

    pub fn is_straggler(&self, client: u32) -> bool {
        self.is_straggler[client as usize]
    }

    /// How long a client takes for a round of its own, and the stream to draw on about that round.
    pub(crate) fn duration(&self, client: u32, round: u32) -> (f64, Stream) {
        let mut stream = self.streams.open(Purpose::Pace, client, round);
        let usual = if self.is_straggler(client) { self.stragglers.slowdown } else { 1.0 };
        let factor = 1.0 + self.stragglers.jitter * (2.0 * stream.random::<f64>() - 1.0);
        (usual * factor, stream)
    }

    /// How long a round lasts that waits for no straggler: as long as a usual client may take.
    pub fn round_length(&self) -> f64 {
        1.0 + self.stragglers.jitter
    }

    /// How many rounds of that length after the round in which it started a client joins one.
    pub fn rounds_late(&self, client: u32, round: u32) -> u32 {
        let (duration, _) = self.duration(client, round);
        // Rounding must not make a usual client late.
        ((duration / self.round_length() - 1e-9).ceil().max(1.0) - 1.0) as u32
    }

    /// How long a synchronous round of these clients lasts: as long as the slowest of them.
    pub fn slowest(&self, clients: &[u32], round: u32) -> f64 {
        clients.iter().map(|&client| self.duration(client, round).0).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_are_late_and_usual_clients_are_not() {
        let pace = Stragglers { share: 0.5, slowdown: 4.0, jitter: 0.3 };
        let speeds = Speeds::new(pace, 10, &Streams::new(3));
        for round in 0..500 {
            for client in 0..10 {
                let late = speeds.rounds_late(client, round);
                // 4 times .7 to 1.3 over 1.3: 2.15 to 4 rounds.
                let is_right = if speeds.is_straggler(client) { (2..=3).contains(&late) } else { late == 0 };
                assert!(is_right, "client {client} is {late} rounds late");
            }
        }
    }

    #[test]
    fn stragglers_have_their_share_and_their_time() {
        let pace = Stragglers { share: 0.3, slowdown: 10.0, jitter: 0.0 };
        let speeds = Speeds::new(pace, 10, &Streams::new(3));
        let durations: Vec<f64> = (0..10).map(|client| speeds.duration(client, 5).0).collect();
        assert_eq!(durations.iter().filter(|&&duration| duration == 10.0).count(), 3);
        assert_eq!(durations.iter().filter(|&&duration| duration == 1.0).count(), 7);
        let (fast, slow): (Vec<u32>, Vec<u32>) = (0..10).partition(|&client| !speeds.is_straggler(client));
        assert_eq!((speeds.slowest(&fast, 5), speeds.slowest(&slow, 5), speeds.slowest(&[], 5)), (1.0, 10.0, 0.0));
        let others = Speeds::new(pace, 10, &Streams::new(4));
        assert!((0..10).any(|client| others.is_straggler(client) != speeds.is_straggler(client)), "another seed");
    }

    #[test]
    fn jitter_stays_within_its_limits_and_fills_them() {
        let speeds = Speeds::new(Stragglers { jitter: 0.5, ..Stragglers::default() }, 1, &Streams::new(3));
        let durations: Vec<f64> = (0..2000).map(|round| speeds.duration(0, round).0).collect();
        let (low, high) = durations.iter().fold((9.0_f64, 0.0_f64), |(low, high), &d| (low.min(d), high.max(d)));
        // No draw within 1 % of an end: probability .99^2000, below 1e-8.
        assert!((0.5..0.51).contains(&low) && (1.49..=1.5).contains(&high), "{low} to {high}");
        // The mean of 2000 uniform numbers: five standard deviations are .033.
        assert!((durations.iter().sum::<f64>() / 2000.0 - 1.0).abs() < 0.033);
    }
}
