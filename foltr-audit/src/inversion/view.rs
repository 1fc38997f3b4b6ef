//! What does a server see of a client's round, and what does it know about the noise?

use foltr_federation::privacy::{
    CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian, PrivUnit, Unprotected,
};
use foltr_federation::{Mechanism, RoundTask};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::rng::{Purpose, Stream};

use super::decoder::Noise;
use super::scene::{Scene, Session};
use crate::Expected::{self, Broken, Sound};
use crate::sampling::Scratch;

/// Rounds that the server plays through to learn about the noise.
const N_REHEARSALS: u32 = 100;
/// Clients in a sum.
const N_SUMMED: u32 = 4;
/// Epsilon of the sound modes: of a message, or of one round at delta 1e-6, which takes this much noise.
const EPSILON: f64 = 1.0;
const NOISE_MULTIPLIER: f64 = 4.22;

/// What the server sees.
#[derive(Clone, Debug)]
pub struct View {
    name: &'static str,
    kind: Kind,
    expected: Expected,
    /// With how many interactions it is judged: where the attack is strong if it is broken, the fewest if it is sound.
    judged: usize,
    /// How many times the usual number of clients are attacked where it is judged.
    times: usize,
}

/// Which messages, and how many of them at a time.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Each message as it is.
    Clear,
    /// Each message with FPDGD's share of the noise, of so many clients.
    Share(u32),
    /// Each message, one bit.
    Duchi,
    /// Each message, a direction, with this epsilon.
    PrivUnit(f64),
    /// A sum with Gaussian noise.
    Gaussian,
    /// A sum of discrete Gaussian shares.
    DiscreteGaussian,
}

/// All views, in the order of the table.
pub fn views() -> Vec<View> {
    let view = |name, kind, expected, judged, times| View { name, kind, expected, judged, times };
    vec![
        view("clear", Kind::Clear, Broken, 4, 1),
        view("FPDGD's share of 1000", Kind::Share(1000), Broken, 2, 1),
        view("FPDGD's share of 100", Kind::Share(100), Broken, 2, 1),
        view("FPDGD's share of 10", Kind::Share(10), Broken, 1, 1),
        view("local, PrivUnit, epsilon 1000", Kind::PrivUnit(1000.0), Broken, 1, 1),
        view("local, PrivUnit, epsilon 1", Kind::PrivUnit(EPSILON), Sound, 1, 10),
        view("local, Duchi, epsilon 1", Kind::Duchi, Sound, 1, 10),
        view("central, Gaussian sum of 4", Kind::Gaussian, Sound, 1, 10),
        // Exact discrete noise takes its time.
        view("sealed, discrete Gaussian sum of 4", Kind::DiscreteGaussian, Sound, 1, 1),
    ]
}

/// A view with what the server has learnt about its noise.
pub struct Seen {
    privacy: Mechanism,
    n_summed: u32,
    task: RoundTask,
    noise: Noise,
}

impl View {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What is known about it.
    pub const fn expected(&self) -> Expected {
        self.expected
    }

    /// Whether it is judged with so many interactions.
    pub const fn is_judged(&self, n_interactions: usize) -> bool {
        self.judged == n_interactions
    }

    /// How many times the usual number of clients are attacked: more where it is judged and an attack is cheap.
    pub const fn times(&self, n_interactions: usize) -> usize {
        if self.is_judged(n_interactions) { self.times } else { 1 }
    }

    /// The view of a server that prepares for clients of so many interactions.
    pub fn prepare(&self, scene: &Scene, n_interactions: usize) -> Seen {
        let norm = scene.typical_norm(n_interactions);
        let n_summed = if matches!(self.kind, Kind::Gaussian | Kind::DiscreteGaussian) { N_SUMMED } else { 1 };
        let n_clients = if let Kind::Share(n_clients) = self.kind { n_clients } else { n_summed };
        let mut seen = Seen {
            privacy: self.kind.privacy(norm, scene.n_params()),
            n_summed,
            task: RoundTask {
                round: 0,
                global: scene.global().to_vec(),
                n_clients,
                n_interactions: n_interactions as u32,
                clip_norm: None,
            },
            noise: Noise::Rounding,
        };
        seen.noise = match (&self.kind, &seen.privacy) {
            (Kind::Clear, _) => Noise::Rounding,
            (Kind::Share(n_clients), Mechanism::DistributedLaplace(mechanism)) => {
                Noise::Shares { shape: 1.0 / f64::from(*n_clients), scale: mechanism.laplace_scale() }
            }
            _ => seen.rehearse(scene, n_interactions),
        };
        seen
    }
}

impl Kind {
    /// The mechanism, for updates of this norm.
    fn privacy(self, norm: f64, n_params: usize) -> Mechanism {
        match self {
            Self::Clear => Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
            // The papers' setting with the largest clip.
            Self::Share(_) => Mechanism::DistributedLaplace(
                DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive numbers"),
            ),
            Self::Duchi => {
                Mechanism::Duchi(Duchi::new(EPSILON, norm / (n_params as f64).sqrt()).expect("positive numbers"))
            }
            Self::PrivUnit(epsilon) => {
                Mechanism::PrivUnit(PrivUnit::new(epsilon, norm, n_params).expect("many parameters"))
            }
            Self::Gaussian => Mechanism::Gaussian(
                Gaussian::new(Clip::Fixed(norm), NOISE_MULTIPLIER, CentralMode::Sealed).expect("positive numbers"),
            ),
            Self::DiscreteGaussian => Mechanism::DiscreteGaussian(
                DiscreteGaussian::new(norm, NOISE_MULTIPLIER, N_SUMMED, 0).expect("wide shares"),
            ),
        }
    }
}

impl Seen {
    /// What the server knows about the noise.
    pub const fn noise(&self) -> &Noise {
        &self.noise
    }

    /// What the server sees of this client.
    pub fn observe(&self, scene: &Scene, session: &Session, client: u32, stream: &mut Stream) -> Vec<f64> {
        let others: Vec<Session> =
            (1..self.n_summed).map(|number| scene.play_beside(client, number, session.shown.len())).collect();
        let updates = std::iter::once(session).chain(&others).map(|session| session.update.as_slice());
        Scratch::default().sum(&self.privacy, updates, &self.task, stream)
    }

    /// Mean and variance of all that is not this client's update, from rounds with simulated clients.
    fn rehearse(&self, scene: &Scene, n_interactions: usize) -> Noise {
        let d = scene.n_params();
        let (mut mean, mut square) = (vec![0.0; d], vec![0.0; d]);
        for round in 0..N_REHEARSALS {
            let client = Scene::rehearsal(round);
            let session = scene.play(client, n_interactions);
            let mut stream = scene.streams().open(Purpose::Noise, client, n_interactions as u32);
            let observed = self.observe(scene, &session, client, &mut stream);
            for (j, (seen, &own)) in observed.iter().zip(&session.update).enumerate() {
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
