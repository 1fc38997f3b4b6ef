//! What does a server see of a client's round, and what does it know about the noise?

use foltr_federation::Mechanism;
use foltr_federation::privacy::{CentralMode, NoiseShares};
use foltr_rank::Update;
use foltr_rank::rng::Purpose;

use super::decoder::Noise;
use super::scene::{ClientRound, Scene};
use crate::Expected::{self, Broken, Sound};
use crate::federation::Federation;
use crate::mechanisms::{clear, discrete_gaussian, duchi, gaussian, laplace, priv_unit};

/// Rounds that the server plays through to learn about the noise.
const N_REHEARSALS: u32 = 100;
/// Clients of these rounds are numbered from here on.
const REHEARSALS: u32 = 1 << 29;
/// Clients in a sum.
const N_SUMMED: u32 = 4;
/// Epsilon of the sound modes: of a message, or of one round at delta 1e-6, which takes this much noise.
const EPSILON: f64 = 1.0;
const NOISE_MULTIPLIER: f64 = 4.22;

/// The mechanism for updates of this norm and length, with an error of this factor.
type Privacy = fn(f64, usize, f64) -> Mechanism;

pub(super) struct View {
    pub(super) name: &'static str,
    privacy: Privacy,
    /// Of a cohort.
    n_clients: u32,
    pub(super) expected: Expected,
    /// With how many interactions it is judged: where the attack is strong if it is broken, the fewest if it is sound.
    judged: usize,
    /// How many times the usual number of clients are attacked where it is judged and an attack is cheap.
    times: usize,
    /// What an error is, before its factor.
    pub(super) error: &'static str,
}

pub(super) fn views() -> Vec<View> {
    let view = |name, n_clients, expected, judged, times, privacy, error| View {
        name,
        privacy,
        n_clients,
        expected,
        judged,
        times,
        error,
    };
    // The papers' setting with the largest clip.
    let share: Privacy = |_, _, _| laplace(5.0, 4.5);
    let bare: Privacy = |norm, _, _| gaussian(1e-6, norm, CentralMode::Sealed);
    let unit: Privacy = |norm, d, x| priv_unit(EPSILON * x, norm, d);
    let bit: Privacy = |norm, d, x| duchi(EPSILON * x, norm / (d as f64).sqrt());
    let sum: Privacy = |norm, _, x| gaussian(NOISE_MULTIPLIER / x, norm, CentralMode::Sealed);
    let shares: Privacy = |norm, _, x| discrete_gaussian(NOISE_MULTIPLIER / x, norm, N_SUMMED);
    vec![
        view("clear", 1, Broken, 4, 1, |_, _, _| clear(), ""),
        view("FPDGD's share of 1000", 1000, Broken, 2, 1, share, ""),
        view("FPDGD's share of 100", 100, Broken, 2, 1, share, ""),
        view("FPDGD's share of 10", 10, Broken, 1, 1, share, ""),
        view("central, Gaussian round of one client without noise", 1, Broken, 2, 1, bare, ""),
        view("local, PrivUnit, epsilon 1", 1, Sound, 1, 10, unit, "epsilon x"),
        view("local, Duchi, epsilon 1", 1, Sound, 1, 10, bit, "epsilon x"),
        view("central, Gaussian sum of 4", N_SUMMED, Sound, 1, 10, sum, "noise /"),
        // Exact discrete noise takes its time.
        view("sealed, discrete Gaussian sum of 4", N_SUMMED, Sound, 1, 1, shares, "noise /"),
    ]
}

/// A server that has learnt about the noise of its view.
pub(super) struct Observer {
    federation: Federation,
    n_summed: u32,
    pub(super) noise: Noise,
}

impl View {
    /// With how many interactions it is judged.
    pub(super) const fn judged(&self) -> usize {
        self.judged
    }

    pub(super) const fn is_judged(&self, n_interactions: usize) -> bool {
        self.judged == n_interactions
    }

    /// How many times the usual number of clients are attacked.
    pub(super) const fn times(&self, n_interactions: usize) -> usize {
        if self.is_judged(n_interactions) { self.times } else { 1 }
    }

    /// A server that prepares for clients of so many interactions.
    pub(super) fn observer(&self, scene: &Scene, n_interactions: usize, error: f64) -> Observer {
        let (d, n_clients) = (scene.global.len(), self.n_clients);
        let privacy = (self.privacy)(scene.typical_norm(n_interactions), d, error);
        let is_sum = matches!(privacy, Mechanism::Gaussian(_) | Mechanism::DiscreteGaussian(_));
        let noise_shares = if is_sum { NoiseShares::DrawnAtClosing } else { NoiseShares::InMessages };
        let n_summed = if is_sum { n_clients } else { 1 };
        let known = match &privacy {
            Mechanism::Unprotected(_) => Some(Noise::Rounding),
            Mechanism::DistributedLaplace(mechanism) => {
                Some(Noise::Shares { shape: 1.0 / f64::from(n_clients), scale: mechanism.laplace_scale() })
            }
            _ => None,
        };
        let federation = Federation { noise_shares, ..Federation::new(privacy, d, n_clients) };
        let mut observer = Observer { federation, n_summed, noise: Noise::Rounding };
        observer.noise = known.unwrap_or_else(|| observer.rehearse(scene, n_interactions));
        observer
    }
}

impl Observer {
    /// What a round shows in which this client is one of the summed.
    pub(super) fn observe(&self, scene: &Scene, round: &ClientRound, client: u32) -> Vec<f64> {
        let others: Vec<ClientRound> =
            (1..self.n_summed).map(|number| scene.play_beside(client, number, round.shown.len())).collect();
        let updates: Vec<Update<'_>> = others.iter().chain([round]).map(ClientRound::update).collect();
        let streams = scene.streams.branch(Purpose::Noise, client, round.shown.len() as u32);
        self.federation.round(&mut self.federation.start(), &streams, 0, &updates).sum
    }

    /// Mean and variance of all that is not this client's update, from rounds with simulated clients.
    fn rehearse(&self, scene: &Scene, n_interactions: usize) -> Noise {
        let d = scene.global.len();
        let (mut mean, mut square) = (vec![0.0; d], vec![0.0; d]);
        for client in REHEARSALS..REHEARSALS + N_REHEARSALS {
            let round = scene.play(client, n_interactions);
            let observed = self.observe(scene, &round, client);
            for (j, (seen, &own)) in observed.iter().zip(&round.update).enumerate() {
                let noise = seen - f64::from(own);
                mean[j] += noise / f64::from(N_REHEARSALS);
                square[j] += noise * noise / f64::from(N_REHEARSALS);
            }
        }
        // A coordinate that never varies says nothing: features that are always zero.
        let variance = square.iter().zip(&mean).map(|(square, mean)| (square - mean * mean).max(1e-9)).collect();
        Noise::Gaussian { mean, variance }
    }
}
