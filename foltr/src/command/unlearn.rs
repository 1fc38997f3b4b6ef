//! `foltr unlearn` and `foltr receipt verify`: clients are forgotten, and can check that they were.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Result, ensure};

use super::{End, STOP, catch_interrupts};
use crate::cli::UnlearnArgs;
use crate::output::{note, say};
use crate::progress::{progress_bar, show};
use crate::timestamp::timestamp;
use foltr_experiment::execute::{DataCache, Execution, run_jobs};
use foltr_experiment::history_files::FORGOTTEN_FILE;
use foltr_experiment::results::Results;
use foltr_experiment::rows::Forgotten;
use foltr_experiment::spec::UnlearningRequest;
use foltr_experiment::store::{RunRecord, RunStore, run_folder};
use foltr_experiment::unlearn::journal::{Entry, Journal, RunEntry};
use foltr_experiment::unlearn::{self, RECEIPT, Signer, key};
use foltr_report::assemble::write_tables;
use foltr_report::table::{grouped, table};

/// Forgets clients in the runs of a result folder; if that fails in one of them, all stay as they were.
pub fn run(arguments: &UnlearnArgs) -> Result<End> {
    let store = RunStore::of_study(&arguments.folder)?;
    let results = Results::open(&arguments.folder)?;
    let method = unlearn::method(&arguments.method, &arguments.parameters)?;
    let mut clients = arguments.clients.clone();
    clients.sort_unstable();
    clients.dedup();
    let requested = UnlearningRequest { clients, method };
    let usual_key = arguments.folder.join("receipt.key");
    let secret = key::secret(arguments.key.as_deref().unwrap_or(&usual_key))?;
    let time = timestamp(SystemTime::now());
    let data = DataCache::load(&results.grid)?;
    let mut journal = Journal::read(store.path())?;
    let request = journal.begin(&store, (&arguments.folder, &results), &requested, arguments.run.as_deref(), &time)?;
    let plan = request.plan(&results, &store)?;
    catch_interrupts()?;
    let bar = progress_bar();
    let signer = Signer { secret, time: request.time.clone() };
    let progress = |event| show(&bar, event);
    let how = Execution { signer: Some(&signer), ..Execution::new(&progress, &STOP) };
    let executed = run_jobs(&plan, &data, &store, &how)?;
    if let Err(error) = executed.ran {
        journal.withdraw(&store)?;
        return Err(error);
    }
    if executed.interrupted {
        note(format_args!("interrupted: {request}; rerun the same command to resume"));
        return Ok(End::Interrupted);
    }
    let lines = lines(&request, &results, &data)?;
    journal.settle(&store)?;
    write_tables(&store.study_at(&arguments.folder), &mut Results::open(&arguments.folder)?, false)?;
    print(lines, &secret);
    Ok(End::Done)
}

type Lines = (Vec<Vec<String>>, BTreeSet<String>);

fn lines(request: &Entry, results: &Results, data: &DataCache) -> Result<Lines> {
    let (mut lines, mut guarantees) = (Vec::new(), BTreeSet::new());
    for run in request.runs.iter().filter(|run| run.holds_clients) {
        let (line, guarantee) = line(run, results, data)?;
        lines.push(line);
        guarantees.insert(guarantee);
    }
    Ok((lines, guarantees))
}

fn line(run: &RunEntry, results: &Results, data: &DataCache) -> Result<(Vec<String>, String)> {
    let (old, new) = (run_folder(&results.root, &run.key), run_folder(&results.root, &run.successor));
    let record = RunRecord::read(&new)?;
    let experiment = results.grid.settings[run.setting].training()?;
    let fold = data.fold(&experiment.data, record.fold)?;
    let forgotten: Forgotten = serde_json::from_slice(&record.content(&new, FORGOTTEN_FILE)?)?;
    let steps = forgotten.local_steps;
    let mut receipts = record.files.keys().filter(|name| name.starts_with(RECEIPT));
    let line = vec![
        record.fold.to_string(),
        record.seed.to_string(),
        format!("{:.4}", unlearn::quality(experiment, fold, &old)?),
        format!("{:.4}", unlearn::quality(experiment, fold, &new)?),
        grouped(steps),
        format!("{:.1} %", 100.0 * steps as f64 / record.n_interactions.max(1) as f64),
        format!("{:.2}", forgotten.seconds),
        receipts.next_back().map(|name| new.join(name).display().to_string()).unwrap_or_default(),
    ];
    Ok((line, format!("guarantee: {}\nmessages:  {}", forgotten.guarantee, forgotten.privacy)))
}

fn print((lines, guarantees): Lines, secret: &[u8; 32]) {
    let header = ["fold", "seed", "nDCG@10 before", "after", "local steps", "of training", "seconds", "receipt"];
    say(table(&header, 2, lines));
    for guarantee in guarantees {
        say(guarantee);
    }
    say(format_args!("public key: {}", key::in_hex(&foltr_federation::receipt::public_key(secret))));
}

pub fn verify(receipt: &Path, public_key: &str, history: Option<&Path>, model: Option<&Path>) -> Result<End> {
    let read = unlearn::verify(receipt, &key::public(public_key)?, history)?;
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
    Ok(End::Done)
}
