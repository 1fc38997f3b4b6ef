//! Attackers who try their messages on the server's rule, in whole runs: they learn the step and change nothing by trying;
//! those who wait for a round that is not defended find none.

use std::sync::{Arc, Mutex};

use foltr_federation::aggregate::{CentredClipping, FlDetector, Mean, Radius, SpectralFilter};
use foltr_federation::unlearn::{FedEraser, Variant};
use foltr_federation::{Aggregation, Defence, Unlearning};
use foltr_rank::Params;
use foltr_rank::rng::Stream;
use foltr_simulation::adversary::{AdaptiveDrift, Adversary, Attack, Attackers, Knowledge, Own, Patient, Seeds, Seen};
use foltr_simulation::federation_run::{FederationRun, FederationSettings};

use crate::scene::*;

fn attackers(attackers: u32, method: Attack) -> Attackers {
    Attackers { attackers, knowledge: Knowledge::Full, seeds: Seeds::Own, method }
}

fn attacked(defence: Defence, dropout: f64, who: Attackers) -> FederationSettings {
    FederationSettings { defence, dropout, attackers: Some(who), ..settings() }
}

fn patient() -> Attack {
    Attack::Patient(Patient::default())
}

/// A rule of several steps, or with something to remember.
fn defences() -> Vec<Defence> {
    let clipping = CentredClipping { radius: Radius::Median, iterations: 2 };
    vec![
        Defence::of_rule(Aggregation::Mean(Mean {})),
        trimmed(4),
        Defence { mixing: Some(4), bound: Some(Radius::Median), ..trimmed(4) },
        Defence::of_rule(Aggregation::CentredClipping(clipping)),
        Defence::of_rule(Aggregation::FlDetector(FlDetector { window: 3 })),
        Defence::recommended(4),
    ]
}

/// What is sent in the end.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Honest,
    /// The first attacker's message is longer than any server takes.
    Refused,
}

/// Tries terrible messages, then those that it sends, and notes the step that it was told.
#[derive(Debug)]
struct Rehearsing {
    ending: Ending,
    told: Arc<Mutex<Vec<f64>>>,
}

impl Adversary for Rehearsing {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _: &mut Stream) {
        let honest: Vec<f32> = own.rows().iter().flatten().copied().collect();
        let far: Vec<f32> = honest.iter().map(|value| 1e4 - 300.0 * value).collect();
        assert!(seen.rehearse(&far).is_some());
        let mut messages = honest;
        if matches!(self.ending, Ending::Refused) {
            messages[..seen.global.len()].fill(1e6);
        }
        *self.told.lock().expect("nobody panicked") = seen.rehearse(&messages).expect("a step");
        own.send(&messages);
    }
}

/// The models of a run, and the steps that attackers were told.
fn rehearsed(settings: &FederationSettings, ending: Ending, n_rounds: usize) -> (Vec<Params>, Vec<Vec<f64>>, u64) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let adversary = Rehearsing { ending, told: Arc::clone(&told) };
    let mut run = FederationRun::new(settings.clone(), partition()).expect("sound settings");
    run = run.with_adversary(Box::new(adversary));
    let (mut models, mut steps) = (vec![run.task().global.clone()], Vec::new());
    for _ in 0..n_rounds {
        advance(&mut run, 1);
        models.push(run.task().global.clone());
        steps.push(std::mem::take(&mut *told.lock().expect("nobody panicked")));
    }
    (models, steps, run.n_refused())
}

/// Messages are lost, others stand in, one is refused, and rules remember: what attackers are told is what happens.
#[test]
fn attackers_are_told_the_step_that_the_server_makes() {
    for defence in defences() {
        let settings = attacked(defence, 0.2, attackers(4, patient()));
        for ending in [Ending::Honest, Ending::Refused] {
            let (models, steps, n_refused) = rehearsed(&settings, ending, 15);
            assert_eq!(n_refused > 0, matches!(ending, Ending::Refused), "{defence:?}");
            // In a round without an attacker nobody is told anything.
            let told = models.windows(2).zip(&steps).filter(|(_, step)| !step.is_empty());
            for (pair, step) in told {
                for ((before, after), step) in pair[0].iter().zip(&pair[1]).zip(step) {
                    let moved = f64::from(*after) - f64::from(*before);
                    assert!((moved - step).abs() < 1e-6, "{defence:?}, {ending:?}: {moved}, not {step}");
                }
            }
            assert!(steps.iter().filter(|step| !step.is_empty()).count() > 10);
        }
    }
}

#[test]
fn trying_messages_changes_nothing() {
    for defence in defences() {
        let settings = attacked(defence, 0.2, attackers(4, patient()));
        let (models, _, _) = rehearsed(&settings, Ending::Honest, 15);
        let mut honest = new_run(&FederationSettings { attackers: None, ..settings });
        for model in models {
            assert_eq!(honest.task().global, model, "{defence:?}");
            advance(&mut honest, 1);
        }
    }
}

