//! `foltr privacy explain` on the files of `specs/`: numbers on the screen and in JSON.

use assert_cmd::Command;
use serde_json::Value;

fn explain(arguments: &[&str]) -> String {
    let mut command = Command::cargo_bin("foltr").expect("built");
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).args(["privacy", "explain"]).args(arguments);
    String::from_utf8(command.assert().success().get_output().stdout.clone()).expect("text")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&explain(&[arguments, &["--json"]].concat())).expect("JSON")
}

/// A number within a share of what it should be.
fn assert_near(value: &Value, known: f64, share: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"));
    assert!((value / known - 1.0).abs() < share, "{value}, not {known}");
}

#[test]
fn fpdgd_on_mq2007() {
    for (clip, round, run) in [("released-code", 61.0, 28_267.0), ("paper", 30.5, 8806.0)] {
        let set = format!("privacy.clip={clip}");
        let told = json(&["specs/fpdgd-dp-mq2007.toml", "--set", &set]);
        assert_eq!((told["version"].as_u64(), told["explanations"].as_array().map(Vec::len)), (Some(1), Some(1)));
        let told = &told["explanations"][0];
        assert_eq!(
            (&told["claim"]["epsilon"], &told["n_params"], &told["messages"]),
            (&4.5.into(), &46.into(), &1000.into())
        );
        let [server, others, _] = told["guarantees"].as_array().expect("a list").as_slice() else { panic!("{told}") };
        assert_eq!(
            (server["against"].as_str(), &server["message"], &server["run"]),
            (Some("server"), &Value::Null, &Value::Null)
        );
        assert_near(&others["message"]["epsilon"], round, 0.002);
        assert_near(&others["run"]["epsilon"], run, 0.01);
        assert_near(&others["run"]["delta"], 1e-5, 1e-12);
    }
    let text = explain(&["specs/fpdgd-dp-mq2007.toml"]);
    for words in ["the paper says", "4.50", "61.0", "(28 260, 1e-5)", "the server (sees every message)", "none"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn foltr_es_on_mq2008() {
    let told = json(&["specs/foltr-es-mq2008.toml", "--delta", "1e-6"]);
    let told = &told["explanations"][0]["guarantees"][0];
    assert_near(&told["interaction"]["epsilon"], 4.4998, 1e-4);
    assert_near(&told["message"]["epsilon"], 4.0 * 4.4998, 1e-4);
    assert_near(&told["run_without_delta"], 250.0 * 4.0 * 4.4998, 1e-4);
    assert_near(&told["run"]["delta"], 1e-6, 1e-12);
}

#[test]
fn every_example_is_explained_within_the_width_of_a_page() {
    let mut n_files = 0;
    for path in foltr_test::spec_files() {
        // Mimic learning has files of another kind.
        if path.parent().is_some_and(|folder| folder.ends_with("mimic")) {
            continue;
        }
        let text = explain(&[path.to_str().expect("a name")]);
        let is_narrow = text.lines().all(|line| line.chars().count() <= 105);
        assert!(is_narrow, "{}\n{text}", path.display());
        n_files += 1;
    }
    assert!(n_files > 10, "{n_files}");
}

#[test]
fn a_wrong_file_is_refused_as_a_whole() {
    let mut command = Command::cargo_bin("foltr").expect("built");
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/../specs/fpdgd-dp-mq2007.toml");
    command.args(["privacy", "explain", spec, "--set", "privacy.epsilon=-1"]).assert().failure().code(2);
    let mut command = Command::cargo_bin("foltr").expect("built");
    command.args(["privacy", "explain", spec, "--delta", "2"]).assert().failure().code(1);
}
