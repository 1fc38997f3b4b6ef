//! Example files are sound; wrong files are refused with line, key, value and what would be right. `wrong/` has more of them.

use foltr_experiment::grid::Grid;
use foltr_experiment::spec::Experiment;
use foltr_test::ExperimentFile;

fn fpdgd() -> ExperimentFile {
    ExperimentFile::fpdgd()
}

/// The problems of a file, one a line, without its name.
fn problems(file: &ExperimentFile) -> Vec<String> {
    match Experiment::from_toml(&file.to_string()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(|problem| format!("{}: {problem}", problem.line.unwrap_or(0))).collect(),
    }
}

#[test]
fn every_example_is_sound_and_survives_being_resolved() {
    for path in foltr_test::spec_files() {
        let grid = Grid::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let resolved = grid.to_toml().expect("numbers of a sensible size");
        let again = Grid::from_toml(&resolved, &[]).unwrap_or_else(|problems| panic!("{resolved}\n{problems:?}"));
        assert_eq!(again.settings, grid.settings, "{}", path.display());
        assert_eq!(again.to_toml().as_ref(), Ok(&resolved), "{}", path.display());
    }
}

#[test]
fn the_file_in_the_readme_is_sound() {
    let readme = std::fs::read_to_string(foltr_test::workspace().join("README.md")).expect("a README");
    let (_, rest) = readme.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("an end");
    Grid::from_toml(example, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
}

#[test]
fn a_problem_has_line_key_value_and_what_is_right() {
    let evolution = ExperimentFile::evolution;
    let wrong_rate = "{ kind = \"learning-rate\", rate = \"one\" }";
    let biased = "kind = \"position-based\"\neta = 1.0";
    let laplace = "kind = \"distributed-laplace\"\nsensitivity = 5.0\nepsilon = 4.5\nclip = \"paper\"";
    let network = "kind = \"mlp\"\nhidden = 0\nactivation = \"logistic\"\ninitialisation = { kind = \"fan-in\" }";
    let cases: [(ExperimentFile, &[&str]); 16] = [
        (fpdgd(), &[]),
        (evolution(), &[]),
        (evolution().set("learner.stream", "\"published\""), &[]),
        // Two wrong values of one section, also if they are equal.
        (
            fpdgd().set("clients.n_clients", "-1").set("clients.interactions", "-1"),
            &[
                "10: `clients.n_clients` = -1: wrong value: integer `-1`, expected a whole number, 0 or more",
                "11: `clients.interactions` = -1: wrong value: integer `-1`, expected a whole number, 0 or more",
            ],
        ),
        (
            fpdgd().set("learner.kind", "\"pdg\""),
            &["22: `learner.kind` = \"pdg\": unknown value; did you mean `pdgd`? Expected one of: pdgd, evolution, \
               dbgd, mgd, pair-rank, centralised-pdgd, least-squares, ranking-svm, random"],
        ),
        (
            fpdgd().set("federation.optimiser", wrong_rate),
            &["28: `federation.optimiser.rate` = \"one\": wrong type: string \"one\", expected a number"],
        ),
        (
            fpdgd().set("federation.optimiser", "{ kind = \"learning-rate\" }"),
            &["28: `federation.optimiser`: missing key `rate`"],
        ),
        (fpdgd().without("data.queries"), &["3: `data`: missing key `queries`"]),
        (
            fpdgd().set("federation.optimiser", "{ kind = \"learning-rate\", rate = 0.0 }"),
            &["28: `federation.optimiser.rate` = 0.0: must be positive and finite"],
        ),
        (
            evolution().set("learner.stream", "\"published\"").section("users", biased),
            &[
                "26: `learner.stream` = \"published\": \"published\" needs users.kind = \"cascade\": the published code did \
               nothing else",
            ],
        ),
        (
            fpdgd().set("federation.rounds", "300_000_000"),
            &["27: `federation.rounds` = 300_000_000: makes 300000000 rounds, at most 268435455 can be numbered"],
        ),
        (
            fpdgd().set("federation.budget", "100"),
            &["29: `federation.budget` = 100: give either `rounds` or `budget`, not both"],
        ),
        (
            fpdgd().without("federation.rounds"),
            &["26: `federation`: either `rounds` or `budget` (interactions) is needed"],
        ),
        (
            evolution().section("privacy", laplace),
            &["33: `privacy.kind` = \"distributed-laplace\": is not defined for what evolution sends (allowed: none, \
               randomised-response, sampled-response, reward-laplace)"],
        ),
        (
            fpdgd().section("ranker", network).set("metrics.offline", "[\"map\", \"map\"]"),
            &[
                "19: `ranker.hidden` = 0: must be 1 to 65536",
                "33: `metrics.offline` = [\"map\", \"map\"]: a metric is there twice; its rows would count twice",
            ],
        ),
        // The other sections are checked without the one that cannot be read.
        (
            fpdgd().set("seeds", "3").set("data.kind", "\"text\"").set("clients.cohort", "11"),
            &[
                "1: `seeds` = 3: wrong type: integer `3`, expected a list",
                "4: `data.kind` = \"text\": unknown value; expected one of: synthetic, folder, files, intents, user-log",
                "12: `clients.cohort` = 11: more than there are clients (n_clients = 10)",
            ],
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(problems(&file), expected, "{file}");
    }
}

#[test]
fn a_response_that_says_nothing_is_refused() {
    let nothing = "kind = \"randomised-response\"\nprobability = 0.05";
    let refused = problems(&ExperimentFile::evolution().section("privacy", nothing));
    assert!(refused.len() == 1 && refused[0].starts_with("34: `privacy.probability` = 0.05: "), "{refused:?}");
    assert!(refused[0].contains("1/11"), "{refused:?}");
}

#[test]
fn a_baseline_has_no_clients_no_server_and_no_ranker() {
    let refused = problems(&fpdgd().section("learner", "kind = \"least-squares\""));
    let starts = ["9: `clients`: re", "17: `ranker`: re", "24: `federation`"];
    assert!(refused.iter().zip(starts).all(|(problem, start)| problem.starts_with(start)), "{refused:?}");
    assert_eq!(refused.len(), starts.len());
}
