//! The hot loop: what a client does in one round. Query, list, clicks, learning; then one protected message.
//!
//! Nothing is allocated between interactions. The next query is known one step ahead, so that its features can be
//! requested from memory while the current one is worked on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foltr_federation::privacy::NoiseShares;
use foltr_federation::{Mechanism, Payload, PayloadSemantics, RoundTask};
use foltr_rank::learn::{LearnerVisitor, Models};
use foltr_rank::metric::{discount, gain, ideal_dcg};
use foltr_rank::query::prefetch_start;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_rank::{Clicks, Impression, MAX_SHOWN, OnlineLearner, Params, QueryView, Ranking, Update};
use rand::RngExt;

use crate::adversary::Targets;
use crate::click::{SimulatedUser, Users};
use crate::client_data::{ClientData, ClientShare};
use crate::client_states::StateStretch;
use crate::dataset::Dataset;
use crate::federation_run::FederationSettings;
use crate::on_the_way::{StoredUpdate, noise_purpose};
use crate::simulated_noise::SimulatedNoise;

/// Queries to issue, with what their lists can be worth at best.
#[derive(Clone, Debug)]
pub struct TrainingSet {
    data: Dataset,
    /// 1 / ideal DCG, or 0 for a query without relevant documents: its online nDCG counts as 0 (spec section 3).
    inverse_ideal: Vec<f64>,
    /// Gain times discount, by position below the cut-off, then label.
    worth: Vec<f64>,
    n_grades: usize,
}

impl TrainingSet {
    /// Prepares a data set for online evaluation with nDCG@`cutoff`.
    pub fn new(data: Dataset, cutoff: usize) -> Self {
        let inverse_ideal = (0..data.n_queries())
            .map(|query| ideal_dcg(data.labels(query), cutoff))
            .map(|ideal| if ideal > 0.0 { 1.0 / ideal } else { 0.0 })
            .collect();
        let grades = 0..=data.max_label();
        let worth_at = |position| grades.clone().map(move |label| gain(label) * discount(position));
        let worth = (0..cutoff.min(MAX_SHOWN)).flat_map(worth_at).collect();
        Self { inverse_ideal, worth, n_grades: grades.len(), data }
    }

    pub const fn data(&self) -> &Dataset {
        &self.data
    }

    /// The same for somebody to whom only targets are relevant; what lists are worth stays as it was.
    pub(crate) fn relabelled(&self, targets: &Targets) -> Self {
        Self { data: targets.relabel(&self.data), ..self.clone() }
    }

    #[inline]
    fn online_ndcg(&self, query: usize, shown: &[u8]) -> f64 {
        let positions = self.worth.chunks_exact(self.n_grades);
        let dcg: f64 = shown.iter().zip(positions).map(|(&label, worth)| worth[label as usize]).sum();
        dcg * self.inverse_ideal[query]
    }
}

/// What happened in some interactions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundStats {
    /// Sum over clients of their mean online nDCG.
    pub ndcg: f64,
    /// Sum over clients of their mean MaxRR, before any privatisation.
    pub max_rr: f64,
    pub n_interactions: u64,
    pub n_clients: u64,
}

impl RoundStats {
    pub fn merge(&mut self, other: &Self) {
        self.ndcg += other.ndcg;
        self.max_rr += other.max_rr;
        self.n_interactions += other.n_interactions;
        self.n_clients += other.n_clients;
    }

    pub(crate) fn add(&mut self, client: &ClientStats) {
        let n_interactions = client.n_interactions.max(1) as f64;
        self.ndcg += client.ndcg / n_interactions;
        self.max_rr += client.max_rr / n_interactions;
        self.n_interactions += client.n_interactions;
        self.n_clients += 1;
    }
}

/// One client's interactions so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientStats {
    pub ndcg: f64,
    pub max_rr: f64,
    pub n_interactions: u64,
}

impl ClientStats {
    #[inline]
    pub fn count(&mut self, training: &TrainingSet, query: usize, shown: &[u8], clicks: Clicks) {
        self.ndcg += training.online_ndcg(query, shown);
        self.max_rr += foltr_rank::metric::max_rr(clicks);
        self.n_interactions += 1;
    }
}

