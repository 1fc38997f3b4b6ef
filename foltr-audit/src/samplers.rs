//! Do samplers have the laws that they promise? Means, variances, whole distributions; and small errors, which must be
//! seen. Noise of sums is that which `Coordinator::close` leaves in the model of a round of zeros.

mod laws;

use std::sync::Arc;

use foltr_federation::privacy::{CentralMode, DiscreteGaussian, LEVELS, NoiseShares, PrivUnit};
use foltr_federation::{LocalPrivacy, Mechanism, Payload, PayloadSemantics};
use foltr_rank::Update;
use foltr_rank::rng::Streams;
use indicatif::ProgressBar;

use super::Expected::{self, Broken, Sound};
use super::doubles::{Double, Fault};
use super::federation::{Federation, Run, Seen, sample};
use super::law::{ERROR, Law};
use super::mechanisms::{
    EPSILON, N_FEATURES, N_SURVIVORS, discrete_gaussian, duchi, epsilon_of, fpdgd, gaussian, response, reward_laplace,
    sampled_response,
};
use super::neighbours::{Local, direction};
use super::{AuditBudget, Measured, Row, Test};
use laws::{
    DUCHI_VALUE, GRID_DEVIATION, GRID_REACH, TRUTH, answer_law, cap_law, even_law, grid_law, laplace_law,
    laplace_variance, normal_law, scale, sign_law,
};

/// Clients whose gamma shares are added up.
const N_SHARES: u32 = 10;
/// Coordinates of a round of zeros, each of which is a sample.
const N_ZEROS: usize = 32;

/// All numbers that a round shows.
type Values = Box<dyn Fn(&Seen) -> Vec<f64> + Send + Sync>;

pub(super) struct SamplerTest {
    law: Law,
    federation: Federation,
    /// What each of the clients would send.
    clients: Vec<Local>,
    values: Values,
    /// What an error of the sampler is.
    error: &'static str,
    /// Rounds.
    n_rounds: usize,
}

impl SamplerTest {
    /// Samples and measures the distance. `number` is the test's place in the audit: tests share no stream.
    pub(super) fn measure(&self, streams: &Streams, number: u32, budget: AuditBudget, bar: &ProgressBar) -> Measured {
        let n = budget.share_of(self.n_rounds);
        let vectors: Vec<Vec<f32>> = self.clients.iter().map(|client| client.step(1.0)).collect();
        let updates: Vec<Update<'_>> =
            self.clients.iter().zip(&vectors).map(|(it, vector)| it.update(vector)).collect();
        let draw = |run: &mut Run, streams: &Streams, place| {
            (self.values)(&self.federation.round(run, streams, place, &updates))
        };
        let values = sample(n, &self.federation, streams, 2 * number, bar, draw);
        let samples = values.len() as u64;
        let (limit, distance) = self.law.examine(values);
        Measured {
            claimed: limit,
            lower_bound: distance,
            what: format!("a right sampler passes the limit with probability {ERROR:e}"),
            unit: self.law.labels().1.into(),
            samples,
        }
    }

    pub(super) fn n_samples(&self, budget: AuditBudget) -> usize {
        budget.share_of(self.n_rounds)
    }
}

