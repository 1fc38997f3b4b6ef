//! Which labels are audited from samples: every mechanism in every mode, with everyone in every round, a cohort of fixed
//! size, coins, and lost messages.
//!
//! Labels are those of the accountant for what the federation does (`label.rs`). A row can be made with an error: then the
//! mechanism hides so much less than its label says.

use foltr_federation::accountant::{Guarantee, PrivacyCost};
use foltr_federation::privacy::{CentralMode, Clip, NoiseShares};
use foltr_federation::{Kind, Mechanism, Participation, PayloadSemantics};

use super::epsilon::Case;
use super::federation::Federation;
use super::label::{self, Observer};
use super::mechanisms::{
    EPSILON, N_FEATURES, N_SURVIVORS, adaptive, central_discrete, central_discrete_adaptive, discrete_gaussian, duchi,
    epsilon_of, fpdgd, gaussian, priv_unit, response, reward_laplace, sampled_response,
};
use super::neighbours::{Local, Neighbours, TOO_LONG, direction};
use super::statistic::{AdaptiveNorm, Statistic};
use super::{Row, Test};
use foltr_federation::privacy::Adjacency;

/// Parameters of the models of central mechanisms.
pub(super) const N_PARAMS: usize = 5;
/// Clients of a federation, and how many are drawn for a cohort.
const N_CLIENTS: u32 = 4;
const COHORT: u32 = 3;
/// Probabilities that a coin says yes, and that a message is lost.
const COIN: f64 = 0.5;
const LOSS: f64 = 0.25;
/// What other clients send, in clip norms, where it is certain who comes.
const OTHERS: f64 = 0.3;

/// How rounds take place, and who looks.
#[derive(Clone, Copy)]
pub(super) struct Scenario {
    pub(super) n_params: usize,
    pub(super) n_interactions: u32,
    /// Whether the mirrored perturbation is tried, too.
    pub(super) is_mirrored: bool,
    pub(super) n_clients: u32,
    pub(super) participation: Participation,
    pub(super) dropout: f64,
    pub(super) noise_shares: NoiseShares,
    pub(super) observer: Observer,
    pub(super) n_rounds: u32,
    pub(super) n_samples: usize,
}

/// One round in which everyone takes part.
pub(super) const EVERYONE: Scenario = Scenario {
    n_params: N_PARAMS,
    n_interactions: 1,
    is_mirrored: false,
    n_clients: N_CLIENTS,
    participation: Participation::Everyone,
    dropout: 0.0,
    noise_shares: NoiseShares::InMessages,
    observer: Observer::OfModels,
    n_rounds: 1,
    n_samples: 300_000,
};
pub(super) const SAMPLE: Scenario = Scenario { participation: Participation::Sample(COHORT), ..EVERYONE };
pub(super) const COINS: Scenario = Scenario { participation: Participation::PoissonSampling(COIN), ..EVERYONE };
pub(super) const COINS_SEEN: Scenario = Scenario { observer: Observer::OfParticipants, ..COINS };
const LOSSES: Scenario = Scenario { dropout: LOSS, ..EVERYONE };
const WAYS: [(&str, Scenario); 4] = [("everyone", EVERYONE), ("cohort", SAMPLE), ("coins", COINS), ("losses", LOSSES)];
/// Sums of shares of noise, and of a mechanism whose exact noise takes its time.
pub(super) const SHARES: Scenario = Scenario { n_clients: N_SURVIVORS, n_samples: 12_000, ..EVERYONE };
/// Ten clients with shares of Laplace noise.
pub(super) const LAPLACE: Scenario = Scenario { n_params: 4, n_clients: 10, n_samples: 200_000, ..EVERYONE };
/// One client beside the one in question: what a server reads of its messages.
pub(super) const MESSAGE: Scenario = Scenario { n_params: N_FEATURES, n_clients: 2, n_samples: 200_000, ..EVERYONE };
pub(super) const REWARDS: Scenario = Scenario { n_params: 1, ..MESSAGE };

/// A mechanism that hides so many times less than it should, or as much as it should at 1.
type Erring = Box<dyn Fn(f64) -> Mechanism + Send + Sync>;

fn row(name: impl Into<String>, error: &'static str, mechanism: Erring, scenario: Scenario) -> Row {
    Row::sound(name.into(), error, move |factor| Test::Epsilon(case(&mechanism(1.0), mechanism(factor), scenario)))
}

