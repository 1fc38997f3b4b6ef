//! Do samplers have the laws that they promise? Means, variances, whole distributions; and small errors, which must be
//! seen.

mod draws;

use foltr_rank::rng::{Stream, Streams};
use indicatif::ProgressBar;

use super::Expected::{self, Broken, Sound};
use super::epsilon::{self, Case};
use super::law::{ERROR, Law};
use super::mechanisms::{N_SURVIVORS, fpdgd, gaussian, half_of_the_shares, opened_with, response, sampled_response};
use super::sampling::{Scratch, sample};
use super::{AuditBudget, Finding, Part, Verdict};
use draws::{
    EPSILON, N_SHARES, answer, answer_law, cap_law, coordinate, even_law, gamma_share, grid_law, grid_share,
    inner_product, laplace_law, laplace_variance, noise_of_mean, normal_law, on_the_grid, sign, sign_law, total,
    total_of,
};

/// Cases beside a test have numbers of their own, from here on.
const BESIDE: u32 = 1000;

type Draw = Box<dyn Fn(&mut Stream, &mut Scratch) -> f64 + Send + Sync>;

pub(super) struct SamplerTest {
    pub(super) mechanism: String,
    law: Law,
    expected: Expected,
    pub(super) n_samples: usize,
    draw: Draw,
    /// A black-box audit of the same noise, reported with the test and not judged.
    beside: Option<Case>,
}

pub(super) fn all() -> Vec<SamplerTest> {
    let (variance, share) = (laplace_variance(), laplace_variance() / f64::from(N_SHARES));
    let of_laplace = || Law::Variance { variance, kurtosis: 6.0 };
    // The fourth moment of Gamma(a) - Gamma(a) is 12 a + 12 a^2, its variance 2 a: a kurtosis of 3 + 3/a.
    let of_share = || Law::Variance { variance: share, kurtosis: 3.0 + 3.0 * f64::from(N_SHARES) };
    let of_normal = || Law::Variance { variance: 1.0, kurtosis: 3.0 };
    // Grid units: the exact sampler is slow where there are more of them.
    let wide = 20.0;
    let of_grid = || Law::Variance { variance: wide * wide, kurtosis: 3.0 };
    let mean = |variance| Law::Mean { mean: 0.0, variance };
    let shares = |factor| total_of(fpdgd(factor), N_SHARES);
    let gaussian_sum = |noise_multiplier| total_of(gaussian(noise_multiplier, 1.0), 2);
    vec![
        test("sum of gamma shares", laplace_law(), Sound, 1_000_000, shares(1.0)),
        test("sum of gamma shares", mean(variance), Sound, 500_000, shares(1.0)),
        test("sum of gamma shares", of_laplace(), Sound, 1_500_000, shares(1.0)),
        test("sum of gamma shares, 1 % too narrow", of_laplace(), Broken, 1_500_000, shares(0.99)),
        test("one gamma share", mean(share), Sound, 1_000_000, gamma_share(1.0)),
        test("one gamma share", of_share(), Sound, 8_000_000, gamma_share(1.0)),
        test("one gamma share, 1 % too narrow", of_share(), Broken, 8_000_000, gamma_share(0.99)),
        test("Laplace noise of the mean", laplace_law(), Sound, 1_000_000, noise_of_mean(1.0)),
        test("Laplace noise of the mean", of_laplace(), Sound, 1_500_000, noise_of_mean(1.0)),
        test("Laplace noise of the mean, 1 % too narrow", of_laplace(), Broken, 1_500_000, noise_of_mean(0.99)),
        test("Gaussian noise of the sum", normal_law(), Sound, 1_000_000, gaussian_sum(1.0)),
        test("Gaussian noise of the sum", mean(1.0), Sound, 1_000_000, gaussian_sum(1.0)),
        test("Gaussian noise of the sum", of_normal(), Sound, 1_000_000, gaussian_sum(1.0)),
        test("Gaussian noise, 1 % too narrow", of_normal(), Broken, 1_000_000, gaussian_sum(0.99)),
        test("one discrete Gaussian share", grid_law(), Sound, 100_000, on_the_grid()),
        test("one discrete Gaussian share", mean(wide * wide), Sound, 100_000, grid_share(wide)),
        test("one discrete Gaussian share", of_grid(), Sound, 400_000, grid_share(wide)),
        test("one discrete share, 1 % too narrow", of_grid(), Broken, 400_000, grid_share(0.99 * wide)),
        test("sum of discrete Gaussian shares", of_normal(), Sound, 50_000, total(opened_with(N_SURVIVORS))),
        SamplerTest {
            beside: Some(half_of_the_shares()),
            ..test("sum of discrete shares, half of them lost", of_normal(), Broken, 20_000, total(opened_with(1)))
        },
        test("sign of Duchi's bit", sign_law(), Sound, 1_000_000, sign(EPSILON)),
        test("sign of Duchi's bit, 2 % of epsilon off", sign_law(), Broken, 3_000_000, sign(2.04)),
        test("coordinate of Duchi's bit", even_law(), Sound, 1_000_000, coordinate()),
        test("PrivUnit's inner product", cap_law(), Sound, 400_000, inner_product(EPSILON)),
        test("PrivUnit's inner product, 10 % of epsilon off", cap_law(), Broken, 400_000, inner_product(2.2)),
        test("randomised response", answer_law(), Sound, 1_000_000, answer(response(0.5), 1)),
        test("randomised response, 1 % more truth", answer_law(), Broken, 3_000_000, answer(response(0.505), 1)),
        test("sampled response", answer_law(), Sound, 1_000_000, answer(sampled_response(0.5), 8)),
    ]
}

fn test(sampler: &str, law: Law, expected: Expected, n_samples: usize, draw: Draw) -> SamplerTest {
    SamplerTest { mechanism: format!("{sampler}: {}", law.labels().0), law, expected, n_samples, draw, beside: None }
}

/// Samples and judges. `number` is the test's place in the audit: tests share no stream.
pub(super) fn examine(
    test: &SamplerTest,
    streams: &Streams,
    number: u32,
    budget: AuditBudget,
    bar: &ProgressBar,
) -> Finding {
    let n = budget.share_of(test.n_samples);
    let (limit, distance) = test.law.examine(sample(n, streams, 2 * number, bar, &test.draw));
    let mut what = format!("a right sampler passes the limit with probability {ERROR:e}");
    if let Some(case) = &test.beside {
        let blind = epsilon::certify(case, streams, BESIDE + number, budget, &ProgressBar::hidden());
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
        unit: test.law.labels().1.into(),
        samples: n as u64,
    }
}
