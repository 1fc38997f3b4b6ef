//! FedEraser at the size of the thesis, on MQ2008: how long it takes, what is kept, and that it forgets.
//!
//! Skipped with a message where `FOLTR_DATA` names no folder with MQ2008.

mod scene;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use foltr_federation::unlearn::{FedEraser, Variant};
use foltr_federation::{Keeping, Unlearning};
use foltr_rank::Shape;
use foltr_simulation::cache::Cache;
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::{LoadOptions, Source};
use foltr_simulation::federation_run::{FederationRun, FederationSettings};
use foltr_simulation::letor::ReadOptions;
use foltr_simulation::partition::Partition;

use scene::{advance, fingerprint, forget, latest, marked, settings, without};

const N_ROUNDS: u32 = 10_000;

fn mq2008() -> Option<Partition> {
    let folder = std::env::var_os("FOLTR_DATA").map(|data| PathBuf::from(data).join("MQ2008"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        println!("skipped: FOLTR_DATA does not name a folder with MQ2008");
        return None;
    };
    let options = LoadOptions { normalise: true, cache: Cache::Off, read: ReadOptions::default() };
    let fold = Source::open(&folder).expect("MQ2008").load_fold(0, &options).expect("a fold");
    let users = Users::Cascade(Cascade::preset(Preset::Perfect, 2).expect("three grades"));
    Some(Partition::iid(TrainingSet::new(fold.train, 10), users, 5))
}

/// How long so many rounds take, and what is kept of them.
fn timed(
    settings: &FederationSettings,
    partition: &Partition,
    keeping: Option<Keeping>,
) -> (Duration, foltr_federation::Checkpoint, Option<foltr_federation::History>) {
    let start = Instant::now();
    let mut run = FederationRun::new(settings.clone(), partition).expect("sound settings");
    if let Some(keeping) = keeping {
        run = run.with_history(keeping, fingerprint()).expect("it can be kept");
    }
    advance(&mut run, N_ROUNDS);
    let took = start.elapsed();
    let state = run.checkpoint().expect("it can be resumed");
    (took, state, run.into_history())
}

#[test]
fn fed_eraser_at_the_size_of_the_thesis() {
    let Some(partition) = mq2008() else { return };
    let initial = vec![0.0; 46];
    let plain = settings(&partition);
    let honest = FederationSettings { shape: Shape::Linear { n_features: 46 }, initial, ..plain };
    let marked = FederationSettings { attackers: Some(marked()), ..honest.clone() };
    let keeping = Keeping { updates_every: Some(5), ..Keeping::default() };
    for (name, settings) in [("10H-0M", &honest), ("9H-1M", &marked)] {
        // Alternating, the least of each: other programs run on this machine, too.
        let (mut plain, mut kept) = (Duration::MAX, Duration::MAX);
        let mut states = Vec::new();
        for _ in 0..4 {
            let (took, state, _) = timed(settings, &partition, None);
            plain = plain.min(took);
            let (took, kept_state, history) = timed(settings, &partition, Some(keeping));
            kept = kept.min(took);
            states.push((state, kept_state, history));
        }
        let (state, kept_state, history) = states.pop().expect("one");
        assert_eq!(state, kept_state, "keeping changes nothing");
        let more = 100.0 * (kept.as_secs_f64() / plain.as_secs_f64() - 1.0);
        println!("{name}: {plain:.2?} without a history, {kept:.2?} with one: {more:+.1} %");
        println!("{name}: {:?}", history.expect("kept").size());
    }
    let (_, _, history) = timed(&marked, &partition, Some(keeping));
    let history = history.expect("kept");
    let start = Instant::now();
    let retrained = without(&marked, &partition, &[0], N_ROUNDS);
    println!("retraining: {:.2?}", start.elapsed());
    let start = Instant::now();
    history.verify().expect("our own");
    println!("verifying: {:.2?}", start.elapsed());
    for interval in [5, 10, 20] {
        for steps in 1..=4 {
            let start = Instant::now();
            let method = Unlearning::FedEraser(FedEraser { interval, steps, variant: Variant::Thesis });
            let erased = forget(method, &marked, &partition, &history, &[0]).expect("kept");
            let took = start.elapsed();
            println!(
                "Delta t {interval}, n' {steps}: {took:.2?}, cosine to retrained {:.3}, of the marked model {:.3}",
                cosine(&erased.params, &retrained),
                cosine(&latest(&history).global(), &retrained)
            );
            assert_eq!(erased.cost.local_steps, u64::from(N_ROUNDS / interval * 9 * steps));
            assert!(took < Duration::from_secs(5), "far from the tenth of a second that it should take");
        }
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
