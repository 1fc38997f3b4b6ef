//! Clients that test each release on their own clicks before they use it, and what those who refuse one do meanwhile.
//!
//! A client that works in a round tests the newest release first. Whoever refuses it searches with the model in use, which
//! counts in online metrics, and sends nothing. Attackers test nothing.
//!
//! The lists of a round are drawn a second time, from the same streams and hence with the same bits, by a learner that
//! records them: the loop of a federation without adoption stays as it is.

use std::sync::{Arc, Mutex, PoisonError};

use foltr_federation::RoundTask;
use foltr_rank::adoption::{Adoption, AdoptionError, AdoptionRule, ShownList};
use foltr_rank::bytes::{BytesError, Reader, Writer};
use foltr_rank::learn::Lesson;
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings};
use foltr_rank::rng::Streams;
use foltr_rank::{Impression, OnlineLearner, Params, QueryView, Ranking, Update};
use rand::Rng;
use rayon::prelude::*;

use crate::client_round::{ClientStats, Round, RoundStats, Worker};
use crate::client_states::StateStretch;
use crate::federation_run::FederationSettings;

/// The lists of a round that have clicks.
type Lists = Arc<Mutex<Vec<ShownList>>>;

/// PDGD that records what its lists say about other rankers.
#[derive(Debug)]
struct RecordingPdgd {
    pdgd: Pdgd,
    lists: Lists,
}

impl OnlineLearner for RecordingPdgd {
    fn begin(&mut self, global: &[f32], public: &mut dyn Rng) {
        self.pdgd.begin(global, public);
    }

    fn rank(&mut self, query: QueryView<'_>, private: &mut dyn Rng, ranking: &mut Ranking) {
        self.pdgd.rank(query, private, ranking);
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        let Impression { query, ranking, clicks, .. } = *impression;
        let evidence = self.pdgd.lesson(ranking).map(|lesson| ShownList::of_lesson(query, ranking, &lesson, clicks));
        // Scores of a model that is far away may be infinite; nothing is known about the law of such a list.
        if let Some(Ok(Some(list))) = evidence {
            self.lists.lock().unwrap_or_else(PoisonError::into_inner).push(list);
        }
        self.pdgd.observe(impression);
    }

    fn lesson(&mut self, ranking: &Ranking) -> Option<Lesson> {
        self.pdgd.lesson(ranking)
    }

    fn finish(&mut self) -> Update<'_> {
        self.pdgd.finish()
    }

    fn n_interactions(&self) -> u32 {
        self.pdgd.n_interactions()
    }

    fn save(&self, out: &mut Writer) {
        self.pdgd.save(out);
    }

    fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        self.pdgd.restore(input)
    }
}

#[derive(Debug)]
struct Device {
    adoption: Adoption,
    worker: Worker,
    lists: Lists,
}

/// How a device met the release of a round.
struct Meeting {
    client: u32,
    is_adopted: bool,
    stats: ClientStats,
}

impl Device {
    fn new(
        rule: AdoptionRule,
        settings: &FederationSettings,
        pdgd: PdgdSettings,
        streams: &Streams,
    ) -> Result<Self, AdoptionError> {
        let lists = Lists::default();
        let learner = RecordingPdgd { pdgd: Pdgd::new(settings.shape, pdgd), lists: Arc::clone(&lists) };
        let adoption = Adoption::new(rule, settings.shape, 0, &settings.initial)?;
        Ok(Self { adoption, worker: Worker::new(Box::new(learner), streams), lists })
    }

    /// Tests the release, then searches as often as the round asks for.
    fn meet(&mut self, round: &Round<'_>, client: u32) -> Meeting {
        let RoundTask { round: version, global, .. } = round.task;
        let is_adopted = self.adoption.consider(*version, global).is_ok_and(|verdict| verdict.is_adopted());
        let own_task = RoundTask { global: self.adoption.present().to_vec(), ..round.task.clone() };
        let mut stats = ClientStats::default();
        let own_round = Round { task: &own_task, ..*round };
        let clients = std::iter::once(client);
        self.worker.run_clients(&own_round, clients, &mut StateStretch::none(), |sent| stats = sent.stats);
        for list in self.lists.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.adoption.observe(list).expect("lists of the federation's own data");
        }
        // A client that is seldom drawn may have used a model for long before it meets the next one.
        if self.adoption.is_due() {
            self.adoption.reconsider();
        }
        Meeting { client, is_adopted, stats }
    }
}

/// All honest clients of a federation.
#[derive(Debug)]
pub(crate) struct AdoptingClients {
    /// The first clients, which test nothing.
    n_attackers: u32,
    devices: Vec<Device>,
    refused_share: Option<f64>,
}

/// Who refused the release of a round, and what they did instead.
pub(crate) struct Refusals {
    pub(crate) clients: Vec<u32>,
    pub(crate) stats: RoundStats,
}

impl AdoptingClients {
    pub(crate) fn new(
        rule: AdoptionRule,
        settings: &FederationSettings,
        pdgd: PdgdSettings,
        streams: &Streams,
    ) -> Result<Self, AdoptionError> {
        let n_attackers = settings.attackers.map_or(0, |attackers| attackers.attackers).min(settings.n_clients);
        let device = |_| Device::new(rule, settings, pdgd, streams);
        let devices = (n_attackers..settings.n_clients).map(device).collect::<Result<_, _>>()?;
        Ok(Self { n_attackers, devices, refused_share: None })
    }

    /// Lets the clients that work (in rising order) test the release, and those who refuse it search without it.
    pub(crate) fn meet(&mut self, round: &Round<'_>, working: &[u32]) -> Refusals {
        let clients = self.n_attackers..self.n_attackers + self.devices.len() as u32;
        let devices = clients.into_par_iter().zip(&mut self.devices);
        let devices = devices.filter(|(client, _)| working.binary_search(client).is_ok());
        let meetings: Vec<Meeting> = devices.map(|(client, device)| device.meet(round, client)).collect();
        let mut refusals = Refusals { clients: Vec::new(), stats: RoundStats::default() };
        for meeting in meetings.iter().filter(|meeting| !meeting.is_adopted) {
            refusals.clients.push(meeting.client);
            refusals.stats.add(&meeting.stats);
        }
        let n_met = meetings.len();
        self.refused_share = (n_met > 0).then(|| refusals.clients.len() as f64 / n_met as f64);
        refusals
    }

    /// The model that a client uses once it has seen the newest release; none of an attacker.
    pub(crate) fn present(&self, client: u32, newest: &RoundTask) -> Option<Params> {
        let device = client.checked_sub(self.n_attackers)? as usize;
        // A look from outside is no test that the device counts.
        let mut adoption = self.devices.get(device)?.adoption.clone();
        adoption.consider(newest.round, &newest.global).ok()?;
        Some(adoption.present().to_vec())
    }

    /// The share of the honest clients of the last round that refused its release.
    pub(crate) const fn refused_share(&self) -> Option<f64> {
        self.refused_share
    }
}
