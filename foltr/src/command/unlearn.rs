//! `foltr unlearn` and `foltr receipt verify`: clients are forgotten, and can check that they were.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::json;

use super::{End, STOP, catch_interrupts, usage};
use crate::cli::UnlearnArgs;
use crate::output::{self, note, say};
use crate::progress::Progress;
use crate::timestamp::timestamp;
use foltr_experiment::execute::{DataCache, Execution, run_jobs};
use foltr_experiment::grid::Setting;
use foltr_experiment::history_files::FORGOTTEN_FILE;
use foltr_experiment::results::Results;
use foltr_experiment::rows::Forgotten;
use foltr_experiment::spec::{LeavingOrder, UnlearningRequest};
use foltr_experiment::store::{RunRecord, RunStore, run_folder};
use foltr_experiment::unlearn::journal::{Entry, Journal, RunEntry};
use foltr_experiment::unlearn::{self, RECEIPT, Signer, key};
use foltr_report::assemble::write_tables;
use foltr_report::table::{grouped, table};

/// Forgets clients in the runs of a result folder; if that fails in one of them, all stay as they were.
pub fn run(arguments: &UnlearnArgs) -> Result<End> {
    let method = usage(unlearn::method(&arguments.method, &arguments.parameters))?;
    let store = RunStore::of_study(&arguments.folder)?;
    let results = Results::open(&arguments.folder)?;
    let mut clients = arguments.clients.clone();
    clients.sort_unstable();
    clients.dedup();
    usage(check_clients(&clients, &results).and_then(|()| check_run(arguments.run.as_deref(), &results)))?;
    let requested = UnlearningRequest { clients, method, order: LeavingOrder::AtOnce };
    let time = timestamp(SystemTime::now());
    let data = DataCache::load(&results.grid)?;
    let mut journal = Journal::read(store.path())?;
    let request = journal.begin(&store, (&arguments.folder, &results), &requested, arguments.run.as_deref(), &time)?;
    let usual_key = arguments.folder.join("receipt.key");
    let secret = key::secret(arguments.key.as_deref().unwrap_or(&usual_key));
    let secret = secret.or_else(|error| journal.withdraw(&store).and(Err(error)))?;
    let plan = request.plan(&results, &store)?;
    catch_interrupts()?;
    let bar = Progress::of_interactions();
    let signer = Signer { secret, time: request.time.clone() };
    let progress = |event| bar.show(event);
    let how = Execution { signer: Some(&signer), ..Execution::new(&progress, &STOP) };
    let executed = run_jobs(&plan, &data, &store, &how)?;
    drop(bar);
    if let Err(error) = executed.ran {
        journal.withdraw(&store)?;
        return Err(error);
    }
    if executed.interrupted {
        note(format_args!("interrupted: {request}; rerun the same command to resume"));
        return Ok(End::Interrupted);
    }
    let met = Met::of(&request, &results, &data, &secret)?;
    journal.settle(&store)?;
    write_tables(&store.study_at(&arguments.folder), &mut Results::open(&arguments.folder)?, false)?;
    met.print();
    output::answer(&met)?;
    Ok(End::Done)
}

/// Every client must be one of those that took part in a run.
fn check_clients(clients: &[u32], results: &Results) -> Result<()> {
    let of_setting = |setting: &Setting| Some(setting.training().ok()?.clients.as_ref()?.n_clients);
    let n_clients = results.grid.settings.iter().filter_map(of_setting).max().unwrap_or(0);
    ensure!(n_clients > 0, "{}: these runs have no clients that could be forgotten", results.root.display());
    let unknown = clients.iter().find(|&&client| client as usize >= n_clients);
    let last = n_clients - 1;
    ensure!(unknown.is_none(), "--client {}: the clients are 0 to {last}", unknown.unwrap_or(&0));
    Ok(())
}

fn check_run(start: Option<&str>, results: &Results) -> Result<()> {
    let Some(start) = start else { return Ok(()) };
    let runs = std::fs::read_dir(run_folder(&results.root, ""))?;
    let is_there = runs.flatten().any(|run| run.file_name().to_string_lossy().starts_with(start));
    ensure!(is_there, "--run {start}: no run below {} has a name that begins so", results.root.join("runs").display());
    Ok(())
}

/// A request that was met.
#[derive(Serialize)]
struct Met {
    runs: Vec<MetRun>,
    guarantees: BTreeSet<Promise>,
    public_key: String,
}

