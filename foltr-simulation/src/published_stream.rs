//! FOLtR-ES with the random stream of its published code, to match published numbers. Off by default.
//!
//! Spec section 4, pitfalls: each client owns one MT19937 generator (`MN98` Matsumoto, Nishimura, 1998), draws the seed
//! it will transmit from it, re-seeds it with that very seed, and draws queries and clicks from it; the perturbation
//! comes from a second generator with the same seed. Click coins thus reuse the uniforms behind the perturbation, which
//! biases the gradient.
//!
//! Both generators have the same seed, so the same outputs are drawn once and read twice. After a round a client needs
//! its next output only, the seed of the next round: four bytes instead of a generator of 2.5 KB.

use foltr_federation::{CHUNK, Payload};
use foltr_rank::learn::evolution::{Evolution, EvolutionSettings};
use foltr_rank::rng::{Purpose, Stream};
use foltr_rank::{Clicks, Impression, MAX_SHOWN, OnlineLearner, Ranking, Shape};
use rand_mt::Mt;
use rayon::prelude::*;

use crate::click::{Cascade, Users};
use crate::client_round::{ClientStats, Round};
use crate::federation_run::ChunkSums;
use crate::simulated_noise::SimulatedNoise;

/// The outputs of a generator after its seed, as far as anybody has read.
struct Outputs {
    generator: Mt,
    drawn: Vec<u32>,
}

impl Outputs {
    fn new() -> Self {
        Self { generator: Mt::new(0), drawn: Vec::new() }
    }

    fn restart(&mut self, seed: u32) {
        self.generator.reseed(seed);
        self.drawn.clear();
    }

    /// Reads from the first output on.
    fn read(&mut self) -> Reader<'_> {
        Reader { outputs: self, position: 0 }
    }
}

struct Reader<'a> {
    outputs: &'a mut Outputs,
    position: usize,
}

impl Reader<'_> {
    fn next_u32(&mut self) -> u32 {
        let Outputs { generator, drawn } = &mut *self.outputs;
        if self.position == drawn.len() {
            drawn.push(generator.next_u32());
        }
        self.position += 1;
        drawn[self.position - 1]
    }
}

