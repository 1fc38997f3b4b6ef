//! The global model and the optimiser that moves it: what both coordinators have in common.

use crate::aggregate::PayloadSemantics;
use crate::coordinator::{Setup, SetupError};
use crate::message::{Expected, RoundTask};
use crate::server_optimiser::{OptimiserState, ServerOptimiser};

#[derive(Clone, Debug)]
pub(crate) struct GlobalModel {
    pub(crate) task: RoundTask,
    pub(crate) expected: Expected,
    /// The model in f64: small steps add up here that an f32 would swallow. The task publishes it in f32.
    pub(crate) master: Vec<f64>,
    pub(crate) optimiser: ServerOptimiser,
    pub(crate) state: OptimiserState,
}

impl GlobalModel {
    /// The first model of a setup whose messages are read in this way.
    pub(crate) fn new(setup: Setup, rule: PayloadSemantics) -> Result<Self, SetupError> {
        let Setup { initial, n_clients, n_interactions, optimiser, .. } = setup;
        optimiser.check()?;
        if let Some(index) = initial.iter().position(|value| !value.is_finite()) {
            return Err(SetupError::Initial { index, value: initial[index] });
        }
        Ok(Self {
            master: initial.iter().map(|&value| f64::from(value)).collect(),
            state: optimiser.start(initial.len()),
            expected: Expected { n_params: initial.len(), kind: rule.kind(), max_interactions: n_interactions },
            task: RoundTask { round: 0, global: initial, n_clients, n_interactions, clip_norm: None },
            optimiser,
        })
    }

    /// Moves model and optimiser together, or neither and says which parameter would leave the range of f32, or its
    /// optimiser that of f64.
    pub(crate) fn apply(&mut self, step: &[f64]) -> Result<(), usize> {
        let (mut master, mut state) = (self.master.clone(), self.state.clone());
        self.optimiser.climb(&mut state, &mut master, step);
        let is_lost = |index: usize| {
            let moments = state.first[index] + state.second[index];
            !(master[index] as f32).is_finite() || !moments.is_finite()
        };
        if let Some(index) = (0..master.len()).find(|&index| is_lost(index)) {
            return Err(index);
        }
        self.task.global.iter_mut().zip(&master).for_each(|(published, &value)| *published = value as f32);
        (self.master, self.state) = (master, state);
        Ok(())
    }
}
