//! The program as people start it: what it says, and that nothing is left of it.

use std::io::Read as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use clap::Parser as _;
use foltr_demo::arguments::Arguments;
use foltr_demo::plan::plan;
use foltr_demo::server::DemoServer;

/// Far more than three devices need on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn start(arguments: &[&str], folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foltr-demo"));
    command.args(arguments).env("TMPDIR", folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// Its end, which must come by itself.
fn end(mut child: Child) -> Output {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("killed");
            let mut said = String::new();
            child.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
            panic!("it does not end; it said {said}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("output")
}

/// What follows this word on its line.
fn word_after<'a>(said: &'a str, word: &str) -> &'a str {
    let line = said.lines().find(|line| line.trim_start().starts_with(word));
    let line = line.unwrap_or_else(|| panic!("no line {word} in {said}"));
    line.split_whitespace().nth(1).expect("a second word")
}

fn entries(folder: &Path) -> Vec<std::ffi::OsString> {
    folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect()
}

#[test]
fn three_devices_learn_for_two_rounds_and_leave_nothing_behind() {
    for privacy in ["none", "central", "local"] {
        let folder = tempfile::tempdir().expect("a folder");
        let ended = end(start(&["--devices", "3", "--rounds", "2", "--privacy", privacy], folder.path()));
        let [said, complained] = [ended.stdout, ended.stderr].map(|it| String::from_utf8(it).expect("UTF-8"));
        assert!(ended.status.success() && complained.is_empty(), "{privacy}: {said}{complained}");
        let rounds: Vec<Vec<&str>> = said
            .lines()
            .skip_while(|line| !line.starts_with("round"))
            .skip(1)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rounds.len(), 3, "{privacy}: {said}");
        for (number, round) in rounds.iter().enumerate() {
            let value: f64 = round.last().expect("a value").parse().expect("a number");
            let name = number.checked_sub(1).map_or("start".into(), |number| number.to_string());
            assert!(round[0] == name && value > 0.0 && value <= 1.0, "{privacy}: {said}");
            assert!(number == 0 || round[1] == "3" || round[1] == "hidden", "{privacy}: {said}");
        }
        assert_ne!(rounds[0].last(), rounds[2].last(), "{privacy}: nothing was learnt: {said}");
        assert_eq!(word_after(&said, "token").len(), 64);
        assert!(word_after(&said, "folder").starts_with(folder.path().to_str().expect("UTF-8")));
        let address = word_after(&said, "dashboard").trim_start_matches("http://").trim_end_matches('/');
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        assert!(TcpStream::connect(address).is_err(), "somebody listens on {address}");
        assert_eq!(entries(folder.path()), [""; 0], "{privacy}");
    }
}

/// Reads what it says until that contains a text.
fn listen(child: &mut Child, said: &mut Vec<u8>, text: &str) {
    let stdout = child.stdout.as_mut().expect("piped");
    while !String::from_utf8_lossy(said).contains(text) {
        let mut some = [0; 256];
        let n = stdout.read(&mut some).expect("readable");
        assert!(n > 0, "it ended: {}", String::from_utf8_lossy(said));
        said.extend(&some[..n]);
    }
}

/// Interrupts it, and says all that it said.
fn interrupt(mut child: Child, mut said: Vec<u8>) -> String {
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let mut stdout = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        stdout.read_to_end(&mut said).expect("readable");
        String::from_utf8(said).expect("UTF-8")
    });
    let ended = end(child);
    let said = reader.join().expect("a reader");
    assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    said
}

#[test]
fn who_interrupts_it_gets_a_clean_end_and_who_keeps_the_folder_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = start(&["--devices", "3", "--rounds", "1000", "--keep"], folder.path());
    let mut said = Vec::new();
    listen(&mut child, &mut said, "\n    0         3");
    let said = interrupt(child, said);
    assert!(said.contains("Stopping.") && said.contains("Kept: "), "{said}");
    let kept = Path::new(word_after(&said, "folder"));
    for file in ["server/server.toml", "server/foltr.db", "device-1/device.db", "device-3/device.db"] {
        assert!(kept.join(file).is_file(), "{file}");
    }
    assert_eq!(entries(folder.path()).len(), 1);
}

#[test]
fn devices_join_a_server_that_runs_already() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = Arguments::parse_from(["foltr-demo", "--devices", "2", "--privacy", "central"]);
    let server = DemoServer::start(&folder.path().join("server"), &plan(&arguments), 46).expect("a server");
    let invitation = server.invite(2).expect("an invitation");
    let own = tempfile::tempdir().expect("a folder");
    let mut child = start(&["--devices", "2", "--join", &invitation], own.path());
    let mut said = Vec::new();
    for device in 1..=2 {
        listen(&mut child, &mut said, &format!("device {device}: the server has taken the message of round 0"));
    }
    interrupt(child, said);
    assert_eq!(server.overview().expect("an overview").n_devices, 2);
    server.stop().expect("a clean end");
    assert_eq!(entries(own.path()), [""; 0]);
}
