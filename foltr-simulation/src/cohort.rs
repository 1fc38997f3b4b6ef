//! Who takes part in a round: everyone, or a fresh uniform sample without replacement.

use foltr_rank::rng::{Purpose, Streams};
use rand::RngExt;

/// The clients of a round, in rising order.
///
/// A sample is drawn by Floyd's method (`BF87` Bentley, Floyd: *A Sample of Brilliance*, CACM 30, 1987): `size` draws
/// whatever the number of clients.
pub fn draw_cohort(streams: &Streams, round: u32, n_clients: u32, size: u32) -> Vec<u32> {
    if size >= n_clients {
        return (0..n_clients).collect();
    }
    let mut stream = streams.open(Purpose::Cohort, 0, round);
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
        assert_eq!(draw_cohort(&Streams::new(1), 0, 4, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn samples_are_distinct_sorted_and_uniform() {
        let streams = Streams::new(2);
        let mut counts = [0_u32; 20];
        for round in 0..20_000 {
            let cohort = draw_cohort(&streams, round, 20, 5);
            assert_eq!(cohort.len(), 5);
            assert!(cohort.is_sorted_by(|a, b| a < b));
            cohort.iter().for_each(|&client| counts[client as usize] += 1);
        }
        // Binomial(20000, 1/4): five standard deviations are 306.
        assert!(counts.iter().all(|&count| count.abs_diff(5_000) < 306), "{counts:?}");
    }
}
