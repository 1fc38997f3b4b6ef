//! Shard isolation beside one federation of the same thousand clients: what do shards cost where nobody leaves, and
//! what do they save when somebody does?

use anyhow::{Context, Result};
use foltr_federation::unlearn::ShardIsolation;
use foltr_simulation::federation_run::FederationSettings;
use foltr_simulation::sharded_run::ShardedRun;
use serde::{Deserialize, Serialize};

use super::Data;
use crate::reproduce::Study;
use crate::reproduce::course::difference;
use crate::reproduce::each::{Done, Task};
use crate::reproduce::forgetting::Federation;
use crate::reproduce::study::mean;
use crate::run::Stage;
use crate::table::table;

const SHARDS: u32 = 4;
/// Who leaves.
const LEAVERS: [u32; 1] = [1];
/// nDCG@10 that shards may cost where nobody leaves.
const COST: f64 = 0.01;

/// One federation and its shards, with one seed.
#[derive(Serialize, Deserialize)]
struct Trial {
    /// nDCG@10 of one federation, and of the shards' mean, with everybody.
    whole: f64,
    sharded: f64,
    /// Of the shards' mean after the request.
    unlearned: f64,
    /// Whether that is, bit by bit, the mean of shards that never had the leaver.
    is_exact: bool,
    /// Local steps, messages and bytes over those of one federation that is retrained.
    price: [f64; 3],
}

/// Shards after their last round.
fn sharded<'a>(stage: &'a Stage, settings: FederationSettings, task: &Task<'_>) -> Result<ShardedRun<'a>> {
    let keeping = task.setting.experiment.keeping().context("an experiment that keeps something")?;
    let isolation = ShardIsolation { shards: SHARDS };
    let mut run = ShardedRun::new(settings, isolation, &stage.held.partition, keeping, stage.fingerprint)?;
    for _ in 0..stage.n_rounds {
        run.round()?;
    }
    Ok(run)
}

fn trial(task: &Task<'_>) -> Result<Trial> {
    let stage = Stage::new(&task.setting.experiment, task.fold, task.seed)?;
    let federation = Federation::new(task, &stage)?;
    let whole = federation.train(&federation.settings)?;
    let retraining = federation.train(&federation.without(&LEAVERS))?.price;
    let mut shards = sharded(&stage, federation.settings.clone(), task)?;
    let before = shards.ranker();
    let cost = shards.forget(&LEAVERS)?;
    let after = shards.ranker();
    let never = sharded(&stage, federation.without(&LEAVERS), task)?.ranker();
    let is_exact = after == never;
    let [whole, sharded, unlearned] = federation.quality(&[whole.ranker, before, after])[..] else {
        unreachable!("three rankers")
    };
    let over = |own: u64, all: u64| own as f64 / all as f64;
    let price = [
        over(cost.local_steps, retraining.local_steps),
        over(cost.messages, retraining.messages),
        over(cost.bytes, retraining.bytes),
    ];
    Ok(Trial { whole, sharded, unlearned, is_exact, price })
}

/// Runs and judges it on some data.
pub fn judge(study: &mut Study<'_>, data: &Data) -> Result<()> {
    let n_rounds = study.either(150, 500);
    let seeds: Vec<u64> = study.either(1..=3, 1..=5).collect();
    let mut overrides = data.overrides.clone();
    overrides.extend([format!("federation.rounds={n_rounds}"), format!("seeds={seeds:?}")]);
    let trials = study.each(&data.folder("shards"), super::SHARDS.text, &overrides, trial)?;
    let values =
        |of: fn(&Trial) -> f64| -> Vec<f64> { trials.iter().map(|done: &Done<Trial>| of(&done.value)).collect() };
    let (cost, told) = difference(&values(|it| it.sharded), &values(|it| it.whole));
    let name = &data.name;
    study.claim(format!("{name}: {SHARDS} shards of 1,000 clients cost at most {COST}"), cost >= -COST, told.clone());
    let is_exact = trials.iter().all(|done| done.value.is_exact);
    let how = "of one shard's replay beside shards that never had the client";
    study.claim(format!("{name}: a shard forgets exactly"), is_exact, format!("{} pairs {how}", trials.len()));
    let prices: [f64; 3] =
        std::array::from_fn(|i| mean(&trials.iter().map(|it| it.value.price[i]).collect::<Vec<_>>()));
    let evidence = format!("local steps {:.3}, messages {:.3}, bytes {:.3}", prices[0], prices[1], prices[2]);
    let bound = 1.0 / f64::from(SHARDS);
    let claim = format!("{name}: that takes at most 1/{SHARDS} of retraining one federation");
    study.claim(claim, prices.iter().all(|price| *price <= bound), evidence);
    let line = vec![
        format!("{:.4}", mean(&values(|it| it.whole))),
        format!("{:.4}", mean(&values(|it| it.sharded))),
        told,
        format!("{:.4}", mean(&values(|it| it.unlearned))),
        format!("{:.3}", prices[0]),
    ];
    let header = ["one federation", "4 shards", "difference", "after a client left", "local steps / retraining"];
    study.table(&format!("{name}: 1,000 clients, 100 a round, {n_rounds} rounds"), &table(&header, 0, vec![line]));
    Ok(())
}
