//! How a server forgets clients. Devices cannot run past rounds again, so a federation that goes back goes on with new
//! rounds: what was learnt since, also from those who stay, is given up.
//!
//! * `certificate`, `ledger-subtraction`: at once.
//! * `shard-isolation`: the leavers' shard returns to its last state before their first round.
//! * `noisy-rollback`: the federation returns to the last state at which noise may hide the leavers, with that noise.
//! * `retrain`, `fed-eraser`: refused.
//!
//! Requests are met between two rounds: after one is closed and before the task of the next is published. No message of an
//! open round outlives a return, since it started from a model that is given up.
//!
//! What those who stay may still spend is for their devices to say, which have a ledger each: a server undoes rounds and
//! does not order them again.

use rand::CryptoRng;

use crate::defence::Defence;
use crate::fingerprint::Fingerprint;
use crate::history::{Checkpoint, Devices, Erasure, History, Touched};
use crate::noise::NoiseSource;
use crate::plan::{FederationPlan, PlanProblem};
use crate::privacy::Privacy;
use crate::receipt::{Claim, Met, Published};
use crate::stand_ins::StandIns;
use crate::unlearn::{
    Assurance, Certificate, LedgerSubtraction, MessageCost, NoisyRollback, ShardIsolation, UnlearnError, Unlearning,
};

/// Clients that want to be forgotten, and what the server knows.
#[derive(Clone, Copy, Debug)]
pub struct ServerRequest<'a> {
    pub plan: &'a FederationPlan,
    /// Whether the plan is for simulations, whose noise may follow from a seed.
    pub is_simulated: bool,
    /// Of the federation, or of the leavers' shard.
    pub history: &'a History,
    /// Of the coordinator, or of the leavers' shard, as it is now.
    pub state: &'a Checkpoint,
    pub leavers: &'a [u32],
}

/// A request that was met. Nothing of the leavers is in `history` and `state`.
#[derive(Clone, Debug, PartialEq)]
pub struct Forgotten {
    pub history: History,
    /// To which the coordinator, or the leavers' shard, must [roll back](crate::Coordinator::roll_back); none if its model
    /// stays.
    pub state: Option<Checkpoint>,
    /// What the chain of the history proves.
    pub guarantee: Assurance,
    /// In rising order.
    pub leavers: Vec<u32>,
    method: Unlearning,
    cost: MessageCost,
    /// The history at the request.
    before: History,
}

impl Forgotten {
    /// What is to be signed. `before` and `after` are the published rankers, those of all shards together.
    pub fn claim(&self, before: &[f32], after: &[f32], time: impl Into<String>) -> Claim {
        let met = Met {
            before: &self.before,
            after: &self.history,
            leavers: &self.leavers,
            method: self.method,
            guarantee: &self.guarantee,
            published: Published { before: Fingerprint::of_model(before), after: Fingerprint::of_model(after) },
            cost: self.cost,
        };
        Claim::of(&met, time).expect("the newest state is in both histories")
    }
}

/// Forgets clients by the method of the plan. Several that leave at once go back once.
pub fn forget_on_server(
    request: &ServerRequest<'_>,
    noise: &mut dyn NoiseSource,
    salts: &mut impl CryptoRng,
) -> Result<Forgotten, UnlearnError> {
    let method = request.plan.unlearning.ok_or(UnlearnError::NoMethod)?;
    request.check_plan(&method)?;
    let mut leavers = request.leavers.to_vec();
    leavers.sort_unstable();
    leavers.dedup();
    let mut before = request.history.clone();
    before.record_newest(request.state.clone(), salts);
    method.check_request(&before, &leavers)?;
    let n_params = before.header().initial.len();
    let cost = request.plan.message_cost(n_params).map_err(|error| PlanProblem::new("privacy", error))?;
    let mut leaving = Leaving { request, method, leavers: &leavers, before: &before, cost, salts };
    let (history, state) = match &method {
        Unlearning::Certificate(certificate) => leaving.certify(certificate)?,
        Unlearning::LedgerSubtraction(subtraction) => leaving.subtract(subtraction)?,
        Unlearning::ShardIsolation(isolation) => leaving.return_shard(isolation)?,
        Unlearning::NoisyRollback(rollback) => leaving.return_with_noise(rollback, noise)?,
        Unlearning::Retrain(_) | Unlearning::FedEraser(_) => return Err(replay(&method)),
    };
    let guarantee = history.guarantees().pop().expect("the request is in the chain");
    Ok(Forgotten { history, state, guarantee, leavers, method, cost, before })
}

