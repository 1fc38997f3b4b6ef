//! Training once more without the leavers: from the beginning, or from a stored state.

use foltr_federation::aggregate::{NormClipping, Radius};
use foltr_federation::history::Touched;
use foltr_federation::unlearn::{NoisyRollback, RollbackPlan};
use foltr_federation::{Aggregation, Checkpoint, Defence, History, Mechanism, UnlearnError};
use foltr_rank::rng::{Purpose, Streams};

use super::{Request, UnlearningError, remaining};
use crate::client_round::RoundStats;
use crate::federation_run::{FederationRun, RoundError};

pub(crate) struct Replay<'a> {
    pub(crate) run: FederationRun<'a>,
    from: u32,
    until: u32,
}

impl<'a> Replay<'a> {
    pub(super) fn from_scratch(request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        Self::start(request, 0, None, request.erased_history(true, Touched::Drop)?)
    }

    /// From the last stored state in which the leavers have no part, exactly.
    pub(crate) fn from_clean_state(request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        let firsts = request.leavers.iter().filter_map(|&client| request.history.contribution(client));
        let first = firsts.map(|contribution| contribution.first).min().unwrap_or(request.history.n_rounds());
        let state = request.history.before(first).cloned();
        let round = state.as_ref().map_or(0, |state| state.round);
        Self::start(request, round, state, request.erased_history(true, Touched::Drop)?)
    }

    /// From a stored state in which noise hides the leavers' part.
    pub(super) fn with_noise(
        rollback: &NoisyRollback,
        request: &Request<'a, '_>,
    ) -> Result<(Self, RollbackPlan), UnlearningError> {
        check_premises(rollback, request)?;
        let plan = rollback.plan(request.history, request.leavers)?;
        let stored = request.history.before(plan.round).filter(|state| state.round == plan.round);
        let is_proven = plan.sensitivity == 0.0 || request.method.guarantee().is_proven();
        let history = request.erased_history(is_proven, Touched::Drop)?;
        let mut state = stored.cloned();
        if let Some(state) = state.as_mut().filter(|_| plan.sensitivity > 0.0) {
            rollback.blur(&plan, &mut streams(request).open(Purpose::Noise, 0, plan.round), &mut state.master);
            // Models that are averaged already have no noise: the mean begins anew.
            state.tail = None;
        }
        Ok((Self::start(request, plan.round, state, history)?, plan))
    }

    fn start(
        request: &Request<'a, '_>,
        from: u32,
        state: Option<Checkpoint>,
        mut history: History,
    ) -> Result<Self, UnlearningError> {
        let until = request.history.n_rounds();
        history.roll_back(from);
        let settings = remaining(request.settings, request.history, request.leavers);
        let run = match state {
            None => FederationRun::new(settings, request.partition)?.with_old_history(Some(history))?,
            Some(state) => {
                // A state that the leavers had touched is not in the history any longer.
                if history.before(from).is_none_or(|stored| stored.round != from) {
                    history.add_checkpoint(state.clone());
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

/// Random numbers of this request, and of no other.
pub(super) fn streams(request: &Request<'_, '_>) -> Streams {
    let nth = request.history.erasures().count() as u32;
    Streams::new(request.settings.seed).branch(Purpose::Unlearning, 0, nth)
}

/// What the worst case rests on: every update clipped to the norm, equal weights, and no memory but the model.
fn check_premises(rollback: &NoisyRollback, request: &Request<'_, '_>) -> Result<(), UnlearnError> {
    let Defence { rule, mixing, momentum } = request.settings.defence;
    let is_clipped = match rule {
        Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(radius) }) => radius <= rollback.clip_norm,
        _ => false,
    };
    let premises = [
        (is_clipped && mixing.is_none(), "the rule norm-clipping with a fixed radius of at most its clip_norm"),
        (momentum.is_none(), "devices that remember nothing"),
        (matches!(request.settings.privacy, Mechanism::Unprotected(_)), "plain messages"),
    ];
    let failed = premises.into_iter().find(|(holds, _)| !holds);
    failed.map_or(Ok(()), |(_, on)| Err(request.premise(on)))
}
