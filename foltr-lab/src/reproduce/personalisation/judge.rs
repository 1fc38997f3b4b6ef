//! What is promised of rankers of one's own, and whether it holds.

use anyhow::Result;

use super::{ADDITIVE, FED_AVG, METHODS, ORACLE, Outcome, Study};
use crate::reproduce::course::{USERS, difference};
use crate::reproduce::study::mean;
use crate::spec::Split;
use crate::table::table;

/// What the recommended method must bring a client under each kind of users, in the order of [`USERS`].
const GAINS: [f64; 3] = [0.04, 0.04, 0.02];
/// Share of the way to the oracle that it must go under perfect users.
const CLOSED: f64 = 0.8;
/// Share of clients that it may leave worse off.
const WORSE_OFF: f64 = 0.05;
/// What it may cost clients that are alike.
const COST: f64 = 0.005;

/// A method beside FedAvg on the same collections, under one kind of users.
struct Comparison {
    mean: f64,
    gain: f64,
    told_gain: String,
    worst_decile: f64,
    worse_off: f64,
}

impl Comparison {
    fn of(outcome: &Outcome, candidate: &str, users: &str) -> Result<Self> {
        let baseline = METHODS[FED_AVG].candidates[0];
        let (mut n_worse, mut n_clients, mut deciles) = (0, 0, Vec::new());
        for seed in &outcome.seeds {
            let own = outcome.by_client(candidate, users, seed, Split::Test)?;
            let others = outcome.by_client(baseline, users, seed, Split::Test)?;
            // One value stands for all clients.
            let pairs = own.iter().zip(others.iter().cycle());
            n_worse += pairs.filter(|(own, other)| own < other).count();
            n_clients += own.len();
            let mut sorted = own;
            sorted.sort_unstable_by(f64::total_cmp);
            deciles.push(mean(&sorted[..sorted.len().div_ceil(10)]));
        }
        let means = outcome.means(candidate, users, Split::Test)?;
        let (gain, told_gain) = difference(&means, &outcome.means(baseline, users, Split::Test)?);
        let worse_off = n_worse as f64 / n_clients as f64;
        Ok(Self { mean: mean(&means), gain, told_gain, worst_decile: mean(&deciles), worse_off })
    }

    fn cells(&self) -> [String; 4] {
        [
            format!("{:.4}", self.mean),
            self.told_gain.clone(),
            format!("{:.4}", self.worst_decile),
            format!("{:.1} %", 100.0 * self.worse_off),
        ]
    }
}

/// The table of a scene: one line a method and kind of users.
fn tell(study: &mut Study<'_>, outcome: &Outcome, chosen: &[&str]) -> Result<()> {
    let mut lines = Vec::new();
    for users in USERS {
        for (method, candidate) in METHODS.iter().zip(chosen) {
            let comparison = Comparison::of(outcome, candidate, users)?;
            let names = [users.to_owned(), method.name.to_owned()];
            lines.push(names.into_iter().chain(comparison.cells()).collect());
        }
    }
    let header = ["users", "method", "mean nDCG@10", "against FedAvg", "worst decile", "clients worse off"];
    study.table(&format!("{}, {} collections", outcome.name, outcome.seeds.len()), &table(&header, 2, lines));
    Ok(())
}

/// Clients that want different things.
pub(super) fn conflict(study: &mut Study<'_>, outcome: &Outcome, chosen: &[&str]) -> Result<()> {
    tell(study, outcome, chosen)?;
    for (users, least) in USERS.into_iter().zip(GAINS) {
        let own = Comparison::of(outcome, chosen[ADDITIVE], users)?;
        let claim = format!(
            "{}, {users}: additive at least {least} above FedAvg, fewer than {:.0} % of clients worse off",
            outcome.name,
            100.0 * WORSE_OFF
        );
        let holds = own.gain >= least && own.worse_off < WORSE_OFF;
        study.claim(claim, holds, format!("{}, {:.1} % worse off", own.told_gain, 100.0 * own.worse_off));
    }
    let own = Comparison::of(outcome, chosen[ADDITIVE], USERS[0])?;
    let oracle = Comparison::of(outcome, chosen[ORACLE], USERS[0])?;
    let closed = own.gain / oracle.gain;
    let claim = format!("{}, perfect: additive closes at least {:.0} % of the way", outcome.name, 100.0 * CLOSED);
    study.claim(claim, closed >= CLOSED, format!("{:.0} % of {:.4} to oracle groups", 100.0 * closed, oracle.gain));
    Ok(())
}

/// Whether a generator's conflict is as strong as it is meant to be.
pub(super) fn calibration(study: &mut Study<'_>, outcome: &Outcome, wanted: f64, tolerance: f64) -> Result<()> {
    let oracle = Comparison::of(outcome, METHODS[ORACLE].candidates[0], USERS[0])?;
    let claim = format!("{}: oracle groups minus FedAvg, perfect users, is {wanted} ± {tolerance}", outcome.name);
    study.claim(claim, (oracle.gain - wanted).abs() <= tolerance, oracle.told_gain);
    Ok(())
}

/// Clients that are alike.
pub(super) fn alike(study: &mut Study<'_>, outcome: &Outcome, chosen: &[&str]) -> Result<()> {
    tell(study, outcome, chosen)?;
    for users in USERS {
        let own = Comparison::of(outcome, chosen[ADDITIVE], users)?;
        let claim = format!("{}, {users}: additive costs at most {COST}", outcome.name);
        study.claim(claim, own.gain >= -COST, own.told_gain);
    }
    Ok(())
}
