//! From `init` to a deletion receipt, with a real device.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use foltr_client::{Consent, Device, FeatureSchema, Normalisation, Options, Synced};

const N_FEATURES: usize = 46;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foltr-server"));
    command.args(arguments).env_remove("FOLTR_LOG");
    command
}

/// What a command prints, or what it complains about.
fn run(arguments: &[&str]) -> Result<String, String> {
    let output = command(arguments).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr) + &text(&output.stdout)) }
}

/// A server that is killed with its test.
struct Server {
    child: Child,
    origin: String,
}

impl Server {
    fn start(folder: &str, listen: &str) -> Self {
        let mut child = command(&["run", folder, "--listen", listen])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        let origin = line.split(' ').find(|word| word.starts_with("http")).expect("an address").to_owned();
        Self { child, origin }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

fn device(folder: &Path) -> Device {
    let features = FeatureSchema::numbered(N_FEATURES, Normalisation::Query);
    let options = Options { adoption: None, upload_delay: 0, ..Options::new(features) };
    Device::open(folder, options).expect("a device")
}

/// Ranks and clicks until a contribution is taken.
fn contribute(device: &Device) -> u32 {
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(30), "no contribution");
        let features: Vec<f32> = (0..3 * N_FEATURES).map(|i| (i % 7) as f32).collect();
        let shown = device.rank(&features).expect("a list");
        device.clicked(shown.impression, 0).expect("a click");
        device.dismiss(shown.impression).expect("an open list");
        if let Ok(Synced::Contributed { round }) = device.sync() {
            return round;
        }
    }
}

#[test]
fn a_device_joins_by_one_string_contributes_and_is_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("server");
    let server = path.to_str().expect("UTF-8");
    let port = free_port();
    let address = format!("http://127.0.0.1:{port}");
    let made = run(&["init", server, "--address", &address]).expect("made");
    assert!(made.contains("The operator's token, shown only now: "), "{made}");
    let again = run(&["init", server]).expect_err("there is one already");
    assert!(again.contains("has a federation \"main\" already"), "{again}");
    let settings = path.join("federations/main/settings.toml");
    let text = std::fs::read_to_string(&settings).expect("settings");
    std::fs::write(&settings, text.replace("minimum_devices = 3", "minimum_devices = 1")).expect("written");

    let running = Server::start(server, &format!("127.0.0.1:{port}"));
    assert_eq!(running.origin, address);
    let status = run(&["status", server]).expect("a status");
    assert!(status.contains("A round opens when 1 devices are enrolled"), "{status}");
    let invitation = run(&["invite", "new", server, "--note", "a test"]).expect("an invitation");
    let device = device(&folder.path().join("device"));
    assert!(device.join(&invitation).is_err(), "the plan trusts the server, which needs the owner's word");
    device.join_with(&invitation, Consent::TrustedServer).expect("it joins");
    assert_eq!(contribute(&device), 0);
    let began = Instant::now();
    while !run(&["status", server]).expect("a status").contains("newest release: 1 (round 0)") {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", run(&["status", server]).expect("a status"));
        std::thread::sleep(Duration::from_millis(50));
    }
    let listed = run(&["invite", "list", server]).expect("a list");
    assert!(listed.contains("used up") && listed.contains("a test"), "{listed}");

    let model = folder.path().join("model.safetensors");
    run(&["export", server, "--out", model.to_str().expect("UTF-8")]).expect("a model");
    assert!(model.metadata().expect("a file").len() > 4 * N_FEATURES as u64);
    run(&["hold", server]).expect("held");
    assert!(run(&["close", server]).expect_err("held").contains("held"));
    run(&["resume", server]).expect("resumed");
    run(&["rotate-key", server]).expect("a new key");

    let id = device.status().expect("a status").federation.expect("a federation").device;
    let receipt = folder.path().join("receipt.json");
    run(&["forget", server, &id, "--out", receipt.to_str().expect("UTF-8")]).expect("forgotten");
    let history = folder.path().join("history.bin");
    run(&["export", server, "--history", history.to_str().expect("UTF-8")]).expect("a history");
    let receipt: foltr_federation::Receipt =
        serde_json::from_slice(&std::fs::read(receipt).expect("a file")).expect("a receipt");
    let history = foltr_federation::History::decode(&std::fs::read(history).expect("a file")).expect("a history");
    receipt.matches(&history).expect("the history says the same");
    let verified = run(&["verify", server]).expect("nothing is damaged");
    assert!(verified.contains("everything is as it was written"), "{verified}");
    // The running server looks at the database five times a second; a device that was refused waits.
    std::thread::sleep(Duration::from_secs(1));
    let synced = device.sync();
    assert!(matches!(synced, Err(_) | Ok(Synced::Later { .. })), "it is not known any more: {synced:?}");
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("server");
    let server = path.to_str().expect("UTF-8");
    let said = |arguments: &[&str]| run(arguments).expect_err("a mistake");
    assert!(said(&["run", server]).contains("is no server's folder; make one: foltr-server init"));
    let from = folder.path().to_str().expect("UTF-8");
    assert!(said(&["init", server, "--from", from]).contains("has neither plan.toml nor deploy.json"));
    std::fs::write(folder.path().join("run.json"), "{}").expect("written");
    assert!(said(&["init", server, "--from", from]).contains("run it again"));
    let problems = r#"{"format":1,"plan":null,"features":{"features":[{"kind":"number","name":"1"}],"normalise":"query"},
        "problems":[{"key":"attack","message":"attackers are simulated; remove the section"}]}"#;
    std::fs::write(folder.path().join("deploy.json"), problems).expect("written");
    let refused = said(&["init", server, "--from", from]);
    assert!(refused.contains("attack: attackers are simulated"), "{refused}");
    assert!(said(&["init", server, "--address", "http://example.org"]).contains("not encrypted"));
    assert!(!path.exists(), "nothing was made");

    run(&["init", server]).expect("made");
    assert!(said(&["status", server, "--nonsense"]).contains("--nonsense"));
    assert!(said(&["hold", server, "--federation", "other"]).contains("there are main"));
    let file = path.join("server.toml");
    let text = std::fs::read_to_string(&file).expect("settings");
    std::fs::write(&file, format!("{text}\nlisten_to = 1\n")).expect("written");
    assert!(said(&["status", server]).contains("listen_to"));
    std::fs::write(&file, text.replace("sqlite:foltr.db", "mysql:foltr")).expect("written");
    assert!(said(&["status", server]).contains("`store` must be sqlite:FILE or postgres://"));
    std::fs::write(&file, text.replace("127.0.0.1:8080", "0.0.0.0:0")).expect("written");
    let plain = said(&["run", server]);
    assert!(plain.contains("is not a loopback address"), "{plain}");
    std::fs::write(&file, &text).expect("written");
    let key = path.join("federations/main/signing.key");
    std::fs::write(&key, "no key").expect("written");
    assert!(said(&["invite", "new", server]).contains("64 hexadecimal digits"));
}
