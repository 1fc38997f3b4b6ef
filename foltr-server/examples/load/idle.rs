//! Devices that have nothing to do: each asks now and then whether there is a new task.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::client::{Connection, Target};
use super::device::Device;
use super::latency::Latencies;
use super::server::RunningServer;

/// Between two questions of one device, on average.
const EVERY: Duration = Duration::from_secs(600);
/// Handshakes at a time while connections are opened.
const AT_ONCE: usize = 16;

pub struct Measured {
    pub n_devices: usize,
    pub n_connections: usize,
    pub latencies: Latencies,
    pub seconds: f64,
    pub server_seconds: f64,
    pub memory: u64,
}

impl Measured {
    /// Of one core.
    pub fn share(&self) -> f64 {
        self.server_seconds / self.seconds
    }

    pub fn print(&self) {
        println!("{} idle devices on {} kept TLS connections", self.n_devices, self.n_connections);
        let rate = self.latencies.len() as f64 / self.seconds;
        println!(
            "  asked      {} times in {:.0} s, {rate:.0} a second; all were 304",
            self.latencies.len(),
            self.seconds
        );
        println!("  latency    {}", self.latencies);
        println!("  processor  server {:.2} s, {:.1} % of one core", self.server_seconds, 100.0 * self.share());
        println!("  memory     {} MiB of the server", self.memory);
    }
}

/// Devices share connections: the one with number k uses number k modulo their number.
pub fn run(server: &RunningServer, devices: &'static [Device], n_connections: usize, time: Duration) -> Measured {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure(server, devices, n_connections, time))
}

async fn measure(server: &RunningServer, devices: &'static [Device], n_connections: usize, time: Duration) -> Measured {
    let mut first = server.target.connect().await.expect("the server takes connections");
    let etag = loop {
        match first.ask(&devices[0].asks_for_task(None)).await.expect("an answer").etag {
            Some(etag) => break Arc::<str>::from(etag),
            None => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let connections = Arc::new(connect(&server.target, devices, n_connections).await);
    let rate = devices.len() as f64 / EVERY.as_secs_f64();
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut asked = JoinSet::new();
    let (before, began) = (server.cpu().0, Instant::now());
    let mut due = began;
    while due < began + time {
        tokio::time::sleep_until(due.into()).await;
        let device = random.random_range(0..devices.len());
        let (connections, etag) = (Arc::clone(&connections), Arc::clone(&etag));
        asked.spawn(async move {
            let mut connection = connections[device % connections.len()].lock().await;
            let reply = connection.ask(&devices[device].asks_for_task(Some(&etag))).await.expect("an answer");
            assert_eq!(reply.status, 304, "{}", reply.problem());
            due.elapsed()
        });
        due += Duration::from_secs_f64(-(1.0 - random.random::<f64>()).ln() / rate);
    }
    let mut latencies = Latencies::default();
    asked.join_all().await.into_iter().for_each(|latency| latencies.add(latency));
    let seconds = began.elapsed().as_secs_f64();
    let server_seconds = (server.cpu().0 - before).as_secs_f64();
    let latencies = latencies.sorted();
    Measured { n_devices: devices.len(), n_connections, latencies, seconds, server_seconds, memory: server.memory() }
}

/// Connections with a request each: the server ends those that have none.
async fn connect(target: &Target, devices: &'static [Device], n: usize) -> Vec<Mutex<Connection>> {
    let mut connecting = JoinSet::new();
    for worker in 0..AT_ONCE {
        let target = target.clone();
        let n = n / AT_ONCE + usize::from(worker < n % AT_ONCE);
        connecting.spawn(async move {
            let mut made = Vec::with_capacity(n);
            for device in devices.iter().skip(worker).step_by(AT_ONCE).take(n) {
                let mut connection = target.connect().await.expect("the server takes connections");
                connection.ask(&device.asks_for_task(None)).await.expect("an answer");
                made.push(Mutex::new(connection));
            }
            made
        });
    }
    connecting.join_all().await.into_iter().flatten().collect()
}