/// A test whose sampler is so many times too narrow, or certain.
type Erring = fn(f64) -> SamplerTest;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name: &str, expected: Expected, error: f64, make: Erring| {
        let test = make(1.0);
        let name = format!("{name}: {}", test.law.labels().0);
        let test = (test.error, move |factor: f64| Test::Sampler(make(error * factor)));
        rows.push(Row { name, expected, error: test.0, test: Box::new(test.1) });
    };
    row("sum of gamma shares", Sound, 1.0, |x| shares(x, laplace_law(), 30_000));
    row("sum of gamma shares", Sound, 1.0, |x| shares(x, Law::centred(laplace_variance()), 15_000));
    row("sum of gamma shares", Sound, 1.0, |x| shares(x, of_laplace(), 50_000));
    row("sum of gamma shares, 1 % too narrow", Broken, 1.01, |x| shares(x, of_laplace(), 50_000));
    row("one gamma share", Sound, 1.0, |x| gamma_share(x, of_share(), 250_000));
    row("one gamma share, 1 % too narrow", Broken, 1.01, |x| gamma_share(x, of_share(), 400_000));
    row("Laplace noise drawn at closing", Sound, 1.0, |x| at_closing(x, laplace_law(), 30_000));
    row("Laplace noise drawn at closing", Sound, 1.0, |x| at_closing(x, of_laplace(), 50_000));
    row("Laplace noise drawn at closing, 1 % too narrow", Broken, 1.01, |x| at_closing(x, of_laplace(), 100_000));
    row("Gaussian noise of the sum", Sound, 1.0, |x| gaussian_sum(x, normal_law(), 30_000));
    row("Gaussian noise of the sum", Sound, 1.0, |x| gaussian_sum(x, Law::centred(1.0), 30_000));
    row("Gaussian noise of the sum", Sound, 1.0, |x| gaussian_sum(x, of_normal(), 40_000));
    row("Gaussian noise, 1 % too narrow", Broken, 1.01, |x| gaussian_sum(x, of_normal(), 40_000));
    row("one discrete Gaussian share", Sound, 1.0, |x| grid_share(GRID_DEVIATION * x, grid_law(), 4_000));
    row("one discrete Gaussian share", Sound, 1.0, |x| grid_share(WIDE / x, of_grid(), 6_000));
    row("one discrete share, 2 % too narrow", Broken, 1.02, |x| grid_share(WIDE / x, of_grid(), 12_000));
    row("sum of discrete Gaussian shares", Sound, 1.0, |x| discrete_sum(x, N_SURVIVORS));
    row("sum of discrete shares, half of them lost", Broken, 1.0, |x| discrete_sum(x, N_SURVIVORS / 2));
    row("sign of Duchi's bit", Sound, 1.0, |x| sign(EPSILON * x));
    row("sign of Duchi's bit, 2 % of epsilon off", Broken, 1.02, |x| sign(EPSILON * x));
    row("coordinate of Duchi's bit", Sound, 1.0, coordinate);
    row("PrivUnit's inner product", Sound, 1.0, |x| inner_product(EPSILON * x));
    row("PrivUnit's inner product, 10 % of epsilon off", Broken, 1.1, |x| inner_product(EPSILON * x));
    row("randomised response", Sound, 1.0, |x| answer(response(epsilon_of(TRUTH.1 * x)), 1, 1_000_000));
    row("randomised response, 1 % more truth", Broken, 1.01, |x| {
        answer(response(epsilon_of(TRUTH.1 * x)), 1, 3_000_000)
    });
    row("sampled response", Sound, 1.0, |x| answer(sampled_response(epsilon_of(TRUTH.1 * x)), 8, 1_000_000));
    row("Laplace noise of a reward", Sound, 1.0, |x| noisy_reward(x, 100_000));
    row("Laplace noise of a reward, 5 % too narrow", Broken, 1.05, |x| noisy_reward(x, 100_000));
    rows
}

/// In grid units: the exact sampler is slow where there are more of them.
const WIDE: f64 = 20.0;

fn of_laplace() -> Law {
    Law::Variance { variance: laplace_variance(), kurtosis: 6.0 }
}

/// The fourth moment of Gamma(a) - Gamma(a) is 12 a + 12 a^2, its variance 2 a: a kurtosis of 3 + 3/a.
fn of_share() -> Law {
    Law::Variance { variance: laplace_variance() / f64::from(N_SHARES), kurtosis: 3.0 + 3.0 * f64::from(N_SHARES) }
}

fn of_normal() -> Law {
    Law::Variance { variance: 1.0, kurtosis: 3.0 }
}

fn of_grid() -> Law {
    Law::Variance { variance: WIDE * WIDE, kurtosis: 3.0 }
}

/// The noise of rounds in which so many clients send zeros, of whom devices count on `n_expected`.
fn zeros(privacy: Mechanism, n_expected: u32, n_clients: u32, law: Law, n_rounds: usize) -> SamplerTest {
    SamplerTest {
        law,
        federation: Federation::new(privacy, N_ZEROS, n_expected),
        clients: vec![Local::Step(vec![0.0; N_ZEROS]); n_clients as usize],
        values: Box::new(|seen| seen.sum.clone()),
        error: "deviation /",
        n_rounds,
    }
}

fn shares(error: f64, law: Law, n_rounds: usize) -> SamplerTest {
    zeros(fpdgd(1.0 / error), N_SHARES, N_SHARES, law, n_rounds)
}

fn gamma_share(error: f64, law: Law, n_rounds: usize) -> SamplerTest {
    zeros(fpdgd(1.0 / error), N_SHARES, 1, law, n_rounds)
}

fn at_closing(error: f64, law: Law, n_rounds: usize) -> SamplerTest {
    let test = shares(error, law, n_rounds);
    SamplerTest { federation: Federation { noise_shares: NoiseShares::DrawnAtClosing, ..test.federation }, ..test }
}

fn gaussian_sum(error: f64, law: Law, n_rounds: usize) -> SamplerTest {
    zeros(gaussian(1.0 / error, 1.0, CentralMode::Sealed), 2, 2, law, n_rounds)
}

/// Shares for [`N_SURVIVORS`], of which so many arrive at a server that opens their sum all the same.
fn discrete_sum(error: f64, n_arrived: u32) -> SamplerTest {
    let test = zeros(discrete_gaussian(1.0 / error, 1.0, N_SURVIVORS), N_SURVIVORS, n_arrived, of_normal(), 1_500);
    let server = discrete_gaussian(1.0, 1.0, n_arrived);
    SamplerTest { federation: Federation { server: server.into(), ..test.federation }, ..test }
}

