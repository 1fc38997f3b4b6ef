//! Every client tosses a coin of its own: who takes part, in time proportional to those who do.
//!
//! Few take part: clients are dealt with in groups of s. A group gets a Poisson(1) number of points, each on one of its
//! clients at random, so that every client has a Poisson(1/s) number of points, independent of all others, and is hit
//! with probability h = 1 - e^(-1/s). The group is so small that h is at least the probability q that is asked for.
//! Whoever is hit takes part by a second coin, of probability q / h. A group costs a few draws, and about as many groups
//! as clients take part.
//!
//! Amplification of privacy by Poisson sampling needs independent coins of probability at most q. These are both, without
//! an error term: Poisson(1) numbers are made of uniform integers alone (`DD16` Duchon, Duvignau: *Preserving the Number
//! of Cycles of Length k in a Growing Uniform Permutation*, 2016), integers are uniform by rejection, and the second coin
//! compares 128 random bits with q / h, rounded down. Only basic arithmetic is used: the same bits on every machine. The
//! coins have a probability between (1 - 2^-48) q and q for all q above 2^-90; smaller ones may become 0.

use foltr_rank::rng::Stream;
use rand::{Rng, RngExt};

/// From here on a coin for every client costs no more than groups.
const MANY: f64 = 1.0 / 16.0;
/// More than the rounding errors of the few operations that give a threshold.
const ROUNDING: f64 = 1.0 / (1_u64 << 50) as f64;

/// Those of so many clients whose coin of this probability falls, in rising order.
pub(super) fn toss(stream: &mut Stream, probability: f64, n_clients: u32) -> Vec<u32> {
    if probability < MANY {
        return SmallCoin::new(probability).toss(stream, n_clients);
    }
    // A number of 53 bits lies below as many of them as q has whole units of 2^-53; all of them for 1.
    let unit = f64::EPSILON / 2.0;
    (0..n_clients).filter(|_| stream.random::<f64>() + unit <= probability).collect()
}

#[derive(Clone, Copy, Debug)]
struct SmallCoin {
    group: u32,
    /// Whoever is hit takes part if 128 random bits are below this.
    threshold: u128,
}

impl SmallCoin {
    fn new(probability: f64) -> Self {
        // -ln(1 - q) is at most q + q^2; for q above 2^-33 the difference is far above rounding errors, and below that the
        // largest group is small enough in any case.
        let group = (1.0 / (probability + probability * probability)).min(f64::from(u32::MAX)) as u32;
        let passes = (probability / hit_probability(group)) * (1.0 - ROUNDING);
        Self { group, threshold: (passes * 2_f64.powi(128)) as u128 }
    }

    fn toss(self, stream: &mut Stream, n_clients: u32) -> Vec<u32> {
        let (mut taking_part, mut hit) = (Vec::new(), Vec::new());
        let mut first = 0;
        while first < n_clients {
            hit.clear();
            hit.extend((0..poisson_one(stream)).map(|_| below(stream, self.group)));
            hit.sort_unstable();
            hit.dedup();
            for &place in &hit {
                // The last group is as large as the others; whoever is not there cannot take part.
                let client = first.checked_add(place).filter(|&client| client < n_clients);
                if let Some(client) = client.filter(|_| stream.random::<u128>() < self.threshold) {
                    taking_part.push(client);
                }
            }
            first = first.saturating_add(self.group);
        }
        taking_part
    }
}

/// 1 - e^(-1/group) = x - x^2/2 + x^3/6 - ..., with x = 1/group of at most 1/15.
fn hit_probability(group: u32) -> f64 {
    let x = 1.0 / f64::from(group);
    let (mut sum, mut term) = (0.0, x);
    for k in 2..=16_u8 {
        sum += term;
        term *= -x / f64::from(k);
    }
    sum
}

/// A Poisson number of mean 1, from uniform integers alone.
fn poisson_one(stream: &mut Stream) -> u32 {
    let (mut number, mut limit) = (1, 0);
    for n in 1.. {
        match below(stream, n + 1) {
            drawn if drawn == n => number += 1,
            drawn if drawn < limit => break,
            _ => (number, limit) = (number - 1, n + 1),
        }
    }
    number
}

