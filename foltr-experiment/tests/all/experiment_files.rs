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

#[test]
fn the_sound_file_is_sound() {
    assert_eq!(problems(&[]), [""; 0]);
    assert_eq!(problems(&[EVOLUTION]), [""; 0]);
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_one() {
    assert_eq!(
        problems(&[("learning_rate = 0.1", "learning_rat = 0.1")]),
        ["23: `learner.learning_rat` = 0.1: no such key; did you mean `learning_rate`? (allowed: learning_rate, \
          updates, proximal)"]
    );
}

#[test]
fn a_value_of_the_wrong_type_is_found() {
    assert_eq!(
        problems(&[("learning_rate = 0.1", "learning_rate = \"fast\"")]),
        ["23: `learner.learning_rate` = \"fast\": wrong kind of value: string \"fast\", expected a number"]
    );
    assert_eq!(
        problems(&[("n_clients = 10", "n_clients = -10")]),
        ["10: `clients.n_clients` = -10: wrong value: integer `-10`, expected a whole number, 0 or more"]
    );
}

#[test]
fn two_wrong_values_of_one_section_are_both_told() {
    assert_eq!(
        problems(&[("queries = 100", "queries = \"many\""), ("seed = 1\n", "seed = 1.5\n")]),
        [
            "6: `data.queries` = \"many\": wrong kind of value: string \"many\", expected a whole number, 0 or more",
            "7: `data.seed` = 1.5: wrong kind of value: number `1.5`, expected a whole number, 0 or more",
        ]
    );
}

#[test]
fn an_unknown_kind_lists_what_is_allowed() {
    assert_eq!(
        problems(&[("kind = \"pdgd\"", "kind = \"pdg\"")]),
        ["22: `learner.kind` = \"pdg\": no such choice; did you mean `pdgd`? (allowed: pdgd, evolution, \
          centralised-pdgd, least-squares, ranking-svm, random)"]
    );
    assert_eq!(
        problems(&[("preset = \"perfect\"", "preset = \"drunk\"")]),
        ["15: `users.preset` = \"drunk\": no such choice (allowed: perfect, navigational, informational, poison)"]
    );
}

#[test]
fn all_sections_report_at_once_in_the_order_of_the_file() {
    let found = problems(&[
        ("queries = 100", "queries = \"many\""),
        ("preset = \"perfect\"", "preset = \"drunk\""),
        ("rounds = 5", "rounds = 5\nround = 6"),
        ("[clients]", "[client]"),
    ]);
    let lines: Vec<String> = found.iter().map(|problem| problem.split_inclusive('`').take(2).collect()).collect();
    assert_eq!(lines, ["6: `data.queries`", "9: `client`", "15: `users.preset`", "28: `federation.round`"]);
}

#[test]
fn an_inner_table_is_searched_too() {
    assert_eq!(
        problems(&[("{ kind = \"learning-rate\", rate = 1.0 }", "{ kind = \"learning-rate\", rate = \"one\" }")]),
        ["28: `federation.optimiser.rate` = \"one\": wrong kind of value: string \"one\", expected a number"]
    );
    assert_eq!(problems(&[(", rate = 1.0", "")]), ["28: `federation.optimiser`: the key `rate` is missing here"]);
    assert_eq!(
        problems(&[("rate = 1.0", "rate = 0.0")]),
        ["28: `federation.optimiser.rate` = 0.0: must be positive and finite"]
    );
}

#[test]
fn evolution_needs_pairs_and_its_own_privacy() {
    let laplace =
        "[privacy]\nkind = \"distributed-laplace\"\nsensitivity = 5.0\nepsilon = 4.5\nclip = \"paper\"\n\n[users]";
    assert_eq!(
        problems(&[EVOLUTION, ("interactions = 2", "interactions = 3"), ("[users]", laplace)]),
        [
            "11: `clients.interactions` = 3: must be even: half of them try the opposite perturbation \
             (learner.antithetic = true)",
            "14: `privacy.kind` = \"distributed-laplace\": is not defined for what evolution sends (allowed: none, \
             randomised-response, sampled-response)",
        ]
    );
}

#[test]
fn pdgd_cannot_have_randomised_response() {
    let response = "[privacy]\nkind = \"randomised-response\"\nprobability = 0.9\n\n[users]";
    assert_eq!(
        problems(&[("[users]", response)]),
        ["14: `privacy.kind` = \"randomised-response\": is not defined for what pdgd sends (allowed: none, \
          distributed-laplace, gaussian, discrete-gaussian, duchi, priv-unit)"]
    );
}

#[test]
fn a_response_that_says_nothing_is_refused() {
    let response = "[privacy]\nkind = \"randomised-response\"\nprobability = 0.05\n\n[users]";
    let found = problems(&[EVOLUTION, ("[users]", response)]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("15: `privacy.probability` = 0.05: "), "{}", found[0]);
    assert!(found[0].contains("1/11"), "{}", found[0]);
}

#[test]
fn the_published_stream_is_what_was_published() {
    let published = ("stream = \"separate\"", "stream = \"published\"");
    assert_eq!(problems(&[EVOLUTION, published]), [""; 0]);
    let biased = ("kind = \"cascade\"\npreset = \"perfect\"", "kind = \"position-based\"\neta = 1.0");
    assert_eq!(
        problems(&[EVOLUTION, published, biased]),
        ["26: `learner.stream` = \"published\": \"published\" needs users.kind = \"cascade\": the published code did \
          nothing else"]
    );
}

#[test]
fn more_rounds_than_can_be_numbered_are_refused() {
    assert_eq!(
        problems(&[("rounds = 5", "rounds = 300_000_000")]),
        ["27: `federation.rounds` = 300_000_000: makes 300000000 rounds, at most 268435455 can be numbered"]
    );
}

#[test]
fn numbers_out_of_range_are_refused_together() {
    let found = problems(&[
        ("seeds = [1, 2]", "seeds = [1, 1]"),
        ("interactions = 2", "interactions = 2\ncohort = 11"),
        ("kind = \"linear\"", "kind = \"mlp\"\nhidden = 0\nactivation = \"logistic\""),
        ("{ kind = \"zero\" }", "{ kind = \"fan-in\" }"),
        ("[federation]", "[metrics]\nlist_length = 17\noffline = [\"map\", \"map\"]\n\n[federation]"),
    ]);
    assert_eq!(
        found,
        [
            "1: `seeds` = [1, 1]: seed 1 is there twice; equal runs would count as two",
            "12: `clients.cohort` = 11: more than there are clients (n_clients = 10)",
            "20: `ranker.hidden` = 0: must be 1 to 65536",
            "30: `metrics.list_length` = 17: must be 1 to 16",
            "31: `metrics.offline` = [\"map\", \"map\"]: a metric is there twice; its rows would count twice",
        ]
    );
}

#[test]
fn a_baseline_has_no_clients_no_server_and_no_ranker() {
    let baseline = ("kind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"", "kind = \"least-squares\"");
    let keys: Vec<String> =
        problems(&[baseline]).iter().map(|problem| problem[..problem.len().min(16)].into()).collect();
    assert_eq!(keys, ["9: `clients`: re", "17: `ranker`: re", "24: `federation`"]);
}

#[test]
fn a_federation_is_as_long_as_one_key_says() {
    assert_eq!(
        problems(&[("rounds = 5", "rounds = 5\nbudget = 100")]),
        ["28: `federation.budget` = 100: give either `rounds` or `budget`, not both"]
    );
    assert_eq!(
        problems(&[("rounds = 5", "budget = 19")]),
        ["27: `federation.budget` = 19: is less than one round of 20 interactions"]
    );
    assert_eq!(
        problems(&[("rounds = 5\n", "")]),
        ["26: `federation`: either `rounds` or `budget` (interactions) is needed"]
    );
}

#[test]
fn an_unknown_metric_lists_the_known_ones() {
    let found = problems(&[("[federation]", "[metrics]\noffline = [\"ndgc@10\"]\n\n[federation]")]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("27: `metrics.offline` = [\"ndgc@10\"]: "), "{}", found[0]);
    assert!(found[0].contains("ndcg@K") && found[0].contains("expected-maxrr"), "{}", found[0]);
}

#[test]
fn what_is_not_toml_is_told_with_its_line() {
    let found = problems(&[("queries = 100", "queries = = 100")]);
    assert!(found[0].starts_with("6: `queries = = 100`: this is not TOML: "), "{}", found[0]);
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
