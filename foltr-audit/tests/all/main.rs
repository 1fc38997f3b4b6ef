//! The audit with fewer samples: its verdicts, and a wrong label that it does not let pass.

use foltr_audit::{AuditBudget, Expected, Part, Scene, Verdict, epsilon, mechanisms, run};
use foltr_federation::Mechanism;
use foltr_federation::accountant::Guarantee;
use foltr_federation::privacy::{CentralMode, Clip, Gaussian};
use foltr_rank::rng::Streams;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use indicatif::ProgressBar;

const QUICK: AuditBudget = AuditBudget { samples: 0.5, n_clients: 20 };

#[test]
fn labels_hold_and_every_control_is_caught() {
    let train = Synthetic::new(SyntheticShape::Mq2007).generate(1).expect("a sound description").train;
    let scene = Scene::new("generated lists".into(), train, 1).expect("a scene");
    let audit = run(scene, 1, QUICK, &ProgressBar::hidden());
    for finding in &audit.findings {
        assert!(!finding.verdict.is_failure(), "{finding:?}");
        assert_eq!(finding.verdict, Verdict::of(finding.expected, finding.claimed, finding.lower_bound));
    }
    for part in [Part::Epsilon, Part::Inversion, Part::Sampler] {
        for expected in [Expected::Sound, Expected::Broken] {
            let is = |finding: &&foltr_audit::Finding| finding.part == part && finding.expected == expected;
            assert!(audit.findings.iter().filter(is).count() >= 3, "{part:?}, {expected:?}");
        }
    }
    assert!(!audit.has_failed());
}

fn gaussian() -> Mechanism {
    Mechanism::Gaussian(Gaussian::new(Clip::Fixed(1.0), 1.0, CentralMode::Sealed).expect("positive"))
}

#[test]
fn a_wrong_label_on_a_sound_mechanism_is_violated() {
    // mu = 1: epsilon 2.02 at delta .02.
    let case = |label| mechanisms::sum("Gaussian", gaussian(), 4, 2, Expected::Sound).labelled(label);
    let judge = |epsilon| {
        let case = case(Guarantee { epsilon, delta: 0.02 });
        epsilon::certify(&case, &Streams::new(5), 0, AuditBudget { samples: 0.4, ..QUICK }, &ProgressBar::hidden())
            .verdict
    };
    assert_eq!((judge(2.03), judge(1.6)), (Verdict::Sound, Verdict::Violated));
}

#[test]
fn half_of_the_noise_lost_is_not_seen_by_events_alone() {
    // The reason for the test of the sum's variance, which is judged in its place.
    let case = mechanisms::half_of_the_shares();
    let finding = epsilon::certify(&case, &Streams::new(5), 0, QUICK, &ProgressBar::hidden());
    assert_eq!(finding.verdict, Verdict::Missed);
    assert!(finding.lower_bound > 1.0, "{finding:?}");
}

#[test]
fn numbers_do_not_depend_on_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let case = mechanisms::sum("Gaussian", gaussian(), 4, 2, Expected::Sound);
        let budget = AuditBudget { samples: 0.01, ..QUICK };
        pool.install(|| epsilon::certify(&case, &Streams::new(5), 0, budget, &ProgressBar::hidden()))
    };
    let alone = on(1);
    assert!(alone.lower_bound > 0.5);
    assert_eq!(alone, on(3));
}