/// Noise of so many clip norms, by factors too small.
fn noise_of(noise_multiplier: f64, mode: CentralMode) -> Erring {
    Box::new(move |x| gaussian(noise_multiplier / x, 1.0, mode))
}

pub(super) fn rows() -> Vec<Row> {
    let replayed = |x| Test::Epsilon(replay(x, 1));
    let replayed = Row::sound("Gaussian, replay without the client".into(), "noise /", replayed);
    [gaussian_rows(), vec![replayed], share_rows(), local_rows()].into_iter().flatten().collect()
}

fn gaussian_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (mode, central) in [("clear", CentralMode::Clear), ("sealed", CentralMode::Sealed)] {
        for (way, scenario) in WAYS {
            // Where a place is taken by another client, the sum moves twice as far.
            let noise = if way == "cohort" { 2.0 } else { 1.0 };
            let several = Scenario { n_rounds: 3, n_samples: 120_000, ..scenario };
            let moving: Erring = Box::new(move |x| adaptive(2.0 * noise / x, noise / x, central));
            rows.push(row(format!("Gaussian, {mode}, {way}"), "noise /", noise_of(noise, central), scenario));
            rows.push(row(format!("Gaussian, {mode}, {way}, adaptive norm, 3 rounds"), "noise /", moving, several));
        }
        rows.push(row(format!("Gaussian, {mode}, coins seen"), "noise /", noise_of(1.0, central), COINS_SEEN));
    }
    for (way, scenario) in [("everyone", EVERYONE), ("cohort", SAMPLE), ("losses", LOSSES)] {
        let noise = if way == "cohort" { 2.0 } else { 1.0 };
        let scenario = Scenario { n_samples: SHARES.n_samples, ..scenario };
        let discrete: Erring = Box::new(move |x| central_discrete(noise / x, 1.0));
        rows.push(row(format!("central discrete Gaussian, {way}"), "noise /", discrete, scenario));
    }
    let moving: Erring = Box::new(|x| central_discrete_adaptive(2.0 / x, 16.0 / x));
    let several = Scenario { n_rounds: 3, n_samples: SHARES.n_samples, ..EVERYONE };
    rows.push(row("central discrete Gaussian, everyone, adaptive norm, 3 rounds", "noise /", moving, several));
    let ten = Scenario { n_rounds: 10, n_samples: 60_000, ..EVERYONE };
    rows.push(row("Gaussian, clear, everyone, ten rounds", "noise /", noise_of(3.0, CentralMode::Clear), ten));
    rows
}

fn share_rows() -> Vec<Row> {
    let discrete = || -> Erring { Box::new(|x| discrete_gaussian(1.0 / x, 1.0, N_SURVIVORS)) };
    let laplace = || -> Erring { Box::new(|x| fpdgd(1.0 / x)) };
    let (noise_shares, few) = (NoiseShares::DrawnAtClosing, Participation::Sample(8));
    let mut rows = vec![
        row("discrete Gaussian, d = 1", "noise /", discrete(), Scenario { n_params: 1, ..SHARES }),
        row("discrete Gaussian, d = 5", "noise /", discrete(), Scenario { n_samples: 6_000, ..SHARES }),
        row("distributed Laplace, d = 1", "noise /", laplace(), Scenario { n_params: 1, ..LAPLACE }),
        row("distributed Laplace, d = 4", "noise /", laplace(), LAPLACE),
        row("distributed Laplace, cohort", "noise /", laplace(), Scenario { participation: few, ..LAPLACE }),
        row("distributed Laplace, drawn at closing", "noise /", laplace(), Scenario { noise_shares, ..LAPLACE }),
    ];
    for (way, scenario) in WAYS {
        // With more than the least number of survivors there is more noise than the label needs.
        let n_clients = if way == "everyone" { N_SURVIVORS } else { N_CLIENTS };
        let scenario = Scenario { noise_shares, n_samples: SHARES.n_samples, n_clients, ..scenario };
        rows.push(row(format!("discrete Gaussian, {way}, drawn at closing"), "noise /", discrete(), scenario));
    }
    rows
}

