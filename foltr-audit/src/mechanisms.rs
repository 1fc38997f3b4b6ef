//! The mechanisms that are audited, in the settings of the papers where they have one.

use foltr_federation::Mechanism;
use foltr_federation::privacy::{
    AdaptiveClip, CentralDiscreteGaussian, CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi,
    Gaussian, PrivUnit, RandomisedResponse, RewardLaplace, SampledResponse, Unprotected,
};
use foltr_rank::learn::evolution::Reward;

/// Documents shown, as in the papers: MaxRR then has eleven outcomes.
pub(super) const N_SHOWN: usize = 10;
/// Sensitivity and label of FPDGD's first setting.
pub(super) const FPDGD: (f64, f64) = (3.0, 1.2);
/// Features of MQ2007 and MQ2008.
pub(super) const N_FEATURES: usize = 46;
/// Shares in a sealed sum.
pub(super) const N_SURVIVORS: u32 = 2;
/// Of the local mechanisms.
pub(super) const EPSILON: f64 = 2.0;
/// A norm that follows the median, with a noise on its count that a few clients can bear.
pub(super) const ADAPTIVE: AdaptiveClip = AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 1.0 };

/// The truth with a probability at which an answer costs so much.
pub(super) fn response(epsilon: f64) -> Mechanism {
    Mechanism::RandomisedResponse(RandomisedResponse::new(truth(epsilon), Reward::MaxRr, N_SHOWN).expect("positive"))
}

pub(super) fn sampled_response(epsilon: f64) -> Mechanism {
    Mechanism::SampledResponse(SampledResponse::new(truth(epsilon), Reward::MaxRr, N_SHOWN).expect("positive"))
}

pub(super) fn reward_laplace(epsilon: f64) -> Mechanism {
    Mechanism::RewardLaplace(RewardLaplace::new(epsilon, Reward::MaxRr, N_SHOWN).expect("positive"))
}

/// epsilon = ln(p (n - 1)/(1 - p)) with n - 1 = [`N_SHOWN`].
pub(super) fn truth(epsilon: f64) -> f64 {
    let odds = epsilon.exp() / N_SHOWN as f64;
    odds / (1.0 + odds)
}

/// The epsilon of the truth with this probability.
pub(super) fn epsilon_of(truth: f64) -> f64 {
    (truth * N_SHOWN as f64 / (1.0 - truth)).ln()
}

pub(super) fn laplace(sensitivity: f64, epsilon: f64) -> Mechanism {
    let mechanism = DistributedLaplace::new(sensitivity, epsilon, ClipRadius::Paper);
    Mechanism::DistributedLaplace(mechanism.expect("positive"))
}

/// FPDGD's noise, this many times as large as it should be.
pub(super) fn fpdgd(factor: f64) -> Mechanism {
    laplace(FPDGD.0, FPDGD.1 / factor)
}

pub(super) fn duchi(epsilon: f64, bound: f64) -> Mechanism {
    Mechanism::Duchi(Duchi::new(epsilon, bound).expect("positive"))
}

pub(super) fn priv_unit(epsilon: f64, norm: f64, d: usize) -> Mechanism {
    Mechanism::PrivUnit(PrivUnit::new(epsilon, norm, d).expect("many parameters"))
}

pub(super) fn gaussian(noise_multiplier: f64, clip: f64, mode: CentralMode) -> Mechanism {
    Mechanism::Gaussian(Gaussian::new(Clip::Fixed(clip), noise_multiplier, mode).expect("positive"))
}

pub(super) fn adaptive(noise_multiplier: f64, count_noise: f64, mode: CentralMode) -> Mechanism {
    let clip = Clip::Adaptive(AdaptiveClip { count_noise, ..ADAPTIVE });
    Mechanism::Gaussian(Gaussian::new(clip, noise_multiplier, mode).expect("positive"))
}

/// Clips to what a round says, and to this norm in the first.
pub(super) fn moving_norm(initial: f64) -> Mechanism {
    let clip = Clip::Adaptive(AdaptiveClip { initial, ..ADAPTIVE });
    Mechanism::Gaussian(Gaussian::new(clip, 1.0, CentralMode::Clear).expect("positive"))
}

pub(super) fn central_discrete(noise_multiplier: f64, clip: f64) -> Mechanism {
    central_discrete_of(Clip::Fixed(clip), noise_multiplier)
}

pub(super) fn central_discrete_adaptive(noise_multiplier: f64, count_noise: f64) -> Mechanism {
    central_discrete_of(Clip::Adaptive(AdaptiveClip { count_noise, ..ADAPTIVE }), noise_multiplier)
}

fn central_discrete_of(clip: Clip, noise_multiplier: f64) -> Mechanism {
    let mechanism = CentralDiscreteGaussian::new(clip, noise_multiplier);
    Mechanism::CentralDiscreteGaussian(mechanism.expect("wide enough"))
}

/// None of the survivors passes its noise on.
pub(super) fn discrete_gaussian(noise_multiplier: f64, clip: f64, n_survivors: u32) -> Mechanism {
    let mechanism = DiscreteGaussian::new(clip, noise_multiplier, n_survivors, 0);
    Mechanism::DiscreteGaussian(mechanism.expect("wide enough"))
}

pub(super) fn clear() -> Mechanism {
    Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr })
}
