//! What does a server see of a client's round, and how does it model the noise?

use foltr_federation::privacy::{ClipRadius, DistributedLaplace, Unprotected};
use foltr_federation::{LocalPrivacy, Payload, Privacy, RoundTask};
use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::rng::Stream;

use super::decoder::Noise;
use super::scene::{Scene, Session};
use crate::audit::Expected::{self, Broken};

/// What the server sees.
#[derive(Clone, Debug)]
pub struct View {
    name: String,
    privacy: Privacy,
    /// Clients whose messages are added up before the server sees them; 1 if it sees each.
    n_summed: u32,
    /// Clients of the round, as the task says.
    n_clients: u32,
    noise: NoiseModel,
    /// What is known, and for which number of interactions it is judged.
    expected: Option<(Expected, usize)>,
}

/// How the server finds out about the noise.
#[derive(Clone, Copy, Debug)]
enum NoiseModel {
    /// There is none.
    None,
    /// It is that of FPDGD's shares.
    Shares(DistributedLaplace),
}

/// All views, in the order of the table.
pub fn views() -> Vec<View> {
    let mut views = vec![View {
        name: "clear".into(),
        privacy: Privacy::Unprotected(Unprotected { reward: Reward::MaxRr }),
        n_summed: 1,
        n_clients: 1,
        noise: NoiseModel::None,
        expected: Some((Broken, 2)),
    }];
    for (n_clients, expected) in [(1000, Some((Broken, 2))), (100, None), (10, None)] {
        // The setting of the papers with the largest clip.
        let mechanism = DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive");
        views.push(View {
            name: format!("FPDGD's share of {n_clients}"),
            privacy: Privacy::DistributedLaplace(mechanism),
            n_summed: 1,
            n_clients,
            noise: NoiseModel::Shares(mechanism),
            expected,
        });
    }
    views
}

/// A view with what the server has learnt about its noise.
pub struct Seen<'a> {
    view: &'a View,
    noise: Noise,
    task: RoundTask,
}

impl View {
    /// Its name.
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// What is known about it, if it is judged with so many interactions.
    pub fn judged(&self, n_interactions: usize) -> Option<Expected> {
        self.expected.filter(|(_, judged)| *judged == n_interactions).map(|(expected, _)| expected)
    }

    /// The view of a server that prepares for clients of so many interactions.
    pub fn prepare(&self, scene: &Scene, n_interactions: usize) -> Seen<'_> {
        let global = scene.global().to_vec();
        let task = RoundTask { round: 0, global, n_clients: self.n_clients, n_interactions: n_interactions as u32 };
        let noise = match self.noise {
            NoiseModel::None => Noise::Rounding,
            NoiseModel::Shares(mechanism) => {
                Noise::Shares { shape: 1.0 / f64::from(self.n_clients), scale: mechanism.laplace_scale() }
            }
        };
        Seen { view: self, noise, task }
    }
}

impl Seen<'_> {
    /// How the noise is distributed.
    pub const fn noise(&self) -> &Noise {
        &self.noise
    }

    /// What the server sees of this client.
    pub fn observe(&self, _scene: &Scene, session: &Session, _client: u32, stream: &mut Stream) -> Vec<f64> {
        let mut payload = Payload::default();
        let update = Update::Step { delta: &session.update, n_interactions: session.shown.len() as u32 };
        self.view.privacy.protect(update, &self.task, stream, &mut payload);
        let Payload::Step { delta, .. } = payload else { unreachable!("a step stays a step") };
        delta.into_iter().map(f64::from).collect()
    }
}
