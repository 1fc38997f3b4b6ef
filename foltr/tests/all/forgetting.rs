//! Clients are forgotten in the folder of a finished run: what changes, what a receipt proves, and what is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assert_cmd::assert::Assert;
use foltr_experiment::model::Model;
use foltr_experiment::results::Results;
use foltr_test::ExperimentFile;
use serde_json::Value;

use crate::binary::{self, assert_contains, foltr, read, stderr, stdout, temporary};

const FED_ERASER: [&str; 6] = ["--method", "fed-eraser", "--with", "interval=5", "--with", "steps=2"];

/// Six clients, forty rounds, and everything that a method may ask for.
fn experiment() -> ExperimentFile {
    ExperimentFile::fpdgd()
        .set("seeds", "[1]")
        .set("data.queries", "60")
        .set("data.test_queries", "40")
        .section("clients", "n_clients = 6\ninteractions = 3")
        .set("users.preset", "\"navigational\"")
        .set("federation.rounds", "40")
        .section("history", "updates_every = 5\ncheckpoints_every = 10\nledger = true")
}

/// A folder with a finished run in `out`, and the folder of that run.
fn trained(changes: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = temporary();
    binary::run(folder.path(), &experiment(), changes).success();
    let run = first_run(folder.path());
    (folder, run)
}

/// The first run of the study, as it is now.
fn first_run(folder: &Path) -> PathBuf {
    let results = Results::open(&folder.join("out")).expect("results");
    results.run_folder(&results.runs[0])
}

fn unlearn(folder: &Path, client: &str, method: &[&str]) -> Assert {
    foltr().current_dir(folder).args(["unlearn", "out", "--client", client]).args(method).assert()
}

fn printed(assert: Assert) -> String {
    stdout(&assert) + &stderr(&assert)
}

/// All files of a run, by name.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(run).expect("a run").map(|entry| entry.expect("readable"));
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(entry.path()).expect("readable"))
    };
    entries.map(read).collect()
}

#[test]
fn wrong_arguments_end_with_code_2_and_change_nothing() {
    let (folder, run) = trained(&[]);
    let before = files(&run);
    for (arguments, words) in [
        ("--client 2 --method erase", "--method: there is no `erase`"),
        ("--client 2 --method fed-eraser --with interval", "--with: `interval` is not of the form name=value"),
        ("--client 2 --method fed-eraser --with interval=0 --with steps=2", "--with interval: must be"),
        ("--client 6 --method retrain", "--client 6: the clients are 0 to 5"),
        ("--client 2 --method retrain --run zzz", "--run zzz: no run below out/runs has a name that begins so"),
    ] {
        let arguments = arguments.split(' ');
        let refused = foltr().current_dir(folder.path()).args(["unlearn", "out"]).args(arguments).assert().code(2);
        assert_contains(&stderr(&refused), &[words]);
    }
    assert_eq!(files(&run), before);
    assert!(!folder.path().join("out/receipt.key").exists(), "no key was needed");
}

