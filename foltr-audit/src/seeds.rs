//! Do the seeds that FOLtR-ES transmits say anything about clicks? With the published random stream they do: the seed of
//! the next message is the output of a generator, known by the last seed, after as many draws as the clicks took.

use foltr_federation::accountant::Guarantee;
use foltr_federation::privacy::NoiseShares;
use foltr_federation::{Mechanism, Payload, PayloadSemantics, RoundTask};
use foltr_rank::Shape;
use foltr_rank::learn::evolution::{EvolutionSettings, Reward};
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::{Round, TrainingSet};
use foltr_simulation::letor::{ReadOptions, parse_letor};
use foltr_simulation::published_stream::messages;
use rand::RngExt;
use rand_mt::Mt;

use super::epsilon::{bound, score};
use super::mechanisms::{N_SHOWN, epsilon_of, response};
use super::{AuditBudget, Measured};

const N_SAMPLES: usize = 20_000;
/// A round takes fewer draws.
const MOST_DRAWS: usize = 200;
const SHAPE: Shape = Shape::Linear { n_features: 1 };
const SETTINGS: EvolutionSettings =
    EvolutionSettings { sigma: 0.1, antithetic: false, reward: Reward::MaxRr, n_interactions: 1, n_shown: N_SHOWN };

/// Two messages of a client whose documents are all relevant, or all not.
pub(super) struct SeedTest {
    inputs: [ClientData; 2],
    privacy: Mechanism,
    claimed: f64,
}

impl SeedTest {
    pub(super) fn new() -> Self {
        let epsilon = epsilon_of(0.5);
        Self { inputs: [2, 0].map(client), privacy: response(epsilon), claimed: epsilon }
    }

    pub(super) fn measure(&self, streams: &Streams, number: u32, budget: AuditBudget) -> Measured {
        let n = budget.share_of(N_SAMPLES);
        let mut samples = [0, 1].map(|input| -> Vec<f64> {
            let own = streams.branch(Purpose::Noise, input, number);
            (0..n as u32).map(|place| self.n_draws(&self.inputs[input as usize], &own, place)).collect()
        });
        score(&mut samples);
        Measured {
            claimed: self.claimed,
            lower_bound: bound(&samples, &[Guarantee { epsilon: self.claimed, delta: 0.0 }]).1,
            what: "the draws between the seeds of two messages".into(),
            unit: "epsilon".into(),
            samples: 2 * n as u64,
        }
    }

    /// After how many draws from the first seed the second one comes.
    fn n_draws(&self, partition: &ClientData, streams: &Streams, place: u32) -> f64 {
        let task = RoundTask { round: place, global: vec![0.0], n_clients: 1, n_interactions: 1, clip_norm: None };
        let round = Round {
            task: &task,
            clusters: &[],
            partition,
            privacy: &self.privacy,
            noise_shares: NoiseShares::InMessages,
            rule: PayloadSemantics::Evolution { sigma: 0.1, antithetic: false },
            streams,
        };
        let first = streams.open(Purpose::PerturbationSeed, 0, place).random();
        let sent = messages(SETTINGS, SHAPE, &round, first, 2);
        let seeds: Vec<u32> = sent.iter().filter_map(seed).collect();
        let mut generator = Mt::new(seeds[0]);
        (0..MOST_DRAWS).position(|_| generator.next_u32() == seeds[1]).unwrap_or(MOST_DRAWS) as f64
    }
}

const fn seed(payload: &Payload) -> Option<u32> {
    if let Payload::Evolution { seed, .. } = payload { Some(*seed) } else { None }
}

/// A client with one query, whose documents all have this label.
fn client(label: u8) -> ClientData {
    // A last document has the largest label, so that the grades are three; it is never shown.
    let lines = (0..N_SHOWN).map(|i| format!("{label} qid:1 1:{}\n", i + 1)).chain(["2 qid:1 1:-1\n".to_owned()]);
    let text: String = lines.collect();
    let data = parse_letor(text.as_bytes(), "one query".as_ref(), &ReadOptions::default()).expect("sound lines");
    let users = Users::Cascade(Cascade::preset(Preset::Navigational, 2).expect("three grades"));
    ClientData::iid(TrainingSet::new(data, N_SHOWN), users, 1)
}
