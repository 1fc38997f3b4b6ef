//! `foltr privacy explain` on the files of `specs/`: numbers on the screen and in JSON.

use serde_json::Value;

use crate::binary::{assert_contains, foltr, stdout};

fn explain(arguments: &[&str]) -> String {
    stdout(&foltr().args(["privacy", "explain"]).args(arguments).assert().success())
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&explain(&[arguments, &["--json"]].concat())).expect("JSON")
}

fn assert_near(value: &Value, known: f64, share: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"));
    assert!((value / known - 1.0).abs() < share, "{value}, not {known}");
}

#[test]
fn fpdgd_on_mq2007() {
    for (clip, round, run) in [("released-code", 61.0, 28_267.0), ("paper", 30.5, 8806.0)] {
        let explained = json(&["specs/fpdgd-dp-mq2007.toml", "--set", &format!("privacy.clip={clip}")]);
        assert_eq!((&explained["version"], explained["explanations"].as_array().map(Vec::len)), (&1.into(), Some(1)));
        let explained = &explained["explanations"][0];
        let numbers = [&explained["claim"]["epsilon"], &explained["n_params"], &explained["messages"]];
        assert_eq!(numbers, [&Value::from(4.5), &46.into(), &1000.into()]);
        let [server, others, _] = explained["guarantees"].as_array().expect("a list").as_slice() else {
            panic!("{explained}")
        };
        let nothing = [&server["against"], &server["message"], &server["run"]];
        assert_eq!(nothing, [&Value::from("server"), &Value::Null, &Value::Null]);
        assert_near(&others["message"]["epsilon"], round, 0.002);
        assert_near(&others["run"]["epsilon"], run, 0.01);
        assert_near(&others["run"]["delta"], 1e-5, 1e-12);
    }
    let words = ["the paper says", "4.50", "61.0", "(28 260, 1e-5)", "the server (sees every message)", "none"];
    assert_contains(&explain(&["specs/fpdgd-dp-mq2007.toml"]), &words);
}

#[test]
fn foltr_es_on_mq2008() {
    let explained = json(&["specs/foltr-es-mq2008.toml", "--delta", "1e-6"]);
    let server = &explained["explanations"][0]["guarantees"][0];
    assert_near(&server["interaction"]["epsilon"], 4.4998, 1e-4);
    assert_near(&server["message"]["epsilon"], 4.0 * 4.4998, 1e-4);
    assert_near(&server["run_without_delta"], 250.0 * 4.0 * 4.4998, 1e-4);
    assert_near(&server["run"]["delta"], 1e-6, 1e-12);
}

#[test]
fn every_example_is_explained_within_the_width_of_a_page() {
    // Mimic learning has files of another kind.
    let is_mimic = |path: &std::path::PathBuf| path.parent().is_some_and(|folder| folder.ends_with("mimic"));
    for path in foltr_test::spec_files().into_iter().filter(|path| !is_mimic(path)) {
        let text = explain(&[path.to_str().expect("a name")]);
        let is_narrow = text.lines().all(|line| line.chars().count() <= 105);
        assert!(is_narrow, "{}\n{text}", path.display());
    }
}

#[test]
fn a_wrong_file_is_refused_as_a_whole() {
    let explain = ["privacy", "explain", "specs/fpdgd-dp-mq2007.toml"];
    foltr().args(explain).args(["--set", "privacy.epsilon=-1"]).assert().code(2);
    foltr().args(explain).args(["--delta", "2"]).assert().code(2);
}