fn local_rows() -> Vec<Row> {
    let of_two = |scenario: Scenario, base: Scenario| {
        let participation = match scenario.participation {
            Participation::Sample(_) => Participation::Sample(1),
            other => other,
        };
        Scenario { participation, dropout: scenario.dropout, ..base }
    };
    let of = |n_interactions, is_mirrored| Scenario { n_interactions, is_mirrored, ..REWARDS };
    let answers = |truth: f64| -> Erring { Box::new(move |x| response(x * epsilon_of(truth))) };
    let sampled = || -> Erring { Box::new(|x| sampled_response(x * epsilon_of(0.5))) };
    let mut rows = Vec::new();
    for (way, scenario) in WAYS {
        let mut local = |name: &str, mechanism: Erring, base: Scenario| {
            rows.push(row(format!("{name}, {way}"), "epsilon x", mechanism, of_two(scenario, base)));
        };
        local("Duchi", Box::new(|x| duchi(EPSILON * x, 1.0)), MESSAGE);
        local("PrivUnit", Box::new(|x| priv_unit(EPSILON * x, 1.0, N_FEATURES)), MESSAGE);
        local("randomised response, p = 0.5", answers(0.5), REWARDS);
        local("sampled response, message of 8", sampled(), of(8, false));
    }
    rows.push(row("randomised response, p = 0.25", "epsilon x", answers(0.25), of(1, false)));
    rows.push(row("randomised response, p = 0.9", "epsilon x", answers(0.9), of(1, false)));
    rows.push(row("randomised response, message of 2", "epsilon x", answers(0.5), of(2, false)));
    rows.push(row("randomised response, mirrored", "epsilon x", answers(0.25), of(2, true)));
    rows.push(row("sampled response, mirrored", "epsilon x", sampled(), of(8, true)));
    for (name, is_mirrored) in [("message of 8", false), ("mirrored", true)] {
        let noisy: Erring = Box::new(|x| reward_laplace(x * EPSILON));
        rows.push(row(format!("Laplace on rewards, {name}"), "epsilon x", noisy, noisy_rewards(is_mirrored)));
    }
    rows
}

/// Eight interactions behind a message with exact noise, which takes its time.
pub(super) fn noisy_rewards(is_mirrored: bool) -> Scenario {
    Scenario { n_interactions: 8, is_mirrored, n_samples: 60_000, ..REWARDS }
}

/// `real` under the label of `sound`.
pub(super) fn case(sound: &Mechanism, real: Mechanism, scenario: Scenario) -> Case {
    let federation = federation(sound.clone(), scenario);
    let (adjacency, cost) = label::cost(&federation, scenario.observer);
    let (neighbours, clip) = neighbours(&real, adjacency, scenario);
    Case {
        statistic: statistic(&real, adjacency, &neighbours, scenario),
        federation: self::federation(real, scenario),
        rounds: vec![neighbours; scenario.n_rounds as usize],
        // Against those who see no coins, being heard is a part of what is random.
        is_heard: !matches!(cost, PrivacyCost::Subsampled { .. }),
        clip,
        labels: label::after(cost, scenario.n_rounds),
        n_samples: scenario.n_samples,
    }
}

fn federation(mechanism: Mechanism, scenario: Scenario) -> Federation {
    let antithetic = scenario.is_mirrored;
    let sends_rewards = mechanism.accepts(Kind::Evolution) && !mechanism.accepts(Kind::Step);
    Federation {
        rule: if sends_rewards {
            PayloadSemantics::Evolution { sigma: 0.1, antithetic }
        } else {
            PayloadSemantics::Averaging
        },
        n_interactions: scenario.n_interactions,
        participation: scenario.participation,
        dropout: scenario.dropout,
        noise_shares: scenario.noise_shares,
        ..Federation::new(mechanism, scenario.n_params, scenario.n_clients)
    }
}

