//! `foltr-server` as a program: its folder, and processes that are killed.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use foltr_federation::protocol::Invitation;
use tempfile::TempDir;

pub const FEDERATION: &str = "test";
pub const BASE: &str = "/v1/federations/test";
/// Until the deadline of a round.
pub const ROUND_SECONDS: u64 = 1;

/// Plain averaging, with a parameter for each device.
fn plan(n_devices: usize) -> String {
    format!(
        r#"
[features]
n_features = {n_devices}
normalise = "none"
[plan]
list_length = 10
n_clients = {n_devices}
n_interactions = 4
n_rounds = 1000000
participation = "everyone"
dropout = 0.0
n_absent = 0
[plan.learner]
kind = "pdgd"
learning_rate = 0.1
updates = "immediate"
[plan.ranker]
kind = "linear"
initialisation = {{ kind = "zero" }}
[plan.optimiser]
kind = "learning-rate"
rate = 1.0
[plan.privacy]
kind = "none"
"#
    )
}

fn settings(origin: &str, n_devices: usize) -> String {
    format!(
        "address = \"{origin}{BASE}\"\nround_seconds = {ROUND_SECONDS}\nminimum_devices = {n_devices}\nretry_seconds = 1\n\
         device_burst = 1000000\ndevice_per_minute = 60000000\nstored_releases = 1000000\n"
    )
}

/// A folder in memory, where the disk is not what is tested.
pub fn folder_in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("foltr-server-").tempdir_in(place).expect("a folder")
}

/// An address at which nobody listens now.
pub fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// What a command says; it must succeed.
pub fn run(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_foltr-server")).args(arguments).output().expect("the program");
    let [said, wrong] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{arguments:?}: {said}{wrong}");
    said
}

/// A server's folder with a federation of so many devices, and an invitation for all of them.
pub fn make_folder(folder: &Path, store: &str, address: &str, n_devices: usize) -> Invitation {
    let (path, origin) = (folder.to_str().expect("a path in UTF-8"), format!("http://{address}"));
    run(&["init", path, "--federation", FEDERATION, "--address", &origin, "--store", store]);
    let own = folder.join("federations").join(FEDERATION);
    std::fs::write(own.join("plan.toml"), plan(n_devices)).expect("a file");
    std::fs::write(own.join("settings.toml"), settings(&origin, n_devices)).expect("a file");
    let invitation = run(&["invite", "new", path, "--uses", &n_devices.to_string()]);
    invitation.trim().parse().expect("an invitation")
}

/// A copy with the same keys, for another replica.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

/// `foltr-server run`, which ends only by being killed.
pub struct Process {
    folder: PathBuf,
    address: String,
    child: Option<Child>,
}

impl Process {
    pub fn new(folder: &Path, address: &str) -> Self {
        let mut this = Self { folder: folder.to_owned(), address: address.to_owned(), child: None };
        this.start();
        this
    }

    /// Starts it, also again, and waits until it listens.
    pub fn start(&mut self) {
        assert!(self.child.is_none(), "it runs");
        let log = File::options().append(true).create(true).open(self.log_file()).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_foltr-server"));
        command.arg("run").arg(&self.folder).args(["--listen", &self.address, "--log-level", "warn"]);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("the program");
        let said = BufReader::new(child.stdout.take().expect("a pipe")).lines().next();
        self.child = Some(child);
        let is_ready = said.as_ref().is_some_and(|line| line.as_ref().is_ok_and(|line| line.contains("listening")));
        assert!(is_ready, "{said:?}: {}", self.log());
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// With a signal that it cannot notice.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
