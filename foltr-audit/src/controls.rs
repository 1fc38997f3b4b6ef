//! What the audit must catch: mechanisms and labels that are broken on purpose.

use std::sync::Arc;

use foltr_federation::accountant::Guarantee;
use foltr_federation::privacy::{CentralMode, NoiseShares};
use foltr_federation::{LocalPrivacy, Mechanism};

use super::cases::{
    COINS_SEEN, EVERYONE, LAPLACE, MESSAGE, REWARDS, SAMPLE, SHARES, Scenario, case, label_of, noisy_rewards, replay,
};
use super::doubles::{Double, Fault};
use super::epsilon::Case;
use super::federation::Federation;
use super::label::Observer;
use super::mechanisms::{
    ADAPTIVE, EPSILON, FPDGD, N_FEATURES, N_SURVIVORS, adaptive, central_discrete, clear, discrete_gaussian, duchi,
    epsilon_of, fpdgd, gaussian, moving_norm, priv_unit, response, reward_laplace, sampled_response,
};
use super::neighbours::{Local, Neighbours, TOO_LONG};
use super::norms::NormTest;
use super::seeds::SeedTest;
use super::{Row, Test};
use foltr_federation::privacy::Adjacency;

const CLEAR: CentralMode = CentralMode::Clear;
/// Errors that are seen at once.
const FEW: usize = 50_000;

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut control = |name: &str, make: fn() -> Case| {
        rows.push(Row::broken(name.into(), move || Test::Epsilon(make())));
    };
    control("Gaussian, half of the noise", || less_noise(2.0));
    control("Gaussian, 0.9 of the noise", || less_noise(1.0 / 0.9));
    control("Gaussian, ten rounds labelled as one", || repeated(&gaussian(1.0, 1.0, CLEAR), 10, EVERYONE));
    control("Gaussian, a retry with fresh noise labelled as one message", || {
        repeated(&gaussian(1.0, 1.0, CLEAR), 2, EVERYONE)
    });
    control("Gaussian, closed without noise", || {
        let once = sound(&gaussian(1.0, 1.0, CLEAR), EVERYONE);
        with_server(few(once), Double::of(gaussian(1.0, 1.0, CLEAR), Fault::ForgetsTheNoise))
    });
    control("Gaussian, clip 1.25 times too long", clip_too_long);
    control("Gaussian, fixed cohort labelled as added or removed", fixed_cohort);
    control("Gaussian, coins seen but labelled as unseen", || {
        let mechanism = gaussian(1.0, 1.0, CLEAR);
        let unseen = Scenario { observer: Observer::OfModels, ..COINS_SEEN };
        sound(&mechanism, COINS_SEEN).labelled(label_of(&mechanism, unseen))
    });
    control("Gaussian, the noise of training reused by a replay", || few(replay(1.0, 2)));
    control("adaptive norm, count without noise", || {
        let scenario = Scenario { n_rounds: 3, n_samples: FEW, ..EVERYONE };
        case(&adaptive(1.0, ADAPTIVE.count_noise, CLEAR), adaptive(1.0, 1e-6, CLEAR), scenario)
    });
    control("adaptive norm, count left out of the label", || {
        let case = sound(&adaptive(1.0, 0.25, CLEAR), EVERYONE);
        case.labelled(label_of(&gaussian(1.0, 1.0, CLEAR), EVERYONE))
    });
    control("central discrete Gaussian, half of the noise", || {
        let scenario = Scenario { n_samples: 20_000, ..EVERYONE };
        case(&central_discrete(1.0, 1.0), central_discrete(0.5, 1.0), scenario)
    });
    control("discrete Gaussian, half of the shares lost, threshold ignored", threshold_ignored);
    control("discrete Gaussian, one draw for all coordinates", || {
        let scenario = Scenario { noise_shares: NoiseShares::DrawnAtClosing, n_samples: 20_000, ..SHARES };
        let mechanism = discrete_gaussian(1.0, 1.0, N_SURVIVORS);
        with_server(sound(&mechanism, scenario), Double::of(mechanism, Fault::OneDrawForAll))
    });
    control("discrete Gaussian, integer norm not checked", || {
        // Shares of the right noise are read as twice their length.
        let scenario = Scenario { noise_shares: NoiseShares::DrawnAtClosing, n_samples: 20_000, ..SHARES };
        let case = sound(&discrete_gaussian(1.0, 1.0, N_SURVIVORS), scenario);
        with_server(case, discrete_gaussian(0.5, 2.0, N_SURVIVORS).into())
    });
    laplace_controls(&mut control);
    local_controls(&mut control);
    rows.push(Row::broken("published stream, the next seed after the clicks".into(), || Test::Seeds(SeedTest::new())));
    rows.push(Row::broken("Gaussian, clip 1.25 times too long: norm".into(), || {
        Test::Norm(NormTest { devices: moving_norm(1.25), clip: 1.0 })
    }));
    rows.push(Row::broken("discrete Gaussian, clip 1.25 times too long: norm".into(), || {
        Test::Norm(NormTest { devices: discrete_gaussian(1.0, 1.25, N_SURVIVORS), clip: 1.0 })
    }));
    rows
}

