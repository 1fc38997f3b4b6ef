//! Lost, refused and too long messages: none of them weakens a defence, and none ends a federation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use foltr_federation::aggregate::Mean;
use foltr_federation::unlearn::{NoisyRollback, Retrain, Sensitivity};
use foltr_federation::{Aggregation, Defence, Participation, Unlearning};
use foltr_rank::rng::Stream;
use foltr_simulation::adversary::{Adversary, Attack, Attackers, Knowledge, Own, Seeds, Seen, SignFlip};
use foltr_simulation::federation_run::{FederationRun, FederationSettings};

use crate::scene::*;

fn four_attackers() -> Attackers {
    let method = Attack::SignFlip(SignFlip::default());
    Attackers { attackers: 4, knowledge: Knowledge::Full, seeds: Seeds::Own, method }
}

fn attacked(defence: Defence, dropout: f64) -> FederationSettings {
    FederationSettings { defence, dropout, attackers: Some(four_attackers()), ..settings() }
}

fn run_against(settings: FederationSettings, adversary: impl Adversary + 'static) -> FederationRun<'static> {
    FederationRun::new(settings, partition()).expect("sound settings").with_adversary(Box::new(adversary))
}

fn length(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
}

/// Honest until attackers are more than half of the messages of a round; then all of them send one far vector.
#[derive(Debug)]
struct Patient {
    length: f32,
    n_strikes: Arc<AtomicU32>,
}

impl Adversary for Patient {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _: &mut Stream) {
        if 2 * own.rows().iter().count() > seen.n_clients {
            self.n_strikes.fetch_add(1, Ordering::Relaxed);
            let mut far = vec![0.0; seen.global.len()];
            far[0] = self.length;
            own.send_all(&far);
        }
    }
}

/// The attack: four of ten clients behave until honest messages are lost, so that the four are the majority of what comes.
/// The rule then cut off as many as it could, three of seven, and the vector of length 1e6 was the model.
#[test]
fn attackers_gain_nothing_by_waiting_for_lost_messages() {
    for defence in [trimmed(4), Defence { mixing: Some(4), ..trimmed(4) }, Defence::recommended(4)] {
        for dropout in [0.1, 0.3, 0.45] {
            let n_strikes = Arc::new(AtomicU32::new(0));
            let patient = Patient { length: 0.9e6, n_strikes: Arc::clone(&n_strikes) };
            let mut run = run_against(attacked(defence, dropout), patient);
            advance(&mut run, 200);
            let (n_strikes, far) = (n_strikes.load(Ordering::Relaxed), length(&run.task().global));
            assert!(n_strikes > 0 || dropout < 0.3, "the test has no round to wait for");
            assert!(far < 100.0, "{n_strikes} strikes with dropout {dropout} brought the model to length {far}");
            assert_eq!(run.n_refused(), 0);
        }
    }
}

/// Sends what no server may take.
#[derive(Debug)]
struct Silent;

impl Adversary for Silent {
    fn corrupt(&mut self, _: &Seen<'_>, own: &mut Own<'_>, _: &mut Stream) {
        own.rows_mut().for_each(|row| row.fill(f32::NAN));
    }
}

/// The attack: clients stay away so that too few messages come for the rule, and a careful server would skip every round.
#[test]
fn attackers_do_not_stop_a_federation_by_staying_away() {
    let settings = attacked(trimmed(4), 0.1);
    let mut run = run_against(settings.clone(), Silent);
    let mut before = run.task().global.clone();
    let mut n_moves = 0;
    for _ in 0..30 {
        advance(&mut run, 1);
        n_moves += u32::from(run.task().global != before);
        before.clone_from(&run.task().global);
    }
    assert_eq!(n_moves, 30);
    assert!(run.n_refused() > 90, "{} of 120, less those that were lost", run.n_refused());
}

/// Sends vectors that are finite and of no use.
#[derive(Debug)]
struct Huge(f32);

impl Adversary for Huge {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _: &mut Stream) {
        own.send_all(&vec![self.0; seen.global.len()]);
    }
}

/// The attack: one message of finite numbers near the largest makes the mean overflow. That ended the federation.
#[test]
fn a_step_that_overflows_is_dropped_and_counted() {
    let mut run = run_against(attacked(Defence::NONE, 0.0), Huge(f32::MAX));
    advance(&mut run, 6);
    assert!(run.n_dropped_steps() > 0, "the test has no overflow");
    assert_eq!(run.task().round, 6);
    assert!(run.task().global.iter().all(|value| value.is_finite()));
    let mut run = run_against(attacked(Defence::of_rule(Aggregation::Mean(Mean {})), 0.0), Huge(f32::MAX));
    advance(&mut run, 6);
    assert_eq!((run.n_refused(), run.n_dropped_steps()), (24, 0));
}

