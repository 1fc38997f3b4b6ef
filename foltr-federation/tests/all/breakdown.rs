//! How many colluding attackers of unbounded strength does a rule bear, and how far can they push the others?

use foltr_federation::aggregate::{
    Bulyan, CentredClipping, FlTrust, GeometricMedian, Krum, Mean, Median, MultiKrum, NormClipping, Radius,
    SpectralFilter, TrimmedMean,
};
use foltr_federation::{Aggregation, Aggregator, Combined, Contributions, Defence};
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Streams};

const N_PARAMS: usize = 5;
const SIZES: [f32; 10] = [1e3, 1e6, 1e9, 1e12, 1e15, 1e18, 1e21, 1e24, 1e27, 1e30];
/// The geometric median may be 2 / (1 - 2m/n) times as far away as the furthest honest update: 50 for 12 of 25.
const FAR: f64 = 60.0;

/// What attackers send, all knowing the honest updates.
#[derive(Clone, Copy, Debug)]
enum Collusion {
    /// The same vector.
    Equal,
    /// A vector and its opposite in turn.
    Opposite,
    /// Each along an axis of its own.
    Scattered,
    /// Every other one sends the mean of the honest updates, and so looks better than any of them; the rest are far.
    Covered,
    /// Half as far as the one before: nearest neighbours of each other at every scale.
    Ladder,
}

const ALL: [Collusion; 5] =
    [Collusion::Equal, Collusion::Opposite, Collusion::Scattered, Collusion::Covered, Collusion::Ladder];

impl Collusion {
    fn vector(self, attacker: usize, size: f32, mean: &[f64]) -> Vec<f32> {
        let is_even = attacker.is_multiple_of(2);
        match self {
            Self::Equal => vec![size; N_PARAMS],
            Self::Opposite => vec![if is_even { size } else { -size }; N_PARAMS],
            Self::Scattered => (0..N_PARAMS).map(|i| if i == attacker % N_PARAMS { size } else { 0.0 }).collect(),
            Self::Covered if is_even => vec![-size; N_PARAMS],
            Self::Covered => mean.iter().map(|&value| value as f32).collect(),
            Self::Ladder => vec![size / (1_u32 << attacker) as f32; N_PARAMS],
        }
    }
}

/// Honest updates: normal, around (1, 1, ...).
struct Honest {
    rows: Vec<Vec<f32>>,
    mean: Vec<f64>,
    diameter: f64,
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    length(a.iter().zip(b).map(|(a, b)| a - b))
}

fn wide(row: &[f32]) -> Vec<f64> {
    row.iter().map(|&value| value.into()).collect()
}

impl Honest {
    fn new(n: usize) -> Self {
        let streams = Streams::new(11);
        let row = |client| {
            let mut row = vec![0.0; N_PARAMS];
            fill_standard_normal(&mut streams.open(Purpose::Data, client, 0), &mut row);
            row.iter_mut().for_each(|value| *value += 1.0);
            row
        };
        let rows: Vec<Vec<f32>> = (0..n as u32).map(row).collect();
        let mean = (0..N_PARAMS).map(|i| rows.iter().map(|row| f64::from(row[i])).sum::<f64>() / n as f64).collect();
        let pairs = rows.iter().flat_map(|a| rows.iter().map(|b| distance(&wide(a), &wide(b))));
        let diameter = pairs.fold(0.0, f64::max);
        Self { rows, mean, diameter }
    }

    /// The step when so many attackers come first; `size` 0 means that they send zeros.
    fn step(&self, rule: &mut dyn Aggregator, m: usize, how: Collusion, size: f32) -> Vec<f64> {
        let attack = |attacker| if size == 0.0 { vec![0.0; N_PARAMS] } else { how.vector(attacker, size, &self.mean) };
        let rows: Vec<Vec<f32>> = (0..m).map(attack).chain(self.rows.iter().cloned()).collect();
        let mut combined = Combined::default();
        rule.aggregate(&[0.0; N_PARAMS], &Contributions::of_rows(&rows), &mut combined).expect("enough clients");
        combined.step
    }
}

fn defence(rule: Aggregation) -> Defence {
    Defence { rule, ..Defence::NONE }
}

fn attacks() -> impl Iterator<Item = (Collusion, f32)> {
    ALL.iter().flat_map(|&how| SIZES.map(|size| (how, size)))
}

