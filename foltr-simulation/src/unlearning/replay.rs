//! Training once more without the leavers: from the beginning, or from a stored state.

use foltr_federation::history::Touched;
use foltr_federation::unlearn::{NoisyRollback, RollbackPlan};
use foltr_federation::{Checkpoint, Mechanism, StandIns, UnlearnError};
use foltr_rank::rng::Purpose;

use super::{Request, UnlearningError, remaining, request_streams};
use crate::client_round::RoundStats;
use crate::federation_run::{FederationRun, RoundError};
use crate::salts::salts;
use crate::simulated_noise::SimulatedNoise;

pub(crate) struct Replay<'a> {
    pub(crate) run: FederationRun<'a>,
    from: u32,
    until: u32,
}

impl<'a> Replay<'a> {
    pub(super) fn from_scratch(request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        Self::start(request, 0, None)
    }

    /// From the last stored state in which the leavers have no part, exactly.
    pub(crate) fn from_clean_state(request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        let first = request.history.first_of(request.leavers).unwrap_or(request.history.n_rounds());
        let state = request.history.before(first).cloned();
        let round = state.as_ref().map_or(0, |state| state.round);
        Self::start(request, round, state.map(|state| (state, None)))
    }

    /// From a stored state in which noise hides the leavers' part.
    pub(super) fn with_noise(rollback: &NoisyRollback, request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        check_premises(rollback, request)?;
        let plan = rollback.plan(request.history, request.leavers)?;
        let stored = request.history.before(plan.round).filter(|state| state.round == plan.round);
        let noise = (plan.sensitivity > 0.0).then_some((rollback, plan));
        Self::start(request, plan.round, stored.cloned().map(|state| (state, noise)))
    }

    /// Goes back to the beginning of a round, with a state and the noise that it gets, or to the beginning of the run.
    fn start(
        request: &Request<'a, '_>,
        from: u32,
        state: Option<(Checkpoint, Option<(&NoisyRollback, RollbackPlan)>)>,
    ) -> Result<Self, UnlearningError> {
        let until = request.history.n_rounds();
        request.afford(until - from)?;
        let mut history = request.erased_history(0, Touched::Drop)?;
        history.roll_back(from);
        let settings = remaining(request.settings, &history);
        let run = match state {
            None => FederationRun::new(settings, request.partition)?.with_old_history(Some(history))?,
            Some((mut state, noise)) => {
                state.erase(request.leavers);
                if let Some((rollback, plan)) = noise {
                    let streams = request_streams(settings.seed, &history);
                    let mut noise = SimulatedNoise::open(&streams, Purpose::Noise, 0, from);
                    rollback.blur(&plan, &mut noise, &mut state.master);
                    // Models that are averaged already have no noise, nor have messages that rest on them: the mean
                    // and the memory of messages begin anew.
                    state.tail = None;
                    state.stand_ins = StandIns::default();
                }
                // A state that the leavers had touched is not in the history any longer.
                if history.before(from).is_none_or(|stored| stored.round != from) {
                    history.add_checkpoint(state.clone(), &mut salts());
                }
                FederationRun::resume(settings, request.partition, &state, Some(history))?
            }
        };
        Ok(Self { run, from, until })
    }

    pub(super) fn n_rounds(&self) -> u32 {
        self.until - self.from
    }

    pub(crate) fn round(&mut self) -> Result<Option<RoundStats>, RoundError> {
        if self.run.task().round >= self.until { Ok(None) } else { self.run.round().map(Some) }
    }
}

/// What the worst case rests on: every update clipped to the norm, equal weights, and no memory but the model.
fn check_premises(rollback: &NoisyRollback, request: &Request<'_, '_>) -> Result<(), UnlearnError> {
    let defence = &request.settings.defence;
    let premises = [
        (rollback.is_clipped_by(defence), "the rule norm-clipping with a fixed radius of at most its clip_norm"),
        (defence.momentum.is_none(), "devices that remember nothing"),
        (matches!(request.settings.privacy, Mechanism::Unprotected(_)), "plain messages"),
    ];
    let failed = premises.into_iter().find(|(holds, _)| !holds);
    failed.map_or(Ok(()), |(_, on)| Err(request.premise(on)))
}
