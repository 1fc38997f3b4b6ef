//! Who takes part in a round: everyone, a fresh sample that the server draws, or each client by its own coin; and whose
//! message is lost.

mod coins;

use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Who takes part in a round.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Participation {
    Everyone,
    /// So many clients, drawn by the server without replacement.
    Sample(u32),
    /// Every client takes part with this probability, by a coin of its own.
    PoissonSampling(f64),
}

impl Participation {
    /// Of `n_clients`: a sample of this size, Poisson sampling with this probability, or everyone.
    pub fn new(n_clients: usize, sample: Option<usize>, probability: Option<f64>) -> Self {
        match (sample.and_then(|size| u32::try_from(size).ok()), probability) {
            (Some(size), _) if (size as usize) < n_clients => Self::Sample(size),
            (None, Some(probability)) => Self::PoissonSampling(probability),
            _ => Self::Everyone,
        }
    }

    pub fn expected(&self, n_clients: u32) -> f64 {
        match *self {
            Self::Everyone => f64::from(n_clients),
            Self::Sample(size) => f64::from(size.min(n_clients)),
            Self::PoissonSampling(probability) => probability * f64::from(n_clients),
        }
    }

    pub fn most(&self, n_clients: u32) -> u32 {
        match *self {
            Self::Everyone | Self::PoissonSampling(_) => n_clients,
            Self::Sample(size) => size.min(n_clients),
        }
    }

    /// The clients of a round, in rising order.
    pub fn draw(&self, streams: &Streams, round: u32, n_clients: u32) -> Vec<u32> {
        match *self {
            Self::Everyone => (0..n_clients).collect(),
            Self::Sample(size) => sample(&mut streams.open(Purpose::Cohort, 0, round), n_clients, size),
            Self::PoissonSampling(probability) => {
                coins::toss(&mut streams.open(Purpose::Cohort, 0, round), probability, n_clients)
            }
        }
    }
}

/// Those of a round's clients whose message arrives, when each is lost with this probability.
pub fn survivors(clients: Vec<u32>, dropout: f64, streams: &Streams, round: u32) -> Vec<u32> {
    if dropout == 0.0 {
        return clients;
    }
    let mut stream = streams.open(Purpose::Cohort, 1, round);
    clients.into_iter().filter(|_| stream.random::<f64>() >= dropout).collect()
}

/// A sample is drawn by Floyd's method (`BF87` Bentley, Floyd: *A Sample of Brilliance*, CACM 30, 1987): `size` draws
/// whatever the number of clients.
pub fn sample(stream: &mut Stream, n_clients: u32, size: u32) -> Vec<u32> {
    if size >= n_clients {
        return (0..n_clients).collect();
    }
    let mut chosen = std::collections::BTreeSet::new();
    for last in n_clients - size..n_clients {
        let client = stream.random_range(0..=last);
        if !chosen.insert(client) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_takes_part_when_the_cohort_is_everyone() {
        for cohort in [Participation::Everyone, Participation::Sample(4), Participation::PoissonSampling(1.0)] {
            assert_eq!(cohort.draw(&Streams::new(1), 0, 4), [0, 1, 2, 3]);
            assert_eq!((cohort.most(4), cohort.expected(4)), (4, 4.0));
        }
    }

    #[test]
    fn coins_and_losses_have_their_probability() {
        let streams = Streams::new(2);
        let cohort = Participation::PoissonSampling(0.25).draw(&streams, 3, 100_000);
        // Five standard deviations of Binomial(100000, 1/4), and of the losses of a tenth.
        assert!(cohort.len().abs_diff(25_000) < 685, "{}", cohort.len());
        let n = cohort.len();
        let arrived = survivors(cohort, 0.1, &streams, 3);
        assert!(arrived.len().abs_diff(n * 9 / 10) < 240, "{} of {n}", arrived.len());
    }

    #[test]
    fn samples_are_distinct_sorted_and_uniform() {
        let streams = Streams::new(2);
        let mut counts = [0_u32; 20];
        for round in 0..20_000 {
            let cohort = Participation::Sample(5).draw(&streams, round, 20);
            assert_eq!(cohort.len(), 5);
            assert!(cohort.is_sorted_by(|a, b| a < b));
            cohort.iter().for_each(|&client| counts[client as usize] += 1);
        }
        // Binomial(20000, 1/4): five standard deviations are 306.
        assert!(counts.iter().all(|&count| count.abs_diff(5_000) < 306), "{counts:?}");
    }
}
