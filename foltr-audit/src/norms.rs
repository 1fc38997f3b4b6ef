//! Is no update longer than the norm that is accounted for? Exact, on inputs that make rounding go wrong: sampling would
//! not see a norm that is exceeded by a little.

use std::sync::Arc;

use foltr_federation::privacy::{DiscreteGaussian, LEVELS};
use foltr_federation::{LocalPrivacy, Mechanism, Payload, RoundTask};
use foltr_rank::Update;
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::SimulatedNoise;
use rand::RngExt;

use super::Measured;

/// Lengths of updates, in clip norms.
const LENGTHS: [f64; 8] = [1e-30, 1e-3, 0.999_999_9, 1.0, 1.000_000_1, 10.0, 1e7, 1e30];
const DIMENSIONS: [usize; 5] = [1, 2, 46, 1000, 20_000];
/// Norms that a round may say, beside the mechanism's own.
const NORMS: [Option<f32>; 4] = [None, Some(0.1), Some(1.0 / 3.0), Some(1e-20)];
/// Random directions for each length and dimension; fewer of long vectors.
const N_DIRECTIONS: usize = 40;

/// A mechanism that clips, and the norm of its label.
pub(super) struct NormTest {
    pub(super) devices: Mechanism,
    pub(super) clip: f64,
}

impl NormTest {
    pub(super) fn measure(&self, streams: &Streams, number: u32) -> Measured {
        let mut stream = SimulatedNoise::open(streams, Purpose::Data, 0, number);
        let (mut longest, mut samples) = (0.0_f64, 0);
        for n_params in DIMENSIONS {
            for _ in 0..(N_DIRECTIONS * 46 / n_params.max(46)).max(1) {
                for length in LENGTHS {
                    let update = vector(n_params, length * self.clip, &mut stream);
                    for ratio in self.ratios(&update, &mut stream) {
                        longest = longest.max(ratio);
                        samples += 1;
                    }
                }
            }
        }
        Measured {
            claimed: 1.0,
            lower_bound: longest,
            what: "the longest of all messages about updates that rounding could make too long".into(),
            unit: "length of a message, in clip norms".into(),
            samples,
        }
    }

    /// The length of what is sent over the norm that is accounted for, for each norm that a round can say.
    fn ratios(&self, update: &[f32], noise: &mut SimulatedNoise) -> Vec<f64> {
        if let Mechanism::DiscreteGaussian(discrete) = &self.devices {
            return vec![in_grid_units(discrete, update) * discrete.clip() / self.clip];
        }
        let devices: Arc<dyn LocalPrivacy> = self.devices.clone().into();
        let sent = |clip_norm: Option<f32>| {
            let task = RoundTask { round: 0, global: Vec::new(), n_clients: 1, n_interactions: 1, clip_norm };
            let mut payload = Payload::default();
            devices.protect(Update::Step { delta: update, n_interactions: 1 }, &task, noise, &mut payload);
            let Payload::Clipped { delta, .. } = payload else { unreachable!("it is clipped") };
            norm(&delta) / clip_norm.map_or(self.clip, f64::from)
        };
        NORMS.map(sent).into()
    }
}

/// The length of what enters the sum, in clip norms; infinite if the device would refuse.
fn in_grid_units(discrete: &DiscreteGaussian, update: &[f32]) -> f64 {
    let square = |x: &i64| (*x as f64).powi(2);
    discrete.quantise(update).map_or(f64::INFINITY, |cut| cut.iter().map(square).sum::<f64>().sqrt())
        / f64::from(LEVELS)
}

fn norm(vector: &[f32]) -> f64 {
    vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}

/// A random vector of this length, as well as single precision can have it.
fn vector(n_params: usize, length: f64, stream: &mut SimulatedNoise) -> Vec<f32> {
    let plain: Vec<f64> = (0..n_params).map(|_| stream.random::<f64>() - 0.5).collect();
    let norm = plain.iter().map(|x| x * x).sum::<f64>().sqrt();
    plain.iter().map(|x| (x / norm * length) as f32).collect()
}