/// One share of this deviation, in grid units: by its value, where classes are asked for.
fn grid_share(deviation: f64, law: Law, n_rounds: usize) -> SamplerTest {
    let mechanism = DiscreteGaussian::new(1.0, deviation / f64::from(LEVELS), 1, 0).expect("two units wide");
    let by_value = matches!(law, Law::Classes(_));
    let value = move |sum: &f64| {
        let units = sum * f64::from(LEVELS);
        let class = || f64::from((units.round() as i32).clamp(-GRID_REACH, GRID_REACH) + GRID_REACH);
        if by_value { class() } else { units }
    };
    SamplerTest {
        values: Box::new(move |seen| seen.sum.iter().map(value).collect()),
        error: if by_value { "deviation x" } else { "deviation /" },
        ..zeros(Mechanism::DiscreteGaussian(mechanism), 1, 1, law, n_rounds)
    }
}

/// One message about this update.
fn message(
    privacy: impl Into<Arc<dyn LocalPrivacy>>,
    update: Vec<f64>,
    law: Law,
    n_rounds: usize,
    value: impl Fn(&[f32]) -> f64 + Send + Sync + 'static,
) -> SamplerTest {
    let values = move |seen: &Seen| match &seen.message {
        Some(Payload::Step { delta, .. }) => vec![value(delta)],
        _ => Vec::new(),
    };
    SamplerTest {
        law,
        federation: Federation::new(privacy, update.len(), 1),
        clients: vec![Local::Step(update)],
        values: Box::new(values),
        error: "epsilon x",
        n_rounds,
    }
}

fn sign(epsilon: f64) -> SamplerTest {
    let is_positive = |step: &[f32]| f64::from(u8::from(step.iter().sum::<f32>() > 0.0));
    message(duchi(epsilon, 1.0), vec![DUCHI_VALUE], sign_law(), 4_000_000, is_positive)
}

/// Coordinates of different sizes, which must not be seen in the choice.
fn coordinate(error: f64) -> SamplerTest {
    let of_bit = |step: &[f32]| step.iter().position(|&x| x != 0.0).unwrap_or(N_FEATURES) as f64;
    let choosy = Double::of(duchi(EPSILON, 1.0), Fault::PrefersLarge(1.0 - 1.0 / error));
    let test = message(choosy, direction(N_FEATURES), even_law(), 500_000, of_bit);
    SamplerTest { error: "blind choices /", ..test }
}

fn inner_product(epsilon: f64) -> SamplerTest {
    let mechanism = PrivUnit::new(epsilon, 1.0, N_FEATURES).expect("positive");
    let (along, norm) = (direction(N_FEATURES), mechanism.message_norm());
    let update = along.iter().map(|x| 3.0 * x).collect();
    let product =
        move |step: &[f32]| step.iter().zip(&along).map(|(&x, along)| f64::from(x) * along).sum::<f64>() / norm;
    message(Mechanism::PrivUnit(mechanism), update, cap_law(), 300_000, product)
}

/// Noise on no reward, in units in which its scale is that of FPDGD's noise.
fn noisy_reward(error: f64, n_rounds: usize) -> SamplerTest {
    // Rewards are up to 1: noise of scale 1/epsilon.
    let unit = scale() * EPSILON;
    let values = move |seen: &Seen| match seen.message {
        Some(Payload::Evolution { plus, .. }) => vec![f64::from(plus) * unit],
        _ => Vec::new(),
    };
    let test = answer(reward_laplace(EPSILON * error), 1, n_rounds);
    let clients = vec![Local::Outcomes { plus: vec![0], minus: Vec::new() }];
    SamplerTest { law: of_laplace(), clients, values: Box::new(values), error: "deviation /", ..test }
}

/// What is answered about so many interactions of which each had the same click.
fn answer(privacy: Mechanism, n_interactions: u32, n_rounds: usize) -> SamplerTest {
    // Rank r has the reward 1/r, no click has 0.
    let rank = |reward: f32| if reward > 0.0 { f64::from((1.0 / reward).round()) } else { 0.0 };
    let values = move |seen: &Seen| match seen.message {
        Some(Payload::Evolution { plus, .. }) => vec![rank(plus)],
        _ => Vec::new(),
    };
    SamplerTest {
        law: answer_law(),
        federation: Federation {
            rule: PayloadSemantics::Evolution { sigma: 0.1, antithetic: false },
            n_interactions,
            ..Federation::new(privacy, 1, 1)
        },
        clients: vec![Local::Outcomes { plus: vec![TRUTH.0; n_interactions as usize], minus: Vec::new() }],
        values: Box::new(values),
        error: "truth x",
        n_rounds,
    }
}
