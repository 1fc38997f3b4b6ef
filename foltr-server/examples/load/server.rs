//! A server of its own for a measurement: the real program in a process of its own, on a folder that is made for it.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foltr_server::database::{Access, Value};
use foltr_server::folder::{Folder, KEY_FILE, SERVER_FILE, SETTINGS_FILE, TOKEN_FILE};
use foltr_server::plan_file::{self, PLAN_FILE};
use foltr_server::publishing;
use foltr_test::postgres::Cluster;

use super::client::Target;
use super::device::{Device, N_FEATURES, hexadecimal};
use super::process;

const NAME: &str = "load";
pub const BASE: &str = "/v1/federations/load";
/// Rows that one statement sends.
const BATCH: usize = 5_000;

/// A program, and the arguments before the folder, that serves a folder as `foltr-server run` does.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// How the federation is run.
pub struct Setting<'a> {
    /// On the disk that is measured.
    pub folder: &'a Path,
    pub store: Store,
    pub devices: &'a [Device],
    /// Contributions that close a round; all devices' without it.
    pub quorum: Option<usize>,
    /// Requests a minute of one device.
    pub per_minute: u32,
}

pub struct RunningServer {
    child: Child,
    pub target: Target,
    folder: tempfile::TempDir,
    cluster: Option<Cluster>,
    postmaster: Option<u32>,
}

impl RunningServer {
    /// Nothing if the machine has no such store.
    pub fn start(program: &Program, setting: &Setting<'_>) -> Option<Self> {
        std::fs::create_dir_all(setting.folder).expect("a folder that can be made");
        let cluster = match setting.store {
            Store::Sqlite => None,
            Store::Postgres => Some(Cluster::in_folder(setting.folder)?),
        };
        let folder = tempfile::Builder::new().prefix("server-").tempdir_in(setting.folder).expect("a folder");
        let store = match &cluster {
            Some(cluster) => cluster.url(&cluster.new_database()),
            None => "sqlite:foltr.db".to_owned(),
        };
        let certificate = write_files(folder.path(), &store, setting);
        enrol(&Folder::open(folder.path()).expect("the folder that was made"), setting.devices);
        let postmaster = cluster.as_ref().map(postmaster);
        let (child, address) = spawn(program, folder.path());
        Some(Self { child, target: Target::new(address, &certificate), folder, cluster, postmaster })
    }

    /// Processor time so far of the server, and of PostgreSQL.
    pub fn cpu(&self) -> (Duration, Duration) {
        let of_store = self.postmaster.map(process::family).unwrap_or_default();
        let of_store = of_store.into_iter().filter_map(process::cpu).sum();
        (process::cpu(self.child.id()).expect("the server runs"), of_store)
    }

    /// In MiB.
    pub fn memory(&self) -> u64 {
        process::memory(self.child.id())
    }

    pub fn n_flushes(&self) -> Option<u64> {
        process::n_flushes(self.folder.path())
    }

    /// What it has said on standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(self.cluster.take());
    }
}

fn postmaster(cluster: &Cluster) -> u32 {
    let status = std::fs::read_to_string(cluster.folder().join("data/postmaster.pid")).expect("PostgreSQL runs");
    status.lines().next().and_then(|id| id.parse().ok()).expect("a process")
}

/// Starts the program, and reads where it listens.
pub fn spawn(program: &Program, folder: &Path) -> (Child, SocketAddr) {
    let log = std::fs::File::create(folder.join("log")).expect("a file");
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).arg(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().expect("the program can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let said = lines.find_map(|line| {
        let line = line.ok()?;
        let address = line.strip_prefix("listening on https://")?.split(' ').next()?;
        address.parse().ok()
    });
    let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    let address = said.unwrap_or_else(|| panic!("the server does not listen: {}", log()));
    (child, address)
}

/// A folder as `foltr-server init` makes it. Says the certificate.
fn write_files(folder: &Path, store: &str, setting: &Setting<'_>) -> String {
    let own = folder.join("federations").join(NAME);
    std::fs::create_dir_all(&own).expect("a folder");
    let certificate = write_certificate(folder);
    let server = format!(
        "listen = \"127.0.0.1:0\"\ncertificate = \"certificate.pem\"\ncertificate_key = \"key.pem\"\nstore = {store:?}\n\
         most_connections = 20000\nmost_connections_of_one_address = 20000\n"
    );
    let settings = format!(
        "address = \"https://localhost{BASE}\"\nminimum_devices = 1\ndevice_per_minute = {}\n",
        setting.per_minute
    );
    let participation = setting.quorum.map_or("\"everyone\"".to_owned(), |size| format!("{{ sample = {size} }}"));
    let plan = format!(
        "[features]\nn_features = {N_FEATURES}\nnormalise = \"query\"\n\n[plan]\nlist_length = 10\nn_clients = {}\n\
         n_interactions = 1\nn_rounds = 1000000\nparticipation = {participation}\ndropout = 0.0\nn_absent = 0\n\n\
         [plan.learner]\nkind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"\n\n\
         [plan.ranker]\nkind = \"linear\"\ninitialisation = {{ kind = \"zero\" }}\n\n\
         [plan.optimiser]\nkind = \"learning-rate\"\nrate = 1.0\n\n[plan.privacy]\nkind = \"none\"\n",
        setting.devices.len()
    );
    write(&folder.join(SERVER_FILE), &server);
    write(&folder.join(TOKEN_FILE), &"0".repeat(64));
    write(&own.join(SETTINGS_FILE), &settings);
    write(&own.join(PLAN_FILE), &plan);
    write(&own.join(KEY_FILE), &hexadecimal(&[7; 32]));
    certificate
}

/// A certificate and its key in a folder. Says the certificate.
pub fn write_certificate(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    write(&folder.join("certificate.pem"), &made.cert.pem());
    write(&folder.join("key.pem"), &made.signing_key.serialize_pem());
    made.cert.pem()
}

fn write(path: &Path, text: &str) {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).expect("a new file");
    file.write_all(text.as_bytes()).expect("a disk with space");
}

/// The federation with all of its devices, in a few transactions. None of them was seen today: the server has to note that.
fn enrol(folder: &Folder, devices: &[Device]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs();
    let source = plan_file::read(&folder.federation(NAME)).expect("the plan that was written");
    let (initial, key) = (source.initial().expect("zeros"), folder.key(NAME).expect("a key"));
    let pool = folder.pool().expect("a store");
    let created = pool.write(|tables| publishing::create(tables, NAME, &source.plan, &initial, &key, now));
    let id = created.expect("a new federation");
    let sql = "INSERT INTO devices (federation, number, device, public_key, status, enrolled_at, last_seen, invitation) \
               VALUES ($1, $2, $3, $4, 'active', 0, 0, 0)";
    let row = |(number, device): (u32, &Device)| -> Vec<Value> {
        let key = *device.key.public_key().as_bytes();
        vec![id.into(), number.into(), device.id.as_bytes().as_slice().into(), key.as_slice().into()]
    };
    let rows: Vec<Vec<Value>> = (0..).zip(devices).map(row).collect();
    for rows in rows.chunks(BATCH) {
        pool.run(Access::Write, |tables| tables.execute_many(sql, rows)).expect("devices");
    }
    let n: Value = (devices.len() as u64).into();
    let sql = "UPDATE federations SET n_numbers = $2, n_active = $2 WHERE id = $1";
    pool.write(|tables| tables.execute_many(sql, &[vec![id.into(), n.clone()]])).expect("the row");
}
