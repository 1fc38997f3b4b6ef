//! Shares of noise that only a simulation has: drawn one by one in single messages, or at once for their sum, they have the
//! same law.

use foltr_federation::Mechanism;
use foltr_federation::privacy::{ClipRadius, DiscreteGaussian, DistributedLaplace};
use foltr_rank::learn::pdgd::PdgdSettings;
use foltr_rank::{Activation, Shape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};

use crate::scene::{N_FEATURES, PDGD, even_partition};

/// The noise on the mean of a first step that hardly learns.
fn noise(privacy: &Mechanism, single_messages: bool, n_clients: u32, dropout: f64) -> Vec<f64> {
    let shape = Shape::Mlp { n_features: N_FEATURES, n_hidden: 300, activation: Activation::Logistic };
    let learning = Learning::Pdgd(PdgdSettings { learning_rate: 1e-9, clip_radius: privacy.clip_radius(), ..PDGD });
    let settings = FederationSettings {
        shape,
        initial: vec![0.01; shape.n_params()],
        learning,
        n_clients,
        dropout,
        privacy: privacy.clone(),
        single_messages,
        ..crate::scene::settings()
    };
    let mut run = FederationRun::new(settings, even_partition()).expect("sound");
    let before = run.task().global.clone();
    run.round().expect("a round");
    run.task().global.iter().zip(&before).map(|(after, before)| f64::from(after - before)).collect()
}

/// The largest difference of two empirical distributions (Kolmogorov, Smirnov).
fn distance(one: &[f64], other: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (one, other) = (sorted(one), sorted(other));
    let share = |values: &[f64], at: f64| values.partition_point(|&value| value <= at) as f64 / values.len() as f64;
    one.iter().chain(&other).map(|&at| (share(&one, at) - share(&other, at)).abs()).fold(0.0, f64::max)
}

/// What two samples of one law stay below but in one of a million cases.
fn limit(n: usize) -> f64 {
    (0.5 * (2.0 / 1e-6_f64).ln()).sqrt() * (2.0 / n as f64).sqrt()
}

#[test]
fn noise_of_single_messages_has_the_law_of_noise_drawn_at_once() {
    let laplace =
        Mechanism::DistributedLaplace(DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive"));
    let discrete =
        |n_clients| Mechanism::DiscreteGaussian(DiscreteGaussian::new(0.5, 2.0, n_clients, 0).expect("sound"));
    // Shares of Laplace noise are drawn at once only where everybody comes.
    for (mechanism, n_clients, dropout) in [(laplace, 20, 0.0), (discrete(20), 20, 0.0), (discrete(70), 100, 0.2)] {
        let [alone, at_once] = [true, false].map(|single| noise(&mechanism, single, n_clients, dropout));
        assert_ne!(alone, at_once, "they are drawn from other streams");
        let (found, limit) = (distance(&alone, &at_once), limit(alone.len()));
        assert!(found < limit, "{}: {found}", mechanism.name());
        // Laws that differ by half of their scale, or by their form at the same variance, would be seen.
        let wider: Vec<f64> = at_once.iter().map(|value| 1.5 * value).collect();
        assert!(distance(&alone, &wider) > limit, "{}", mechanism.name());
        let deviation = (at_once.iter().map(|value| value * value).sum::<f64>() / at_once.len() as f64).sqrt();
        let coins: Vec<f64> = at_once.iter().map(|value| deviation.copysign(*value)).collect();
        assert!(distance(&alone, &coins) > limit, "{}", mechanism.name());
    }
}
