//! Do samplers have the laws that they promise? Means, variances, whole distributions; and errors of one per cent, which
//! must be seen.

use foltr_federation::LocalPrivacy;
use foltr_federation::privacy::RandomisedResponse;
use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::rng::{Stream, Streams};
use indicatif::ProgressBar;

use super::Expected::{self, Broken, Sound};
use super::fit::{ERROR, Z_LIMIT, chi_square, chi_square_limit, ks_distance, ks_limit, z_of_mean, z_of_variance};
use super::mechanisms::{add_up, distributed_laplace, step_of, task};
use super::sampling::{Scratch, sample};
use super::{Effort, Finding, Part, Verdict};

/// One number of a sampler.
pub type Draw = Box<dyn Fn(&mut Stream, &mut Scratch) -> f64 + Send + Sync>;

/// What is tested about a law.
pub enum Law {
    /// Its mean, given its variance.
    Mean {
        /// Of the law.
        mean: f64,
        /// Of the law.
        variance: f64,
    },
    /// Its mean square, given its kurtosis.
    Variance {
        /// Of the law, about 0.
        variance: f64,
        /// Fourth moment over squared second moment.
        kurtosis: f64,
    },
    /// Its distribution function.
    Continuous(Box<dyn Fn(f64) -> f64 + Send + Sync>),
    /// Its probabilities; what is drawn is the index of a class.
    Classes(Vec<f64>),
}

/// A sampler, and what is tested about it.
pub struct SamplerTest {
    /// The sampler.
    pub mechanism: String,
    /// What is tested.
    pub law: Law,
    /// What is known about it.
    pub expected: Expected,
    /// Samples.
    pub n_samples: usize,
    /// Draws them.
    pub draw: Draw,
}

/// All tests, in the order of the table.
pub fn all() -> Vec<SamplerTest> {
    let mut tests = Vec::new();
    tests.extend(laplace_shares(1.0, Sound));
    tests.extend(laplace_shares(0.99, Broken).into_iter().filter(|test| matches!(test.law, Law::Variance { .. })));
    tests.extend([responses(0.5, 0.5, Sound), responses(0.505, 0.5, Broken)]);
    tests
}

/// Gamma shares of scale `factor` beside what they should be: their sum over ten clients is Laplace, and each alone has
/// a tenth of its variance.
fn laplace_shares(factor: f64, expected: Expected) -> Vec<SamplerTest> {
    let (mechanism, n_clients) = (distributed_laplace(3.0, 1.2 / factor), 10);
    let scale = distributed_laplace(3.0, 1.2).laplace_scale();
    let sum = move || -> Draw {
        let task = task(n_clients, 1, 1);
        Box::new(move |stream, scratch| {
            add_up(&mechanism, &[0.0], &task, stream, scratch);
            scratch.sum[0]
        })
    };
    let share = move || -> Draw {
        let task = task(n_clients, 1, 1);
        Box::new(move |stream, scratch| {
            let update = Update::Step { delta: &[0.0], n_interactions: 1 };
            mechanism.protect(update, &task, stream, &mut scratch.payload);
            f64::from(step_of(&scratch.payload)[0])
        })
    };
    let mean = move || -> Draw {
        Box::new(move |stream, scratch| {
            scratch.sum.clear();
            scratch.sum.push(0.0);
            mechanism.laplace_of_mean(n_clients, stream, &mut scratch.sum);
            scratch.sum[0] * f64::from(n_clients)
        })
    };
    let law = move |x: f64| {
        if x < 0.0 { (x / scale).exp() / 2.0 } else { 1.0 - (-x / scale).exp() / 2.0 }
    };
    let variance = 2.0 * scale * scale;
    // The fourth moment of Gamma(a) - Gamma(a) is 12 a + 12 a^2, its variance 2 a: a kurtosis of 3 + 3/a.
    let of_share = Law::Variance { variance: variance / 10.0, kurtosis: 33.0 };
    let of_sum = || Law::Variance { variance, kurtosis: 6.0 };
    [
        ("sum of ten gamma shares", Law::Continuous(Box::new(law)), 1_000_000, sum()),
        ("sum of ten gamma shares", Law::Mean { mean: 0.0, variance }, 1_000_000, sum()),
        ("sum of ten gamma shares", of_sum(), 1_000_000, sum()),
        ("one gamma share of ten", of_share, 6_000_000, share()),
        ("Laplace noise of the mean", Law::Continuous(Box::new(law)), 1_000_000, mean()),
        ("Laplace noise of the mean", of_sum(), 1_000_000, mean()),
    ]
    .into_iter()
    .map(|(name, law, n_samples, draw)| SamplerTest::new(name, law, expected, n_samples, draw))
    .collect()
}

