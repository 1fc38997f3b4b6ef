//! Which mechanisms are audited, under which label? One line each; the broken ones are controls.
//!
//! Everything is drawn through [`LocalPrivacy::protect`], the door that messages leave by. Noise that protects a sum only
//! is audited on the sum of all messages of a cohort, in which one client's update is the one or the other and all
//! other updates are zero.

use foltr_federation::privacy::{ClipRadius, DistributedLaplace, RandomisedResponse, Unprotected};
use foltr_federation::{LocalPrivacy, Payload, RoundTask};
use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::rng::Stream;

use super::Expected::{self, Broken, Sound};
use super::epsilon::{Case, Draw, Neighbour};
use super::sampling::Scratch;

/// Documents shown, as in the papers: MaxRR then has eleven outcomes.
const N_SHOWN: usize = 10;
/// The clip and label of FPDGD's first setting, and the features of MQ2007.
const FPDGD: (f64, f64, usize) = (3.0, 1.2, 46);

/// All cases, in the order of the table.
pub fn all() -> Vec<Case> {
    let (sensitivity, epsilon, d) = FPDGD;
    let laplace = |factor| distributed_laplace(sensitivity, epsilon / factor);
    let mut cases: Vec<Case> = [0.25, 0.5, 0.9].map(|p| response(p, p, 1, Sound)).into();
    cases.extend([
        response(0.55, 0.5, 1, Broken).named("randomised response, a tenth of the lies left out"),
        response(0.5, 0.5, 8, Broken).named("randomised response, message of 8 labelled as one interaction"),
        sum_of_shares(laplace(1.0), 1, 10, true_label(&laplace(1.0), 1), Sound),
        sum_of_shares(laplace(1.0), 4, 10, true_label(&laplace(1.0), 4), Sound),
        sum_of_shares(laplace(1.0), d, 3, true_label(&laplace(1.0), d), Sound),
        sum_of_shares(laplace(1.0), d, 3, epsilon, Broken).named("distributed Laplace, FPDGD's own label"),
        sum_of_shares(laplace(0.5), 1, 10, epsilon, Broken).named("distributed Laplace, half of the noise"),
        sum_of_shares(laplace(0.9), 1, 10, epsilon, Broken).named("distributed Laplace, 0.9 of the noise"),
        ten_rounds(sum_of_shares(laplace(1.0), 1, 10, epsilon, Broken))
            .named("distributed Laplace, ten rounds labelled as one"),
        single_message(laplace(1.0), d, 1000, epsilon, "one message of FPDGD among 1000"),
        single_message(Unprotected { reward: Reward::MaxRr }, d, 1000, epsilon, "no protection at all"),
    ]);
    cases
}

impl Case {
    fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.mechanism);
        self
    }
}

/// Randomised response that tells the truth with probability `p`, labelled as if it were `label`, in a message of
/// `n_interactions`. Inputs: a click at the first rank each time, or none ever.
fn response(p: f64, label: f64, n_interactions: usize, expected: Expected) -> Case {
    let mechanism = RandomisedResponse::new(p, Reward::MaxRr, N_SHOWN).expect("more than 1/11");
    let others = Reward::MaxRr.n_outcomes(N_SHOWN) as f64 - 1.0;
    Case {
        mechanism: format!("randomised response, p = {p}"),
        what: "click at the first rank or no click; by the reward sent".into(),
        claimed: (label * others / (1.0 - label)).ln(),
        delta: 0.0,
        expected,
        n_samples: 1_000_000,
        draw: outcomes(mechanism, n_interactions),
    }
}

/// Draws the reward that is sent when all interactions have a click at the first rank, or none.
fn outcomes(mechanism: impl LocalPrivacy + Send + Sync + 'static, n_interactions: usize) -> Draw {
    let inputs = [vec![1_u16; n_interactions], vec![0_u16; n_interactions]];
    let task = task(1, 1, n_interactions);
    Box::new(move |input, stream, scratch| {
        let plus = &inputs[usize::from(input == Neighbour::Second)];
        mechanism.protect(Update::Evolution { seed: 0, plus, minus: &[] }, &task, stream, &mut scratch.payload);
        let Payload::Evolution { plus, .. } = scratch.payload else { unreachable!("outcomes stay outcomes") };
        f64::from(plus)
    })
}

pub(super) fn distributed_laplace(sensitivity: f64, epsilon: f64) -> DistributedLaplace {
    DistributedLaplace::new(sensitivity, epsilon, ClipRadius::Paper).expect("positive")
}