/// A stated defence refuses long messages of anybody, also with the mean: what is left is the mean of the others, and an
/// honest client whose message is too long ends nothing.
#[test]
fn long_messages_are_refused_whoever_sends_them() {
    let mean = Defence::of_rule(Aggregation::Mean(Mean {}));
    let mut attacked = run_against(attacked(mean, 0.0), Huge(1e6));
    let mut honest = run(&FederationSettings { absent: vec![0, 1, 2, 3], defence: mean, ..settings() }, 5);
    advance(&mut attacked, 5);
    assert_eq!((attacked.ranker(), attacked.n_refused()), (honest.ranker(), 20));
    advance(&mut honest, 1);
    assert_eq!(honest.n_refused(), 0);
    let tight = FederationSettings { defence: Defence { longest: 1e-9, ..mean }, ..settings() };
    let run = run(&tight, 3);
    assert_eq!((run.ranker(), run.n_refused()), (tight.initial, 30));
    // Without attackers and without long messages a stated mean is the mean.
    let stated = crate::scene::run(&FederationSettings { defence: mean, ..settings() }, 5);
    assert_eq!(stated.ranker(), crate::scene::run(&settings(), 5).ranker());
}

/// A client that is forgotten must not stand in for itself: neither in the model nor in any byte that is stored.
#[test]
fn a_forgotten_client_does_not_stand_in() {
    let settings = FederationSettings { defence: trimmed(2), dropout: 0.4, ..settings() };
    let (_, history) = trained(&settings, checkpoints(1), 12);
    let values = |history: &foltr_federation::History| latest(history).stand_ins.of(3).map(|last| last.values.clone());
    let own = values(&history).expect("it has sent something");
    assert!(contains_window(&history.encode(), &own), "the test can see it");
    let forgotten = forget(Unlearning::Retrain(Retrain {}), &settings, &history, &[3]).expect("nothing is needed");
    assert_eq!(forgotten.params, without(&settings, &[3], 12));
    assert!(!contains_window(&forgotten.history.encode(), &own));
    assert_eq!((values(&forgotten.history), forgotten.history.verify()), (None, Ok(())));
}

/// Noise hides the leaver in the model, not in what others sent because of the model: after a noisy return nothing of the
/// time before may stand in.
#[test]
fn nothing_stands_in_from_before_a_noisy_return() {
    let settings = FederationSettings { defence: clipped(0.05), dropout: 0.4, ..settings() };
    let (_, history) = trained(&settings, checkpoints(4), 10);
    let any_noise = NoisyRollback {
        clip_norm: 0.05,
        epsilon: 3.0,
        delta: 1e-4,
        max_noise: 0.0,
        sensitivity: Sensitivity::WorstCase,
    };
    // As much as hides the first eight rounds.
    let rollback = NoisyRollback { max_noise: any_noise.deviation(any_noise.bound(1.0, 1, 0, 8)), ..any_noise };
    let plan = rollback.plan(&history, &[3]).expect("clipped");
    assert_eq!(plan.round, 8);
    let forgotten = forget(Unlearning::NoisyRollback(rollback), &settings, &history, &[3]).expect("clipped").history;
    let blurred = forgotten.checkpoints().find(|state| state.round == plan.round).expect("where it went back to");
    assert!(blurred.stand_ins.is_empty());
    let oldest = latest(&forgotten).stand_ins.iter().map(|(_, last)| last.round).min();
    assert!(oldest.is_some_and(|round| round >= plan.round), "{oldest:?}");
}

/// Who was drawn and lost before its first message has a part in those rounds: a state after them is not clean.
#[test]
fn a_client_has_a_part_from_the_first_round_into_which_it_is_drawn() {
    let settings = FederationSettings { defence: trimmed(2), dropout: 0.6, ..settings() };
    let (_, history) = trained(&settings, EVERYTHING, 6);
    let sent = |client: u32| history.records().find(|record| record.update(client).is_some()).map(|it| it.round);
    assert!(
        (0..N_CLIENTS).any(|client| sent(client).is_some_and(|first| first > 0)),
        "the test has nobody who is late"
    );
    assert!((0..N_CLIENTS).all(|client| history.first_round(client) == Some(0)));
}

/// A million clients with a cohort of 100: only those of the last rounds are remembered.
#[test]
fn memory_follows_the_clients_of_the_last_rounds() {
    let participation = Participation::Sample(20);
    let defence = Defence { stand_ins: 3, ..trimmed(2) };
    let run = run(&FederationSettings { n_clients: 100_000, participation, defence, ..settings() }, 10);
    let state = run.checkpoint().expect("it can be resumed");
    assert!((41..=60).contains(&state.stand_ins.len()), "{}", state.stand_ins.len());
    assert!(state.stand_ins.iter().all(|(_, last)| last.round >= 7));
}