fn laplace_controls(control: &mut impl FnMut(&str, fn() -> Case)) {
    const LABEL: Guarantee = Guarantee { epsilon: FPDGD.1, delta: 0.0 };
    control("distributed Laplace, half of the noise", || case(&fpdgd(1.0), fpdgd(0.5), LAPLACE));
    control("distributed Laplace, 0.9 of the noise", || {
        case(&fpdgd(1.0), fpdgd(0.9), Scenario { n_params: 1, n_samples: 400_000, ..LAPLACE })
    });
    control("distributed Laplace, ten rounds labelled as one", || {
        repeated(&fpdgd(1.0), 10, Scenario { n_params: 1, ..LAPLACE })
    });
    control("distributed Laplace, half of the clients absent labelled as complete", || {
        let case = sound(&fpdgd(1.0), Scenario { n_clients: 5, ..LAPLACE });
        Case { federation: Federation { n_clients: 10, ..case.federation }, ..case }
    });
    control("FPDGD's own label on the sum", || {
        let scenario = Scenario { noise_shares: NoiseShares::DrawnAtClosing, n_params: N_FEATURES, ..LAPLACE };
        few(sound(&fpdgd(1.0), scenario)).labelled(vec![LABEL])
    });
    control("FPDGD's own label on one message of 1000", || {
        let case = sound(&fpdgd(1.0), Scenario { n_clients: 1, n_params: N_FEATURES, ..LAPLACE });
        let federation = Federation { n_clients: 1000, ..case.federation };
        few(Case { federation, ..case }).labelled(vec![LABEL])
    });
    control("FPDGD's label on no noise at all", || few(sound(&clear(), MESSAGE)).labelled(vec![LABEL]));
}

