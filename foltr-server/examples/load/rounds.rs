//! How long a round takes whose clients do nothing: the same as `docs/campaigns/flower/run.py` measures of Flower.
//!
//! Every client fetches the task and the model, and adds 1 to every number. A round begins when the first client has seen its
//! task, and ends when the first one has seen the next. Clients ask for the next task again and again; in a deployment they wait for
//! as long as the server tells them.

use std::time::{Duration, Instant};

use foltr_federation::protocol::{Release, Signed, Task};
use tokio::sync::mpsc;

use super::client::{Connection, Target};
use super::device::{Device, N_FEATURES};
use super::process;
use super::server::RunningServer;

const PAUSE: Duration = Duration::from_micros(200);

pub struct Measured {
    /// Of each round.
    pub seconds: Vec<f64>,
    pub n_flushes: Option<u64>,
}

/// So many rounds of all devices, the model checked at the end.
pub fn run(server: &RunningServer, devices: &'static [Device], n_rounds: u32) -> Measured {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let n_flushes = server.n_flushes();
    let seconds = runtime.block_on(measure(&server.target, devices, n_rounds));
    let n_flushes = server.n_flushes().zip(n_flushes).map(|(after, before)| after - before);
    Measured { seconds, n_flushes }
}

async fn measure(target: &Target, devices: &'static [Device], n_rounds: u32) -> Vec<f64> {
    let (sender, mut seen) = mpsc::unbounded_channel();
    for device in devices {
        let connection = target.connect().await.expect("the server takes connections");
        tokio::spawn(take_part(connection, device, n_rounds, sender.clone()));
    }
    drop(sender);
    let mut first_seen: Vec<Instant> = Vec::new();
    while let Some((round, at)) = seen.recv().await {
        if first_seen.len() == round as usize {
            first_seen.push(at);
        }
    }
    let mut connection = target.connect().await.expect("the server takes connections");
    let model = model(&mut connection, &devices[0]).await;
    assert_eq!(model, [n_rounds as f32; N_FEATURES], "every round adds 1");
    first_seen.windows(2).map(|two| (two[1] - two[0]).as_secs_f64()).collect()
}

/// Contributes to rounds as long as there are any. Says when it saw each.
async fn take_part(
    mut connection: Connection,
    device: &Device,
    n_rounds: u32,
    seen: mpsc::UnboundedSender<(u32, Instant)>,
) {
    let mut etag: Option<String> = None;
    loop {
        let reply = connection.ask(&device.asks_for_task(etag.as_deref())).await.expect("an answer about the task");
        if reply.status != 200 {
            assert!(matches!(reply.status, 204 | 304), "{}", reply.problem());
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        etag = reply.etag;
        let task = *Signed::<Task>::decode(&reply.body).expect("a task").unverified();
        seen.send((task.round, Instant::now())).expect("somebody counts rounds");
        if task.round == n_rounds {
            return;
        }
        let model = model(&mut connection, device).await;
        assert_eq!(model[0], task.round as f32);
        let reply = connection.ask(&device.contributes(&task, 1.0)).await.expect("a receipt");
        assert_eq!(reply.status, 201, "{}", reply.problem());
    }
}

async fn model(connection: &mut Connection, device: &Device) -> Vec<f32> {
    let reply = connection.ask(&device.asks_for_release()).await.expect("a release");
    assert_eq!(reply.status, 200, "{}", reply.problem());
    Release::decode(&reply.body, N_FEATURES).expect("a release of the model").params().to_vec()
}

impl Measured {
    pub fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
    }

    pub fn print(&self, n_clients: usize) {
        let n = self.seconds.len();
        let shortest = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = self.seconds.iter().copied().fold(0.0, f64::max);
        println!("foltr, {n_clients} clients, {N_FEATURES} numbers, {n} rounds, load {}", process::load_average());
        println!("seconds per round: median {:.4}, from {shortest:.4} to {longest:.4}", self.median());
        if let Some(flushes) = self.n_flushes {
            println!("flushes of the disk a round, of the whole machine: {:.1}", flushes as f64 / n as f64);
        }
    }
}
