//! Do samplers have the laws that they promise? Means, variances, whole distributions; and small errors, which must be
//! seen.

mod draws;

use foltr_rank::rng::{Stream, Streams};
use indicatif::ProgressBar;

use super::Expected::{self, Broken, Sound};
use super::epsilon::{self, Case};
use super::fit::{ERROR, Z_LIMIT, chi_square, chi_square_limit, ks_distance, ks_limit, z_of_mean, z_of_variance};
use super::mechanisms::{N_SURVIVORS, gaussian, half_of_the_shares, laplace, response, sampled_response};
use super::sampling::{Scratch, sample};
use super::{AuditBudget, Finding, Part, Verdict};

/// Cases beside a test have numbers of their own, from here on.
const BESIDE: u32 = 1000;

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
    /// A black-box audit of the same noise, which is told beside the test and not judged.
    pub beside: Option<Case>,
}

/// All tests, in the order of the table.
pub fn all() -> Vec<SamplerTest> {
    let (variance, share) = (draws::laplace_variance(), draws::laplace_variance() / f64::from(draws::N_SHARES));
    let of_laplace = || Law::Variance { variance, kurtosis: 6.0 };
    // The fourth moment of Gamma(a) - Gamma(a) is 12 a + 12 a^2, its variance 2 a: a kurtosis of 3 + 3/a.
    let of_share = || Law::Variance { variance: share, kurtosis: 3.0 + 3.0 * f64::from(draws::N_SHARES) };
    let of_normal = || Law::Variance { variance: 1.0, kurtosis: 3.0 };
    // Grid units: the exact sampler is slow where there are more of them.
    let wide = 20.0;
    let of_grid = || Law::Variance { variance: wide * wide, kurtosis: 3.0 };
    let mean = |variance| Law::Mean { mean: 0.0, variance };
    let shares = |factor| draws::total(laplace(factor), draws::N_SHARES);
    vec![
        test("sum of gamma shares", draws::laplace_law(), Sound, 1_000_000, shares(1.0)),
        test("sum of gamma shares", mean(variance), Sound, 500_000, shares(1.0)),
        test("sum of gamma shares", of_laplace(), Sound, 1_500_000, shares(1.0)),
        test("sum of gamma shares, 1 % too narrow", of_laplace(), Broken, 1_500_000, shares(0.99)),
        test("one gamma share", mean(share), Sound, 1_000_000, draws::gamma_share(1.0)),
        test("one gamma share", of_share(), Sound, 8_000_000, draws::gamma_share(1.0)),
        test("one gamma share, 1 % too narrow", of_share(), Broken, 8_000_000, draws::gamma_share(0.99)),
        test("Laplace noise of the mean", draws::laplace_law(), Sound, 1_000_000, draws::noise_of_mean(1.0)),
        test("Laplace noise of the mean", of_laplace(), Sound, 1_500_000, draws::noise_of_mean(1.0)),
        test("Laplace noise of the mean, 1 % too narrow", of_laplace(), Broken, 1_500_000, draws::noise_of_mean(0.99)),
        test("Gaussian noise of the sum", draws::normal_law(), Sound, 1_000_000, draws::total(gaussian(1.0), 2)),
        test("Gaussian noise of the sum", mean(1.0), Sound, 1_000_000, draws::total(gaussian(1.0), 2)),
        test("Gaussian noise of the sum", of_normal(), Sound, 1_000_000, draws::total(gaussian(1.0), 2)),
        test("Gaussian noise, 1 % too narrow", of_normal(), Broken, 1_000_000, draws::total(gaussian(0.99), 2)),
        test("one discrete Gaussian share", draws::grid_law(), Sound, 100_000, draws::on_the_grid()),
        test("one discrete Gaussian share", mean(wide * wide), Sound, 100_000, draws::grid_share(wide)),
        test("one discrete Gaussian share", of_grid(), Sound, 400_000, draws::grid_share(wide)),
        test("one discrete share, 1 % too narrow", of_grid(), Broken, 400_000, draws::grid_share(0.99 * wide)),
        test("sum of discrete Gaussian shares", of_normal(), Sound, 50_000, draws::survivors(1.0, N_SURVIVORS)),
        test("sum of discrete shares, half of them lost", of_normal(), Broken, 20_000, draws::survivors(1.0, 1))
            .beside(half_of_the_shares()),
        test("sign of Duchi's bit", draws::sign_law(), Sound, 1_000_000, draws::sign(draws::EPSILON)),
        test("sign of Duchi's bit, 2 % of epsilon off", draws::sign_law(), Broken, 3_000_000, draws::sign(2.04)),
        test("coordinate of Duchi's bit", draws::even_law(), Sound, 1_000_000, draws::coordinate()),
        test("PrivUnit's inner product", draws::cap_law(), Sound, 400_000, draws::inner_product(draws::EPSILON)),
        test(
            "PrivUnit's inner product, 10 % of epsilon off",
            draws::cap_law(),
            Broken,
            400_000,
            draws::inner_product(2.2),
        ),
        test("randomised response", draws::answer_law(), Sound, 1_000_000, draws::answer(response(0.5), 1)),
        test(
            "randomised response, 1 % more truth",
            draws::answer_law(),
            Broken,
            3_000_000,
            draws::answer(response(0.505), 1),
        ),
        test("sampled response", draws::answer_law(), Sound, 1_000_000, draws::answer(sampled_response(0.5), 8)),
    ]
}