fn local_controls(control: &mut impl FnMut(&str, fn() -> Case)) {
    control("Duchi, 0.9 of its epsilon on the label", || {
        case(&duchi(1.8, 1.0), duchi(EPSILON, 1.0), Scenario { n_samples: 500_000, ..MESSAGE })
    });
    control("Duchi that prefers large coordinates", || {
        let case = few(sound(&duchi(EPSILON, 1.0), MESSAGE));
        with_devices(case, Double::of(duchi(EPSILON, 1.0), Fault::PrefersLarge(1.0)))
    });
    control("Duchi, a retry with fresh coins labelled as one message", || {
        repeated(&duchi(EPSILON, 1.0), 2, Scenario { n_params: 2, ..MESSAGE })
    });
    control("PrivUnit with the cap of 1.1 epsilon", || {
        let scenario = Scenario { n_samples: 400_000, ..MESSAGE };
        case(&priv_unit(EPSILON, 1.0, N_FEATURES), priv_unit(1.1 * EPSILON, 1.0, N_FEATURES), scenario)
    });
    control("randomised response, message of 8 labelled as one", || {
        let scenario = Scenario { n_interactions: 8, ..REWARDS };
        sound(&response(epsilon_of(0.5)), scenario).labelled(label_of(&response(epsilon_of(0.5)), REWARDS))
    });
    control("randomised response, a tenth of the lies left out", || {
        case(&response(epsilon_of(0.5)), response(epsilon_of(0.55)), REWARDS)
    });
    control("Laplace on rewards, 0.9 of the noise", || {
        let scenario = Scenario { n_samples: 400_000, ..noisy_rewards(false) };
        case(&reward_laplace(EPSILON), reward_laplace(EPSILON / 0.9), scenario)
    });
    control("Laplace on rewards, a retry with fresh noise labelled as one message", || {
        repeated(&reward_laplace(EPSILON), 2, noisy_rewards(true))
    });
    control("sampled response that samples the best interaction", || {
        let mechanism = sampled_response(epsilon_of(0.5));
        let scenario = Scenario { n_interactions: 8, is_mirrored: true, ..REWARDS };
        let mut case = few(sound(&mechanism, scenario));
        // One click, on the one side or on the other.
        let sides = [vec![1, 0, 0, 0], vec![0; 4]];
        let outcomes =
            |plus: usize| Some(Local::Outcomes { plus: sides[plus].clone(), minus: sides[1 - plus].clone() });
        case.rounds[0].target = [outcomes(0), outcomes(1)];
        with_devices(case, Double::of(mechanism, Fault::SamplesTheBest))
    });
}

fn sound(mechanism: &Mechanism, scenario: Scenario) -> Case {
    case(mechanism, mechanism.clone(), scenario)
}

fn few(case: Case) -> Case {
    Case { n_samples: FEW, ..case }
}

fn with_server(case: Case, server: Arc<dyn LocalPrivacy>) -> Case {
    Case { federation: Federation { server, ..case.federation }, ..case }
}

fn with_devices(case: Case, devices: Arc<dyn LocalPrivacy>) -> Case {
    Case { federation: Federation { devices, ..case.federation }, ..case }
}

fn less_noise(error: f64) -> Case {
    let scenario = Scenario { n_samples: 500_000, ..EVERYONE };
    case(&gaussian(1.0, 1.0, CLEAR), gaussian(1.0 / error, 1.0, CLEAR), scenario)
}

/// The same message so many times, under the label of one.
fn repeated(mechanism: &Mechanism, n_rounds: u32, scenario: Scenario) -> Case {
    let case = sound(mechanism, Scenario { n_rounds, n_samples: FEW, ..scenario });
    case.labelled(label_of(mechanism, scenario))
}

/// Devices clip to a longer norm than the server's noise is for.
fn clip_too_long() -> Case {
    let case = sound(&gaussian(1.0, 1.0, CLEAR), EVERYONE);
    with_devices(case, gaussian(1.0, 1.25, CLEAR).into())
}

/// Whoever is not there is replaced by somebody who sends the opposite.
fn fixed_cohort() -> Case {
    let mechanism = gaussian(1.0, 1.0, CLEAR);
    let case = sound(&mechanism, SAMPLE);
    let neighbours =
        Neighbours::steps(Adjacency::Removed, EVERYONE.n_params, TOO_LONG, -TOO_LONG, SAMPLE.n_clients as usize - 1);
    Case { rounds: vec![neighbours], is_heard: false, ..case }.labelled(label_of(&mechanism, EVERYONE))
}

/// Two shares of noise would be enough; one arrives, and the sum is opened.
fn threshold_ignored() -> Case {
    let mechanism = discrete_gaussian(1.0, 1.0, N_SURVIVORS);
    let label = label_of(&mechanism, Scenario { n_params: 1, ..SHARES });
    let case = sound(&mechanism, Scenario { n_clients: 1, n_params: 1, n_samples: 80_000, ..SHARES });
    with_server(case, discrete_gaussian(1.0, 1.0, 1).into()).labelled(label)
}
