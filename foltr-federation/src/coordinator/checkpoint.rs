//! The state of a coordinator as a history records it, and the ways back to one.

use crate::coordinator::Coordinator;
use crate::history::{Checkpoint, Devices};
use crate::message::PayloadError;
use crate::server_optimiser::OptimiserState;
use crate::stand_ins::StandIns;
use crate::tail_mean::TailMean;

impl Coordinator {
    /// The state between two rounds as a history records it, from which single clients can be erased. What a rule
    /// [remembers](crate::Aggregation::remembers) and the models of clusters are in [`Self::save`] only.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            round: self.model.task.round,
            master: self.model.master.clone(),
            optimiser: self.model.state.clone(),
            clip_norm: self.model.task.clip_norm,
            tail: self.tail.clone(),
            devices: Devices::default(),
            stand_ins: self.buffer.as_ref().map(|buffer| buffer.stand_ins.clone()).unwrap_or_default(),
        }
    }

    /// Goes on from another state, in its round, as a replay does; messages of the open round are dropped. Nothing changes on
    /// an error. A server wants [`Self::roll_back`].
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), PayloadError> {
        let (expected, got) = (self.model.master.len(), checkpoint.master.len());
        let OptimiserState { first, second, .. } = &checkpoint.optimiser;
        if expected != got || first.len() != got || second.len() != got {
            return Err(PayloadError::Params { expected, got });
        }
        if let Some(last) = checkpoint.stand_ins.iter().map(|(_, last)| last.values.len()).find(|&len| len != expected)
        {
            return Err(PayloadError::Params { expected, got: last });
        }
        self.drop_messages();
        if let Some(buffer) = &mut self.buffer {
            buffer.stand_ins.clone_from(&checkpoint.stand_ins);
        }
        // A state without a mean begins a new one.
        if let Some(tail) = &mut self.tail {
            *tail = checkpoint.tail.clone().unwrap_or_else(|| TailMean::new(tail.first_round, expected));
        }
        let model = &mut self.model;
        model.task.round = checkpoint.round;
        model.task.clip_norm = checkpoint.clip_norm;
        model.task.global = checkpoint.global();
        model.master.clone_from(&checkpoint.master);
        model.state.clone_from(&checkpoint.optimiser);
        self.inbox.rule = self.rule_of_round();
        Ok(())
    }

    /// Returns to an earlier model and goes on with new rounds, for a server: rounds that devices have booked never come
    /// again. No earlier message stands in for a client any more. What started from a release between the two must not be
    /// taken: leave those releases out of what [`into_message`](crate::protocol::Contribution::into_message) knows.
    ///
    /// Nothing changes on an error.
    pub fn roll_back(&mut self, checkpoint: &Checkpoint) -> Result<(), PayloadError> {
        let round = self.model.task.round;
        self.restore(checkpoint)?;
        self.model.task.round = round;
        self.buffer.iter_mut().for_each(|buffer| buffer.stand_ins = StandIns::default());
        Ok(())
    }
}
