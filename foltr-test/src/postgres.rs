//! A private PostgreSQL for tests, in a temporary folder, without a network.
//!
//! A small shell runs it and reads from a pipe whose other end is here: when this process ends in whatever way, the pipe
//! closes, and the shell stops PostgreSQL and deletes the folder. PostgreSQL refuses to be root: if this process is, it runs
//! as the user `postgres` or `nobody`.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::require;

const USER: &str = "foltr";
const PATIENCE: Duration = Duration::from_secs(60);

/// `$0` is the folder. What it reads is whether to keep it.
const KEEPER: &str = r#"
trap '' INT TERM HUP
"$@" </dev/null >>"$0/log" 2>&1 &
read -r word
kill -QUIT $! 2>/dev/null
wait $!
[ "$word" = keep ] || rm -rf "$0"
"#;

/// One PostgreSQL with its databases.
pub struct Cluster {
    /// The keeper deletes it too, if this process cannot.
    folder: TempDir,
    programs: PathBuf,
    /// The user and the group, if this process is of root.
    account: Option<(u32, u32)>,
    keeper: Mutex<Option<Child>>,
    n_databases: AtomicU64,
}

impl Cluster {
    /// The one that the tests of this process share.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        SHARED.get_or_init(Self::new).as_ref()
    }

    /// One of its own, for a test that stops it.
    pub fn new() -> Option<Self> {
        // Syncs are cheap in memory, and the path of a socket must be short.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Self::in_folder(&place)
    }

    /// One in a folder below this one, such as one on the disk that is measured. Its path must be short.
    pub fn in_folder(place: &Path) -> Option<Self> {
        let programs = require("postgresql", programs(), "there is no PostgreSQL (initdb, postgres, createdb)")?;
        let place = std::path::absolute(place).expect("a path");
        let folder = tempfile::Builder::new().prefix("foltr-pg-").tempdir_in(place).expect("a temporary folder");
        let is_root = folder.path().metadata().expect("a folder").uid() == 0;
        let account = is_root.then(|| account().expect("a user postgres or nobody"));
        if let Some((user, group)) = account {
            chown(folder.path(), Some(user), Some(group)).expect("root may do that");
        }
        let cluster = Self { folder, programs, account, keeper: Mutex::new(None), n_databases: AtomicU64::new(0) };
        let options = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums", "--no-sync", "-U", USER];
        cluster.run(cluster.command("initdb").arg("-D").arg(cluster.data()).args(options));
        cluster.start();
        Some(cluster)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Where the socket is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn keeper(&self) -> MutexGuard<'_, Option<Child>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same user, and a folder that it can read.
    fn as_account(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path());
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }

    fn command(&self, program: &str) -> Command {
        self.as_account(Command::new(self.programs.join(program)))
    }

    fn run(&self, command: &mut Command) {
        let output = command.stdin(Stdio::null()).output().expect("a program of PostgreSQL");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?} failed: {said}");
    }

    /// Starts it, also again, and waits until it is ready.
    pub fn start(&self) {
        let mut keeper = self.keeper();
        assert!(keeper.is_none(), "it runs");
        let mut command = self.as_account(Command::new("sh"));
        command.arg("-c").arg(KEEPER).arg(self.folder.path()).arg(self.programs.join("postgres"));
        command.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path());
        command.args(["-c", "listen_addresses=", "-c", "max_connections=200", "-c", "shared_buffers=16MB"]);
        // A terminal's interrupt is for the tests only.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        *keeper = Some(command.spawn().expect("a shell"));
        let began = Instant::now();
        while !self.is_ready() {
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < PATIENCE, "PostgreSQL is not ready: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// By the status in its own file.
    fn is_ready(&self) -> bool {
        let status = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        status.lines().nth(7).is_some_and(|status| status.trim() == "ready")
    }

    /// As if its machine lost power, except that its files have all that was written.
    pub fn stop_immediate(&self) {
        self.end(b"keep\n");
        // The next start waits for a new one.
        std::fs::remove_file(self.data().join("postmaster.pid")).ok();
    }

    fn end(&self, word: &[u8]) {
        let Some(mut keeper) = self.keeper().take() else { return };
        let mut pipe = keeper.stdin.take().expect("a pipe");
        pipe.write_all(word).expect("the keeper reads");
        drop(pipe);
        keeper.wait().expect("the keeper ends");
    }

    /// A new and empty database, by its name.
    pub fn new_database(&self) -> String {
        let name = format!("test{}", self.n_databases.fetch_add(1, Ordering::Relaxed));
        self.run(self.command("createdb").arg("-h").arg(self.folder.path()).args(["-U", USER, &name]));
        name
    }

    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().to_str().expect("a path in UTF-8").replace('/', "%2F");
        format!("postgresql://{USER}@{folder}/{database}")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end(b"delete\n");
    }
}

/// The folder of PostgreSQL's programs, the newest if there are several.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A link on the path leads to the folder that has all of them.
    let on_path = std::env::split_paths(&path).filter_map(|folder| folder.join("postgres").canonicalize().ok());
    let on_path = on_path.filter_map(|program| Some(program.parent()?.to_owned()));
    let version = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let entries = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut of_debian: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    of_debian.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let has_all = |folder: &PathBuf| ["initdb", "postgres", "createdb"].iter().all(|name| folder.join(name).is_file());
    on_path.chain(of_debian.into_iter().map(|folder| folder.join("bin"))).find(has_all)
}

fn account() -> Option<(u32, u32)> {
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    };
    find("postgres").or_else(|| find("nobody"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIABLE: &str = "FOLTR_TEST_CLUSTER_NOTE";

    /// The path of the folder and the id of the process.
    fn wait_for(note: &Path, child: &mut Child) -> Option<(PathBuf, u32)> {
        loop {
            let written = std::fs::read_to_string(note).unwrap_or_default();
            if let Some((folder, id)) = written.trim().split_once(' ')
                && written.ends_with('\n')
            {
                return Some((folder.into(), id.parse().unwrap()));
            }
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The test runs once more, in a process that is killed while PostgreSQL runs.
    #[test]
    fn a_killed_process_leaves_nothing() {
        if let Some(note) = std::env::var_os(VARIABLE) {
            let Some(cluster) = Cluster::new() else { return };
            let status = std::fs::read_to_string(cluster.data().join("postmaster.pid")).unwrap();
            std::fs::write(note, format!("{} {}\n", cluster.folder().display(), status.lines().next().unwrap()))
                .unwrap();
            std::thread::sleep(PATIENCE);
        }
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("note");
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "postgres::tests::a_killed_process_leaves_nothing"]).env(VARIABLE, &note);
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        let Some((cluster, id)) = wait_for(&note, &mut child) else { return };
        let process = PathBuf::from(format!("/proc/{id}"));
        assert!(cluster.is_dir() && (process.is_dir() || !Path::new("/proc/self").is_dir()));
        child.kill().unwrap();
        child.wait().unwrap();
        let began = Instant::now();
        while cluster.exists() || process.exists() {
            assert!(began.elapsed() < PATIENCE, "{} is left", cluster.display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_cluster_stops_starts_and_is_deleted() {
        let Some(cluster) = Cluster::new() else { return };
        let database = cluster.new_database();
        assert!(cluster.url(&database).starts_with("postgresql://foltr@%2F"));
        assert_ne!(cluster.new_database(), database);
        cluster.stop_immediate();
        assert!(!cluster.is_ready());
        cluster.start();
        cluster.new_database();
        let folder = cluster.folder().to_owned();
        drop(cluster);
        assert!(!folder.exists());
    }
}
