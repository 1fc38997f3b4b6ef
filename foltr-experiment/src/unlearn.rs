//! A request to forget clients, met on finished runs: new runs take their place, with signed receipts.

pub mod journal;
pub mod key;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use foltr_federation::receipt::{Claim, Met, Published, Receipt};
use foltr_federation::{Fingerprint, Unlearning};
use foltr_simulation::datasets::Fold;

use crate::evaluate::Evaluator;
use crate::history_files;
use crate::model::Model;
use crate::rows::RunOutcome;
use crate::run::Parent;
use crate::spec::{Experiment, Metric};
use crate::store::{self, RunWriter, put_json};

#[derive(Clone, Debug)]
pub struct Signer {
    pub secret: [u8; 32],
    pub time: String,
}

/// Adds the receipts of earlier requests to a run, and one for every history that has changed.
pub(crate) fn write_receipts(writer: &RunWriter, parent: &Parent, outcome: &RunOutcome, signer: &Signer) -> Result<()> {
    let (Some(forgotten), Some((_, ranker))) = (&outcome.forgotten, &outcome.ranker) else { return Ok(()) };
    let published = Published {
        before: model_fingerprint(&parent.folder.join(crate::model::FILE_NAME))?,
        after: Fingerprint::of_model(ranker),
    };
    let earlier: Vec<&String> = parent.record.files.keys().filter(|name| name.starts_with(RECEIPT)).collect();
    earlier.iter().try_for_each(|name| writer.copy(&parent.folder, name))?;
    for (number, (before, after)) in (earlier.len() + 1..).zip(parent.changed(&outcome.histories)) {
        // A shard's receipt is about its own leavers.
        let new = after.erasures().last().context("a history that has changed has an erasure")?;
        let (leavers, method, guarantee) = (&new.clients, forgotten.method, &forgotten.guarantee);
        let cost = forgotten.privacy.message_cost();
        let claim = Claim::of(&Met { before, after, leavers, method, guarantee, published, cost }, &signer.time);
        let receipt = claim.context("the newest model is missing in the history")?.sign(&signer.secret);
        put_json(&writer.path().join(format!("{RECEIPT}{number:04}.json")), &receipt)?;
    }
    Ok(())
}

pub const RECEIPT: &str = "receipt-";

/// nDCG@10 of a run's model on test queries.
pub fn quality(experiment: &Experiment, fold: &Fold, run: &Path) -> Result<f64> {
    let model = Model::read(&run.join(crate::model::FILE_NAME))?;
    let measures = &experiment.metrics;
    let without = measures.queries_without_relevant;
    let evaluator = Evaluator::new(&fold.test, &[Metric::Ndcg(10)], without, None, measures.list_length);
    Ok(evaluator.evaluate(model.shape, std::slice::from_ref(&model.params))[0][0])
}

/// Reads a receipt and checks it with a public key and, if one is given, the history that it belongs to.
pub fn verify(receipt: &Path, public_key: &[u8; 32], history: Option<&Path>) -> Result<Receipt> {
    let bytes = store::read(receipt)?;
    let refusal = || format!("{} is not believed", receipt.display());
    let read: Receipt = serde_json::from_slice(&bytes).with_context(refusal)?;
    read.verify(public_key).with_context(refusal)?;
    if let Some(path) = history {
        read.matches(&history_files::read_one(path)?).with_context(refusal)?;
    }
    Ok(read)
}

/// Of a model file, as receipts have it.
pub fn model_fingerprint(path: &Path) -> Result<Fingerprint> {
    Ok(Fingerprint::of_model(&Model::read(path)?.params))
}

/// A method from a command line: its name, and parameters such as `interval=5`.
pub fn method(text: &str, parameters: &[String]) -> Result<Unlearning> {
    let names: Vec<&str> = Unlearning::LIST.iter().map(|(name, _)| *name).collect();
    ensure!(names.contains(&text), "--method: there is no `{text}`; the names are {}", names.join(", "));
    let pairs: String = parameters.iter().map(|pair| format!(", {pair}")).collect();
    let table: toml::Table = toml::from_str(&format!("method = {{ kind = \"{text}\"{pairs} }}"))
        .with_context(|| format!("--with: `{}` is not of the form name=value", parameters.join(" ")))?;
    let method: Unlearning = table["method"].clone().try_into().with_context(|| format!("--method {text}"))?;
    method.check().map_err(|bad| anyhow::anyhow!("--with {}: must be {}", bad.name, bad.right))?;
    Ok(method)
}
