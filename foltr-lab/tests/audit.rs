//! The audit with fewer samples: its verdicts, its files, and a wrong label that it does not let pass.

use foltr_federation::Privacy;
use foltr_federation::accountant::Guarantee;
use foltr_federation::privacy::{CentralMode, Clip, Gaussian};
use foltr_lab::audit::{Audit, Effort, Expected, Part, Verdict, epsilon, mechanisms, run};
use foltr_lab::command;
use foltr_rank::rng::Streams;
use indicatif::ProgressBar;
use serde_json::Value;

const QUICK: Effort = Effort { samples: 0.5, n_clients: 20 };

#[test]
fn labels_hold_and_every_control_is_caught() {
    let found = run(1, QUICK, &ProgressBar::hidden()).expect("data can be read");
    for finding in &found.findings {
        assert!(!finding.verdict.is_failure(), "{finding:?}");
        assert_eq!(finding.verdict, Verdict::of(finding.expected, finding.claimed, finding.lower_bound));
    }
    for part in [Part::Epsilon, Part::Inversion, Part::Sampler] {
        for expected in [Expected::Sound, Expected::Broken] {
            let is = |finding: &&foltr_lab::audit::Finding| finding.part == part && finding.expected == expected;
            assert!(found.findings.iter().filter(is).count() >= 3, "{part:?}, {expected:?}");
        }
    }
    assert!(!found.has_failed());
    files_have_their_form(&found);
}

fn files_have_their_form(found: &Audit) {
    let folder = tempfile::tempdir().expect("a folder");
    command::audit::write(found, folder.path()).expect("written");
    let text = std::fs::read_to_string(folder.path().join("audit.json")).expect("written");
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_str(&text).expect("a list of objects");
    assert_eq!(rows.len(), found.findings.len());
    for row in &rows {
        for key in ["mechanism", "expected", "verdict", "part", "what", "unit"] {
            assert!(row[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {row:?}");
        }
        for key in ["claimed", "lower_bound", "samples"] {
            assert!(row[key].as_f64().is_some_and(|number| number >= 0.0), "{key}: {row:?}");
        }
        let pair = (row["expected"].as_str(), row["verdict"].as_str());
        assert!([(Some("sound"), Some("sound")), (Some("broken"), Some("caught"))].contains(&pair), "{pair:?}");
    }
    // The five keys that a reader looks for come first.
    let places = ["mechanism", "claimed", "lower_bound", "expected", "verdict", "part"].map(|key| text.find(key));
    assert!(places.windows(2).all(|pair| pair[0].is_some() && pair[0] < pair[1]), "{places:?}");
    let table = std::fs::read_to_string(folder.path().join("inversion.csv")).expect("written");
    assert!(table.starts_with("view,n_interactions,n_clients,recovered,lower_limit,chance"), "{table}");
    assert_eq!(table.lines().count(), found.inversions.len() + 1);
    for name in ["audit.svg", "audit.png"] {
        assert!(folder.path().join(name).metadata().is_ok_and(|file| file.len() > 1000), "{name}");
    }
}

fn gaussian() -> Privacy {
    Privacy::Gaussian(Gaussian::new(Clip::Fixed(1.0), 1.0, CentralMode::Sealed).expect("positive"))
}

#[test]
fn a_wrong_label_on_a_sound_mechanism_is_violated() {
    // mu = 1: epsilon 2.02 at delta .02.
    let case = |label| mechanisms::sum("Gaussian", gaussian(), 4, 2, Expected::Sound).labelled(label);
    let judge = |epsilon| {
        let case = case(Guarantee { epsilon, delta: 0.02 });
        epsilon::certify(&case, &Streams::new(5), 0, Effort { samples: 0.4, ..QUICK }, &ProgressBar::hidden()).verdict
    };
    assert_eq!((judge(2.03), judge(1.6)), (Verdict::Sound, Verdict::Violated));
}

#[test]
fn half_of_the_noise_lost_is_not_seen_by_events_alone() {
    // The reason for the test of the sum's variance, which is judged in its place.
    let case = mechanisms::half_of_the_shares();
    let found = epsilon::certify(&case, &Streams::new(5), 0, QUICK, &ProgressBar::hidden());
    assert_eq!(found.verdict, Verdict::Missed);
    assert!(found.lower_bound > 1.0, "{found:?}");
}

#[test]
fn numbers_do_not_depend_on_threads() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let case = mechanisms::sum("Gaussian", gaussian(), 4, 2, Expected::Sound);
        let effort = Effort { samples: 0.01, ..QUICK };
        pool.install(|| epsilon::certify(&case, &Streams::new(5), 0, effort, &ProgressBar::hidden()))
    };
    let alone = on(1);
    assert!(alone.lower_bound > 0.5);
    assert_eq!(alone, on(3));
}
