//! Those who flood the server, in threads of this process, or, where they need many files, in a process of their own.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::tests::hostile::raw::Client;

pub enum Attack {
    /// So many requests a second.
    Requests { bytes: Vec<u8>, rate: usize },
    /// So many connections, on each of which these bytes have come.
    Held { n: usize, bytes: Vec<u8> },
}

/// Those who send requests.
const N_THREADS: usize = 4;
/// Not that of honest devices.
const SOURCE: &str = "127.0.0.2";
/// Files that a process has beside connections.
const OTHER_FILES: usize = 200;

/// What the other process is told: address, number of connections, and the bytes in hexadecimal.
const TASK: &str = "FOLTR_TEST_HOLD";

pub enum Attackers {
    Threads { stop: Arc<AtomicBool>, threads: Vec<JoinHandle<usize>> },
    Process { child: Child, said: BufReader<ChildStdout>, n: usize },
}

impl Attackers {
    /// Nothing if this machine does not allow it. Returns when the flood has begun.
    pub fn begin(attack: &Attack, address: SocketAddr) -> Option<Self> {
        match attack {
            Attack::Requests { bytes, rate } => {
                let stop = Arc::new(AtomicBool::new(false));
                let pause = Duration::from_secs_f64(N_THREADS as f64 / *rate as f64);
                let flood = |_| {
                    let (stop, bytes) = (Arc::clone(&stop), bytes.clone());
                    std::thread::spawn(move || send(&bytes, pause, address, &stop))
                };
                let threads = (0..N_THREADS).map(flood).collect();
                std::thread::sleep(Duration::from_millis(50));
                Some(Self::Threads { stop, threads })
            }
            Attack::Held { n, bytes } => {
                let has_files = most_files() >= n + OTHER_FILES;
                has_files.then(|| hold(*n, bytes, address))
            }
        }
    }

    /// How many requests were answered, or connections held to the end.
    pub fn end(self) -> usize {
        match self {
            Self::Threads { stop, threads } => {
                stop.store(true, Ordering::Relaxed);
                threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
            }
            Self::Process { mut child, mut said, n } => {
                drop(child.stdin.take());
                said.read_to_end(&mut Vec::new()).expect("a pipe");
                assert!(child.wait().expect("a process").success());
                n
            }
        }
    }
}

fn send(bytes: &[u8], pause: Duration, address: SocketAddr, stop: &AtomicBool) -> usize {
    let (mut client, mut n_sent, mut next) = (None, 0, Instant::now());
    while !stop.load(Ordering::Relaxed) {
        let mut own = client.take().unwrap_or_else(|| Client::connect_from(SOURCE, address).expect("a connection"));
        if let Ok(reply) = own.ask(bytes) {
            assert!(reply.status < 500, "{reply:?}");
            n_sent += 1;
            client = Some(own);
        }
        // A rate, whatever a request takes; what was missed in a hurry is not made up for.
        next = (next + pause).max(Instant::now() - pause);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    n_sent
}

/// The soft limit of this process.
fn most_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn hold(n: usize, bytes: &[u8], address: SocketAddr) -> Attackers {
    let own = std::env::current_exe().expect("this program");
    let task = format!("{address} {n} {}", crate::hex::encode(bytes));
    let test = "tests::hostile::floods::attackers::holds_connections_for_another_test";
    let mut command = Command::new(own);
    command.args(["--exact", test, "--nocapture"]).env(TASK, task);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    let mut said = BufReader::new(child.stdout.take().expect("it was piped"));
    let is_held = said.by_ref().lines().map_while(Result::ok).any(|line| line.contains("all are held"));
    assert!(is_held, "the connections could not be made");
    Attackers::Process { child, said, n }
}

#[test]
fn holds_connections_for_another_test() {
    let Ok(task) = std::env::var(TASK) else { return };
    let mut words = task.split(' ');
    let address: SocketAddr = words.next().and_then(|word| word.parse().ok()).expect("an address");
    let n: usize = words.next().and_then(|word| word.parse().ok()).expect("a number");
    let digits = words.next().expect("bytes");
    let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits");
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(digit).collect();
    let connect = |_| {
        let mut client = Client::connect_from(SOURCE, address).expect("a connection");
        client.send(&bytes).expect("the server reads");
        client
    };
    let clients: Vec<Client> = (0..n).map(connect).collect();
    println!("all are held");
    // Until the other process has measured.
    std::io::stdin().read_to_end(&mut Vec::new()).expect("a pipe");
    let is_open = |client: &Client| client.0.set_nonblocking(true).is_ok() && client.0.peek(&mut [0]).is_err();
    let n_open = clients.iter().filter(|client| is_open(client)).count();
    assert!(n_open >= n * 9 / 10, "{n_open} of {n} were held to the end");
}
