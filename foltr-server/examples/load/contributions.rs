//! Contributions that arrive by chance at a fixed rate, whatever the server does (an open loop).
//!
//! Latency runs from the moment at which a contribution was due, also when all connections are busy, so that every stall
//! counts for everybody who comes meanwhile. One that finds its round closed is made again for the next one, as a device
//! would; its time goes on. Devices sign here, while the measurement runs: what they sign names the release to start from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foltr_federation::protocol::{Signed, Task};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use tokio::sync::{Mutex, Notify, mpsc, watch};
use tokio::task::JoinSet;

use super::client::{Connection, Target};
use super::device::Device;
use super::latency::Latencies;
use super::process;
use super::server::RunningServer;

/// How often it is asked for a new task, by devices in turn: while a round is open, and while none is.
const POLL: Duration = Duration::from_millis(20);
const POLL_CLOSED: Duration = Duration::from_millis(2);
/// A contribution that is not taken by then has failed.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    /// A second on average; without it a new one comes as soon as a connection is free.
    pub rate: Option<f64>,
    pub n: usize,
    pub n_connections: usize,
}

#[derive(Debug, Default)]
pub struct Measured {
    pub latencies: Latencies,
    pub seconds: f64,
    /// By name. Those of rounds that were closed are not errors: they were taken by the next round.
    pub errors: BTreeMap<String, usize>,
    pub n_again: usize,
    pub n_rounds: u32,
    pub server_seconds: f64,
    pub store_seconds: f64,
    pub own_seconds: f64,
    pub n_flushes: Option<u64>,
    /// Contributions so far, and MiB of the server then.
    pub memory: Vec<(usize, u64)>,
}

impl Measured {
    pub fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    pub fn print(&self, title: &str) {
        let per = |seconds: f64| 1e6 * seconds / self.latencies.len().max(1) as f64;
        println!("{title}");
        println!("  taken      {} in {:.1} s: {:.0} a second", self.latencies.len(), self.seconds, self.rate());
        println!("  latency    {}", self.latencies);
        println!("  errors     {:?}; made again for the next round: {}", self.errors, self.n_again);
        println!("  rounds     {} closed meanwhile", self.n_rounds);
        println!(
            "  processor  server {:.0} %, store {:.0} %, generator {:.0} % of one core; us a contribution: {:.0}, {:.0}, {:.0}",
            100.0 * self.server_seconds / self.seconds,
            100.0 * self.store_seconds / self.seconds,
            100.0 * self.own_seconds / self.seconds,
            per(self.server_seconds),
            per(self.store_seconds),
            per(self.own_seconds),
        );
        if let Some(n) = self.n_flushes {
            println!("  disk       {:.0} flushes a second, of the whole machine", n as f64 / self.seconds);
        }
        let memory: Vec<String> = self.memory.iter().map(|(n, mib)| format!("{mib} ({n})")).collect();
        println!("  memory     of the server in MiB (after contributions): {}", memory.join(", "));
    }
}

struct Arrival {
    due: Instant,
    device: usize,
}

/// What the tasks of a measurement share.
struct Shared<'a> {
    target: Target,
    devices: &'a [Device],
    task: watch::Receiver<Option<Task>>,
    /// Somebody was told that its round is closed.
    closed: Arc<Notify>,
    n_taken: AtomicUsize,
}

enum Failure {
    Named(String),
    Lost(std::io::Error),
}

#[derive(Default)]
struct Tally {
    latencies: Latencies,
    errors: BTreeMap<String, usize>,
    n_again: usize,
}

/// Sends contributions of the devices, one after the other.
pub fn run(server: &RunningServer, devices: &'static [Device], arrivals: Arrivals) -> Measured {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let measured = runtime.block_on(measure(server, devices, arrivals));
    runtime.shutdown_background();
    measured
}

async fn measure(server: &RunningServer, devices: &'static [Device], arrivals: Arrivals) -> Measured {
    let (tasks, task) = watch::channel(None);
    let closed = Arc::new(Notify::new());
    let polling = tokio::spawn(poll(server.target.clone(), devices, tasks, Arc::clone(&closed)));
    let shared = Shared { target: server.target.clone(), devices, task, closed, n_taken: AtomicUsize::new(0) };
    let shared: Arc<Shared<'static>> = Arc::new(shared);
    let first = next_task(&shared, None).await;
    // What is due and has no connection yet waits here.
    let (sender, receiver) = mpsc::unbounded_channel();
    let receiver = Arc::new(Mutex::new(receiver));
    let mut workers = JoinSet::new();
    for _ in 0..arrivals.n_connections {
        let connection = shared.target.connect().await.expect("the server takes connections");
        workers.spawn(work(Arc::clone(&shared), connection, Arc::clone(&receiver)));
    }
    let before = (server.cpu(), process::cpu(std::process::id()), server.n_flushes());
    let began = Instant::now();
    let watching = watch_memory(server, &shared, arrivals.n);
    let sending = async {
        arrive(arrivals, began, devices.len(), sender, &shared).await;
        let mut tally = Tally::default();
        while let Some(worker) = workers.join_next().await {
            tally.add(worker.expect("a worker does not panic"));
        }
        tally
    };
    let (tally, memory) = tokio::join!(sending, watching);
    let seconds = began.elapsed().as_secs_f64();
    let last = *shared.task.borrow();
    polling.abort();
    let after = (server.cpu(), process::cpu(std::process::id()), server.n_flushes());
    Measured {
        latencies: tally.latencies.sorted(),
        seconds,
        errors: tally.errors,
        n_again: tally.n_again,
        n_rounds: last.map_or(0, |task| task.round).saturating_sub(first.round),
        server_seconds: (after.0.0 - before.0.0).as_secs_f64(),
        store_seconds: (after.0.1.saturating_sub(before.0.1)).as_secs_f64(),
        own_seconds: after.1.zip(before.1).map_or(0.0, |(after, before)| (after - before).as_secs_f64()),
        n_flushes: after.2.zip(before.2).map(|(after, before)| after - before),
        memory,
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.n_again += other.n_again;
        for (name, n) in other.errors {
            *self.errors.entry(name).or_default() += n;
        }
    }
}

