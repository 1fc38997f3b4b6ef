//! Every mode that can be deployed.

use foltr_federation::aggregate::TrimmedMean;
use foltr_federation::asynchronous::Buffered;
use foltr_federation::privacy::{
    AdaptiveClip, CentralDiscreteGaussianParameters, Clip, DuchiParameters, Privacy, ResponseParameters,
    SampledResponseParameters,
};
use foltr_federation::{
    Aggregation, Asynchrony, Defence, FederationPlan, Participation, ServerOptimiser, Staleness, WorkerMomentum,
};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::learn::{EvolutionParameters, PdgdParameters};
use foltr_rank::personal::{Additive, Personalisation};
use foltr_rank::{Activation, EvolutionStream, Initialisation, Learner, RankerShape};
use foltr_simulation::pace::Stragglers;

use super::{Fault, WORLD, World, assert_equal, assert_equal_without_rounds, first_difference};

const LINEAR: RankerShape = RankerShape::Linear { initialisation: Initialisation::Zero };
const NETWORK: RankerShape =
    RankerShape::Mlp { hidden: 10, activation: Activation::Logistic, initialisation: Initialisation::Zero };
const PDGD: PdgdParameters = PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None };
const EVOLUTION: EvolutionParameters =
    EvolutionParameters { sigma: 0.1, antithetic: true, reward: Reward::ClickDcg, stream: EvolutionStream::Separate };
const ADAM: ServerOptimiser = ServerOptimiser::Adam { rate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
const SLOW: Stragglers = Stragglers { share: 0.34, slowdown: 3.0, jitter: 0.2 };

fn plan(learner: Learner, ranker: RankerShape, n_clients: usize) -> FederationPlan {
    FederationPlan::averaging(learner, ranker, n_clients, 4, 20)
}

fn pdgd(n_clients: usize) -> FederationPlan {
    plan(Learner::Pdgd(PDGD), LINEAR, n_clients)
}

fn evolution(n_clients: usize) -> FederationPlan {
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

fn stale(plan: FederationPlan) -> FederationPlan {
    FederationPlan { staleness: Some(Staleness { most: 3, exponent: 0.7 }), ..plan }
}

fn trimmed() -> Defence {
    let rule = Aggregation::TrimmedMean(TrimmedMean { attackers: 1 });
    let momentum = Some(WorkerMomentum::Growing { share: 0.5, least: 0.2, most: 0.9 });
    Defence { mixing: Some(1), momentum, ..Defence::of_rule(rule) }
}

/// Every mode, by name, for so many devices.
fn modes(n: usize) -> Vec<(&'static str, FederationPlan)> {
    let accumulated = PdgdParameters { updates: Updates::Accumulated, ..PDGD };
    let proximal = PdgdParameters { proximal: Some(0.5), ..PDGD };
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
        ("PDGD, proximal", plan(Learner::Pdgd(proximal), LINEAR, n)),
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

#[test]
fn three_devices_in_every_mode() {
    for (name, plan) in modes(3) {
        assert_equal(name, &plan, &WORLD);
    }
}

#[test]
fn three_devices_that_are_interrupted_after_every_event() {
    let world = World { n_rounds: 6, is_interrupted: true, ..WORLD };
    for (name, plan) in modes(3) {
        assert_equal(name, &plan, &world);
    }
}

#[test]
fn two_hundred_devices_of_which_a_fifth_fails() {
    let world = World { n_rounds: 10, dropout: 0.2, ..WORLD };
    for (name, plan) in modes(200) {
        assert_equal(name, &plan, &world);
    }
}

#[test]
fn stale_contributions() {
    let adaptive = AdaptiveClip { initial: 0.2, quantile: 0.5, rate: 0.3, count_noise: 1.0 };
    let duchi = DuchiParameters { epsilon: Some(4.0), bound: 0.05, whole_run: None };
    let max_rr = EvolutionParameters { reward: Reward::MaxRr, ..EVOLUTION };
    let sampled = Privacy::SampledResponse(SampledResponseParameters(response()));
    let answers = |n, privacy| FederationPlan { learner: Learner::Evolution(max_rr), ..private(privacy, evolution(n)) };
    for (n, is_interrupted) in [(3, false), (3, true), (70, false)] {
        let world = World { pace: Some(SLOW), dropout: 0.1, is_interrupted, ..WORLD };
        for (name, plan) in [
            ("PDGD", pdgd(n)),
            ("neural PDGD", plan(Learner::Pdgd(PDGD), NETWORK, n)),
            ("FOLtR-ES", evolution(n)),
            ("central", private(central(Clip::Adaptive(adaptive)), pdgd(n))),
            ("Duchi", private(Privacy::Duchi(duchi), pdgd(n))),
            ("randomised response", answers(n, Privacy::RandomisedResponse(response()))),
            ("sampled response", answers(n, sampled)),
        ] {
            assert_equal(name, &stale(plan), &world);
        }
    }
}

#[test]
fn buffered_asynchrony() {
    let buffered = Buffered { buffer: 2, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 4 };
    let many = Buffered { buffer: 70, rate_limit: 2, ..buffered };
    let small = World { n_rounds: 20, ..WORLD };
    for (n, buffered, world) in [
        (3, buffered, small),
        (3, buffered, World { is_interrupted: true, ..small }),
        (200, many, World { n_rounds: 10, dropout: 0.2, ..WORLD }),
    ] {
        for plan in [pdgd(n), evolution(n), plan(Learner::Pdgd(PDGD), NETWORK, n)] {
            let plan = FederationPlan { asynchrony: Some(Asynchrony::Buffered(buffered)), ..plan };
            assert_equal_without_rounds(&plan, Stragglers { slowdown: 2.5, ..SLOW }, &world);
        }
    }
}

/// A test of equality that nothing can fail proves nothing.
#[test]
fn every_fault_of_a_deployment_is_seen() {
    let lossy = World { dropout: 0.3, ..WORLD };
    let cases = [
        // Sums of similar single numbers are exact in double precision; those of rewards are not.
        (Fault::FoldOrder, evolution(200), WORLD),
        (Fault::StalenessScale, stale(pdgd(9)), World { pace: Some(SLOW), ..WORLD }),
        (Fault::ServerScale, stale(evolution(9)), World { pace: Some(SLOW), ..WORLD }),
        (Fault::Sign, evolution(3), WORLD),
        (Fault::Momentum, FederationPlan { defence: Some(trimmed()), ..pdgd(9) }, lossy),
    ];
    for (fault, plan, world) in cases {
        assert_equal("without the fault", &plan, &World { n_rounds: 10, ..world });
        let seen = first_difference(&plan, &World { fault, n_rounds: 10, ..world });
        assert!(seen.is_some(), "{fault:?} was not seen");
    }
}
