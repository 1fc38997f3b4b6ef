//! Several federations that do not see each other, so that each can forget by itself.
//!
//! `BCCJTZLP21` Bourtoule et al.: *Machine Unlearning*, IEEE S&P 2021. A client belongs to one shard for good
//! ([`ShardIsolation::shard_of`]). Every shard draws the cohort of all clients and takes out those of other shards, so
//! that a round of all shards together is a round of one federation, and nobody's random numbers depend on who else is
//! there. A request touches one shard: it goes back to its last state before the leaver's first contribution and comes
//! again without the leaver, as if it had never had it: bit by bit where nothing is randomised for privacy, else with
//! coins of the request's own lineage.

use foltr_federation::unlearn::{MessageCost, ShardIsolation};
use foltr_federation::{Combination, Fingerprint, History, HistoryPolicy, Part, SetupError, UnlearnError, Unlearning};
use foltr_rank::Params;
use rayon::prelude::*;

use crate::client_data::ClientData;
use crate::client_round::RoundStats;
use crate::federation_run::{FederationError, FederationRun, FederationSettings, RoundError};
use crate::unlearning::{Cost, Replay, Request, UnlearningError};

pub struct ShardedRun<'a> {
    isolation: ShardIsolation,
    /// Those of one federation of all clients.
    settings: FederationSettings,
    partition: &'a ClientData,
    shards: Vec<FederationRun<'a>>,
}

impl<'a> ShardedRun<'a> {
    /// Shards in round 0. Every one of them records a history.
    pub fn new(
        settings: FederationSettings,
        isolation: ShardIsolation,
        partition: &'a ClientData,
        policy: HistoryPolicy,
        fingerprint: Fingerprint,
    ) -> Result<Self, FederationError> {
        check(&settings, isolation)?;
        let shard = |shard| {
            let run = FederationRun::new(settings_of(&settings, isolation, shard), partition)?;
            run.with_history(policy, fingerprint)
        };
        let shards = (0..isolation.shards).map(shard).collect::<Result<_, _>>()?;
        Ok(Self { isolation, settings, partition, shards })
    }

    /// Shards that go on from their histories, in which clients may have been forgotten.
    pub fn resume(
        settings: FederationSettings,
        isolation: ShardIsolation,
        partition: &'a ClientData,
        histories: Vec<History>,
    ) -> Result<Self, UnlearningError> {
        check(&settings, isolation)?;
        let premise = |on| UnlearnError::Premise { method: "shard-isolation", on };
        if histories.len() != isolation.shards as usize {
            return Err(premise("one history for every shard").into());
        }
        let resume = |(shard, history): (u32, History)| {
            history.verify().map_err(UnlearnError::from)?;
            let own = settings_of(&settings, isolation, shard);
            let latest = history.latest().cloned();
            let state = latest.ok_or_else(|| premise("a history with the newest state of its shard"))?;
            Ok(FederationRun::resume(own, partition, &state, Some(history))?)
        };
        let shards = (0..).zip(histories).map(resume).collect::<Result<_, UnlearningError>>()?;
        Ok(Self { isolation, settings, partition, shards })
    }

    pub fn shards(&self) -> &[FederationRun<'a>] {
        &self.shards
    }

    pub fn n_rounds(&self) -> u32 {
        self.shards.first().map_or(0, |shard| shard.task().round)
    }

    pub fn round(&mut self) -> Result<RoundStats, RoundError> {
        let rounds: Result<Vec<RoundStats>, _> = self.shards.par_iter_mut().map(FederationRun::round).collect();
        let mut all = RoundStats::default();
        rounds?.iter().for_each(|stats| all.merge(stats));
        Ok(all)
    }

    /// The published ranker: the mean of the shards' rankers.
    pub fn ranker(&self) -> Params {
        let models: Vec<Params> = self.shards.iter().map(FederationRun::ranker).collect();
        self.isolation.publish(models.iter().map(Vec::as_slice))
    }

    /// Forgets clients, each in its shard, and says what that took. Nothing has changed if one cannot be forgotten, or if
    /// somebody who stays cannot afford to send again what `cost` says.
    pub fn forget(&mut self, leavers: &[u32], cost: MessageCost) -> Result<Cost, UnlearningError> {
        let method = &Unlearning::ShardIsolation(self.isolation);
        if leavers.is_empty() {
            return Err(UnlearnError::Nobody.into());
        }
        let mut replays = Vec::new();
        for (shard, run) in (0..).zip(&self.shards) {
            let own = |client: &u32| self.isolation.shard_of(*client) == shard;
            let leavers: &[u32] = &leavers.iter().copied().filter(own).collect::<Vec<_>>();
            if leavers.is_empty() {
                continue;
            }
            let history = &run.history_now().expect("every shard records a history");
            method.check_request(history, leavers)?;
            let settings = &settings_of(&self.settings, self.isolation, shard);
            let request = Request { method, settings, partition: self.partition, history, leavers, cost };
            replays.push((shard, Replay::from_clean_state(&request)?));
        }
        for (_, replay) in &mut replays {
            while replay.round()?.is_some() {}
        }
        let mut work = Cost::default();
        for (shard, replay) in replays {
            work.add(&replay.run.cost());
            self.shards[shard as usize] = replay.run;
        }
        Ok(work)
    }

    /// The histories of all shards, each with its newest state.
    pub fn into_histories(self) -> Vec<History> {
        self.shards.into_iter().filter_map(FederationRun::into_history).collect()
    }
}

/// The settings of one shard: all clients of other shards are absent.
fn settings_of(settings: &FederationSettings, isolation: ShardIsolation, shard: u32) -> FederationSettings {
    let is_absent =
        |client: &u32| isolation.shard_of(*client) != shard || settings.absent.binary_search(client).is_ok();
    FederationSettings { absent: (0..settings.n_clients).filter(is_absent).collect(), ..settings.clone() }
}

fn check(settings: &FederationSettings, isolation: ShardIsolation) -> Result<(), FederationError> {
    Unlearning::ShardIsolation(isolation).check().map_err(SetupError::from)?;
    Ok(Combination::check(&[settings.parts(), vec![Part::Shards]].concat())?)
}