/// A learner in the loop over a client's interactions. The loop is compiled for each kind of learner, and the call is by
/// pointer, once a client and round.
pub trait ClientLearner: OnlineLearner {
    #[doc(hidden)]
    fn interact_all(&mut self, round: &Round<'_>, current: &mut ClientTurn, next: &ClientTurn) -> ClientStats;
}

impl<L: OnlineLearner> ClientLearner for L {
    fn interact_all(&mut self, round: &Round<'_>, current: &mut ClientTurn, next: &ClientTurn) -> ClientStats {
        let (mut stats, mut ranking) = (ClientStats::default(), Ranking::default());
        let ClientShare { training, users, .. } = round.partition.share(current.client);
        for (i, &query) in current.queries.iter().enumerate() {
            let own = current.queries.get(i + 1).map(|&query| training.data.query(query as usize));
            let query = query as usize;
            let upcoming = own.or_else(|| next.first(round)).unwrap_or_else(|| training.data.query(query));
            interact(self, training, users, (query, upcoming), &mut current.stream, &mut ranking, &mut stats);
        }
        stats
    }
}

/// Makes learners that workers can use.
pub(crate) struct Boxed;

impl LearnerVisitor for Boxed {
    type Output = Box<dyn ClientLearner>;

    fn visit(self, learner: impl OnlineLearner + 'static) -> Self::Output {
        Box::new(learner)
    }
}

/// One interaction: rank, click, learn. `next` is the query that is likely to come after this one; `ranking` is memory for
/// the list, which is long and need not be cleared.
#[inline]
pub fn interact(
    learner: &mut impl OnlineLearner,
    training: &TrainingSet,
    users: &Users,
    (query, next): (usize, QueryView<'_>),
    stream: &mut Stream,
    ranking: &mut Ranking,
    stats: &mut ClientStats,
) {
    let view = training.data.query(query).before(next);
    let labels = training.data.labels(query);
    prefetch_start(labels);
    learner.rank(view, stream, ranking);
    view.prefetch(4);
    let mut shown = [0_u8; MAX_SHOWN];
    for (label, &doc) in shown.iter_mut().zip(ranking.docs()) {
        *label = labels[doc as usize];
    }
    let shown = &shown[..ranking.len()];
    let clicks = users.click(shown, stream);
    view.prefetch(5);
    stats.count(training, query, shown, clicks);
    learner.observe(&Impression::new(view, ranking, clicks));
}

/// What all clients of a round have in common.
#[derive(Clone, Copy)]
pub struct Round<'a> {
    pub task: &'a RoundTask,
    /// Models of clusters, beside the task's global one; none without clusters.
    pub clusters: &'a [Params],
    pub partition: &'a ClientData,
    pub privacy: &'a Mechanism,
    /// Whether messages have their share of the noise, or whoever closes the round draws all of them at once.
    pub noise_shares: NoiseShares,
    pub rule: PayloadSemantics,
    pub streams: &'a Streams,
}

/// Memory of one thread that simulates clients, one after the other.
#[derive(Debug)]
pub struct Worker {
    learner: Box<dyn ClientLearner>,
    payload: Payload,
    current: ClientTurn,
    next: ClientTurn,
    public: Stream,
    protection: SimulatedNoise,
}

/// One client's private stream and the queries it will issue.
#[derive(Debug)]
pub struct ClientTurn {
    client: u32,
    stream: Stream,
    queries: Vec<u32>,
}

impl ClientTurn {
    /// Opens a client's private stream. Its queries are drawn first, uniformly with replacement (spec section 1.4).
    #[inline]
    fn open(&mut self, client: u32, round: &Round<'_>) {
        Streams::rewind(&mut self.stream, Purpose::Interaction, client, round.task.round);
        self.client = client;
        let share = round.partition.share(client);
        let n_queries = share.n_queries();
        self.queries.clear();
        // A task may ask for less than a client usually does, never for more.
        let n_interactions = share.n_interactions.min(round.task.n_interactions);
        let draws = (0..n_interactions).map(|_| share.query(self.stream.random_range(0..n_queries)));
        self.queries.extend(draws);
    }

    #[inline]
    fn first<'a>(&self, round: &Round<'a>) -> Option<QueryView<'a>> {
        let query = *self.queries.first()? as usize;
        Some(round.partition.share(self.client).training.data.query(query))
    }
}

