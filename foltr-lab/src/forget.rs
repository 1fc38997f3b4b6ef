//! A request to forget clients, met on the folder of a finished run: a new model, a new history, a signed receipt.

pub mod key;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use foltr_federation::receipt::{Claim, Receipt};
use foltr_federation::unlearn::ShardIsolation;
use foltr_federation::{Assurance, Fingerprint, History, Unlearning};
use foltr_rank::{Params, Shape};
use foltr_simulation::datasets::Fold;
use foltr_simulation::federation_run::FederationSettings;
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::{Request, UnlearningRun};

use crate::evaluate::Evaluator;
use crate::kept::{self, FORGOTTEN_FILE, Replacement, put_json};
use crate::model::{self, Model};
use crate::rows::Forgotten;
use crate::run::Stage;
use crate::spec::{Experiment, Leaving, Metric};

/// A finished run.
#[derive(Clone, Copy)]
pub struct FinishedRun<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// Its setting.
    pub experiment: &'a Experiment,
    /// Its data.
    pub fold: &'a Fold,
    /// Its seed.
    pub seed: u64,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// Who leaves, and how they are forgotten.
    pub leaving: &'a Leaving,
    /// The federation's key.
    pub secret: &'a [u8; 32],
    /// For the receipt.
    pub time: &'a str,
}

/// A request that was met.
#[derive(Clone, Debug)]
pub struct Met {
    /// How, and what it took.
    pub forgotten: Forgotten,
    /// nDCG@10 on test queries before.
    pub before: f64,
    /// And afterwards.
    pub after: f64,
    /// Signed; one for every history that has changed.
    pub receipts: Vec<PathBuf>,
}

/// What a method leaves.
struct Left {
    params: Params,
    guarantee: Assurance,
    forgotten: Forgotten,
    histories: Vec<History>,
}

/// Meets a request on the folder of a run. Nothing has changed if it cannot be met, or was interrupted.
///
/// # Errors
/// If the run has kept too little, its history is not believed, a client is unknown, or a file cannot be written.
pub fn forget(
    run: FinishedRun<'_>,
    order: &Order<'_>,
    progress: &dyn Fn(u32, u32),
    stop: &AtomicBool,
) -> Result<Option<Met>> {
    kept::settle(run.folder)?;
    let shards = run.experiment.federation.as_ref().and_then(|federation| federation.shards);
    let before = kept::read(run.folder, shards.unwrap_or(1) as usize)?;
    let stage = Stage::new(run.experiment, run.fold, run.seed)?;
    let is_own = |history: &History| history.header().settings == stage.fingerprint;
    let other = "the history is of a run with other settings or other data than this folder's resolved.toml";
    ensure!(before.iter().all(is_own), other);
    let settings = stage.settings(run.experiment, run.seed)?;
    let left = match shards {
        Some(shards) => in_shards(&stage, settings, ShardIsolation { shards }, &before, order.leaving)?,
        None => match carried_out(&stage, &settings, &before[0], order.leaving, progress, stop)? {
            Some(left) => left,
            None => return Ok(None),
        },
    };
    let old = Model::read(&run.folder.join(model::FILE_NAME))?;
    let receipts = replace(run, order, &before, &left, stage.shape)?;
    Ok(Some(Met {
        before: quality(run, stage.shape, &old.params),
        after: quality(run, stage.shape, &left.params),
        forgotten: left.forgotten,
        receipts,
    }))
}