/// A 53-bit uniform number in [0, 1) from two outputs.
fn uniform(generator: &mut Reader<'_>) -> f64 {
    let (a, b) = (generator.next_u32() >> 5, generator.next_u32() >> 6);
    (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
}

/// A number below `n`: outputs masked to the next power of two minus one, until one is small enough.
fn below(generator: &mut Reader<'_>, n: u32) -> u32 {
    let mask = n.next_power_of_two() - 1;
    loop {
        let value = generator.next_u32() & mask;
        if value < n {
            return value;
        }
    }
}

/// Normal numbers by the polar method (`MB64` Marsaglia, Bray, 1964), in the published order: the second of a pair
/// first.
fn fill_normals(mut generator: Reader<'_>, normals: &mut [f32]) {
    let mut other = None;
    for normal in normals {
        *normal = other.take().unwrap_or_else(|| {
            loop {
                let (x1, x2) = (2.0 * uniform(&mut generator) - 1.0, 2.0 * uniform(&mut generator) - 1.0);
                let square = x1 * x1 + x2 * x2;
                if square > 0.0 && square < 1.0 {
                    let factor = (-2.0 * square.ln() / square).sqrt();
                    other = Some(factor * x1);
                    break factor * x2;
                }
            }
        }) as f32;
    }
}

/// The published direction in our layout: the published W1 lists unit after unit, ours feature after feature.
fn fill_direction(shape: Shape, generator: Reader<'_>, direction: &mut [f32]) {
    fill_normals(generator, direction);
    if let Shape::Mlp { n_features, n_hidden, .. } = shape {
        let published = direction[..n_features * n_hidden].to_vec();
        for (unit, weights) in published.chunks_exact(n_features).enumerate() {
            for (feature, &weight) in weights.iter().enumerate() {
                direction[feature * n_hidden + unit] = weight;
            }
        }
    }
}

/// Clicks with one uniform a position, and one more for the stop after a click.
fn click(users: &Cascade, shown: &[u8], generator: &mut Reader<'_>) -> Clicks {
    let mut clicks = Clicks::default();
    for (position, &label) in shown.iter().enumerate() {
        if uniform(generator) < users.click_probabilities()[label as usize] {
            clicks.click(position);
            if uniform(generator) < users.stop_probabilities()[label as usize] {
                break;
            }
        }
    }
    clicks
}

/// All clients of a federation, each with the seed of its next round.
pub(crate) struct PublishedClients {
    next_seeds: Vec<u32>,
    shape: Shape,
    settings: EvolutionSettings,
}

impl PublishedClients {
    /// Clients seeded `run_seed + client`.
    pub(crate) fn new(run_seed: u64, n_clients: u32, shape: Shape, settings: EvolutionSettings) -> Self {
        let first_seed = |client: u32| Mt::new((run_seed as u32).wrapping_add(client)).next_u32();
        Self { next_seeds: (0..n_clients).map(first_seed).collect(), shape, settings }
    }

    /// One round of these consecutive clients, chunk by chunk.
    pub(crate) fn run(&mut self, round: &Round<'_>, clients: &[u32]) -> Vec<ChunkSums> {
        let (shape, settings) = (self.shape, self.settings);
        let first = clients.first().map_or(0, |&client| client as usize);
        let seeds = self.next_seeds[first..first + clients.len()].par_chunks_mut(CHUNK);
        let chunk_sums = |(clients, seeds): (&[u32], &mut [u32])| {
            let (mut outputs, mut learner) = (Outputs::new(), Evolution::new(shape, settings));
            let mut sums = ChunkSums::new(round);
            for (&client, seed) in clients.iter().zip(seeds) {
                let (payload, stats) = client_round(&mut learner, shape, round, client, seed, &mut outputs);
                sums.global.add_payload_with(&payload, &round.rule, 1.0, learner.direction());
                sums.stats.add(&stats);
            }
            sums
        };
        clients.par_chunks(CHUNK).zip(seeds).map(chunk_sums).collect()
    }
}

/// What a client sends in rounds of the same task, one after the other, beginning with this seed.
pub fn messages(
    settings: EvolutionSettings,
    shape: Shape,
    round: &Round<'_>,
    mut seed: u32,
    n_messages: usize,
) -> Vec<Payload> {
    let (mut outputs, mut learner) = (Outputs::new(), Evolution::new(shape, settings));
    let mut message = |_| client_round(&mut learner, shape, round, 0, &mut seed, &mut outputs).0;
    (0..n_messages).map(&mut message).collect()
}

/// One client's round with the outputs of its seed, which becomes the seed of its next round.
fn client_round(
    learner: &mut Evolution,
    shape: Shape,
    round: &Round<'_>,
    client: u32,
    seed: &mut u32,
    outputs: &mut Outputs,
) -> (Payload, ClientStats) {
    outputs.restart(*seed);
    let share = round.partition.share(client);
    let Users::Cascade(users) = share.users else {
        panic!("the published stream is defined for cascade users only");
    };
    learner.begin_with(&round.task.global, *seed, |_, direction| fill_direction(shape, outputs.read(), direction));
    let generator = &mut outputs.read();
    let mut unused: Stream = round.streams.open(Purpose::Interaction, client, round.task.round);
    let (mut stats, mut ranking) = (ClientStats::default(), Ranking::default());
    let data = share.training.data();
    for _ in 0..share.n_interactions {
        let query = below(generator, data.n_queries() as u32) as usize;
        // FOLtR-ES ranks deterministically: nothing is drawn here.
        learner.rank(data.query(query), &mut unused, &mut ranking);
        let mut shown = [0_u8; MAX_SHOWN];
        for (label, &doc) in shown.iter_mut().zip(ranking.docs()) {
            *label = data.labels(query)[doc as usize];
        }
        let clicks = click(users, &shown[..ranking.len()], generator);
        stats.count(share.training, query, &shown[..ranking.len()], clicks);
        learner.observe(&Impression::new(data.query(query), &ranking, clicks));
    }
    let mut payload = Payload::default();
    // The published coin comes from a global generator; ours from the client's own stream.
    let mut coin = SimulatedNoise::open(round.streams, Purpose::RandomisedResponse, client, round.task.round);
    round.privacy.protect(learner.finish(), round.task, &mut coin, &mut payload);
    *seed = generator.next_u32();
    (payload, stats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click::Preset;
    use crate::client_data::ClientData;
    use crate::client_round::TrainingSet;
    use crate::letor::{ReadOptions, parse_letor};
    use foltr_federation::privacy::{NoiseShares, Unprotected};
    use foltr_federation::{Coordinator, Mechanism, PartialSum, PayloadSemantics, ServerOptimiser, Setup};
    use foltr_rank::Activation;
    use foltr_rank::learn::evolution::Reward;
    use foltr_rank::rng::Streams;
    use serde_json::Value;

    fn vectors() -> Value {
        serde_json::from_str(include_str!("../tests/vectors/foltr_es_reference_run.json")).expect("JSON")
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
    }

    #[test]
    fn the_generators_give_the_published_numbers() {
        let example = &vectors()["stream_example"];
        let seed = example["seed"].as_u64().expect("a seed") as u32;
        let mut normals = [0.0; 5];
        let mut outputs = Outputs::new();
        outputs.restart(seed);
        fill_normals(outputs.read(), &mut normals);
        for (ours, expected) in normals.iter().zip(numbers(&example["normals"])) {
            assert_eq!(*ours, expected as f32);
        }
        let mut generator = outputs.read();
        let drawn: Vec<f64> = (0..5).map(|_| f64::from(below(&mut generator, 12))).collect();
        assert_eq!(drawn, numbers(&example["randint_0_12"]));
        let mut generator = outputs.read();
        let drawn: Vec<f64> = (0..5).map(|_| uniform(&mut generator)).collect();
        // Equal but for the last bit, which the JSON reader may round.
        drawn.iter().zip(numbers(&example["uniform"])).for_each(|(a, b)| assert!((a - b).abs() < 1e-15));
    }

    fn training(vectors: &Value) -> TrainingSet {
        let mut text = String::new();
        for (id, query) in vectors["queries"].as_array().expect("queries").iter().enumerate() {
            let docs = query["features"].as_array().expect("documents");
            for (label, features) in numbers(&query["labels"]).iter().zip(docs) {
                let values = numbers(features).into_iter().enumerate();
                let values: String = values.map(|(i, value)| format!(" {}:{}", i + 1, value as f32)).collect();
                text += &format!("{label} qid:{id}{values}\n");
            }
        }
        let data = parse_letor(text.as_bytes(), "vectors".as_ref(), &ReadOptions::default());
        TrainingSet::new(data.expect("sound lines"), 10)
    }

    /// Our flat parameters in the published layout: W1 unit after unit, then b1 and w2.
    fn published_weights(shape: Shape, weights: &Value) -> Vec<f64> {
        match shape {
            Shape::Linear { .. } => numbers(&weights["fc.weight"][0]),
            Shape::Mlp { n_features, n_hidden, .. } => {
                let rows: Vec<Vec<f64>> = weights["fc1.weight"].as_array().expect("rows").iter().map(numbers).collect();
                let w1 = (0..n_features).flat_map(|j| (0..n_hidden).map(|u| rows[u][j]).collect::<Vec<_>>());
                w1.chain(numbers(&weights["fc1.bias"])).chain(numbers(&weights["fc2.weight"][0])).collect()
            }
        }
    }

    #[test]
    fn the_reference_run_is_matched_message_by_message() {
        let vectors = vectors();
        let training = training(&vectors);
        for run in vectors["runs"].as_array().expect("runs") {
            let shape = match run["model"].as_str() {
                Some("linear") => Shape::Linear { n_features: 5 },
                _ => Shape::Mlp { n_features: 5, n_hidden: 10, activation: Activation::Relu },
            };
            let preset = match run["click_model"].as_str() {
                Some("Navigational") => Preset::Navigational,
                _ => Preset::Informational,
            };
            let reward = Reward::MaxRr;
            let settings = EvolutionSettings { sigma: 0.01, antithetic: true, reward, n_interactions: 4, n_shown: 10 };
            let rule = PayloadSemantics::Evolution { sigma: 0.01, antithetic: true };
            let optimiser = ServerOptimiser::Adam { rate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
            let setup = Setup { rule, optimiser, ..Setup::averaging(vec![0.0; shape.n_params()], 4, 4) };
            let mut coordinator = Coordinator::new(setup).expect("a sound setup");
            let users = Users::Cascade(Cascade::preset(preset, 2).expect("three grades"));
            let partition = ClientData::iid(training.clone(), users, 4);
            let (privacy, streams) = (Mechanism::Unprotected(Unprotected { reward }), Streams::new(7));
            let mut clients = PublishedClients::new(7, 4, shape, settings);
            let mut outputs = Outputs::new();
            let mut learner = Evolution::new(shape, settings);
            for expected in run["rounds"].as_array().expect("rounds") {
                let task = coordinator.task().clone();
                let (privacy, streams) = (&privacy, &streams);
                let partition = &partition;
                let noise_shares = NoiseShares::DrawnAtClosing;
                let round = Round { task: &task, clusters: &[], partition, privacy, noise_shares, rule, streams };
                let mut partial = PartialSum::new(shape.n_params());
                for (client, (next_seed, message)) in
                    clients.next_seeds.iter_mut().zip(expected["messages"].as_array().expect("messages")).enumerate()
                {
                    let (payload, _) =
                        client_round(&mut learner, shape, &round, client as u32, next_seed, &mut outputs);
                    let Payload::Evolution { seed, plus, minus } = payload else { panic!("an ES message") };
                    assert_eq!(u64::from(seed), message["seed"].as_u64().expect("a seed"));
                    assert_eq!(plus, message["plus"].as_f64().expect("a metric") as f32);
                    assert_eq!(minus, message["minus"].as_f64().map(|x| x as f32));
                    partial.add_payload_with(&payload, &rule, 1.0, learner.direction());
                }
                coordinator.receive_partial(0, &partial).expect("one chunk");
                let mut noise = SimulatedNoise::open(streams, Purpose::Noise, u32::MAX, task.round);
                coordinator.close(&mut noise).expect("four clients");
                let expected = published_weights(shape, &expected["weights"]);
                for (ours, expected) in coordinator.task().global.iter().zip(expected) {
                    assert!((f64::from(*ours) - expected).abs() < 1e-6, "{ours} instead of {expected}");
                }
            }
        }
    }
}
