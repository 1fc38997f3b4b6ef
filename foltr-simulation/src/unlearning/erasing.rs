//! FedEraser with simulated clients: fresh interactions, drawn from streams of their own.

use foltr_federation::history::Touched;
use foltr_federation::unlearn::{Erasing, FedEraser};
use foltr_federation::{Checkpoint, Contributions, History, Kind, RoundTask};
use foltr_rank::Params;
use foltr_rank::rng::Streams;

use super::{Cost, Request, UnlearningError, remaining, request_streams};
use crate::client_data::ClientData;
use crate::client_round::{RoundStats, Workers};
use crate::federation_run::FederationSettings;
use crate::per_message_round::PerMessageRound;
use crate::salts::salts;

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
    /// Without the leavers.
    history: History,
}

impl<'a> EraserRun<'a> {
    pub(super) fn new(eraser: &FedEraser, request: &Request<'a, '_>) -> Result<Self, UnlearningError> {
        let erasing = eraser.start(request.history, request.leavers, request.settings.shape)?;
        let n_rounds = erasing.n_rounds() as u32;
        request.afford(n_rounds)?;
        let history = request.erased_history(n_rounds, Touched::Drop)?;
        let settings = remaining(request.settings, &history);
        settings.check(request.partition)?;
        let streams = request_streams(settings.seed, &history);
        let mut messages = PerMessageRound::beside_rounds(&settings);
        messages.prepare(&settings, request.partition);
        Ok(Self {
            workers: Workers::new(&settings, &streams),
            messages,
            task: RoundTask {
                round: 0,
                global: erasing.global().clone(),
                n_clients: settings.n_clients,
                n_interactions: eraser.steps,
                clip_norm: None,
            },
            cost: Cost::default(),
            states: Vec::new(),
            history,
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
        self.history.drop_checkpoints();
        self.history.end_ledger();
        let newest = self.erasing.checkpoint(self.history.n_rounds());
        for state in self.states.into_iter().chain([newest]) {
            self.history.add_checkpoint(state, &mut salts());
        }
        (self.cost, self.history)
    }
}
