//! Shares of noise that only a simulation has: drawn one by one in single messages, or at once for their sum, they have the
//! same law.

use foltr_federation::Mechanism;
use foltr_federation::privacy::{ClipRadius, DiscreteGaussian, DistributedLaplace};
use foltr_rank::learn::pdgd::PdgdSettings;
use foltr_rank::{Activation, Shape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};

use crate::scene::{N_FEATURES, PDGD, even_partition};

/// The first step of federations without and with noise, less each other: the noise on the mean.
fn noise(privacy: &Mechanism, single_messages: bool) -> Vec<f64> {
    let shape = Shape::Mlp { n_features: N_FEATURES, n_hidden: 300, activation: Activation::Logistic };
    // Hardly any learning: what is left of the step is noise.
    let learning = Learning::Pdgd(PdgdSettings { learning_rate: 1e-9, clip_radius: privacy.clip_radius(), ..PDGD });
    let settings = FederationSettings {
        shape,
        initial: vec![0.01; shape.n_params()],
        learning,
        n_clients: 20,
        privacy: privacy.clone(),
        single_messages,
        ..crate::scene::settings()
    };
    let mut run = FederationRun::new(settings, even_partition()).expect("sound");
    let before = run.task().global.clone();
    run.round().expect("a round");
    run.task().global.iter().zip(&before).map(|(after, before)| f64::from(after - before)).collect()
}

#[test]
fn noise_of_single_messages_has_the_law_of_noise_drawn_at_once() {
    let laplace = DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive");
    let scale = laplace.laplace_scale() / 20.0;
    let discrete = DiscreteGaussian::new(0.5, 2.0, 20, 0).expect("sound");
    // (law, variance, standard deviation of a squared value over its mean: sqrt of the kurtosis less 1)
    let laws = [
        (Mechanism::DistributedLaplace(laplace), 2.0 * scale * scale, 5.0_f64.sqrt()),
        (Mechanism::DiscreteGaussian(discrete), (2.0 * 0.5 / 20.0_f64).powi(2), 2.0_f64.sqrt()),
    ];
    for (mechanism, variance, spread) in laws {
        let [alone, at_once] = [true, false].map(|single_messages| noise(&mechanism, single_messages));
        assert_ne!(alone, at_once, "they are drawn from other streams");
        for values in [alone, at_once] {
            let n = values.len() as f64;
            let ratio = values.iter().map(|value| value * value).sum::<f64>() / n / variance;
            assert!((ratio - 1.0).abs() < 5.0 * spread / n.sqrt(), "{}: {ratio}", mechanism.name());
        }
    }
}