fn length(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
}

/// The longest that the model became within a hundred rounds.
fn longest(settings: &FederationSettings) -> f64 {
    let mut run = new_run(settings);
    (0..100).fold(0.0, |longest, _| {
        advance(&mut run, 1);
        longest.max(length(&run.task().global))
    })
}

/// The attack: behave until a rule would follow, which attackers find out by trying. With as many stand-ins as messages are
/// lost, no such round comes for four of ten; with one attacker too many it is there at once.
#[test]
fn the_patient_wait_for_ever_where_m_is_right() {
    let filter = Defence::of_rule(Aggregation::SpectralFilter(SpectralFilter { attackers: 4 }));
    let model_of = |defence: Defence, n: u32, method: Attack| longest(&attacked(defence, 0.3, attackers(n, method)));
    let bounded = |defence: Defence| Defence { bound: Some(Radius::Median), ..defence };
    for defence in [trimmed(4), Defence { mixing: Some(4), ..trimmed(4) }, bounded(filter), Defence::recommended(4)] {
        let settings = attacked(defence, 0.3, attackers(4, patient()));
        let honest = FederationSettings { attackers: None, ..settings.clone() };
        assert_eq!(run(&settings, 100).ranker(), run(&honest, 100).ranker(), "{defence:?}: somebody struck");
    }
    assert!(model_of(trimmed(4), 5, patient()) > 1e4, "five against four");
    assert!(model_of(filter, 4, patient()) > 1e3, "a filter without a bound follows four");
    // Behind a bound they see that they would not get far, and go on waiting.
    for defence in [bounded(trimmed(4)), bounded(filter)] {
        assert!(model_of(defence, 5, patient()) < 20.0, "{defence:?}");
    }
}

/// One vector of great length from all attackers, in every round.
#[derive(Debug)]
struct Striking {
    /// The lengths of the honest messages, sorted, and the most that the model moved.
    honest: Arc<Mutex<Vec<f64>>>,
}

impl Adversary for Striking {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _: &mut Stream) {
        let mut lengths: Vec<f64> = seen.honest.expect("full knowledge").iter().map(length).collect();
        lengths.sort_by(f64::total_cmp);
        *self.honest.lock().expect("nobody panicked") = lengths;
        own.send_all(&vec![-1e4; seen.global.len()]);
    }
}

/// Five of ten strike against a rule that cuts off four. The middle length is that of the longest honest message, so the
/// model moves no further than that; by coordinates, no further than the root of 10/6 times that.
#[test]
fn a_bound_keeps_the_step_of_a_round_that_is_lost_short() {
    let filter = Aggregation::SpectralFilter(SpectralFilter { attackers: 4 });
    for (defence, factor) in [(trimmed(4), (10.0_f64 / 6.0).sqrt()), (Defence::of_rule(filter), 1.0)] {
        let moves = |bound: Option<Radius>| {
            let honest = Arc::new(Mutex::new(Vec::new()));
            let settings = attacked(Defence { bound, ..defence }, 0.0, attackers(5, patient()));
            let mut run = FederationRun::new(settings, partition()).expect("sound settings");
            run = run.with_adversary(Box::new(Striking { honest: Arc::clone(&honest) }));
            (0..20).fold(0.0, |most: f64, _| {
                let before = run.task().global.clone();
                advance(&mut run, 1);
                let moved: Vec<f32> =
                    run.task().global.iter().zip(before).map(|(after, before)| after - before).collect();
                let longest = *honest.lock().expect("nobody panicked").last().expect("five are honest");
                most.max(length(&moved) / longest)
            })
        };
        assert!(moves(None) > 1e3, "{defence:?}: the test has no lost round");
        let most = moves(Some(Radius::Median));
        assert!(most <= factor * (1.0 + 1e-5), "{defence:?}: {most} times the longest honest message");
    }
}

/// The mistake: attackers who were asked for fresh work while somebody is forgotten had prepared nothing, and ended the
/// program.
#[test]
fn attackers_who_prepare_are_there_when_somebody_is_forgotten() {
    let drift = AdaptiveDrift { rounds: 10, ..AdaptiveDrift::default() };
    let settings = attacked(Defence::NONE, 0.0, attackers(3, Attack::AdaptiveDrift(drift)));
    let (_, history) = trained(&settings, updates(2), 6);
    let eraser = Unlearning::FedEraser(FedEraser { interval: 2, steps: 2, variant: Variant::Thesis });
    let forgotten = forget(eraser, &settings, &history, &[8]).expect("updates are stored").params;
    let honest = FederationSettings { attackers: None, ..settings };
    assert_ne!(forgotten, forget(eraser, &honest, &history, &[8]).expect("updates are stored").params);
}