#[derive(Serialize)]
struct MetRun {
    fold: usize,
    seed: u64,
    ndcg_at_10_before: f64,
    ndcg_at_10_after: f64,
    local_steps: u64,
    share_of_training: f64,
    seconds: f64,
    receipt: Option<PathBuf>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Promise {
    guarantee: String,
    messages: String,
}

impl Met {
    fn of(request: &Entry, results: &Results, data: &DataCache, secret: &[u8; 32]) -> Result<Self> {
        let public_key = key::in_hex(&foltr_federation::receipt::public_key(secret));
        let mut met = Self { runs: Vec::new(), guarantees: BTreeSet::new(), public_key };
        for run in request.runs.iter().filter(|run| run.holds_clients) {
            let (run, promise) = met_run(run, results, data)?;
            met.runs.push(run);
            met.guarantees.insert(promise);
        }
        Ok(met)
    }

    fn print(&self) {
        let header = ["fold", "seed", "nDCG@10 before", "after", "local steps", "of training", "seconds", "receipt"];
        let row = |run: &MetRun| {
            let receipt = run.receipt.as_ref().map(|path| path.display().to_string());
            vec![
                run.fold.to_string(),
                run.seed.to_string(),
                format!("{:.4}", run.ndcg_at_10_before),
                format!("{:.4}", run.ndcg_at_10_after),
                grouped(run.local_steps),
                format!("{:.1} %", 100.0 * run.share_of_training),
                format!("{:.2}", run.seconds),
                receipt.unwrap_or_default(),
            ]
        };
        say(table(&header, 2, self.runs.iter().map(row).collect()));
        for Promise { guarantee, messages } in &self.guarantees {
            say(format_args!("guarantee: {guarantee}\nmessages:  {messages}"));
        }
        say(format_args!("public key: {}", self.public_key));
    }
}

fn met_run(run: &RunEntry, results: &Results, data: &DataCache) -> Result<(MetRun, Promise)> {
    let (old, new) = (run_folder(&results.root, &run.key), run_folder(&results.root, &run.successor));
    let record = RunRecord::read(&new)?;
    let experiment = results.grid.settings[run.setting].training()?;
    let fold = data.fold(&experiment.data, record.fold)?;
    let forgotten: Forgotten = serde_json::from_slice(&record.content(&new, FORGOTTEN_FILE)?)?;
    let mut receipts = record.files.keys().filter(|name| name.starts_with(RECEIPT));
    let met = MetRun {
        fold: record.fold,
        seed: record.seed,
        ndcg_at_10_before: unlearn::quality(experiment, fold, &old)?,
        ndcg_at_10_after: unlearn::quality(experiment, fold, &new)?,
        local_steps: forgotten.local_steps,
        share_of_training: forgotten.local_steps as f64 / record.n_interactions.max(1) as f64,
        seconds: forgotten.seconds,
        receipt: receipts.next_back().map(|name| new.join(name)),
    };
    let [guarantee, messages] = [forgotten.guarantee.to_string(), forgotten.privacy.to_string()];
    Ok((met, Promise { guarantee, messages }))
}

pub fn verify(receipt: &Path, public_key: &str, history: Option<&Path>, model: Option<&Path>) -> Result<End> {
    let key = usage(key::public(public_key))?;
    let read = unlearn::verify(receipt, &key, history)?;
    let claim = &read.claim;
    if let Some(path) = model {
        let is_same = unlearn::model_fingerprint(path)? == claim.published.after;
        ensure!(is_same, "{} is not the model that the receipt is about", path.display());
    }
    say("signed and unaltered");
    say(format_args!("forgotten: clients {:?} by {}, {}", claim.leavers, claim.method.name(), claim.time));
    say(format_args!("guarantee: {}", claim.guarantee));
    say(format_args!("messages:  {}", claim.privacy));
    say(format_args!("model:     {} published before", claim.published.before));
    say(format_args!("           {} published now, after {} rounds", claim.published.after, claim.to.round));
    if history.is_some() {
        say("history:   its chain is whole and says the same");
    }
    output::answer(&json!({
        "is_signed_and_unaltered": true,
        "clients": claim.leavers,
        "method": claim.method.name(),
        "time": claim.time,
        "guarantee": claim.guarantee.to_string(),
        "messages": claim.privacy.to_string(),
        "model_before": claim.published.before.to_string(),
        "model_after": claim.published.after.to_string(),
        "n_rounds": claim.to.round,
        "history_was_checked": history.is_some(),
        "model_was_checked": model.is_some(),
    }))?;
    Ok(End::Done)
}