/// How far from the honest mean attackers get, in diameters of the honest updates.
fn worst(defence: Defence, n: usize, m: usize) -> f64 {
    let honest = Honest::new(n - m);
    let moved = attacks().map(|(how, size)| distance(&honest.step(&mut *defence.start(), m, how, size), &honest.mean));
    moved.fold(0.0, f64::max) / honest.diameter
}

/// The largest number of attackers that is borne, and all smaller ones with it.
fn breakdown(defence: Defence, n: usize) -> usize {
    (1..n - 1).find(|&m| worst(defence, n, m) > FAR).unwrap_or(n - 1) - 1
}

#[test]
fn the_breakdown_points_of_mean_trimmed_mean_and_medians_are_those_of_theory() {
    for n in 5..=25_usize {
        let half = n.div_ceil(2) - 1;
        assert_eq!(breakdown(defence(Aggregation::Mean(Mean {})), n), 0, "mean of {n}");
        assert_eq!(breakdown(defence(Aggregation::Median(Median {})), n), half, "median of {n}");
        let geometric = defence(Aggregation::GeometricMedian(GeometricMedian {}));
        assert_eq!(breakdown(geometric, n), half, "geometric median of {n}");
        for attackers in 0..=half {
            let trimmed = defence(Aggregation::TrimmedMean(TrimmedMean { attackers: attackers as u32 }));
            assert_eq!(breakdown(trimmed, n), attackers, "trimmed mean of {n}");
        }
    }
}

#[test]
fn coordinates_stay_in_the_range_of_honest_ones() {
    // A box whose sides are at most a diameter long.
    let box_diagonal = (N_PARAMS as f64).sqrt();
    for n in 5..=25_usize {
        for m in 1..n.div_ceil(2) {
            assert!(worst(defence(Aggregation::Median(Median {})), n, m) <= box_diagonal, "{m} of {n}");
            let rule = Aggregation::TrimmedMean(TrimmedMean { attackers: m as u32 });
            assert!(worst(defence(rule), n, m) <= box_diagonal, "{m} of {n}");
            // Mixtures contain no update further away than a diameter from an honest one.
            let mixed = Defence { mixing: Some(m as u32), ..defence(rule) };
            assert!(worst(mixed, n, m) <= 2.0 * box_diagonal, "{m} of {n}, mixed");
        }
    }
}

#[test]
fn krum_multi_krum_and_bulyan_bear_what_they_promise() {
    for n in 5..=25_usize {
        for m in 1..=(n - 3) / 2 {
            for squared in [false, true] {
                let krum = Krum { attackers: m as u32, squared, neighbours: None };
                let (one, many) = (
                    worst(defence(Aggregation::Krum(krum)), n, m),
                    breakdown(defence(Aggregation::MultiKrum(MultiKrum(krum))), n),
                );
                // An honest update, or one that looks like their mean.
                assert!(one <= 1.0, "Krum is pushed {one} diameters by {m} of {n}");
                assert!(many >= m, "Multi-Krum of {n} bears only {many} instead of {m}");
                assert!(breakdown(defence(Aggregation::Krum(krum)), n) >= m, "Krum of {n}, {m}");
            }
        }
        for m in 1..=(n - 3) / 4 {
            let bulyan = defence(Aggregation::Bulyan(Bulyan { attackers: m as u32 }));
            assert!(breakdown(bulyan, n) >= m, "Bulyan of {n} does not bear {m}");
            // Values that are no further from the median than honest ones are.
            assert!(worst(bulyan, n, m) <= 2.0 * (N_PARAMS as f64).sqrt(), "Bulyan of {n}, {m}");
        }
    }
}

