//! One federation with a client that leaves, one without it, and every way to forget it, on one fold with one seed.

use anyhow::Result;
use foltr_federation::Unlearning;
use foltr_rank::Params;
use serde::{Deserialize, Serialize};

use crate::reproduce::each::Task;
use crate::reproduce::forgetting::{Federation, Forgot, Price, Trained};
use crate::reproduce::study::mean;
use crate::run::Stage;

/// Who leaves.
const LEAVERS: [u32; 1] = [0];
/// Rankers on the way that are judged.
const WATCHED: usize = 25;

/// A way to forget, by its name.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub name: &'static str,
    /// None: nothing is done, the control that must fail.
    pub method: Option<Unlearning>,
}

/// A ranker and what it is worth.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ranker {
    pub params: Params,
    /// nDCG@10 on test queries.
    pub quality: f64,
}

/// What a way to forget made of both federations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub name: String,
    /// Of the federation with the leaver.
    pub unlearned: Ranker,
    /// Of the federation that never had it, to which the same was done with the same random numbers: what differs is
    /// the leaver's.
    pub never: Params,
    pub price: Price,
    pub guarantee: String,
    /// The worst ranker on the way.
    pub lowest: f64,
    /// Mean nDCG of the lists shown meanwhile; none if there were none.
    pub online: Option<f64>,
}

/// All that is measured with one seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    pub trained: Ranker,
    pub retrained: Ranker,
    pub retraining: Price,
    pub outcomes: Vec<Outcome>,
}

impl Trial {
    /// Trains both federations and forgets in every way.
    pub fn run(task: &Task<'_>, ways: &[Way]) -> Result<Self> {
        let stage = Stage::new(&task.setting.experiment, task.fold, task.seed)?;
        let federation = Federation::new(task, &stage)?;
        let with = federation.train(&federation.settings)?;
        let without = federation.train(&federation.without(&LEAVERS))?;
        let outcomes = ways.iter().map(|way| outcome(&federation, way, &with, &without)).collect::<Result<_>>()?;
        let ranker = |params: &Params| judged(&federation, params.clone());
        Ok(Self {
            trained: ranker(&with.ranker),
            retrained: ranker(&without.ranker),
            retraining: without.price,
            outcomes,
        })
    }
}

fn judged(federation: &Federation<'_>, params: Params) -> Ranker {
    let quality = federation.quality(std::slice::from_ref(&params))[0];
    Ranker { params, quality }
}

fn outcome(federation: &Federation<'_>, way: &Way, with: &Trained, without: &Trained) -> Result<Outcome> {
    let Some(method) = way.method else { return Ok(nothing(federation, way, with, without)) };
    let Forgot { params, guarantee, price, course, online } = federation.forget(with, &method, &LEAVERS, WATCHED)?;
    let never = federation.forget(without, &method, &LEAVERS, 0)?.params;
    let unlearned = judged(federation, params);
    let lowest = federation.quality(&course).into_iter().fold(unlearned.quality, f64::min);
    Ok(Outcome {
        name: way.name.into(),
        unlearned,
        never,
        price,
        guarantee: guarantee.to_string(),
        lowest,
        online: (!online.is_empty()).then(|| mean(&online)),
    })
}

/// The ranker stays as it is.
fn nothing(federation: &Federation<'_>, way: &Way, with: &Trained, without: &Trained) -> Outcome {
    let unlearned = judged(federation, with.ranker.clone());
    let lowest = unlearned.quality;
    let (never, price) = (without.ranker.clone(), Price::default());
    Outcome { name: way.name.into(), unlearned, never, price, guarantee: "none".into(), lowest, online: None }
}
