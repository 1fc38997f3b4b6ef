//! Every mode that can be deployed. Tests of other crates include this file.

use foltr_federation::aggregate::TrimmedMean;
use foltr_federation::asynchronous::Buffered;
use foltr_federation::privacy::{
    AdaptiveClip, CentralDiscreteGaussianParameters, Clip, DuchiParameters, Privacy, ResponseParameters,
    RewardLaplaceParameters, SampledResponseParameters,
};
use foltr_federation::{
    Aggregation, Asynchrony, Defence, FederationPlan, Participation, ServerOptimiser, Staleness, WorkerMomentum,
};
use foltr_rank::interleave::Interleaving;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::learn::{DbgdParameters, EvolutionParameters, MgdParameters, PdgdParameters};
use foltr_rank::personal::{Additive, Personalisation};
use foltr_rank::{Activation, EvolutionStream, Initialisation, Learner, RankerShape};
use foltr_simulation::pace::Stragglers;

const LINEAR: RankerShape = RankerShape::Linear { initialisation: Initialisation::Zero };
const NETWORK: RankerShape =
    RankerShape::Mlp { hidden: 10, activation: Activation::Logistic, initialisation: Initialisation::Zero };
const PDGD: PdgdParameters =
    PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
const DBGD: DbgdParameters =
    DbgdParameters { learning_rate: 0.1, exploration: 1.0, interleaving: Interleaving::Probabilistic };
const MGD: MgdParameters =
    MgdParameters { learning_rate: 0.1, exploration: 1.0, candidates: 4, interleaving: Interleaving::TeamDraft };
const EVOLUTION: EvolutionParameters =
    EvolutionParameters { sigma: 0.1, antithetic: true, reward: Reward::ClickDcg, stream: EvolutionStream::Separate };