/// One federation: the method, round by round; nothing if Ctrl-C came.
fn carried_out(
    stage: &Stage,
    settings: &FederationSettings,
    history: &History,
    leaving: &Leaving,
    progress: &dyn Fn(u32, u32),
    stop: &AtomicBool,
) -> Result<Option<Left>> {
    let started = Instant::now();
    let request = Request { settings, partition: &stage.held.partition, history, leavers: &leaving.clients };
    let mut unlearning = UnlearningRun::new(&leaving.method, &request)?;
    let (mut round, n_rounds) = (0, unlearning.n_rounds());
    while unlearning.round()?.is_some() {
        round += 1;
        progress(round, n_rounds);
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    let unlearned = unlearning.finish();
    let (guarantee, histories) = (unlearned.guarantee.clone(), vec![unlearned.history]);
    let forgotten = Forgotten::new(leaving, guarantee.clone(), unlearned.cost, started.elapsed(), &histories);
    Ok(Some(Left { params: unlearned.params, guarantee, forgotten, histories }))
}

/// Shards: those of the leavers are rolled back and come again.
fn in_shards(
    stage: &Stage,
    settings: FederationSettings,
    isolation: ShardIsolation,
    histories: &[History],
    leaving: &Leaving,
) -> Result<Left> {
    let fits = leaving.method == Unlearning::ShardIsolation(isolation);
    ensure!(fits, "this run has {} shards: the method must be shard-isolation with as many", isolation.shards);
    let started = Instant::now();
    let mut run = ShardedRun::resume(settings, isolation, &stage.held.partition, histories.to_vec())?;
    let cost = run.forget(&leaving.clients)?;
    let params = run.ranker();
    let histories = run.into_histories();
    let forgotten = Forgotten::new(leaving, Assurance::Exact, cost, started.elapsed(), &histories);
    Ok(Left { params, guarantee: Assurance::Exact, forgotten, histories })
}

/// Puts the new files in place of the old ones, all at once.
fn replace(
    run: FinishedRun<'_>,
    order: &Order<'_>,
    before: &[History],
    left: &Left,
    shape: Shape,
) -> Result<Vec<PathBuf>> {
    let replacement = Replacement::begin(run.folder)?;
    kept::write(replacement.path(), &left.histories, None)?;
    put_json(&replacement.path().join(FORGOTTEN_FILE), &left.forgotten)?;
    let about = format!("{} forgot {:?}", left.forgotten.method.name(), left.forgotten.clients);
    let model = Model { shape, normalise: run.experiment.data.normalise(), params: left.params.clone() };
    model.write(&replacement.path().join(model::FILE_NAME), &about)?;
    let mut receipts = Vec::new();
    let changed = before.iter().zip(&left.histories).filter(|(before, after)| before.head() != after.head());
    for (number, (before, after)) in (next_number(run.folder)..).zip(changed) {
        let name = format!("receipt-{number:04}.json");
        put_json(&replacement.path().join(&name), &receipt(order, before, after, left)?)?;
        receipts.push(run.folder.join(name));
    }
    replacement.commit()?;
    Ok(receipts)
}

fn receipt(order: &Order<'_>, before: &History, after: &History, left: &Left) -> Result<Receipt> {
    // A shard's receipt is about its own leavers.
    let new = after.erasures().last().context("a history that has changed has an erasure")?;
    let Leaving { method, .. } = order.leaving;
    let claim = Claim::between(before, after, &new.clients, *method, left.guarantee.clone(), order.time);
    Ok(claim.context("the newest model is missing in the history")?.sign(order.secret))
}

/// Of the next receipt.
fn next_number(folder: &Path) -> u32 {
    let is_taken = |number: &u32| folder.join(format!("receipt-{number:04}.json")).exists();
    (1..).take_while(is_taken).count() as u32 + 1
}

/// nDCG@10 on test queries.
fn quality(run: FinishedRun<'_>, shape: Shape, params: &Params) -> f64 {
    let measures = &run.experiment.metrics;
    let without = measures.queries_without_relevant;
    let evaluator = Evaluator::new(&run.fold.test, &[Metric::Ndcg(10)], without, None, measures.list_length);
    evaluator.evaluate(shape, std::slice::from_ref(params))[0][0]
}

/// Reads a receipt and checks it with a public key and, if one is given, the history that it belongs to.
///
/// # Errors
/// If it cannot be read or is not believed, with the reason.
pub fn verify(receipt: &Path, public_key: &[u8; 32], history: Option<&Path>) -> Result<Receipt> {
    let text = std::fs::read_to_string(receipt).with_context(|| format!("{} cannot be read", receipt.display()))?;
    let told = || format!("{} is not believed", receipt.display());
    let read: Receipt = serde_json::from_str(&text).with_context(told)?;
    read.verify(public_key).with_context(told)?;
    if let Some(path) = history {
        let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let history = kept::read_one(&bytes).with_context(|| format!("{} is not believed", path.display()))?;
        read.matches(&history).with_context(told)?;
    }
    Ok(read)
}

/// Of a model file, as receipts have it.
///
/// # Errors
/// If there is no model.
pub fn model_fingerprint(path: &Path) -> Result<Fingerprint> {
    Ok(Fingerprint::of_model(&Model::read(path)?.params))
}

/// A method from a command line: its name, and parameters such as `interval=5`.
///
/// # Errors
/// If there is no such method, or a parameter is missing or wrong.
pub fn method(text: &str, parameters: &[String]) -> Result<Unlearning> {
    let names: Vec<&str> = Unlearning::LIST.iter().map(|(name, _)| *name).collect();
    if !names.contains(&text) {
        bail!("--method: there is no `{text}`; the names are {}", names.join(", "));
    }
    let pairs: String = parameters.iter().map(|pair| format!(", {pair}")).collect();
    let table: toml::Table = toml::from_str(&format!("method = {{ kind = \"{text}\"{pairs} }}"))
        .with_context(|| format!("--with: `{}` is not of the form name=value", parameters.join(" ")))?;
    let method: Unlearning = table["method"].clone().try_into().with_context(|| format!("--method {text}"))?;
    method.check().map_err(|bad| anyhow::anyhow!("--with {}: must be {}", bad.name, bad.right))?;
    Ok(method)
}