/// 2 R sqrt(d) / b: what an L2 clip to R and Laplace noise of scale b on each of d coordinates give.
fn true_label(mechanism: &DistributedLaplace, d: usize) -> f64 {
    2.0 * f64::from(mechanism.clip_radius().expect("it clips")) * (d as f64).sqrt() / mechanism.laplace_scale()
}

/// The sum of the messages of all clients. One client's model is as long as allowed, in opposite directions that differ
/// in all coordinates alike: no pair has a larger L1 distance. Statistic: the privacy loss.
fn sum_of_shares(mechanism: DistributedLaplace, d: usize, n_clients: u32, claimed: f64, expected: Expected) -> Case {
    let shift = f64::from(mechanism.clip_radius().expect("it clips")) / (d as f64).sqrt();
    let (inputs, scale, task) = (opposite(shift, d), mechanism.laplace_scale(), task(n_clients, d, 1));
    let draw = move |input: Neighbour, stream: &mut Stream, scratch: &mut Scratch| {
        add_up(&mechanism, &inputs[usize::from(input == Neighbour::Second)], &task, stream, scratch);
        scratch.sum.iter().map(|x| ((x + shift).abs() - (x - shift).abs()) / scale).sum()
    };
    Case {
        mechanism: format!("distributed Laplace, d = {d}"),
        what: format!("sum of {n_clients} messages; opposite models of norm R; by the privacy loss"),
        claimed,
        delta: 0.0,
        expected,
        n_samples: if d > 10 { 200_000 } else { 400_000 },
        draw: Box::new(draw),
    }
}

/// One message as the server sees it, labelled with the epsilon of the sum. Statistic: the sum of its coordinates.
fn single_message(
    mechanism: impl LocalPrivacy + Send + Sync + 'static,
    d: usize,
    n_clients: u32,
    claimed: f64,
    name: &str,
) -> Case {
    let shift = FPDGD.0 / 2.0 / (d as f64).sqrt();
    let (inputs, task) = (opposite(shift, d), task(n_clients, d, 1));
    let draw = move |input: Neighbour, stream: &mut Stream, scratch: &mut Scratch| {
        let update = Update::Step { delta: &inputs[usize::from(input == Neighbour::Second)], n_interactions: 1 };
        mechanism.protect(update, &task, stream, &mut scratch.payload);
        step_of(&scratch.payload).iter().map(|&x| f64::from(x)).sum()
    };
    Case {
        mechanism: format!("{name}, labelled {claimed}"),
        what: "one message; opposite models of norm R; by the sum of its coordinates".into(),
        claimed,
        delta: 0.0,
        expected: Broken,
        n_samples: 100_000,
        draw: Box::new(draw),
    }
}

/// The same mechanism ten times on the same input, with the same label.
fn ten_rounds(case: Case) -> Case {
    let once = case.draw;
    let draw: Draw = Box::new(move |input, stream, scratch| (0..10).map(|_| once(input, stream, scratch)).sum());
    Case { draw, what: format!("ten rounds: {}", case.what), n_samples: case.n_samples / 4, ..case }
}

/// Vectors of this value, and of its negative, in every coordinate.
fn opposite(shift: f64, d: usize) -> [Vec<f32>; 2] {
    [vec![shift as f32; d], vec![-shift as f32; d]]
}

pub(super) fn task(n_clients: u32, d: usize, n_interactions: usize) -> RoundTask {
    RoundTask { round: 0, global: vec![0.0; d], n_clients, n_interactions: n_interactions as u32 }
}

/// Sums the messages of a cohort in which the first client has this update and all others have none.
pub(super) fn add_up(
    mechanism: &impl LocalPrivacy,
    first: &[f32],
    task: &RoundTask,
    stream: &mut Stream,
    scratch: &mut Scratch,
) {
    scratch.sum.clear();
    scratch.sum.resize(first.len(), 0.0);
    for client in 0..task.n_clients {
        let delta = if client == 0 { first } else { &task.global };
        mechanism.protect(Update::Step { delta, n_interactions: 1 }, task, stream, &mut scratch.payload);
        let message = step_of(&scratch.payload);
        scratch.sum.iter_mut().zip(message).for_each(|(sum, &value)| *sum += f64::from(value));
    }
}

pub(super) fn step_of(payload: &Payload) -> &[f32] {
    let Payload::Step { delta, .. } = payload else { unreachable!("a step stays a step") };
    delta
}
