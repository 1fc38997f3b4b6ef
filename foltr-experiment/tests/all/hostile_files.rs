//! Experiment files that nobody would write by hand: huge, or made to deceive whoever reads the messages.

use std::time::{Duration, Instant};

use foltr_experiment::grid::Grid;
use foltr_experiment::spec::{Problem, SpecError};
use foltr_test::ExperimentFile;

fn problems(text: &str, overrides: &[&str]) -> Vec<Problem> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Grid::from_toml(text, &overrides).expect_err("refused")
}

/// As a user sees them.
fn printed(problems: Vec<Problem>) -> String {
    SpecError::Wrong { path: "study.toml".into(), problems }.to_string()
}

#[test]
fn numbers_beyond_their_type_are_refused_with_line_and_key() {
    let huge = "99999999999999999999";
    for (key, value, message) in [
        ("federation.rounds", huge, "too large: whole numbers go from -9223372036854775808 to 9223372036854775807"),
        ("clients.n_clients", "0xfffffffffffffffff", "too large: whole numbers go from"),
        ("learner.learning_rate", "1e999", "too large: numbers go from -1.8e308 to 1.8e308"),
        ("federation.shards", "5000000000", "expected a whole number from 0 to 4294967295"),
    ] {
        let file = ExperimentFile::fpdgd().set(key, value).to_string();
        let line = 1 + file.lines().position(|line| line.contains(value)).expect("written");
        let text = printed(problems(&file, &[]));
        assert!(text.starts_with(&format!("study.toml:{line}: `{key}` = {value}: ")), "{text}");
        assert!(text.contains(message), "{text}");
        let set = printed(problems(&ExperimentFile::fpdgd().to_string(), &[&format!("{key}={value}")]));
        assert!(set.contains(key) && set.contains(message), "{set}");
    }
    let seeds = ExperimentFile::fpdgd().set("seeds", &format!("[1, {huge}]")).to_string();
    assert!(printed(problems(&seeds, &[])).starts_with(&format!("study.toml:1: `seeds[1]` = {huge}: too large")));
}

#[test]
fn messages_are_short_and_in_one_line() {
    let long = "x".repeat(200_000);
    let sound = ExperimentFile::fpdgd().to_string();
    for text in [
        format!("{sound}\n[{long}]\n"),
        format!("{sound}\n\"a\\nb\\u001b[31m\" = 1\n"),
        format!("{sound}\n{long}\n"),
        format!("{sound}\n[grid]\n{long} = 1\n"),
    ] {
        let text = printed(problems(&text, &[]));
        assert!(text.len() < 2000 && !text.contains('\u{1b}'), "{} bytes: {text:.300}", text.len());
        assert!(text.lines().all(|line| line.starts_with("study.toml:")), "{text}");
    }
    let set = printed(problems(&sound, &[&format!("{long}={long}")]));
    assert!(set.len() < 2000, "{} bytes", set.len());
    let many: String = (0..5000).map(|i| format!("[unknown{i}]\n")).collect();
    let text = printed(problems(&(sound + "\n" + &many), &[]));
    assert_eq!(text.lines().count(), 101);
    assert!(text.ends_with("there are more problems than these 100"), "{text}");
}

#[test]
fn a_hundred_thousand_seeds_are_checked_in_a_moment() {
    let list = |last: usize| format!("{:?}", (1..100_000).chain([last]).collect::<Vec<_>>()).replace(", ", ",\n");
    let started = Instant::now();
    let file = ExperimentFile::fpdgd().set("seeds", &list(100_000)).to_string();
    assert_eq!(Grid::from_toml(&file, &[]).expect("sound").settings[0].experiment.seeds().len(), 100_000);
    let twice = ExperimentFile::fpdgd().set("seeds", &list(7)).to_string();
    assert!(printed(problems(&twice, &[])).contains("seed 7 is there twice"));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
