//! FedEraser with simulated clients: fresh interactions, drawn from streams of their own.

use foltr_federation::history::Touched;
use foltr_federation::unlearn::{Erasing, FedEraser};
use foltr_federation::{Checkpoint, Contributions, Erasure, History, Kind, RoundTask};
use foltr_rank::Params;
use foltr_rank::rng::Streams;

use super::replay::streams;
use super::{Cost, Request, UnlearningError, remaining};
use crate::client_data::ClientData;
use crate::client_round::{RoundStats, Workers};
use crate::federation_run::FederationSettings;
use crate::per_message_round::PerMessageRound;

pub(super) struct EraserRun<'a> {
    erasing: Erasing,
    settings: FederationSettings,
    partition: &'a ClientData,
    streams: Streams,
    workers: Workers,
    messages: PerMessageRound,
    task: RoundTask,
    cost: Cost,
    /// States on the way, where the history records some.
    states: Vec<Checkpoint>,
    history: History,
    erasure: Erasure,
}

impl<'a> EraserRun<'a> {
    pub(super) fn new(eraser: &FedEraser, request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        let settings = remaining(request.settings, request.history, request.leavers);
        settings.check(request.partition)?;
        let erasing = eraser.start(request.history, request.leavers, settings.shape)?;
        let streams = streams(request);
        Ok(Self {
            workers: Workers::new(&settings, &streams),
            messages: PerMessageRound::beside_rounds(&settings),
            task: RoundTask {
                round: 0,
                global: erasing.global().clone(),
                n_clients: settings.n_clients,
                n_interactions: eraser.steps,
                clip_norm: None,
            },
            cost: Cost::default(),
            states: Vec::new(),
            history: request.history.clone(),
            erasure: request.erasure(false, erasing.n_rounds() as u32),
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
        if self.history.policy().stores_checkpoint(asked.round) {
            self.states.push(self.erasing.checkpoint(asked.round));
        }
        self.task.global.copy_from_slice(asked.global);
        let (n_params, mut stats) = (self.task.global.len(), RoundStats::default());
        if asked.steps == 0 {
            self.cost.rounds += 1;
            self.erasing.close(&mut Contributions::new(n_params));
        } else {
            let round = self.settings.round(&self.task, self.partition, &self.streams);
            let (fresh, round_stats) = self.messages.steps(&self.workers, &round, asked.clients);
            let steps = |&client: &u32| u64::from(self.partition.holding(client).n_interactions.min(asked.steps));
            let local_steps = asked.clients.iter().map(steps).sum();
            self.cost.add_round(local_steps, asked.clients.len(), fresh.len(), Kind::Step, n_params);
            self.erasing.close(fresh);
            stats = round_stats;
        }
        self.task.round += 1;
        Some(stats)
    }

    /// The leavers' updates are gone, and stored states are those of the new course.
    pub(super) fn finish(mut self) -> (Cost, History) {
        assert!(self.erasing.asked().is_none(), "rounds of unlearning are left");
        self.history.erase(self.erasure, Touched::Drop).expect("the request was checked");
        self.history.drop_checkpoints();
        self.history.end_ledger();
        self.states.into_iter().for_each(|state| self.history.add_checkpoint(state));
        self.history.add_checkpoint(self.erasing.checkpoint(self.history.n_rounds()));
        (self.cost, self.history)
    }
}
