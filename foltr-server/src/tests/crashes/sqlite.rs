//! SQLite on a disk that loses power, tears writes, fails a sync or is full at some operation.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use foltr_test::campaign_size;
use foltr_test::disk::{Disk, Fault, Survivors};

use super::script;
use super::site::Site;
use crate::tests::simulation::operation::{Operation, Random, operations};
use crate::tests::simulation::plans::Kind;
use crate::tests::simulation::servers::{create, sqlite};

const KINDS: [Kind; 4] = [Kind::Everyone, Kind::Buffered, Kind::Quorum, Kind::Stale];
const FAULTS: [Fault; 4] = [Fault::PowerLoss, Fault::TornWrite, Fault::SyncError, Fault::Full];

/// A fault at an operation of the disk, and what survives it.
#[derive(Clone, Copy, Debug)]
struct Crash {
    at: u64,
    fault: Fault,
    survivors: Survivors,
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    Ended,
    WasFull,
}

fn new_site(kind: Kind, disk: &Disk) -> Site {
    let site = Site::new(kind);
    create(&sqlite(disk), &kind.plan(1_000), &site.key());
    site
}

/// Runs operations until the process ends. A disk that is full is cleared after the operation that failed.
fn live(site: &mut Site, disk: &Disk, operations: &mut std::slice::Iter<'_, Operation>) -> End {
    site.start(sqlite(disk));
    let mut end = End::Finished;
    for operation in operations.by_ref() {
        let lived = catch_unwind(AssertUnwindSafe(|| {
            if !site.apply(*operation) && disk.is_full() {
                disk.clear_fault();
                end = End::WasFull;
            }
            site.look();
        }));
        match lived {
            Err(_) if site.has_ended() => return End::Ended,
            lived => lived.unwrap_or_else(|panic| resume_unwind(panic)),
        }
    }
    end
}

/// Two lives with a fault each, and one without.
fn run(kind: Kind, operations: &[Operation], crash: Crash) -> [End; 2] {
    let disk = Disk::new();
    let mut site = new_site(kind, &disk);
    let (mut rest, mut random) = (operations.iter(), Random(crash.seed));
    let mut ends = [End::Finished; 2];
    for (life, end) in ends.iter_mut().enumerate() {
        let at = if life == 0 { crash.at } else { random.below(300) as u64 };
        disk.fail_at(disk.n_operations() + at, crash.fault);
        *end = live(&mut site, &disk, &mut rest);
        site.service = None;
        disk.clear_fault();
        // After a failed sync another process may begin on the same machine.
        if crash.fault != Fault::SyncError || crash.seed.is_multiple_of(2) {
            disk.reboot(crash.survivors, crash.seed);
        }
        site.start(sqlite(&disk));
        site.check();
    }
    live(&mut site, &disk, &mut script::ending().iter());
    site.check();
    ends
}

/// How many operations of the disk a list has without a fault.
fn n_points(kind: Kind, operations: &[Operation]) -> u64 {
    let disk = Disk::new();
    let mut site = new_site(kind, &disk);
    let before = disk.n_operations();
    assert_eq!(live(&mut site, &disk, &mut operations.iter()), End::Finished);
    site.check();
    disk.n_operations() - before
}

/// Every point of the scripted scenario in turn, and any point of a random one.
fn case(number: u64, n_cases: u64, points: &[u64]) -> (Kind, Vec<Operation>, Crash) {
    let (is_random, n) = (number % 2 == 1, number / 2);
    let mut random = Random(number);
    let kind = KINDS[(n % 4) as usize];
    let n_of_kind = (n_cases / 8).max(1);
    let at = match is_random {
        true => random.below(500) as u64,
        false => (n / 4 % n_of_kind) * points[(n % 4) as usize] / n_of_kind,
    };
    let crash = Crash { at, fault: FAULTS[random.below(4)], survivors: Survivors::ALL[random.below(3)], seed: number };
    let operations = if is_random { operations(number, 60) } else { script::scenario() };
    (kind, operations, crash)
}

#[test]
fn a_disk_that_fails_loses_nothing_that_was_acknowledged() {
    let (n_cases, began) = (campaign_size(200, 10_000), Instant::now());
    let points = KINDS.map(|kind| n_points(kind, &script::scenario()));
    let (mut n_ended, mut n_full) = (0, 0);
    for number in 0..n_cases {
        let (kind, operations, crash) = case(number, n_cases, &points);
        let described = Described(format!("case {number}: {kind:?}, {crash:?}"));
        let ends = run(kind, &operations, crash);
        described.passed();
        n_ended += ends.iter().filter(|end| **end == End::Ended).count();
        n_full += ends.iter().filter(|end| **end == End::WasFull).count();
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{n_cases} cases, points of the script by kind {points:?}, {seconds:.0} s:");
    println!("{n_ended} processes ended, {n_full} went on after the disk was full; nothing was lost or counted twice");
    assert!(n_ended > n_cases as usize / 2 && n_full > n_cases as usize / 20, "faults happen");
}

/// Says which case it was when a check panics.
struct Described(String);

impl Described {
    fn passed(self) {
        std::mem::forget(self);
    }
}

impl Drop for Described {
    fn drop(&mut self) {
        println!("{}", self.0);
    }
}
