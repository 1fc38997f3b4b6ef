//! An honest device is answered as fast as ever while others flood the server.
//!
//! Floods come at a stated rate from other addresses of this machine: what a sender takes of the processor is not the server's
//! doing, and at an unbounded rate the two cores of a test would measure nothing else.

mod attackers;
mod honest;

use foltr_federation::protocol::Invitation;
use foltr_test::campaign_size;

use super::raw::{bytes_of, request, start};
use crate::call::Method;
use crate::http::Limits;
use crate::tests::world::{BASE, TestDevice, TestStore, World, averaging, plan_of, settings};
use attackers::{Attack, Attackers};
use honest::{Honest, Times};

/// How much longer than twice its quiet time the slowest hundredth of requests may take, in milliseconds: two cores are shared by
/// the server, the flood and the honest device.
const SLACK: f64 = 5.0;

struct Line {
    name: &'static str,
    /// One for each run.
    times: Vec<Times>,
    n_sent: usize,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Line {
    fn p50(&self) -> f64 {
        median(self.times.iter().map(|times| times.p50).collect())
    }

    fn p99(&self) -> f64 {
        median(self.times.iter().map(|times| times.p99).collect())
    }
}

/// Everything that is sent at a rate: a name, and the bytes of a request.
fn requests(world: &World) -> Vec<(&'static str, Vec<u8>)> {
    let invitation = world.invitation(1);
    let guess = Invitation::new(invitation.address, invitation.key, [1; 32]).expect("an invitation");
    let (known, stranger, path) = (&world.devices[1], TestDevice::new(1_000), format!("{BASE}/task?shard=0"));
    let get = known.call(Method::Get, &path, Vec::new());
    let forged = format!("foltr-device: {}\r\nfoltr-signature: {}\r\n", known.id, "ab".repeat(64));
    let upload = known.upload(&world.contribution(1, [1.0, 0.0]));
    vec![
        ("replayed reads", bytes_of(&get)),
        ("replayed uploads", bytes_of(&upload)),
        ("unknown devices", bytes_of(&stranger.call(Method::Get, &path, Vec::new()))),
        ("bad signatures", request("GET", &path, &forged, b"")),
        ("uploads with bad signatures", request("PUT", &upload.path, &forged, &upload.body)),
        ("guessed invitations", bytes_of(&stranger.enrolment(&guess))),
        ("guessed tokens", request("GET", "/v1/admin/overview", "authorization: Bearer 00\r\n", b"")),
        ("readiness", request("GET", "/readyz", "", b"")),
        ("metrics", request("GET", "/metrics", "", b"")),
    ]
}

fn attacks(world: &World) -> Vec<(&'static str, Attack)> {
    let rate = campaign_size(500, 2_000);
    let mut attacks: Vec<(&str, Attack)> =
        requests(world).into_iter().map(|(name, bytes)| (name, Attack::Requests { bytes, rate })).collect();
    let half = |n: usize, bytes: &[u8]| Attack::Held { n, bytes: bytes.to_vec() };
    let long = request("PUT", &format!("{BASE}/rounds/0/contributions/x"), "x: y\r\n", &[0; 60_000]);
    attacks.extend([
        ("half-open requests", half(campaign_size(200, 900), format!("GET {BASE}/task HTTP/1.1\r\nhost:").as_bytes())),
        ("half-sent bodies", half(campaign_size(100, 900), &long[..long.len() - 1])),
        ("silent connections", half(campaign_size(500, 10_000), b"")),
    ]);
    attacks
}

#[test]
fn an_honest_device_keeps_its_time() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    world.enrol(3);
    let most = campaign_size(2_000, 11_000);
    // Nobody is cut off during a flood, which would end it.
    let header_time = std::time::Duration::from_secs(60);
    let limits = Limits { connections: most, connections_per_address: most, header_time, ..Limits::default() };
    let running = start(&world.service, limits);
    let mut honest = Honest::new(&world, running.address());
    let attacks = attacks(&world);
    let mut lines = vec![Line { name: "nobody else", times: Vec::new(), n_sent: 0 }];
    lines.extend(attacks.iter().map(|(name, _)| Line { name, times: Vec::new(), n_sent: 0 }));
    let began = std::time::Instant::now();
    honest.measure();
    for _ in 0..campaign_size(3, 5) {
        lines[0].times.push(honest.measure());
        for (line, (name, attack)) in lines[1..].iter_mut().zip(&attacks) {
            let Some(attackers) = Attackers::begin(attack, running.address()) else {
                eprintln!("skipped: {name}: this machine allows too few open files (ulimit -n)");
                continue;
            };
            line.times.push(honest.measure());
            line.n_sent += attackers.end();
        }
    }
    println!("measured in {:?}", began.elapsed());
    report(&lines);
}

fn report(lines: &[Line]) {
    let quiet = lines[0].p99();
    println!("| flood | sent or held | p50 in ms | p99 in ms |\n|---|---|---|---|");
    let lines: Vec<&Line> = lines.iter().filter(|line| !line.times.is_empty()).collect();
    for line in &lines {
        println!("| {} | {} | {:.2} | {:.2} |", line.name, line.n_sent, line.p50(), line.p99());
    }
    for line in &lines[1..] {
        assert!(line.n_sent > 0, "{} did not take place", line.name);
        assert!(line.p99() <= 2.0 * quiet + SLACK, "{}: p99 of {:.2} ms, {quiet:.2} quiet", line.name, line.p99());
    }
}