#[test]
fn clipped_attackers_push_by_their_share_of_the_radius() {
    const RADIUS: f64 = 0.5;
    let clipping = defence(Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(RADIUS) }));
    for n in [5_usize, 10, 25] {
        for m in 1..n {
            let honest = Honest::new(n - m);
            let (share, mut furthest) = (m as f64 / n as f64, 0.0_f64);
            for (how, size) in attacks() {
                let quiet = honest.step(&mut *clipping.start(), m, how, 0.0);
                furthest = furthest.max(distance(&honest.step(&mut *clipping.start(), m, how, size), &quiet));
                for iterations in [1, 3] {
                    let radius = Radius::Fixed(RADIUS);
                    let rule = defence(Aggregation::CentredClipping(CentredClipping { radius, iterations }));
                    let quiet = honest.step(&mut *rule.start(), m, how, 0.0);
                    let moved = distance(&honest.step(&mut *rule.start(), m, how, size), &quiet);
                    // Clipping brings no two points further apart; each iteration adds what attackers can.
                    let most = f64::from(iterations) * share * 2.0 * RADIUS;
                    assert!(moved <= most * (1.0 + 1e-9), "centred clipping is moved by {moved} > {most}: {m} of {n}");
                }
            }
            // Exactly as far as theory allows.
            let most = share * RADIUS;
            assert!(
                (furthest / most - 1.0).abs() < 1e-6,
                "norm clipping is moved by {furthest}, not {most}: {m} of {n}"
            );
        }
    }
}

#[test]
fn the_median_radius_is_that_of_an_honest_update() {
    for n in 5..=25_usize {
        for m in 1..=(n - 1) / 2 {
            let honest = Honest::new(n - m);
            let longest = honest.rows.iter().map(|row| length(wide(row).into_iter())).fold(0.0, f64::max);
            for (how, size) in attacks() {
                let rule = defence(Aggregation::NormClipping(NormClipping { radius: Radius::Median }));
                let step = honest.step(&mut *rule.start(), m, how, size);
                assert!(length(step.into_iter()) <= longest * (1.0 + 1e-9), "norm clipping: {m} of {n}, {how:?}");
                let (radius, iterations) = (Radius::Median, 3);
                let rule = defence(Aggregation::CentredClipping(CentredClipping { radius, iterations }));
                let step = honest.step(&mut *rule.start(), m, how, size);
                // The first iteration ends within `longest`, the second within twice more, the third again.
                assert!(length(step.into_iter()) <= 7.0 * longest, "centred clipping: {m} of {n}, {how:?}");
            }
        }
    }
}

#[test]
fn a_trusted_client_bounds_all_others() {
    for n in [2_usize, 5, 10, 25] {
        for m in 1..n {
            let honest = Honest::new(n - m);
            let root = wide(&honest.rows[0]);
            let rule = Aggregation::FlTrust(FlTrust { trusted: m as u32 });
            for (how, size) in attacks() {
                let step = honest.step(&mut *rule.start(), m, how, size);
                let longest = length(root.iter().copied());
                assert!(length(step.iter().copied()) <= longest * (1.0 + 1e-9), "{m} of {n}, {how:?}");
                assert!(step.iter().zip(&root).map(|(a, b)| a * b).sum::<f64>() > 0.0, "{m} of {n}, {how:?}");
            }
        }
    }
}

/// The spectral filter alone has no breakdown point: as long as attackers pull the centre, honest updates are out along
/// their direction as well, and pay with their own weight. Behind a bound its step is a mean of what is no longer than an
/// honest update.
#[test]
fn the_spectral_filter_holds_behind_a_bound_only() {
    let filter = |m: usize| defence(Aggregation::SpectralFilter(SpectralFilter { attackers: m as u32 }));
    // Measured: each along an axis of its own, 4 of 10 move it by .18 of how far away they are, 2 by .0007.
    for (m, share) in [(2, 0.000_73), (3, 0.027), (4, 0.183)] {
        let honest = Honest::new(10 - m);
        for size in [1e5, 1e6, 1e8_f32] {
            let step = honest.step(&mut *filter(m).start(), m, Collusion::Scattered, size);
            let moved = distance(&step, &honest.mean) / f64::from(size);
            assert!((moved / share - 1.0).abs() < 0.1, "{m} of 10 at {size:e} move it by {moved} of that");
        }
        assert_eq!(filter(m).clients_to_hold(m as u32), None);
    }
    for n in 5..=25_usize {
        for m in 1..n.div_ceil(2) {
            let honest = Honest::new(n - m);
            let longest = honest.rows.iter().map(|row| length(wide(row).into_iter())).fold(0.0, f64::max);
            let bounded = Defence { bound: Some(Radius::Median), ..filter(m) };
            assert!(bounded.can_hold(m as u32, n));
            for (how, size) in attacks() {
                let step = length(honest.step(&mut *bounded.start(), m, how, size).into_iter());
                assert!(step <= longest * (1.0 + 1e-6), "{m} of {n}, {how:?} at {size:e}: {step}, not {longest}");
            }
        }
    }
}