impl Worker {
    /// A worker of the run that these streams belong to.
    pub fn new(learner: Box<dyn ClientLearner>, streams: &Streams) -> Self {
        let turn = || ClientTurn { client: 0, stream: streams.open(Purpose::Interaction, 0, 0), queries: Vec::new() };
        Self {
            learner,
            payload: Payload::default(),
            current: turn(),
            next: turn(),
            public: streams.open(Purpose::PerturbationSeed, 0, 0),
            protection: SimulatedNoise::open(streams, Purpose::Noise, 0, 0),
        }
    }

    /// Simulates these clients in order and shows each message to `receive`.
    pub fn run_clients(
        &mut self,
        round: &Round<'_>,
        clients: impl Iterator<Item = u32>,
        states: &mut StateStretch<'_>,
        mut receive: impl FnMut(ClientOutput<'_>),
    ) {
        let mut clients = clients.peekable();
        if let Some(&first) = clients.peek() {
            self.next.open(first, round);
        }
        while let Some(client) = clients.next() {
            std::mem::swap(&mut self.current, &mut self.next);
            if let Some(&following) = clients.peek() {
                self.next.open(following, round);
            }
            let protected = |update: Update<'_>, noise: &mut SimulatedNoise, payload: &mut Payload| {
                noise.rewind(noise_purpose(round.rule.kind()), client, round.task.round);
                protect(round, update, noise, payload);
            };
            let (stats, cluster) = self.run_client(round, client, states.of(client), protected);
            let direction = self.learner.direction();
            receive(ClientOutput { client, payload: &self.payload, direction, cluster, stats });
        }
    }

    /// Simulates one client without clusters and state, and takes its update before anything happens to it.
    pub(crate) fn update_of(&mut self, round: &Round<'_>, client: u32) -> (StoredUpdate, ClientStats) {
        self.current.open(client, round);
        let mut stored = None;
        let (stats, _) =
            self.run_client(round, client, &mut [], |update, _, _| stored = Some(StoredUpdate::of(update)));
        (stored.expect("a round ends with an update"), stats)
    }

    /// One client's round, whose update `take` is shown. Also says which cluster the client chose, if any.
    #[inline]
    fn run_client(
        &mut self,
        round: &Round<'_>,
        client: u32,
        state: &mut [f32],
        take: impl FnOnce(Update<'_>, &mut SimulatedNoise, &mut Payload),
    ) -> (ClientStats, Option<usize>) {
        let Self { learner, payload, current, next, public, protection } = self;
        Streams::rewind(public, Purpose::PerturbationSeed, client, round.task.round);
        learner.enter(Models { global: &round.task.global, clusters: round.clusters }, state);
        learner.begin(&round.task.global, public);
        let stats = learner.interact_all(round, current, next);
        take(learner.finish(), protection, payload);
        (stats, learner.leave(state))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ClientOutput<'a> {
    pub client: u32,
    pub payload: &'a Payload,
    /// The direction that the payload's seed generates, if it has one.
    pub direction: &'a [f32],
    /// The cluster that it is for, if there are clusters.
    pub cluster: Option<usize>,
    pub stats: ClientStats,
}

/// What leaves the device; without the device's share of the noise where that of the whole sum is drawn at once.
fn protect(round: &Round<'_>, update: Update<'_>, noise: &mut SimulatedNoise, payload: &mut Payload) {
    match round.noise_shares {
        NoiseShares::InMessages => round.privacy.protect(update, round.task, noise, payload),
        NoiseShares::DrawnAtClosing => round.privacy.protect_without_share(update, round.task, noise, payload),
    }
}

/// One [`Worker`] for each thread of the pool, and one for a caller outside of it.
pub(crate) struct Workers(Vec<Mutex<Worker>>);

impl Workers {
    pub(crate) fn new(settings: &FederationSettings, streams: &Streams) -> Self {
        let worker = |_| Mutex::new(Worker::new(settings.client_learner(), streams));
        Self((0..=rayon::current_num_threads()).map(worker).collect())
    }

    pub(crate) fn own(&self) -> MutexGuard<'_, Worker> {
        let thread = rayon::current_thread_index().unwrap_or(self.0.len() - 1);
        // A worker is only memory: after a panic elsewhere it is begun anew like any other.
        self.0[thread % self.0.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