fn replay(method: &Unlearning) -> UnlearnError {
    UnlearnError::OnServer { method: method.name(), why: "it replays past rounds, which devices cannot run again" }
}

impl ServerRequest<'_> {
    /// Refuses what no server can do by this plan, whoever leaves.
    fn check_plan(&self, method: &Unlearning) -> Result<(), UnlearnError> {
        let (plan, header, defence) = (self.plan, self.history.header(), self.plan.defence.unwrap_or(Defence::NONE));
        let lengths = [self.state.master.len(), self.state.optimiser.first.len(), self.state.optimiser.second.len()];
        let fits = lengths.iter().all(|&len| len == header.initial.len());
        if !fits || header.optimiser != plan.server_optimiser() || header.policy != plan.history.unwrap_or_default() {
            return Err(UnlearnError::OtherFederation);
        }
        if matches!(method, Unlearning::Retrain(_) | Unlearning::FedEraser(_)) {
            return Err(replay(method));
        }
        let goes_back = matches!(method, Unlearning::ShardIsolation(_) | Unlearning::NoisyRollback(_));
        let isolates = match method {
            Unlearning::ShardIsolation(isolation) => plan.shards == Some(isolation.shards),
            _ => plan.shards.is_none(),
        };
        let reasons = [
            (plan.asynchrony.is_some(), "without rounds nobody knows in which states a client has a part"),
            (!isolates, "shards forget by shard-isolation, and nothing else does"),
            (goes_back && plan.personalisation.is_some(), "what devices keep of their own rankers cannot be undone"),
            (goes_back && defence.momentum.is_some(), "what devices remember for their momentum cannot be undone"),
            (goes_back && defence.rule.remembers(), "what the aggregation rule remembers is in no checkpoint"),
        ];
        let reason = reasons.into_iter().find(|(is_there, _)| *is_there);
        reason.map_or(Ok(()), |(_, why)| Err(UnlearnError::OnServer { method: method.name(), why }))
    }
}

/// A request that is being met.
struct Leaving<'a, R> {
    request: &'a ServerRequest<'a>,
    method: Unlearning,
    leavers: &'a [u32],
    /// With the newest state.
    before: &'a History,
    cost: MessageCost,
    salts: &'a mut R,
}

/// The history without the leavers, and the state to go on from if it is another one.
type Without = (History, Option<Checkpoint>);

