//! What does a server see of a client's round, and what does it know about the noise?

use foltr_federation::Mechanism;
use foltr_rank::rng::{Purpose, Stream};

use super::decoder::Noise;
use super::scene::{ClientRound, Scene};
use crate::Expected::{self, Broken, Sound};
use crate::mechanisms::{clear, discrete_gaussian, duchi, gaussian, laplace, priv_unit};
use crate::sampling::{Round, Scratch};

/// Rounds that the server plays through to learn about the noise.
const N_REHEARSALS: u32 = 100;
/// Clients of these rounds are numbered from here on.
const REHEARSALS: u32 = 1 << 29;
/// Clients in a sum.
const N_SUMMED: u32 = 4;
/// Epsilon of the sound modes: of a message, or of one round at delta 1e-6, which takes this much noise.
const EPSILON: f64 = 1.0;
const NOISE_MULTIPLIER: f64 = 4.22;

/// The mechanism for updates of this norm and length.
type Privacy = fn(f64, usize) -> Mechanism;

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
}

pub(super) fn views() -> Vec<View> {
    let view =
        |name, privacy, n_clients, expected, judged, times| View { name, privacy, n_clients, expected, judged, times };
    // The papers' setting with the largest clip.
    let share: Privacy = |_, _| laplace(5.0, 4.5);
    let sealed: Privacy = |norm, _| discrete_gaussian(NOISE_MULTIPLIER, norm, N_SUMMED);
    vec![
        view("clear", |_, _| clear(), 1, Broken, 4, 1),
        view("FPDGD's share of 1000", share, 1000, Broken, 2, 1),
        view("FPDGD's share of 100", share, 100, Broken, 2, 1),
        view("FPDGD's share of 10", share, 10, Broken, 1, 1),
        view("local, PrivUnit, epsilon 1000", |norm, d| priv_unit(1000.0, norm, d), 1, Broken, 1, 1),
        view("local, PrivUnit, epsilon 1", |norm, d| priv_unit(EPSILON, norm, d), 1, Sound, 1, 10),
        view("local, Duchi, epsilon 1", |norm, d| duchi(EPSILON, norm / (d as f64).sqrt()), 1, Sound, 1, 10),
        view("central, Gaussian sum of 4", |norm, _| gaussian(NOISE_MULTIPLIER, norm), N_SUMMED, Sound, 1, 10),
        // Exact discrete noise takes its time.
        view("sealed, discrete Gaussian sum of 4", sealed, N_SUMMED, Sound, 1, 1),
    ]
}

/// A server that has learnt about the noise of its view.
pub(super) struct Observer {
    round: Round,
    n_summed: u32,
    pub(super) noise: Noise,
}

impl View {
    pub(super) const fn is_judged(&self, n_interactions: usize) -> bool {
        self.judged == n_interactions
    }

    /// How many times the usual number of clients are attacked.
    pub(super) const fn times(&self, n_interactions: usize) -> usize {
        if self.is_judged(n_interactions) { self.times } else { 1 }
    }

    /// A server that prepares for clients of so many interactions.
    pub(super) fn observer(&self, scene: &Scene, n_interactions: usize) -> Observer {
        let (d, n_clients) = (scene.global.len(), self.n_clients);
        let privacy = (self.privacy)(scene.typical_norm(n_interactions), d);
        let is_sum = matches!(privacy, Mechanism::Gaussian(_) | Mechanism::DiscreteGaussian(_));
        let round = Round::new(privacy, n_clients, d, n_interactions as u32);
        let n_summed = if is_sum { n_clients } else { 1 };
        let mut observer = Observer { round, n_summed, noise: Noise::Rounding };
        observer.round.task.global.clone_from(&scene.global);
        observer.noise = match &observer.round.privacy {
            Mechanism::Unprotected(_) => Noise::Rounding,
            Mechanism::DistributedLaplace(mechanism) => {
                Noise::Shares { shape: 1.0 / f64::from(n_clients), scale: mechanism.laplace_scale() }
            }
            _ => observer.rehearse(scene, n_interactions),
        };
        observer
    }
}

impl Observer {
    pub(super) fn observe(&self, scene: &Scene, round: &ClientRound, client: u32, stream: &mut Stream) -> Vec<f64> {
        let others: Vec<ClientRound> =
            (1..self.n_summed).map(|number| scene.play_beside(client, number, round.shown.len())).collect();
        let updates = std::iter::once(round).chain(&others).map(|round| round.update.as_slice());
        self.round.sum(updates, stream, &mut Scratch::default())
    }

    /// Mean and variance of all that is not this client's update, from rounds with simulated clients.
    fn rehearse(&self, scene: &Scene, n_interactions: usize) -> Noise {
        let d = scene.global.len();
        let (mut mean, mut square) = (vec![0.0; d], vec![0.0; d]);
        for client in REHEARSALS..REHEARSALS + N_REHEARSALS {
            let round = scene.play(client, n_interactions);
            let mut stream = scene.streams.open(Purpose::Noise, client, n_interactions as u32);
            let observed = self.observe(scene, &round, client, &mut stream);
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