const ADAM: ServerOptimiser = ServerOptimiser::Adam { rate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
pub const SLOW: Stragglers = Stragglers { share: 0.34, slowdown: 3.0, jitter: 0.2 };

fn plan(learner: Learner, ranker: RankerShape, n_clients: usize) -> FederationPlan {
    FederationPlan::averaging(learner, ranker, n_clients, 4, 20)
}

pub fn pdgd(n_clients: usize) -> FederationPlan {
    plan(Learner::Pdgd(PDGD), LINEAR, n_clients)
}

pub fn evolution(n_clients: usize) -> FederationPlan {
    FederationPlan { optimiser: Some(ADAM), ..plan(Learner::Evolution(EVOLUTION), LINEAR, n_clients) }
}

fn private(privacy: Privacy, plan: FederationPlan) -> FederationPlan {
    FederationPlan { privacy, ..plan }
}

fn central(clip: Clip) -> Privacy {
    let noise_multiplier = Some(0.5);
    Privacy::CentralDiscreteGaussian(CentralDiscreteGaussianParameters {
        clip,
        noise_multiplier,
        epsilon: None,
        delta: None,
    })
}

fn response() -> ResponseParameters {
    ResponseParameters { probability: Some(0.9), whole_run: None }
}

pub fn stale(plan: FederationPlan) -> FederationPlan {
    FederationPlan { staleness: Some(Staleness { most: 3, exponent: 0.7 }), ..plan }
}

pub fn trimmed() -> Defence {
    let rule = Aggregation::TrimmedMean(TrimmedMean { attackers: 1 });
    let momentum = Some(WorkerMomentum::Growing { share: 0.5, least: 0.2, most: 0.9 });
    Defence { mixing: Some(1), momentum, ..Defence::of_rule(rule) }
}

const NOISY_REWARDS: Privacy = Privacy::RewardLaplace(RewardLaplaceParameters { epsilon: Some(6.0), whole_run: None });

/// Every mode, by name, for so many devices.
pub fn modes(n: usize) -> Vec<(&'static str, FederationPlan)> {
    let accumulated = PdgdParameters { updates: Updates::Accumulated, ..PDGD };
    let proximal = PdgdParameters { proximal: Some(0.5), ..PDGD };
    let bounded = PdgdParameters { max_displacement: Some(2), ..PDGD };
    let single = EvolutionParameters { antithetic: false, ..EVOLUTION };
    let duchi = DuchiParameters { epsilon: Some(4.0), bound: 0.05, whole_run: None };
    let adaptive = AdaptiveClip { initial: 0.2, quantile: 0.5, rate: 0.3, count_noise: 1.0 };
    let sampled = Privacy::SampledResponse(SampledResponseParameters(response()));
    let personal =
        |ranker, method| FederationPlan { personalisation: Some(method), ..plan(Learner::Pdgd(PDGD), ranker, n) };
    let max_rr = EvolutionParameters { reward: Reward::MaxRr, ..EVOLUTION };
    let mut modes = vec![
        ("PDGD", pdgd(n)),
        ("PDGD, accumulated", plan(Learner::Pdgd(accumulated), LINEAR, n)),
        ("PDGD, bounded displacement", plan(Learner::Pdgd(bounded), LINEAR, n)),
        ("PDGD, proximal", plan(Learner::Pdgd(proximal), LINEAR, n)),
        ("DBGD", plan(Learner::Dbgd(DBGD), LINEAR, n)),
        ("neural MGD", plan(Learner::Mgd(MGD), NETWORK, n)),
        ("PDGD, mean of the last models", FederationPlan { average_last: Some(0.9), ..pdgd(n) }),
        ("PDGD, a cohort", FederationPlan { participation: Participation::Sample(n as u32 - 1), ..pdgd(n) }),
        (
            "central discrete Gaussian, a cohort",
            FederationPlan { participation: Participation::Sample(2), ..private(central(Clip::Fixed(0.2)), pdgd(n)) },
        ),
        ("PDGD in shards", FederationPlan { shards: Some(2), average_last: Some(0.9), ..pdgd(n) }),
        ("FOLtR-ES in shards", FederationPlan { shards: Some(3), ..evolution(n) }),
        ("neural PDGD", plan(Learner::Pdgd(PDGD), NETWORK, n)),
        ("neural PDGD, accumulated", plan(Learner::Pdgd(accumulated), NETWORK, n)),
        ("FOLtR-ES", evolution(n)),
        ("FOLtR-ES, one side", FederationPlan { learner: Learner::Evolution(single), ..evolution(n) }),
        (
            "randomised response",
            FederationPlan {
                learner: Learner::Evolution(max_rr),
                ..private(Privacy::RandomisedResponse(response()), evolution(n))
            },
        ),
        ("sampled response", FederationPlan { learner: Learner::Evolution(max_rr), ..private(sampled, evolution(n)) }),
        ("Laplace noise on rewards", private(NOISY_REWARDS, evolution(n))),
        ("central discrete Gaussian", private(central(Clip::Fixed(0.2)), pdgd(n))),
        ("central discrete Gaussian, adaptive norm", private(central(Clip::Adaptive(adaptive)), pdgd(n))),
        ("Duchi", private(Privacy::Duchi(duchi), pdgd(n))),
        ("momentum, mixing, trimmed mean", FederationPlan { defence: Some(trimmed()), ..pdgd(n) }),
        (
            "trimmed mean of evolution",
            FederationPlan { defence: Some(Defence { momentum: None, ..trimmed() }), ..evolution(n) },
        ),
    ];
    if n > 10 {
        modes.push(("defended shards", FederationPlan { defence: Some(trimmed()), shards: Some(3), ..pdgd(n) }));
    }
    for method in Personalisation::examples() {
        let method = match method {
            Personalisation::Additive(additive) => Personalisation::Additive(Additive { n_clusters: 1, ..additive }),
            other => other,
        };
        // Without clusters, and something is sent.
        if method.n_clusters() == 0 && !matches!(method, Personalisation::LocalOnly(_)) {
            modes.push(("a personal network", personal(NETWORK, method)));
            if !matches!(method, Personalisation::FedPer(_)) {
                modes.push(("a personal linear ranker", personal(LINEAR, method)));
            }
        }
    }
    modes
}

/// Modes whose messages may start from older releases.
pub fn stale_modes(n: usize) -> Vec<(&'static str, FederationPlan)> {
    let adaptive = AdaptiveClip { initial: 0.2, quantile: 0.5, rate: 0.3, count_noise: 1.0 };
    let duchi = DuchiParameters { epsilon: Some(4.0), bound: 0.05, whole_run: None };
    let max_rr = EvolutionParameters { reward: Reward::MaxRr, ..EVOLUTION };
    let sampled = Privacy::SampledResponse(SampledResponseParameters(response()));
    let answers = |privacy| FederationPlan { learner: Learner::Evolution(max_rr), ..private(privacy, evolution(n)) };
    let modes = [
        ("PDGD", pdgd(n)),
        ("neural PDGD", plan(Learner::Pdgd(PDGD), NETWORK, n)),
        ("FOLtR-ES", evolution(n)),
        ("central", private(central(Clip::Adaptive(adaptive)), pdgd(n))),
        ("Duchi", private(Privacy::Duchi(duchi), pdgd(n))),
        ("randomised response", answers(Privacy::RandomisedResponse(response()))),
        ("sampled response", answers(sampled)),
        ("Laplace noise on rewards", answers(NOISY_REWARDS)),
    ];
    modes.into_iter().map(|(name, plan)| (name, stale(plan))).collect()
}

/// Plans without rounds.
pub fn asynchronous_plans(n: usize, buffered: Buffered) -> Vec<FederationPlan> {
    let plans = [pdgd(n), evolution(n), plan(Learner::Pdgd(PDGD), NETWORK, n)];
    let asynchrony = Some(Asynchrony::Buffered(buffered));
    plans.into_iter().map(|plan| FederationPlan { asynchrony, ..plan }).collect()
}

pub const BUFFERED: Buffered = Buffered { buffer: 2, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 4 };