#[test]
fn a_forgotten_client_is_gone_and_has_a_receipt() {
    let (folder, run) = trained(&[]);
    let before = files(&run);
    let text = printed(unlearn(folder.path(), "2", &FED_ERASER).success());
    assert_contains(&text, &["heuristic", "receipt-0001.json"]);
    assert!(!run.exists(), "the run with the client is gone");
    let run = first_run(folder.path());
    let after = files(&run);
    assert_ne!(before["model.safetensors"], after["model.safetensors"]);
    assert!(after["history.bin"].len() < before["history.bin"].len(), "its updates are gone");
    let forgotten: Value = serde_json::from_slice(&after["unlearning.json"]).expect("JSON");
    // Eight stored rounds, five clients, two of three interactions.
    assert_eq!((forgotten["rounds"].as_u64(), forgotten["local_steps"].as_u64()), (Some(8), Some(80)));

    let verify_in = |run: &Path, receipt: &str, history: &str, model: &str| {
        let mut command = foltr();
        command.current_dir(run);
        let key = folder.path().join("out/receipt.pub");
        command.args(["receipt", "verify", receipt, "--history", history, "--model", model, "--key"]).arg(key);
        command.assert()
    };
    let text = printed(verify_in(&run, "receipt-0001.json", "history.bin", "model.safetensors").success());
    assert_contains(&text, &["clients [2] by fed-eraser", "says the same"]);

    // A second request goes on from there; the first receipt stays true of the longer history, not of the newer model.
    unlearn(folder.path(), "4", &FED_ERASER).success();
    let run = first_run(folder.path());
    let verify = |receipt: &str, history: &str, model: &str| verify_in(&run, receipt, history, model);
    verify("receipt-0002.json", "history.bin", "model.safetensors").success();
    let text = printed(verify("receipt-0001.json", "history.bin", "model.safetensors").failure());
    assert!(text.contains("is not the model"), "{text}");

    // Every number and letter of a receipt is signed.
    let receipt = read(&run, "receipt-0002.json");
    for (what, with) in [("fed-eraser", "retrain"), ("\"steps\": 2", "\"steps\": 1"), ("  4\n", "  3\n")] {
        assert!(receipt.contains(what), "{what} in {receipt}");
        std::fs::write(run.join("forged.json"), receipt.replacen(what, with, 1)).expect("written");
        let text = printed(verify("forged.json", "history.bin", "model.safetensors").failure());
        assert!(text.contains("forged.json is not believed"), "{what}: {text}");
    }
    // Nor is a history that was cut or altered.
    let history = files(&run)["history.bin"].clone();
    let middle = history.len() / 2;
    let altered = [&history[..middle], &[history[middle] ^ 1], &history[middle + 1..]].concat();
    for damaged in [&history[..history.len() - 3], &altered[..]] {
        std::fs::write(run.join("damaged.bin"), damaged).expect("written");
        let text = printed(verify("receipt-0002.json", "damaged.bin", "model.safetensors").failure());
        assert!(text.contains("damaged.bin is not believed"), "{text}");
    }
}

#[test]
fn what_cannot_be_met_changes_nothing() {
    let (folder, run) = trained(&["--set", "history={ updates_every = 5 }"]);
    let before = files(&run);
    for (client, method, reason) in [
        ("6", &FED_ERASER[..], "client 6"),
        ("2", &["--method", "fed-eraser", "--with", "interval=4", "--with", "steps=2"], "fed-eraser needs"),
        ("2", &["--method", "ledger-subtraction"], "ledger-subtraction needs"),
        ("2", &["--method", "shard-isolation", "--with", "shards=2"], "shard"),
        ("2", &["--method", "oblivion"], "fed-eraser"),
        ("0,1,2,3,4,5", &FED_ERASER, "nobody is left"),
    ] {
        let text = printed(unlearn(folder.path(), client, method).failure());
        assert!(text.contains(reason), "{client} {method:?}: {text}");
        assert_eq!(files(&run), before, "{client} {method:?}");
    }
    assert!(
        !std::fs::read_to_string(folder.path().join("out/requests.json")).is_ok_and(|text| text.contains("clients"))
    );
    // A history that was altered.
    let mut history = before["history.bin"].clone();
    let place = history.len() / 2;
    history[place] ^= 0x10;
    std::fs::write(run.join("history.bin"), &history).expect("written");
    let altered = files(&run);
    let text = printed(unlearn(folder.path(), "2", &FED_ERASER).failure());
    assert!(text.contains("history.bin is not believed"), "{text}");
    assert_eq!(files(&run), altered);
    // A run that kept nothing.
    std::fs::remove_file(run.join("history.bin")).expect("removed");
    let text = printed(unlearn(folder.path(), "2", &FED_ERASER).failure());
    assert!(text.contains("[history]"), "{text}");
}

/// A run with a long method, until it is killed.
#[cfg(unix)]
#[test]
fn a_request_that_was_killed_is_resumed_by_the_same_command() {
    let (folder, _) = trained(&["--set", "seeds=[1, 2, 3, 4]", "--set", "federation.rounds=4000"]);
    let out = folder.path().join("out");
    let before = Results::open(&out).expect("results").runs;
    let ready = || {
        let runs = std::fs::read_dir(out.join("runs")).expect("runs");
        runs.filter(|run| run.as_ref().is_ok_and(|run| run.path().extension().is_none())).count() - before.len()
    };
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("foltr"));
    command.current_dir(folder.path()).args(["unlearn", "out", "--client", "2", "--threads", "1"]).args(FED_ERASER);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("started");
    while ready() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    let journal = read(&out, "requests.json");
    assert_eq!(journal.matches("\"holds_clients\": true").count(), 4, "{journal}");
    assert_eq!(Results::open(&out).expect("results").runs, before);
    let text = printed(unlearn(folder.path(), "4", &FED_ERASER).failure());
    assert!(text.contains("4 runs still hold them"), "{text}");
    unlearn(folder.path(), "2", &FED_ERASER).success();
    let journal = read(&out, "requests.json");
    assert_eq!(journal.matches("\"holds_clients\": false").count(), 4, "{journal}");
    assert_eq!(ready(), 0, "old runs are gone");
    unlearn(folder.path(), "4", &FED_ERASER).success();
}