impl<R: CryptoRng> Leaving<'_, R> {
    fn premise(&self, on: &'static str) -> UnlearnError {
        UnlearnError::Premise { method: self.method.name(), on }
    }

    fn erased(&self, touched: Touched) -> Result<History, UnlearnError> {
        let mut history = self.before.clone();
        let (round, clients) = (history.n_rounds(), self.leavers.to_vec());
        history.erase(Erasure { round, clients, method: self.method, fresh_rounds: 0 }, touched)?;
        Ok(history)
    }

    /// The same model, whose privacy is guarantee enough.
    fn certify(&self, certificate: &Certificate) -> Result<Without, UnlearnError> {
        // Only here is a client that is absent the neighbour that the guarantee is about: the sum lacks its summand,
        // and is divided by the same number.
        if !matches!(self.request.plan.privacy, Privacy::Gaussian(_) | Privacy::CentralDiscreteGaussian(_)) {
            return Err(self.premise("Gaussian noise on a sum with a fixed divisor"));
        }
        let n_messages = self.cost.most_messages(self.before, self.leavers);
        certificate.confirm(self.cost.cost, n_messages, self.leavers.len())?;
        Ok((self.erased(Touched::Stay)?, None))
    }

    /// The newest model without the leavers' steps.
    fn subtract(&mut self, subtraction: &LedgerSubtraction) -> Result<Without, UnlearnError> {
        if !self.request.plan.defence.is_none_or(|defence| defence.only_sums()) {
            return Err(self.premise("the mean of all updates"));
        }
        let mut state = Checkpoint { round: self.before.n_rounds(), tail: None, ..self.request.state.clone() };
        subtraction.subtract(self.before, self.leavers, &mut state.master)?;
        state.erase(self.leavers);
        let mut history = self.erased(Touched::Drop)?;
        history.add_checkpoint(state.clone(), self.salts);
        Ok((history, Some(state)))
    }

    /// The last state of the shard in which the leavers have no part.
    fn return_shard(&mut self, isolation: &ShardIsolation) -> Result<Without, UnlearnError> {
        let mut shards =
            self.before.listed_clients().chain(self.leavers.iter().copied()).map(|it| isolation.shard_of(it));
        let first = shards.next();
        if shards.any(|shard| Some(shard) != first) {
            return Err(self.premise("the history of the one shard that all leavers belong to"));
        }
        let first = self.before.first_of(self.leavers).unwrap_or(self.before.n_rounds());
        let state = self.before.before(first).cloned().unwrap_or_else(|| self.first_state());
        self.go_back(state)
    }

    /// A state in which noise hides the leavers' part, or the last in which they have none.
    fn return_with_noise(
        &mut self,
        rollback: &NoisyRollback,
        noise: &mut dyn NoiseSource,
    ) -> Result<Without, UnlearnError> {
        let (plan, defence) = (self.request.plan, self.request.plan.defence.unwrap_or(Defence::NONE));
        if !rollback.is_clipped_by(&defence) {
            return Err(self.premise("the rule norm-clipping with a fixed radius of at most its clip_norm"));
        }
        if !plan.privacy.is_none() {
            return Err(self.premise("plain messages"));
        }
        let plan = rollback.plan(self.before, self.leavers)?;
        let stored = self.before.before(plan.round).filter(|state| state.round == plan.round);
        let mut state = stored.cloned().unwrap_or_else(|| self.first_state());
        if plan.sensitivity > 0.0 {
            if noise.is_simulated() && !self.request.is_simulated {
                return Err(self.premise("noise that does not follow from a seed"));
            }
            rollback.blur(&plan, noise, &mut state.master);
            // Models that are averaged already have no noise, nor have messages that rest on them.
            state.tail = None;
            state.stand_ins = StandIns::default();
        }
        self.go_back(state)
    }

    /// The state before the first round of all.
    fn first_state(&self) -> Checkpoint {
        let header = self.before.header();
        Checkpoint {
            round: 0,
            master: header.initial.clone(),
            optimiser: header.optimiser.start(header.initial.len()),
            clip_norm: None,
            tail: None,
            devices: Devices::default(),
            stand_ins: StandIns::default(),
        }
    }

    fn go_back(&mut self, mut state: Checkpoint) -> Result<Without, UnlearnError> {
        let to = state.round;
        state.erase(self.leavers);
        let mut history = self.erased(Touched::Drop)?;
        history.roll_back(to);
        // A state that the leavers had touched is not in the history any longer.
        if history.before(to).is_none_or(|stored| stored.round != to) {
            history.add_checkpoint(state.clone(), self.salts);
        }
        let stays = self.before.latest().is_some_and(|latest| latest.round == to && latest.master == state.master);
        Ok((history, (!stays).then_some(state)))
    }
}