/// The inputs, and the unit of their steps.
fn neighbours(mechanism: &Mechanism, adjacency: Adjacency, scenario: Scenario) -> (Neighbours, f64) {
    let is_certain = scenario.participation == Participation::Everyone && scenario.dropout == 0.0;
    let (d, n_others) = (scenario.n_params, scenario.n_clients as usize - 1);
    let others = if is_certain { OTHERS } else { 0.0 };
    match mechanism {
        Mechanism::RandomisedResponse(_) | Mechanism::SampledResponse(_) => {
            (Neighbours { n_others, ..Neighbours::outcomes(scenario.n_interactions, scenario.is_mirrored) }, 1.0)
        }
        Mechanism::RewardLaplace(_) => {
            (Neighbours { n_others, ..Neighbours::opposite(scenario.n_interactions, scenario.is_mirrored) }, 1.0)
        }
        // The learner clips.
        Mechanism::DistributedLaplace(laplace) => {
            (Neighbours::steps(adjacency, d, 1.0, others, n_others), laplace.radius())
        }
        Mechanism::DiscreteGaussian(discrete) => {
            (Neighbours::steps(adjacency, d, TOO_LONG, others, n_others), discrete.clip())
        }
        Mechanism::CentralDiscreteGaussian(discrete) => {
            (Neighbours::steps(adjacency, d, TOO_LONG, others, n_others), discrete.clip().initial())
        }
        Mechanism::Gaussian(gaussian) => {
            (Neighbours::steps(adjacency, d, TOO_LONG, others, n_others), gaussian.clip().initial())
        }
        // Beyond the bound in every coordinate.
        _ => (Neighbours::steps(adjacency, d, TOO_LONG * (d as f64).sqrt(), others, n_others), 1.0),
    }
}

fn statistic(mechanism: &Mechanism, adjacency: Adjacency, neighbours: &Neighbours, scenario: Scenario) -> Statistic {
    let along = neighbours.difference();
    let central = |clip: Clip, noise_multiplier: f64| match clip {
        Clip::Fixed(_) => Statistic::Projection { along: along.clone() },
        Clip::Adaptive(clip) => Statistic::Adaptive(AdaptiveNorm {
            along: direction(scenario.n_params),
            noise_multiplier,
            clip,
            // A long update is not within the norm and takes 1/2 from the balance; a short one, zero included, adds 1/2.
            moves: match adjacency {
                Adjacency::Replaced => (2.0, -1.0),
                Adjacency::Zeroed => (1.0, -1.0),
                _ => (1.0, -0.5),
            },
            divisor: scenario.participation.expected(scenario.n_clients),
        }),
    };
    match mechanism {
        Mechanism::RandomisedResponse(_) | Mechanism::SampledResponse(_) => Statistic::Rewards,
        Mechanism::RewardLaplace(_) => Statistic::Reward,
        Mechanism::Duchi(_) => Statistic::Bit,
        Mechanism::PrivUnit(_) | Mechanism::Unprotected(_) => Statistic::Message { along },
        Mechanism::DistributedLaplace(laplace) => {
            Statistic::LaplaceLoss { sums: sums(neighbours, laplace.radius()), scale: laplace.laplace_scale() }
        }
        Mechanism::DiscreteGaussian(_) => Statistic::Projection { along },
        Mechanism::Gaussian(gaussian) => central(gaussian.clip(), gaussian.noise_multiplier()),
        Mechanism::CentralDiscreteGaussian(gaussian) => central(gaussian.clip(), gaussian.noise_multiplier()),
    }
}

/// The sum without its noise on both inputs, where everyone's update is in it.
fn sums(neighbours: &Neighbours, clip: f64) -> [Vec<f64>; 2] {
    let Local::Step(others) = &neighbours.others else { unreachable!("steps") };
    [0, 1].map(|input| {
        let Some(Local::Step(own)) = &neighbours.target[input] else { unreachable!("a step") };
        own.iter().zip(others).map(|(own, other)| clip * (own + other * neighbours.n_others as f64)).collect()
    })
}

/// A round with the client in question, and again without it: what a replay publishes after it has left. The label is
/// that of the one round in which it was.
pub(super) fn replay(error: f64, repeats_noise: u32) -> Case {
    let once = case(&gaussian(1.0, 1.0, CentralMode::Clear), gaussian(1.0 / error, 1.0, CentralMode::Clear), EVERYONE);
    let with = once.rounds[0].clone();
    let without = Neighbours { target: [None, None], ..with.clone() };
    Case {
        statistic: Statistic::Difference { along: with.difference() },
        federation: Federation { repeats_noise, ..once.federation },
        rounds: vec![with, without],
        ..once
    }
}

/// The label of a mechanism in one round.
pub(super) fn label_of(mechanism: &Mechanism, scenario: Scenario) -> Vec<Guarantee> {
    label::after(label::cost(&federation(mechanism.clone(), scenario), scenario.observer).1, 1)
}
