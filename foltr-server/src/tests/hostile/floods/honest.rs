//! A device that asks for its task and sends its contribution, now and then over a new connection.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use foltr_test::campaign_size;

use crate::call::Method;
use crate::tests::hostile::raw::{Client, bytes_of};
use crate::tests::world::{BASE, World};

/// Requests over one connection.
const KEPT: usize = 20;

pub struct Honest {
    address: SocketAddr,
    requests: [Vec<u8>; 2],
}

/// In milliseconds.
pub struct Times {
    pub p50: f64,
    pub p99: f64,
}

impl Honest {
    pub fn new(world: &World, address: SocketAddr) -> Self {
        let device = &world.devices[0];
        let task = device.call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new());
        let upload = device.upload(&world.contribution(0, [1.0, 0.0]));
        Self { address, requests: [bytes_of(&task), bytes_of(&upload)] }
    }

    /// A request every few milliseconds.
    pub fn measure(&mut self) -> Times {
        let mut times = Vec::new();
        for _ in 0..campaign_size(8, 50) {
            let mut began = Instant::now();
            let mut client = Client::connect(self.address);
            for request in self.requests.iter().cycle().take(KEPT) {
                let reply = client.ask(request).expect("an answer");
                assert!(matches!(reply.status, 200 | 201), "{reply:?}");
                times.push(began.elapsed().as_secs_f64() * 1e3);
                std::thread::sleep(Duration::from_millis(1));
                began = Instant::now();
            }
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
        Times { p50: at(0.5), p99: at(0.99) }
    }
}
