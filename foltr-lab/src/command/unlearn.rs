//! `foltr unlearn` and `foltr receipt verify`: clients are forgotten, and can check that they were.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};

use super::{End, STOP, catch_interrupts};
use crate::cli::UnlearnArgs;
use crate::execute::{Collections, progress_bar};
use crate::forget::{self, FinishedRun, Met, Order, key};
use crate::results::Results;
use crate::spec::Leaving;
use crate::table::{grouped, table};

/// Forgets clients in the runs of a result folder.
///
/// # Errors
/// If the request cannot be met; runs before the one that failed stay as they have become.
pub fn run(arguments: &UnlearnArgs) -> Result<End> {
    let results = Results::open(&arguments.folder)?;
    let method = forget::method(&arguments.method, &arguments.parameters)?;
    let mut clients = arguments.clients.clone();
    clients.sort_unstable();
    clients.dedup();
    let leaving = Leaving { clients, method };
    let chosen = |key: &str| arguments.run.as_deref().is_none_or(|prefix| key.starts_with(prefix));
    let runs: Vec<_> = results.runs.iter().filter(|run| chosen(&run.key)).collect();
    ensure!(!runs.is_empty(), "{}: no finished run has such a name", arguments.folder.display());
    let usual_key = arguments.folder.join("receipt.key");
    let secret = key::secret(arguments.key.as_deref().unwrap_or(&usual_key))?;
    let time = jiff::Timestamp::try_from(SystemTime::now())?.to_string();
    let collections = Collections::load(&results.grid)?;
    catch_interrupts()?;
    let bar = progress_bar();
    let (mut lines, mut guarantees) = (Vec::new(), BTreeSet::new());
    for run in runs {
        let experiment = &results.grid.settings[run.setting].experiment;
        let (fold, _) = collections.fold(&experiment.data, run.fold)?;
        let folder = arguments.folder.join("runs").join(&run.key);
        let finished = FinishedRun { folder: &folder, experiment, fold, seed: run.seed };
        bar.set_message(format!("fold {}, seed {}", run.fold, run.seed));
        let progress = |round: u32, n_rounds: u32| {
            bar.set_length(n_rounds.into());
            bar.set_position(round.into());
        };
        let order = Order { leaving: &leaving, secret: &secret, time: &time };
        let told = || format!("fold {}, seed {} ({})", run.fold, run.seed, folder.display());
        let Some(met) = forget::forget(finished, &order, &progress, &STOP).with_context(told)? else {
            bar.finish_and_clear();
            eprintln!("interrupted: this run is as it was");
            return Ok(End::Interrupted);
        };
        guarantees.insert(met.forgotten.guarantee.to_string());
        lines.push(line(run.fold, run.seed, run.n_interactions, &met));
    }
    bar.finish_and_clear();
    let header = ["fold", "seed", "nDCG@10 before", "after", "local steps", "of training", "seconds", "receipt"];
    println!("{}", table(&header, 2, lines));
    for guarantee in guarantees {
        println!("guarantee: {guarantee}");
    }
    println!("public key: {}", key::in_hex(&foltr_federation::receipt::public_key(&secret)));
    Ok(End::Done)
}

fn line(fold: usize, seed: u64, n_trained: u64, met: &Met) -> Vec<String> {
    let steps = met.forgotten.local_steps;
    vec![
        fold.to_string(),
        seed.to_string(),
        format!("{:.4}", met.before),
        format!("{:.4}", met.after),
        grouped(steps),
        format!("{:.1} %", 100.0 * steps as f64 / n_trained.max(1) as f64),
        format!("{:.2}", met.forgotten.seconds),
        met.receipts.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" "),
    ]
}

/// Checks a receipt.
///
/// # Errors
/// If it is not believed, with the reason.
pub fn verify(receipt: &Path, public_key: &str, history: Option<&Path>, model: Option<&Path>) -> Result<End> {
    let read = forget::verify(receipt, &key::public(public_key)?, history)?;
    let claim = &read.claim;
    if let Some(path) = model {
        let is_same = forget::model_fingerprint(path)? == claim.to.model;
        ensure!(is_same, "{} is not the model that the receipt is about", path.display());
    }
    println!("signed and unaltered");
    println!("forgotten: clients {:?} by {}, {}", claim.leavers, claim.method.name(), claim.time);
    println!("guarantee: {}", claim.guarantee);
    println!("model:     {} after {} rounds, before", claim.from.model, claim.from.round);
    println!("           {} after {} rounds, now", claim.to.model, claim.to.round);
    if history.is_some() {
        println!("history:   its chain is whole and tells the same");
    }
    Ok(End::Done)
}