/// Answers of randomised response to a click at the third rank, by outcome.
fn responses(p: f64, label: f64, expected: Expected) -> SamplerTest {
    let mechanism = RandomisedResponse::new(p, Reward::MaxRr, 10).expect("more than 1/11");
    let task = task(1, 1, 1);
    let draw: Draw = Box::new(move |stream, scratch| {
        mechanism.protect(Update::Evolution { seed: 0, plus: &[3], minus: &[] }, &task, stream, &mut scratch.payload);
        outcome_of(scratch)
    });
    let probability = |outcome| if outcome == 3 { label } else { (1.0 - label) / 10.0 };
    let law = Law::Classes((0..11).map(probability).collect());
    SamplerTest::new("randomised response", law, expected, 1_000_000, draw)
}

/// The outcome whose MaxRR was sent: rank r of reward 1/r, or 0.
fn outcome_of(scratch: &Scratch) -> f64 {
    match scratch.payload {
        foltr_federation::Payload::Evolution { plus, .. } if plus > 0.0 => f64::from((1.0 / plus).round()),
        _ => 0.0,
    }
}

impl SamplerTest {
    fn new(sampler: &str, law: Law, expected: Expected, n_samples: usize, draw: Draw) -> Self {
        let wrong = if expected == Broken { ", 1 % wrong" } else { "" };
        let mechanism = format!("{sampler}, {}{wrong}", law.name());
        Self { mechanism, law, expected, n_samples, draw }
    }
}

impl Law {
    const fn name(&self) -> &'static str {
        match self {
            Self::Mean { .. } => "mean",
            Self::Variance { .. } => "variance",
            Self::Continuous(_) => "law",
            Self::Classes(_) => "frequencies",
        }
    }

    const fn unit(&self) -> &'static str {
        match self {
            Self::Mean { .. } | Self::Variance { .. } => "standard errors from the law",
            Self::Continuous(_) => "Kolmogorov distance to the law",
            Self::Classes(_) => "chi-square to the law",
        }
    }

    /// The limit for this many samples, and the distance found.
    fn examine(&self, sample: Vec<f64>) -> (f64, f64) {
        match self {
            Self::Mean { mean, variance } => (Z_LIMIT, z_of_mean(&sample, *mean, *variance).abs()),
            Self::Variance { variance, kurtosis } => (Z_LIMIT, z_of_variance(&sample, *variance, *kurtosis).abs()),
            Self::Continuous(law) => (ks_limit(sample.len()), ks_distance(sample, law)),
            Self::Classes(probabilities) => {
                let mut counts = vec![0; probabilities.len()];
                sample.iter().for_each(|&class| counts[class as usize] += 1);
                (chi_square_limit(counts.len()), chi_square(&counts, probabilities))
            }
        }
    }
}

/// Samples and judges. `number` is the test's place in the audit: tests share no stream.
pub fn examine(test: &SamplerTest, streams: &Streams, number: u32, effort: Effort, bar: &ProgressBar) -> Finding {
    let n = effort.of(test.n_samples);
    let (limit, distance) = test.law.examine(sample(n, streams, 2 * number, bar, &test.draw));
    Finding {
        mechanism: test.mechanism.clone(),
        claimed: limit,
        lower_bound: distance,
        expected: test.expected,
        verdict: Verdict::of(test.expected, limit, distance),
        part: Part::Sampler,
        what: format!("a right sampler passes the limit with probability {ERROR:e}"),
        unit: test.law.unit().into(),
        samples: n as u64,
    }
}