#[test]
fn a_shard_forgets_bit_by_bit() {
    let sharded = ["--set", "federation.shards=2", "--set", "history={ checkpoints_every = 10 }"];
    let (folder, _) = trained(&sharded);
    let text = printed(unlearn(folder.path(), "3", &["--method", "shard-isolation", "--with", "shards=2"]).success());
    assert!(text.contains("exact"), "{text}");
    let run = first_run(folder.path());
    let (_never, never_run) = trained(&[&sharded[..], &["--set", "clients.absent=[3]"]].concat());
    let weights = |run: &Path| {
        let model = foltr_experiment::model::Model::read(&run.join("model.safetensors")).expect("a model");
        model.params.iter().map(|value| value.to_bits()).collect::<Vec<u32>>()
    };
    assert_eq!(weights(&run), weights(&never_run));
}

/// Receipts had the newest global model of their own federation. With `average_last` another ranker is published, and
/// with shards the mean of all: `receipt verify --model` refused honest receipts.
#[test]
fn a_receipt_names_the_ranker_that_is_published() {
    let averaged = ["--set", "federation.average_last=0.3"];
    let sharded = ["--set", "federation.shards=2", "--set", "history={ checkpoints_every = 10 }"];
    for (changes, client, method) in [
        (&averaged[..], "2", &["--method", "retrain"][..]),
        (&averaged, "2", &FED_ERASER),
        (&averaged, "2", &["--method", "ledger-subtraction"]),
        (&sharded, "2,3", &["--method", "shard-isolation", "--with", "shards=2"]),
        (&[&sharded[..], &averaged].concat(), "3", &["--method", "shard-isolation", "--with", "shards=2"]),
    ] {
        let (folder, before) = trained(changes);
        let old_model = folder.path().join("old.safetensors");
        std::fs::copy(before.join("model.safetensors"), &old_model).expect("copied");
        unlearn(folder.path(), client, method).success();
        let run = first_run(folder.path());
        let verify = |receipt: &str, history: &str, model: &Path| {
            let mut command = foltr();
            command.current_dir(&run).args(["receipt", "verify", receipt, "--history", history, "--model"]).arg(model);
            command.arg("--key").arg(folder.path().join("out/receipt.pub")).assert()
        };
        let new_model = run.join("model.safetensors");
        // Every shard whose client left has a receipt.
        let receipts: Vec<String> = files(&run).into_keys().filter(|name| name.starts_with("receipt-")).collect();
        assert_eq!(receipts.len(), client.split(',').count(), "{changes:?}");
        for receipt in &receipts {
            let histories = files(&run).into_keys().filter(|name| name.starts_with("history"));
            let fits = |history: &String| verify(receipt, history, &new_model).try_success().is_ok();
            assert_eq!(histories.filter(fits).count(), 1, "{changes:?} {method:?} {receipt}");
            let history =
                if receipts.len() > 1 || changes.contains(&sharded[1]) { "history-1.bin" } else { "history.bin" };
            let text = printed(verify(receipt, history, &old_model).failure());
            assert!(text.contains("is not"), "{text}");
        }
    }
}

