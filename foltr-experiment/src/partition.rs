//! From `[partition]`, `[users]` and `[clients]` to what every client holds in one run.
//!
//! Everything random about it follows from the seed of the run.

use anyhow::{Context, Result};
use foltr_rank::rng::Streams;
use foltr_simulation::adversary::Attack;
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::{ClientData, Holding};
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::Fold;
use foltr_simulation::partition::{Iid, Partition, PartitionedData};

use crate::spec::{Clients, Experiment};

pub struct AssignedData {
    pub clients: ClientData,
    /// By number of a holding's group: the fold whose labels its clients are evaluated by.
    pub groups: Vec<Fold>,
    /// Queries that all clients share, to be learned from before the first round.
    pub shared: Option<TrainingSet>,
}

/// What every client of a learner from clicks holds. Of these users client c has number c modulo how many they are.
pub fn assign_data(experiment: &Experiment, fold: &Fold, users: Vec<Users>, seed: u64) -> Result<AssignedData> {
    let training = |data: Dataset| TrainingSet::new(data, experiment.metrics.cutoff);
    let Some(clients) = &experiment.clients else {
        // All interactions in one place.
        let schedule = experiment.schedule().context("a learner from clicks needs a schedule")?;
        let users = users.into_iter().next().context("a learner from clicks needs [users]")?;
        let clients = ClientData::iid(training(fold.train.clone()), users, u32::try_from(schedule.interactions)?);
        return Ok(AssignedData { clients, groups: vec![fold.clone()], shared: None });
    };
    let partition = experiment.partition.unwrap_or(Partition::Iid(Iid {}));
    let data = partition.divide(fold, clients.n_clients, &Streams::new(seed)).context("partition")?;
    let has_intents = data.groups.len() > 1;
    let holding = |client: usize| -> Result<Holding> {
        let set = (client % data.sets.len()) as u32;
        Ok(Holding {
            set,
            users: (client % users.len()) as u32,
            n_interactions: u32::try_from(clients.interactions_of(client))?,
            queries: data.queries.get(client).map(|queries| queries.as_slice().into()),
            group: if has_intents { set } else { 0 },
        })
    };
    let holdings = (0..n_holdings(&data, clients, users.len())).map(holding).collect::<Result<_>>()?;
    let client_data = ClientData::new(data.sets.into_iter().map(training).collect(), users, holdings)?;
    Ok(AssignedData {
        clients: poisoned(experiment, client_data, fold)?,
        groups: data.groups,
        shared: data.shared.map(training),
    })
}

/// The same with attackers that lie with their clicks, if there are any.
fn poisoned(experiment: &Experiment, data: ClientData, fold: &Fold) -> Result<ClientData> {
    let (Some(attack), Some(clients)) = (experiment.attack, &experiment.clients) else { return Ok(data) };
    let n_clients = u32::try_from(clients.n_clients)?;
    match attack.method {
        Attack::Promotion(promotion) => {
            promotion.check_width(fold.train.n_features()).context("attack.method")?;
            let targets = promotion.targets(&fold.train);
            let relabel = |set: &TrainingSet| TrainingSet::new(targets.relabel(set.data()), experiment.metrics.cutoff);
            Ok(data.with_labels_of(attack.attackers, n_clients, relabel))
        }
        method if method.reverses_clicks() => {
            let grades = experiment.users.as_ref().and_then(|users| users.grades()).unwrap_or(fold.max_label() + 1);
            let poison = Users::Cascade(Cascade::preset(Preset::Poison, grades - 1)?);
            Ok(data.with_clicks_of(attack.attackers, n_clients, poison))
        }
        _ => Ok(data),
    }
}

/// After how many clients everything repeats, if it does before the last one.
fn n_holdings(data: &PartitionedData, clients: &Clients, n_users: usize) -> usize {
    let n_quantities = clients.quantities.as_ref().map_or(1, Vec::len);
    let periods = [data.sets.len(), data.queries.len().max(1), n_users, n_quantities];
    let period = periods.into_iter().try_fold(1_usize, |all, one| (all / common_divisor(all, one)).checked_mul(one));
    period.map_or(clients.n_clients, |period| period.min(clients.n_clients))
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
