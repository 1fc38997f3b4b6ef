//! One server on SQLite under load, killed at any moment: what it has acknowledged is in its releases, once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use foltr_server::database::{Database, Sqlite};
use foltr_test::campaign_size;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::load::{Load, Shared};
use super::process::{Process, folder_in_memory, free_address, make_folder, run};
use super::reckoning::{longest_gaps, reckon};

pub const N_DEVICES: usize = 50;
/// From a kill to the next acknowledgement, and between any two before the next kill.
pub const LONGEST_GAP: Duration = Duration::from_secs(5);

/// Waits for a moment to kill a server. Of four, one comes soon after its start, one when a round is probably being closed, and
/// two at any time at which it works.
pub fn wait_for_moment(n_before: u32, shared: &Shared, random: &mut ChaCha8Rng) {
    let mut wait = |most: u64| std::thread::sleep(Duration::from_micros(random.random_range(0..most)));
    if n_before % 4 == 3 {
        return wait(300_000);
    }
    let n_acknowledged = || shared.acknowledged.lock().expect("no panic before").len();
    let before = n_acknowledged();
    wait_until(|| n_acknowledged() > before);
    wait(400_000);
    if n_before % 4 == 1 {
        wait_until(|| shared.n_of_round.load(Ordering::Relaxed) >= N_DEVICES as u32);
        wait(6_000);
    }
}

/// For so long at most that a server which stands still is noticed otherwise.
fn wait_until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() && began.elapsed() < 2 * LONGEST_GAP {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// The report of a campaign, and what must hold in it.
pub fn conclude(load: Load, kills: &[Instant], database: &dyn Database, began: Instant) -> String {
    let shared = Arc::clone(&load.shared);
    let counts = reckon(load.stop(), database);
    let acknowledged = shared.acknowledged.lock().expect("no panic before").clone();
    let mut gaps = longest_gaps(&sorted(acknowledged), kills);
    gaps.sort_unstable();
    let (median, longest) = (gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
    assert_eq!(shared.n_false_refusals.load(Ordering::Relaxed), 0, "messages to a round that a replica did not know");
    assert!(longest < LONGEST_GAP, "{longest:?} without an acknowledgement: {gaps:?}");
    format!(
        "{} kills in {:.0?}, {} of them while a round was being closed: {} rounds, {} acknowledged messages, each in exactly \
         one release; {} came too late; without an acknowledgement around a kill: median {median:.1?}, longest {longest:.1?}",
        kills.len(),
        began.elapsed(),
        counts.n_taken_over,
        counts.n_rounds,
        counts.n_acknowledged,
        counts.n_too_late
    )
}

fn sorted(mut moments: Vec<Instant>) -> Vec<Instant> {
    moments.sort_unstable();
    moments
}

#[test]
fn a_killed_server_on_sqlite_loses_nothing() {
    let (began, folder, address) = (Instant::now(), folder_in_memory(), free_address());
    let invitation = make_folder(folder.path(), "sqlite:foltr.db", &address, N_DEVICES);
    let mut process = Process::new(folder.path(), &address);
    let load = Load::start(&invitation, &[address], N_DEVICES);
    let (mut random, mut kills) = (ChaCha8Rng::seed_from_u64(1), Vec::new());
    for n_before in 0..campaign_size(10, 200) {
        wait_for_moment(n_before, &load.shared, &mut random);
        kills.push(Instant::now());
        process.kill();
        process.start();
    }
    // A round that was being closed is taken over when the lease of who closed it is over.
    std::thread::sleep(Duration::from_secs(5));
    let report = conclude(load, &kills, &Sqlite::open(&folder.path().join("foltr.db")), began);
    assert!(!process.log().contains("panicked"), "{}", process.log());
    process.kill();
    let said = run(&["verify", folder.path().to_str().expect("a path in UTF-8")]);
    println!("SQLite: {report}\n{said}");
}
