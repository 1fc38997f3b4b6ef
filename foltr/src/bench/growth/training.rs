//! What training costs where it used to cost more: raw features, rankers of one's own, few clients.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use foltr_experiment::data;
use foltr_experiment::run::{RunInput, run_job};
use foltr_experiment::spec::Experiment;
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings};
use foltr_simulation::normalise::normalise_per_query;

use super::Measured;
use crate::bench::cases::linear_pdgd;
use crate::bench::{Work, best_seconds, on_threads};

/// Clients with two interactions on queries of 120 documents with 136 features.
fn clients(is_raw: bool) -> Result<ClientData> {
    let shape = SyntheticShape::Mslr;
    let synthetic = Synthetic { n_train: 500, n_test: 1, n_validation: 0, fixed_docs: true, ..Synthetic::new(shape) };
    let raw = synthetic.generate(1)?.train;
    let train = if is_raw { raw } else { normalise_per_query(&raw) };
    let users = Users::Cascade(Cascade::preset(Preset::Navigational, train.max_label())?);
    Ok(ClientData::iid(TrainingSet::new(train, 10), users, 2))
}

/// Microseconds of an interaction of so many clients.
fn microseconds(data: &ClientData, n_clients: u32, threads: usize) -> Result<f64> {
    let settings = FederationSettings { n_clients, ..linear_pdgd(136) };
    let seconds = on_threads(threads, || {
        let mut run = FederationRun::new(settings, data).expect("sound settings");
        best_seconds(|| Work::units(run.round().expect("a round of honest clients").n_interactions as f64))
    })?;
    Ok(1e6 * seconds)
}

pub fn raw_features() -> Result<Vec<Measured>> {
    let (scaled, raw) = (microseconds(&clients(false)?, 100, 1)?, microseconds(&clients(true)?, 100, 1)?);
    let what = "**Raw features** (120 x 136): microseconds an interaction of FPDGD";
    Ok(vec![Measured::named(what, [("scaled by query".into(), scaled), ("raw".into(), raw)])])
}

/// Ten clients, each with a ranker of its own; microseconds of an interaction, evaluation and all.
fn personal_run(evaluate: &str) -> Result<f64> {
    const N_ROUNDS: usize = 500;
    let text = format!(
        "seeds = [1]\n[data]\nkind = \"synthetic\"\nshape = \"mq2007\"\nqueries = 300\nseed = 1\n\
         [clients]\nn_clients = 10\ninteractions = 5\n[users]\nkind = \"cascade\"\npreset = \"navigational\"\n\
         [ranker]\nkind = \"linear\"\ninitialisation = {{ kind = \"zero\" }}\n\
         [learner]\nkind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"\n\
         [personalisation]\nkind = \"additive\"\nn_clusters = 1\nmemory = 0.0\nown_rate = 1.0\nown_decay = 0.002\n\
         [federation]\nrounds = {N_ROUNDS}\noptimiser = {{ kind = \"learning-rate\", rate = 1.0 }}\n\
         [metrics]\noffline = [\"ndcg@10\"]\nevaluate_on = [\"test\"]\nevaluate = {evaluate}\n"
    );
    let experiment = Experiment::from_toml(&text).map_err(|problems| anyhow!("{problems:?}"))?;
    let (_, fold) = data::load(&experiment.data)?.into_iter().next().context("no data")?;
    let never = AtomicBool::new(false);
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let started = Instant::now();
        let outcome = run_job(&RunInput::new(&experiment, &fold, 1, &never), &|_| {}, &mut |_| {})?;
        best = best.min(1e6 * started.elapsed().as_secs_f64() / outcome.n_interactions as f64);
    }
    Ok(best)
}

pub fn own_rankers() -> Result<Vec<Measured>> {
    let points = [("first and last", "\"first-and-last\""), ("after every round", "{ every = 1 }")];
    let measured: Result<Vec<_>> =
        points.into_iter().map(|(name, evaluate)| Ok((name.into(), personal_run(evaluate)?))).collect();
    let what = "**Rankers of one's own**, ten clients with five interactions a round (41 x 46), evaluated: microseconds an \
                interaction, evaluation included";
    Ok(vec![Measured::named(what, measured?)])
}

pub fn threads() -> Result<Vec<Measured>> {
    let data = clients(false)?;
    let mut points = Vec::new();
    for n_clients in [10, 64, 128, 1000] {
        let (one, two) = (microseconds(&data, n_clients, 1)?, microseconds(&data, n_clients, 2)?);
        points.push((format!("{n_clients} clients"), one / two));
    }
    let what = "**Two threads** for one run (120 x 136, two interactions a client); up to 64 clients are the work of one: \
                times the speed of one thread";
    Ok(vec![Measured::named(what, points)])
}
