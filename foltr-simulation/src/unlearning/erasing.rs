//! FedEraser with simulated clients: fresh interactions, drawn from streams of their own.

use std::sync::Mutex;

use foltr_federation::history::Touched;
use foltr_federation::unlearn::{Erasing, FedEraser};
use foltr_federation::{Checkpoint, Contributions, Erasure, History, Kind, RoundTask, UnlearnError, Unlearning};
use foltr_rank::Params;
use foltr_rank::rng::Streams;

use super::replay::streams;
use super::{Cost, Request, UnlearningError};
use crate::client_data::ClientData;
use crate::client_round::{Round, RoundStats, Worker};
use crate::federation_run::{ClientWork, FederationSettings, client_learner};
use crate::per_message_round::PerMessageRound;

/// Clients that go through stored rounds again.
pub(super) struct EraserRun<'a> {
    erasing: Erasing,
    settings: FederationSettings,
    partition: &'a ClientData,
    streams: Streams,
    workers: Vec<Mutex<Worker>>,
    gathered: PerMessageRound,
    task: RoundTask,
    effort: ClientWork,
    /// States on the way, where the history keeps some.
    states: Vec<Checkpoint>,
    history: History,
    erasure: Erasure,
}

impl<'a> EraserRun<'a> {
    pub(super) fn new(
        eraser: &FedEraser,
        method: &Unlearning,
        request: &Request<'a, '_>,
    ) -> Result<Self, UnlearningError> {
        let settings = request.remaining();
        settings.check(request.partition)?;
        let erasing = eraser.start(request.history, request.leavers, settings.shape)?;
        let streams = streams(request);
        let worker = |_| Mutex::new(Worker::new(client_learner(&settings), &streams));
        Ok(Self {
            workers: (0..=rayon::current_num_threads()).map(worker).collect(),
            gathered: PerMessageRound::beside_rounds(&settings),
            task: RoundTask {
                round: 0,
                global: erasing.global().clone(),
                n_clients: settings.n_clients,
                n_interactions: eraser.steps,
                clip_norm: None,
            },
            effort: ClientWork::default(),
            states: Vec::new(),
            history: request.history.clone(),
            erasure: request.erasure(method, false, erasing.n_rounds() as u32),
            partition: request.partition,
            erasing,
            settings,
            streams,
        })
    }

    pub(super) fn n_rounds(&self) -> u32 {
        self.erasing.n_rounds() as u32
    }

    pub(super) fn ranker(&self) -> Params {
        self.erasing.global().clone()
    }

    /// One stored round again. A round that needs no work is one all the same.
    pub(super) fn round(&mut self) -> Option<RoundStats> {
        let asked = self.erasing.asked()?;
        if self.history.keeping().keeps_checkpoint(asked.round) {
            self.states.push(self.erasing.checkpoint(asked.round));
        }
        self.task.global.copy_from_slice(asked.global);
        if asked.steps == 0 {
            self.erasing.close(&mut Contributions::new(self.task.global.len()));
            self.task.round += 1;
            return Some(RoundStats::default());
        }
        let round = Round {
            task: &self.task,
            clusters: &[],
            partition: self.partition,
            privacy: &self.settings.privacy,
            sums_only: false,
            rule: self.settings.rule(),
            streams: &self.streams,
        };
        let (fresh, tally) = self.gathered.steps(&self.workers, &round, asked.clients);
        let steps = |&client: &u32| u64::from(self.partition.holding(client).n_interactions.min(asked.steps));
        self.effort.local_steps += asked.clients.iter().map(steps).sum::<u64>();
        self.effort.tasks += asked.clients.len() as u64;
        self.effort.messages += fresh.len() as u64;
        self.erasing.close(fresh);
        self.task.round += 1;
        Some(tally)
    }

    /// The leavers' updates are gone, and stored states are those of the new course.
    pub(super) fn finish(mut self) -> (Cost, History) {
        assert!(self.erasing.asked().is_none(), "rounds of unlearning are left");
        let cost = Cost::of(self.n_rounds(), self.effort, Kind::Step, self.task.global.len());
        let erased = self.history.erase(self.erasure, Touched::Drop).map_err(UnlearnError::from);
        erased.expect("the request was checked");
        self.history.drop_checkpoints();
        self.history.end_ledger();
        self.states.into_iter().for_each(|state| self.history.add_checkpoint(state));
        self.history.add_checkpoint(self.erasing.checkpoint(self.history.n_rounds()));
        (cost, self.history)
    }
}