/// A uniform number below `n`: Lemire's product, whose rejection leaves every value equally many words.
fn below(stream: &mut Stream, n: u32) -> u32 {
    loop {
        let product = u64::from(stream.next_u32()) * u64::from(n);
        let low = product as u32;
        if low >= n || low >= n.wrapping_neg() % n {
            return (product >> 32) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};

    fn stream(round: u32) -> Stream {
        Streams::new(3).open(Purpose::Cohort, 0, round)
    }

    /// Pearson's statistic of counts against what is expected of them.
    fn chi_square(counts: &[f64], expected: &[f64]) -> f64 {
        counts.iter().zip(expected).map(|(count, expected)| (count - expected).powi(2) / expected).sum()
    }

    /// Binomial probabilities of 0, 1, ... successes.
    fn binomial(n: u32, p: f64) -> Vec<f64> {
        let first = (1.0 - p).powi(n as i32);
        let next = |share: &f64, k: u32| share * f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
        let mut shares = vec![first];
        (0..n).for_each(|k| shares.push(next(shares.last().expect("a first"), k)));
        shares
    }

    #[test]
    fn poisson_numbers_have_their_law() {
        let (mut stream, n) = (stream(0), 400_000);
        let mut counts = [0.0; 7];
        (0..n).for_each(|_| counts[poisson_one(&mut stream).min(6) as usize] += 1.0);
        // e^-1 / k! for 0 to 5, and the rest.
        let mut expected: Vec<f64> =
            [1.0, 1.0, 2.0, 6.0, 24.0, 120.0].iter().map(|factorial| (-1_f64).exp() / factorial).collect();
        expected.push(1.0 - expected.iter().sum::<f64>());
        expected.iter_mut().for_each(|share| *share *= f64::from(n));
        // The 99.99 % quantile of six degrees of freedom.
        assert!(chi_square(&counts, &expected) < 27.9, "{counts:?} and {expected:?}");
    }

    #[test]
    fn coins_never_fall_more_often_than_asked() {
        for probability in [0.0624, 0.05, 1e-2, 1e-3, 1e-6, 2.3e-10, 1e-12, 1e-18, 1e-25] {
            let coin = SmallCoin::new(probability);
            let hit = -(-1.0 / f64::from(coin.group)).exp_m1();
            let share = coin.threshold as f64 / 2_f64.powi(128) * hit / probability;
            assert!(share <= 1.0 && share > 1.0 - 2_f64.powi(-48), "{probability}: {share}");
        }
        for probability in [0.0, 1e-60, f64::MIN_POSITIVE] {
            assert!(toss(&mut stream(0), probability, u32::MAX).is_empty());
        }
        assert_eq!(toss(&mut stream(0), 1.0, 4), [0, 1, 2, 3]);
        assert!(toss(&mut stream(0), 0.01, 0).is_empty());
    }

    #[test]
    fn every_client_every_pair_and_every_count_has_its_probability() {
        // Groups of 19 clients; the last has only 3. A coin for each client above 1/16.
        for (q, n_rounds) in [(0.05, 200_000), (0.1, 100_000)] {
            const N: usize = 60;
            let (mut by_client, mut by_count) = ([0.0; N], [0.0; 9]);
            // Neighbours, the same place of other groups, and the two ends.
            let pairs = [(0, 1), (4, 5), (18, 19), (3, 22), (0, 59), (57, 58)];
            let mut by_pair = [0.0; 6];
            for round in 0..n_rounds {
                let drawn = toss(&mut stream(round), q, N as u32);
                assert!(drawn.is_sorted_by(|a, b| a < b) && drawn.last().is_none_or(|&last| last < N as u32));
                drawn.iter().for_each(|&client| by_client[client as usize] += 1.0);
                by_count[drawn.len().min(8)] += 1.0;
                let has = |client: usize| drawn.contains(&(client as u32));
                by_pair.iter_mut().zip(pairs).for_each(|(n, (a, b))| *n += f64::from(u8::from(has(a) && has(b))));
            }
            let n_rounds = f64::from(n_rounds);
            // Variances are (1 - q) times those of Poisson numbers. 99.99 % quantiles of 60, 8 and 6 degrees of freedom.
            let clients = chi_square(&by_client, &[q * n_rounds; N]) / (1.0 - q);
            assert!(clients < 109.0, "{q}: {clients} {by_client:?}");
            let mut shares = binomial(N as u32, q);
            let rest = shares.split_off(8).iter().sum();
            let expected: Vec<f64> = shares.into_iter().chain([rest]).map(|share| share * n_rounds).collect();
            assert!(chi_square(&by_count, &expected) < 31.9, "{q}: {by_count:?} {expected:?}");
            let together = chi_square(&by_pair, &[q * q * n_rounds; 6]);
            assert!(together < 27.9, "{q}: {together} {by_pair:?}");
        }
    }

    #[test]
    fn gaps_between_those_who_take_part_are_geometric() {
        let (q, n_clients) = (0.01, 20_000_000);
        let drawn = toss(&mut stream(1), q, n_clients);
        let mut counts = [0.0; 20];
        // Twenty gaps' lengths that are equally probable but for rounding to whole clients.
        let bound = |i: u32| ((1.0 - f64::from(i) / 20.0).ln() / (1.0 - q).ln()).floor().min(1e9) as u32;
        let bounds: Vec<u32> = (1..20).map(bound).collect();
        for pair in drawn.windows(2) {
            counts[bounds.partition_point(|&bound| bound < pair[1] - pair[0])] += 1.0;
        }
        let survival = |gap: u32| (1.0 - q).powi(gap as i32);
        let mut expected: Vec<f64> = Vec::new();
        let mut before = 1.0;
        for after in bounds.iter().map(|&bound| survival(bound)).chain([0.0]) {
            expected.push((before - after) * (drawn.len() - 1) as f64);
            before = after;
        }
        // The 99.99 % quantile of 19 degrees of freedom.
        assert!(chi_square(&counts, &expected) < 50.8, "{counts:?} and {expected:?}");
    }

    #[test]
    fn the_work_follows_those_who_take_part_and_not_the_population() {
        let words = |probability: f64, n_clients: u32| {
            let mut stream = stream(7);
            let n = toss(&mut stream, probability, n_clients).len();
            (stream.get_word_pos() as f64, n as f64)
        };
        for (probability, n_clients) in [(1e-2, 100_000), (1e-4, 10_000_000), (1e-6, 1_000_000_000)] {
            let (words, n) = words(probability, n_clients);
            assert!(words < 14.0 * n, "{words} words for {n} of {n_clients}");
        }
    }
}