/// Hands out arrivals at their times, with exponential gaps.
async fn arrive(
    arrivals: Arrivals,
    began: Instant,
    n_devices: usize,
    sender: mpsc::UnboundedSender<Arrival>,
    shared: &Shared<'_>,
) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut due = began;
    for i in 0..arrivals.n {
        match arrivals.rate {
            Some(rate) => due += Duration::from_secs_f64(-(1.0 - random.random::<f64>()).ln() / rate),
            None => {
                while i >= shared.n_taken.load(Ordering::Relaxed) + 2 * arrivals.n_connections {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                due = Instant::now();
            }
        }
        if due > Instant::now() {
            tokio::time::sleep_until(due.into()).await;
        }
        sender.send(Arrival { due, device: i % n_devices }).expect("workers wait for it");
    }
}

/// One connection, which takes what is due.
async fn work(
    shared: Arc<Shared<'static>>,
    connection: Connection,
    arrivals: Arc<Mutex<mpsc::UnboundedReceiver<Arrival>>>,
) -> Tally {
    let (mut tally, mut connection) = (Tally::default(), Some(connection));
    loop {
        let arrival = arrivals.lock().await.recv().await;
        let Some(Arrival { due, device }) = arrival else { return tally };
        let sent = contribute(&shared, &shared.devices[device], &mut connection, &mut tally);
        let failure = match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(())) => {
                tally.latencies.add(due.elapsed());
                None
            }
            Ok(Err(Failure::Named(name))) => Some(name),
            Ok(Err(Failure::Lost(error))) => Some(format!("connection lost: {error}")),
            Err(_) => Some(format!("no answer in {PATIENCE:?}")),
        };
        if let Some(name) = failure {
            connection = None;
            *tally.errors.entry(name).or_default() += 1;
        }
        shared.n_taken.fetch_add(1, Ordering::Relaxed);
    }
}

async fn contribute(
    shared: &Shared<'_>,
    device: &Device,
    kept: &mut Option<Connection>,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let mut task = next_task(shared, None).await;
    loop {
        if kept.is_none() {
            *kept = Some(shared.target.connect().await.map_err(Failure::Lost)?);
        }
        let connection = kept.as_mut().expect("it was made");
        let reply = connection.ask(&device.contributes(&task, 1e-3)).await.map_err(Failure::Lost)?;
        match reply.status {
            201 => return Ok(()),
            409 if matches!(reply.problem().as_str(), "round-closed" | "unknown-start") => {
                tally.n_again += 1;
                shared.closed.notify_one();
                task = next_task(shared, Some(task.round)).await;
            }
            _ => return Err(Failure::Named(reply.problem())),
        }
    }
}

/// The open task; one after this round, if there is one to be left behind.
async fn next_task(shared: &Shared<'_>, after: Option<u32>) -> Task {
    let mut task = shared.task.clone();
    let is_later = |task: &Option<Task>| task.is_some_and(|task| after.is_none_or(|round| task.round > round));
    let found = task.wait_for(is_later).await.expect("somebody asks for tasks");
    found.expect("it was waited for")
}

/// Keeps the newest task, as devices know it that ask at different times.
async fn poll(target: Target, devices: &'static [Device], tasks: watch::Sender<Option<Task>>, closed: Arc<Notify>) {
    let mut connection = target.connect().await.expect("the server takes connections");
    let mut etag: Option<String> = None;
    for device in devices.iter().cycle() {
        let reply = connection.ask(&device.asks_for_task(etag.as_deref())).await.expect("an answer about the task");
        if reply.status == 200 {
            etag = reply.etag;
            let task = Signed::<Task>::decode(&reply.body).expect("a task");
            tasks.send_replace(Some(*task.unverified()));
        }
        let pause = if reply.status == 204 { POLL_CLOSED } else { POLL };
        // In vain if it waits in vain.
        drop(tokio::time::timeout(pause, closed.notified()).await);
    }
}

/// Memory of the server at the start, after every tenth of the contributions, but no more often than every 10,000, and at the end.
async fn watch_memory(server: &RunningServer, shared: &Shared<'_>, n: usize) -> Vec<(usize, u64)> {
    let every = (n / 10).max(10_000);
    let mut memory = vec![(0, server.memory())];
    loop {
        let n_taken = shared.n_taken.load(Ordering::Relaxed);
        let last = memory.last().map_or(0, |it| it.0);
        if n_taken >= last + every || n_taken >= n {
            memory.push((n_taken, server.memory()));
        }
        if n_taken >= n {
            return memory;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
