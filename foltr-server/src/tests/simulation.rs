//! Model-based simulation: lists of operations from seeds, on a virtual clock, on two replicas of the real service and a disk
//! that loses what was not synced. Each device moves the model by a power of two of its own, so that who is counted twice, or
//! not at all, shows in the next release.
//!
//! `FOLTR_CAMPAIGN=full` runs 2,000 seeds with 300 operations each. `FOLTR_SEED` runs one.

pub mod model;
pub mod operation;
pub mod plans;
mod run;
pub mod servers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use foltr_test::campaign_size;

use operation::{Operation, operations};
use run::{Counts, Run};

const N_OPERATIONS: usize = 300;

/// A panic is a failure like any other.
fn outcome(seed: u64, operations: &[Operation]) -> Result<(u64, Counts), String> {
    match catch_unwind(AssertUnwindSafe(|| Run::run(seed, operations))) {
        Ok(done) => done.map_err(|error| format!("{error:#}")),
        Err(_) => Err(format!("seed {seed}: it panicked")),
    }
}

/// Leaves out what the failure does not need: halves first, then ever smaller parts.
fn shrink(mut operations: Vec<Operation>, fails: impl Fn(&[Operation]) -> bool) -> Vec<Operation> {
    let mut n = operations.len() / 2;
    while n > 0 {
        let mut from = 0;
        while from < operations.len() {
            let to = (from + n).min(operations.len());
            let fewer = [&operations[..from], &operations[to..]].concat();
            if fails(&fewer) {
                operations = fewer;
            } else {
                from = to;
            }
        }
        n /= 2;
    }
    operations
}

fn simulate(seed: u64) -> (u64, Counts) {
    let all = operations(seed, N_OPERATIONS);
    outcome(seed, &all).unwrap_or_else(|first| {
        let fewest = shrink(all, |operations| outcome(seed, operations).is_err());
        let error = outcome(seed, &fewest).expect_err("it failed with these");
        panic!("{first}\n\nwith fewest operations: {error}\n{fewest:#?}")
    })
}

#[test]
fn simulated_federations_lose_nothing_and_count_nothing_twice() {
    if let Ok(seed) = std::env::var("FOLTR_SEED") {
        simulate(seed.parse().expect("FOLTR_SEED is a number"));
        return;
    }
    let (n_seeds, began) = (campaign_size(40, 2_000), Instant::now());
    let mut counts = Counts::new();
    for (what, n) in (0..n_seeds).flat_map(|seed| simulate(seed).1) {
        *counts.entry(what).or_default() += n;
    }
    println!("{n_seeds} seeds with {N_OPERATIONS} operations each, {:.0} s: no fault", began.elapsed().as_secs_f64());
    counts.iter().for_each(|(what, n)| println!("{n:>9} {what}"));
    assert_eq!(counts.len(), N_COUNTS, "everything happens in so many seeds");
}

/// Answers to uploads, ends of closings, releases and rounds.
const N_COUNTS: usize = 19;

#[test]
fn a_seed_gives_the_same_trace_again() {
    let traces = || (100..106).map(|seed| simulate(seed).0).collect::<Vec<u64>>();
    let (traces, again) = (traces(), traces());
    assert_eq!(traces, again);
    assert!(traces.windows(2).all(|pair| pair[0] != pair[1]), "other seeds have other traces");
}

#[test]
fn a_failing_list_shrinks_to_what_fails() {
    let is_needed = |operation: &Operation| matches!(operation, Operation::Hold | Operation::Resume);
    let all = operations(7, N_OPERATIONS);
    assert!(all.iter().any(is_needed));
    let fewest = shrink(all, |operations| operations.iter().any(is_needed));
    assert_eq!(fewest.len(), 1);
}