fn test(sampler: &str, law: Law, expected: Expected, n_samples: usize, draw: Draw) -> SamplerTest {
    SamplerTest { mechanism: format!("{sampler}: {}", law.name()), law, expected, n_samples, draw, beside: None }
}

impl SamplerTest {
    fn beside(self, case: Case) -> Self {
        Self { beside: Some(case), ..self }
    }
}

impl Law {
    const fn name(&self) -> &'static str {
        match self {
            Self::Mean { .. } => "mean",
            Self::Variance { .. } => "variance",
            Self::Continuous(_) => "distribution",
            Self::Classes(_) => "frequencies",
        }
    }

    const fn unit(&self) -> &'static str {
        match self {
            Self::Mean { .. } | Self::Variance { .. } => "standard errors from the law: limit, found",
            Self::Continuous(_) => "Kolmogorov distance to the law: limit, found",
            Self::Classes(_) => "chi-square to the law: limit, found",
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
                // What is in no class counts as the last one, whose frequency then gives it away.
                let last = probabilities.len() - 1;
                sample.iter().for_each(|&class| counts[(class as usize).min(last)] += 1);
                (chi_square_limit(counts.len()), chi_square(&counts, probabilities))
            }
        }
    }
}

/// Samples and judges. `number` is the test's place in the audit: tests share no stream.
pub fn examine(test: &SamplerTest, streams: &Streams, number: u32, effort: AuditBudget, bar: &ProgressBar) -> Finding {
    let n = effort.of(test.n_samples);
    let (limit, distance) = test.law.examine(sample(n, streams, 2 * number, bar, &test.draw));
    let mut what = format!("a right sampler passes the limit with probability {ERROR:e}");
    if let Some(case) = &test.beside {
        let blind = epsilon::certify(case, streams, BESIDE + number, effort, &ProgressBar::hidden());
        let (claimed, bound) = (blind.claimed, blind.lower_bound);
        what += &format!("; the black-box audit alone certifies {bound:.2} of {claimed:.2} ({})", blind.unit);
    }
    Finding {
        mechanism: test.mechanism.clone(),
        claimed: limit,
        lower_bound: distance,
        expected: test.expected,
        verdict: Verdict::of(test.expected, limit, distance),
        part: Part::Sampler,
        what,
        unit: test.law.unit().into(),
        samples: n as u64,
    }
}