/// Everything is kept, budgets too: 40 messages each, and a replay would be 40 more.
#[test]
fn a_replay_beyond_the_budget_is_refused_and_one_within_it_is_accounted_for() {
    let private = |epsilon: f64| {
        let noise = "privacy={ kind = \"gaussian\", clip = 0.1, noise_multiplier = 20.0, mode = \"clear\" }";
        let budget = format!("budget={{ epsilon = {epsilon}, delta = 1e-5 }}");
        trained(&["--set", noise, "--set", &budget, "--set", "history={ checkpoints_every = 10 }"])
    };
    // 40 rounds of this noise are epsilon 1.23, 80 of them 1.82.
    let (folder, run) = private(1.5);
    let before = files(&run);
    let text = printed(unlearn(folder.path(), "2", &["--method", "retrain"]).failure());
    assert_contains(&text, &["has sent 40 and would send up to 40 more"]);
    assert_eq!(files(&run), before);
    let (folder, _) = private(2.0);
    let text = printed(unlearn(folder.path(), "2", &["--method", "retrain"]).success());
    assert_contains(&text, &["exact", "leavers at most 40 messages: epsilon 1.", "those who stay at most 80 messages"]);
    let text = printed(unlearn(folder.path(), "3", &["--method", "retrain"]).failure());
    assert_contains(&text, &["has sent 80"]);
}

#[test]
fn an_experiment_can_forget_at_its_end() {
    let request = "unlearning={ clients = [0], method = { kind = \"fed-eraser\", interval = 5, steps = 2 } }";
    let marker = "attack={ attackers = 1, method = { kind = \"negation\", z = 2.0 } }";
    let (_folder, run) = trained(&["--set", request, "--set", marker]);
    let rows = read(&run, "rows.csv");
    let last = |metric: &str| {
        let line = rows.lines().rfind(|line| line.contains(metric)).unwrap_or_else(|| panic!("{metric}"));
        line.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(last(",unlearning-test-ndcg@10,")[0], "8");
    assert_eq!(last(",unlearning-online-ndcg@10,")[0], "8");
    // Round 0 of unlearning is the ranker as it was trained; how good the last one is, studies say.
    let first = rows.lines().find(|line| line.contains(",unlearning-test-ndcg@10,")).expect("round 0");
    let trained = last(",test-ndcg@10,");
    assert_eq!(first, format!("0,unlearning-test-ndcg@10,{}", trained[2]));
    assert_ne!(last(",unlearning-test-ndcg@10,")[2], trained[2]);
    assert!(run.join("unlearning.json").is_file() && run.join("history.bin").is_file());
}

/// Three of six leave, at once or one after the other: the ranker is that of a federation that never had them, and every
/// request takes the 40 rounds of those who are left then (5, 4 and 3 clients with three interactions).
#[test]
fn an_experiment_can_forget_clients_one_after_the_other() {
    let with = |order: &str| {
        let request =
            format!("unlearning={{ clients = [0, 3, 1], order = {order:?}, method = {{ kind = \"retrain\" }} }}");
        trained(&["--set", &request, "--set", "metrics.unlearning_cost=true"])
    };
    let (at_once, one_by_one, never) =
        (with("at-once"), with("one-by-one"), trained(&["--set", "clients.absent=[0, 1, 3]"]));
    let ranker = |run: &Path| Model::read(&run.join("model.safetensors")).expect("a ranker").params;
    assert_eq!((ranker(&at_once.1), ranker(&one_by_one.1)), (ranker(&never.1), ranker(&never.1)));
    for (run, rounds, interactions) in [(&at_once.1, 40, 40 * 3 * 3), (&one_by_one.1, 120, 40 * (5 + 4 + 3) * 3)] {
        let rows = read(run, "rows.csv");
        for (name, value) in [("rounds", rounds), ("interactions", interactions), ("messages", interactions / 3)] {
            let line = format!("{rounds},unlearning-{name},{value}");
            assert!(rows.lines().any(|row| row == line), "{line} in {rows}");
        }
    }
}

/// Those who stay pay for every replay, and a guarantee is stated for one.
#[test]
fn leaving_one_after_the_other_is_refused_beside_privacy() {
    let folder = temporary();
    let privacy = "privacy={ kind = \"gaussian\", clip = 0.1, epsilon = 4.0, delta = 1e-5, mode = \"clear\" }";
    let stored = "history={ checkpoints_every = 10 }";
    let leave = |clients: &str, method: &str| {
        let request = format!("unlearning={{ clients = {clients}, order = \"one-by-one\", method = {method} }}");
        binary::run(folder.path(), &experiment(), &["--set", privacy, "--set", stored, "--set", &request])
    };
    let text = printed(leave("[0, 1]", "{ kind = \"retrain\" }").failure());
    assert_contains(&text, &["unlearning.order", "at-once"]);
    leave("[0, 1]", "{ kind = \"certificate\", epsilon = 5.0, delta = 1e-5 }").success();
}
