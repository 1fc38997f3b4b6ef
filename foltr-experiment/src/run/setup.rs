//! What a run begins with: data by client, users, the first ranker, and all settings of its federation.
//!
//! Training and a later request to forget a client set up the same stage, from the experiment, the fold and the seed.

use anyhow::{Context, Result, ensure};
use foltr_federation::Fingerprint;
use foltr_rank::learn::PairRankParameters;
use foltr_rank::learn::pair_rank::statistics;
use foltr_rank::rng::{Lineage, Purpose, Streams};
use foltr_rank::{Initialisation, Learning, Params, Shape};
use foltr_simulation::centralised::{CentralisedRun, CentralisedSettings};
use foltr_simulation::click::Users;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::Fold;
use foltr_simulation::federation_run::FederationSettings;
use foltr_simulation::partition::warm_up_seed;

use crate::partition::{AssignedData, assign_data};
use crate::spec::{Experiment, Learner};

pub struct RunSetup {
    pub data: AssignedData,
    /// A user of whom only is known that it is one of those of the experiment.
    pub any_user: Users,
    pub shape: Shape,
    pub initial: Params,
    /// Rounds that the budget affords.
    pub n_rounds: usize,
    /// Stands for all that the numbers of the run depend on but the program.
    pub fingerprint: Fingerprint,
}

impl RunSetup {
    pub fn new(experiment: &Experiment, fold: &Fold, seed: u64) -> Result<Self> {
        let schedule = experiment.schedule().context("a learner from clicks needs a schedule")?;
        let users = experiment.users.as_ref().context("a learner from clicks needs [users]")?;
        let users = users.build(fold.max_label())?;
        let any_user = Users::any_of(&users);
        let data = assign_data(experiment, fold, users, seed)?;
        let n_features = fold.train.n_features();
        let (shape, initialisation) = match experiment.ranker {
            Some(ranker) => (ranker.shape(n_features), ranker.initialisation()),
            None => (Shape::Linear { n_features }, Initialisation::Zero),
        };
        let initial = initialisation.params(shape, &mut Streams::new(seed).open(Purpose::Initialisation, 0, 0));
        let n_rounds = experiment.plan().affordable_rounds(schedule.n_rounds, shape.n_params())?;
        ensure!(n_rounds > 0, "budget: not even one round of this experiment stays within it");
        let initial = match &data.shared {
            Some(shared) => warmed_up(experiment, shared, any_user.clone(), shape, initial, seed)?,
            None => initial,
        };
        let fingerprint = fingerprint(experiment, fold, seed)?;
        Ok(Self { data, any_user, shape, initial, n_rounds, fingerprint })
    }

    pub fn settings(&self, experiment: &Experiment, seed: u64) -> Result<FederationSettings> {
        let schedule = experiment.schedule().context("a learner from clicks needs a schedule")?;
        let federation = experiment.federation.as_ref().context("a federated learner needs [federation]")?;
        let clients = experiment.clients.as_ref().context("a federated learner needs [clients]")?;
        let plan = experiment.plan();
        let privacy = plan.mechanism(self.shape.n_params())?;
        let mut absent = clients.absent.clone().unwrap_or_default();
        absent.sort_unstable();
        absent.dedup();
        let learning = experiment
            .learner
            .client(experiment.metrics.list_length, schedule.interactions, privacy.clip_radius())
            .context("learner.kind: not a federated learner")?;
        let n_clients = u32::try_from(schedule.n_clients)?;
        let (shape, initial) = self.federated_model(&experiment.learner);
        Ok(FederationSettings {
            seed,
            shape,
            initial,
            learning,
            n_clients,
            absent,
            lineage: Lineage::TRAINING,
            personalisation: experiment.personalisation,
            participation: plan.participation,
            dropout: plan.dropout,
            average_from: federation
                .average_last
                .map(|share| foltr_federation::plan::first_averaged(share, self.n_rounds)),
            privacy,
            defence: experiment.defence(),
            staleness: plan.staleness.unwrap_or_default(),
            single_messages: false,
            attackers: experiment.attack,
            optimiser: match learning {
                Learning::PairRank(_) => FederationSettings::plain_optimiser(&learning, plan.participation, n_clients),
                _ => federation.optimiser,
            },
        })
    }

    /// What clients and server share: the ranker, or the statistics that PairRank makes its ranker of.
    fn federated_model(&self, learner: &Learner) -> (Shape, Params) {
        if let Learner::PairRank(PairRankParameters { ridge, .. }) = *learner {
            let initial = statistics::initial(self.shape.n_features(), ridge);
            return (Shape::Linear { n_features: initial.len() }, initial);
        }
        (self.shape, self.initial.clone())
    }
}

fn fingerprint(experiment: &Experiment, fold: &Fold, seed: u64) -> Result<Fingerprint> {
    // What is asked of a finished run is not one of its settings.
    let trained = Experiment { unlearning: None, seeds: vec![seed], ..experiment.clone() };
    let text = format!("{}data = {:016x}", trained.to_toml()?, fold.content_hash());
    Ok(Fingerprint::of(text.as_bytes()))
}

/// The ranker after so many interactions on the queries that all clients share (spec section 11): where round 1 begins.
fn warmed_up(
    experiment: &Experiment,
    shared: &TrainingSet,
    users: Users,
    shape: Shape,
    initial: Params,
    seed: u64,
) -> Result<Params> {
    let n_interactions = experiment.partition.and_then(|it| it.shared()).map_or(0, |shared| shared.warm_up);
    let (Learner::Pdgd(pdgd), 1..) = (experiment.learner, n_interactions) else { return Ok(initial) };
    let settings = CentralisedSettings {
        seed: warm_up_seed(seed),
        shape,
        initial,
        learning_rate: pdgd.learning_rate,
        decay: 1.0,
        batch: 1,
        max_displacement: pdgd.max_displacement,
        n_interactions,
        n_shown: experiment.metrics.list_length,
        users,
    };
    let mut run = CentralisedRun::new(settings, shared);
    run.round().context("partition.shared.warm_up")?;
    Ok(run.params().to_vec())
}
