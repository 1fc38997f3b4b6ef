//! Example files are sound; wrong files are refused with file, line, key, value and what would be right.

use std::path::Path;

use foltr_experiment::grid::Grid;
use foltr_experiment::spec::Experiment;
use foltr_experiment::study::{Asked, Study, StudyFile};
use foltr_test::ExperimentFile;

const EVOLUTION: (&str, &str) = (
    "kind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"",
    "kind = \"evolution\"\nsigma = 0.01\nantithetic = true\nreward = \"max-rr\"\nstream = \"separate\"",
);

/// The problems of the sound file after some replacements, one a line, without the file name.
fn problems(replacements: &[(&str, &str)]) -> Vec<String> {
    let mut text = ExperimentFile::fpdgd().to_string();
    for (from, to) in replacements {
        assert!(text.contains(from), "nothing to replace: {from}");
        text = text.replacen(from, to, 1);
    }
    match Experiment::from_toml(&text) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(|problem| format!("{}: {problem}", problem.line.unwrap_or(0))).collect(),
    }
}

#[test]
fn every_example_is_sound_and_survives_being_resolved() {
    for path in foltr_test::spec_files() {
        let file = StudyFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let grid = study(&file, None, false, &path).grid;
        let resolved = grid.to_toml().expect("numbers of a sensible size");
        let again = Grid::from_toml(&resolved, &[]).unwrap_or_else(|problems| panic!("{resolved}\n{problems:?}"));
        assert_eq!(again.settings, grid.settings, "{}", path.display());
        assert_eq!(again.to_toml().as_ref(), Ok(&resolved), "{}", path.display());
    }
}

#[test]
fn every_entry_is_sound_with_small_budgets_too() {
    for path in foltr_test::spec_files() {
        let file = StudyFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
        for entry in &file.entries {
            for is_quick in [false, true] {
                let study = study(&file, Some(&entry.id), is_quick, &path);
                assert!(!study.grid.settings.is_empty(), "{}: {}", path.display(), entry.id);
            }
        }
    }
}

fn study(file: &StudyFile, entry: Option<&str>, is_quick: bool, path: &Path) -> Study {
    let asked = Asked { entry, is_quick, overrides: &[] };
    file.study(&asked).unwrap_or_else(|problems| panic!("{}: {problems:#?}", path.display()))
}

/// What `wrong_files.rs` does not show.
#[test]
fn problems_are_named_with_line_key_value_and_what_is_right() {
    let published = ("stream = \"separate\"", "stream = \"published\"");
    let biased = ("kind = \"cascade\"\npreset = \"perfect\"", "kind = \"position-based\"\neta = 1.0");
    let privacy = |section: &'static str| ("[users]", section);
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        (&[], &[]),
        (&[EVOLUTION], &[]),
        (&[EVOLUTION, published], &[]),
        (
            &[("queries = 100", "queries = \"many\""), ("seed = 1\n", "seed = 1.5\n")],
            &[
                "6: `data.queries` = \"many\": wrong kind of value: string \"many\", expected a whole number, 0 or more",
                "7: `data.seed` = 1.5: wrong kind of value: number `1.5`, expected a whole number, 0 or more",
            ],
        ),
        (
            &[("kind = \"pdgd\"", "kind = \"pdg\"")],
            &["22: `learner.kind` = \"pdg\": no such choice; did you mean `pdgd`? (allowed: pdgd, evolution, \
               centralised-pdgd, least-squares, ranking-svm, random)"],
        ),
        (
            &[("preset = \"perfect\"", "preset = \"drunk\"")],
            &["15: `users.preset` = \"drunk\": no such choice (allowed: perfect, navigational, informational, poison)"],
        ),
        (
            &[("rate = 1.0", "rate = \"one\"")],
            &["28: `federation.optimiser.rate` = \"one\": wrong kind of value: string \"one\", expected a number"],
        ),
        (&[(", rate = 1.0", "")], &["28: `federation.optimiser`: the key `rate` is missing here"]),
        (&[("rate = 1.0", "rate = 0.0")], &["28: `federation.optimiser.rate` = 0.0: must be positive and finite"]),
        (
            &[EVOLUTION, privacy("[privacy]\nkind = \"duchi\"\nepsilon = 1.0\nbound = 1.0\n\n[users]")],
            &["14: `privacy.kind` = \"duchi\": is not defined for what evolution sends (allowed: none, \
               randomised-response, sampled-response)"],
        ),
        (
            &[EVOLUTION, privacy("[privacy]\nkind = \"randomised-response\"\nprobability = 0.05\n\n[users]")],
            &["15: `privacy.probability` = 0.05: probability = 0.05 must be above 1/11"],
        ),
        (
            &[EVOLUTION, published, biased],
            &[
                "26: `learner.stream` = \"published\": \"published\" needs users.kind = \"cascade\": the published code \
               did nothing else",
            ],
        ),
        (
            &[("rounds = 5", "rounds = 300_000_000")],
            &["27: `federation.rounds` = 300_000_000: makes 300000000 rounds, at most 268435455 can be numbered"],
        ),
        (
            &[
                ("interactions = 2", "interactions = 2\ncohort = 11"),
                ("kind = \"linear\"", "kind = \"mlp\"\nhidden = 0\nactivation = \"logistic\""),
                ("{ kind = \"zero\" }", "{ kind = \"fan-in\" }"),
                ("[federation]", "[metrics]\noffline = [\"map\", \"map\"]\n\n[federation]"),
            ],
            &[
                "12: `clients.cohort` = 11: more than there are clients (n_clients = 10)",
                "20: `ranker.hidden` = 0: a network needs at least one hidden unit",
                "30: `metrics.offline` = [\"map\", \"map\"]: a metric is there twice; its rows would count twice",
            ],
        ),
        (
            &[("kind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"", "kind = \"least-squares\"")],
            &["9: `clients`: remove", "17: `ranker`: remove", "24: `federation`: remove"],
        ),
        (
            &[("rounds = 5", "rounds = 5\nbudget = 100")],
            &["28: `federation.budget` = 100: give either `rounds` or `budget`, not both"],
        ),
        (&[("rounds = 5\n", "")], &["26: `federation`: either `rounds` or `budget` (interactions) is needed"]),
    ];
    for (replacements, expected) in cases {
        let problems = problems(replacements);
        assert_eq!(problems.len(), expected.len(), "{problems:#?}");
        for (problem, expected) in problems.iter().zip(*expected) {
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}

#[test]
fn the_file_in_the_readme_is_sound() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).expect("a README");
    let (_, rest) = readme.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("an end");
    let asked = Asked { entry: None, is_quick: false, overrides: &[] };
    let study = StudyFile::from_toml(example).and_then(|file| file.study(&asked));
    study.unwrap_or_else(|problems| panic!("{problems:?}"));
}
