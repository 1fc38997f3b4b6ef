//! The audit with fewer samples: its verdicts, its controls, and what a row detects.

use foltr_audit::{AuditBudget, Expected, Finding, Part, Scene, Verdict, rows, run};
use foltr_rank::rng::Streams;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use indicatif::ProgressBar;

const QUICK: AuditBudget = AuditBudget { samples: 0.25, n_clients: 20 };

/// What must be caught, beside the samplers and the views of the inversion.
const CONTROLS: [&str; 34] = [
    "Gaussian, half of the noise",
    "Gaussian, 0.9 of the noise",
    "Gaussian, ten rounds labelled as one",
    "Gaussian, a retry with fresh noise labelled as one message",
    "Gaussian, closed without noise",
    "Gaussian, clip 1.25 times too long",
    "Gaussian, fixed cohort labelled as added or removed",
    "Gaussian, coins seen but labelled as unseen",
    "Gaussian, the noise of training reused by a replay",
    "adaptive norm, count without noise",
    "adaptive norm, count left out of the label",
    "discrete Gaussian, half of the shares lost, threshold ignored",
    "discrete Gaussian, one draw for all coordinates",
    "discrete Gaussian, integer norm not checked",
    "distributed Laplace, half of the noise",
    "distributed Laplace, 0.9 of the noise",
    "distributed Laplace, ten rounds labelled as one",
    "distributed Laplace, half of the clients absent labelled as complete",
    "FPDGD's own label on the sum",
    "FPDGD's own label on one message of 1000",
    "FPDGD's label on no noise at all",
    "Duchi, 0.9 of its epsilon on the label",
    "Duchi that prefers large coordinates",
    "Duchi, a retry with fresh coins labelled as one message",
    "PrivUnit with the cap of 1.1 epsilon",
    "randomised response, message of 8 labelled as one",
    "randomised response, a tenth of the lies left out",
    "Laplace on rewards, 0.9 of the noise",
    "Laplace on rewards, a retry with fresh noise labelled as one message",
    "sampled response that samples the best interaction",
    "published stream, the next seed after the clicks",
    "central discrete Gaussian, half of the noise",
    "Gaussian, clip 1.25 times too long: norm",
    "discrete Gaussian, clip 1.25 times too long: norm",
];

fn examine(name: &str, error: f64, budget: AuditBudget) -> Finding {
    let row = rows().into_iter().find(|row| row.name() == name).expect(name);
    row.examine(error, &Streams::new(5), 0, budget, &ProgressBar::hidden())
}

#[test]
fn labels_hold_and_every_control_is_caught() {
    let train = Synthetic::new(SyntheticShape::Mq2007).generate(1).expect("a sound description").train;
    let scene = Scene::new("generated lists".into(), train, 1).expect("a scene");
    let audit = run(scene, 1, QUICK, "", &ProgressBar::hidden());
    let failures: Vec<&Finding> = audit.findings.iter().filter(|finding| finding.verdict.is_failure()).collect();
    assert!(failures.is_empty(), "{failures:?}");
    for finding in &audit.findings {
        assert_eq!(finding.verdict, Verdict::of(finding.expected, finding.claimed, finding.lower_bound));
        assert!(finding.expected == Expected::Broken || finding.detects.is_some(), "{}", finding.mechanism);
    }
    for part in [Part::Epsilon, Part::Norm, Part::Inversion, Part::Sampler] {
        for expected in [Expected::Sound, Expected::Broken] {
            let is = |finding: &&Finding| finding.part == part && finding.expected == expected;
            assert!(audit.findings.iter().filter(is).count() >= 2, "{part:?}, {expected:?}");
        }
    }
    assert!(!audit.has_failed());
}

#[test]
fn no_control_is_left_out_and_no_name_is_there_twice() {
    let rows = rows();
    let mut names: Vec<&str> = rows.iter().map(|row| row.name()).collect();
    for control in CONTROLS {
        assert!(rows.iter().any(|row| row.name() == control && row.expected() == Expected::Broken), "{control}");
    }
    let n_broken = rows.iter().filter(|row| row.expected() == Expected::Broken).count();
    assert_eq!(n_broken, CONTROLS.len() + 10, "those of samplers are 10");
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn an_error_in_what_the_coordinator_adds_is_found() {
    // An audit that added the noise itself would not see a coordinator that adds less of it, or none.
    let name = "Gaussian, clear, everyone";
    let verdicts = [1.0, 1.25].map(|error| examine(name, error, QUICK).verdict);
    assert_eq!(verdicts, [Verdict::Sound, Verdict::Violated]);
    let none = examine("Gaussian, closed without noise", 1.0, QUICK);
    // Without noise the models are told apart as surely as so many samples can say.
    assert!(none.verdict == Verdict::Caught && none.lower_bound > 6.0, "{none:?}");
}

#[test]
fn unequal_inputs_find_a_choice_that_looks_at_them() {
    // A bit about the largest coordinate: its law is the same for all inputs whose coordinates are equal, and for an
    // input and its opposite. An audit of these would let it pass with an infinite epsilon.
    let found = examine("Duchi that prefers large coordinates", 1.0, QUICK);
    assert!(found.verdict == Verdict::Caught && found.lower_bound > 6.0, "{found:?}");
    assert_eq!(examine("coordinate of Duchi's bit: frequencies", 1.1, QUICK).verdict, Verdict::Violated);
}

#[test]
fn a_clip_that_is_a_little_too_long_is_found() {
    for name in ["Gaussian: norm of messages", "discrete Gaussian: norm of shares"] {
        let verdicts = [1.0, 1.000_1, 1.25].map(|error| examine(name, error, QUICK).verdict);
        assert_eq!(verdicts, [Verdict::Sound, Verdict::Violated, Verdict::Violated], "{name}");
    }
}

#[test]
fn numbers_do_not_depend_on_threads() {
    for name in ["Gaussian, sealed, cohort, adaptive norm, 3 rounds", "sum of gamma shares: mean"] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| examine(name, 1.0, AuditBudget { samples: 0.02, ..QUICK }))
        };
        let alone = on(1);
        assert!(alone.lower_bound > 0.0, "{alone:?}");
        assert_eq!(alone, on(3));
    }
}
