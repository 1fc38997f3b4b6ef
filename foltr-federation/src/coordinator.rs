//! The server of a federation as a plain struct: gives out the task, takes messages, closes the round.
//!
//! Whoever drives it decides when a round closes. Membership is by (round, number of the client) alone; no clock is
//! involved. A message may have started from an older release, as far as [`Staleness`] allows.
//!
//! A second message of a client is refused as [`Rejected::Duplicate`], whether or not its bytes are the same. A server that
//! answers repeated uploads with the same receipt keeps the receipts, and must look there first.
//!
//! Where the rule compares single messages, a client that was drawn into the round and sends none is represented by its
//! [last message](crate::stand_ins).
//!
//! Noise that belongs on the sum is the coordinator's: [`Coordinator::close`] is the only way to a step, and it asks for
//! a random generator. What leaves a coordinator whose mechanism protects a sum is made of the noisy step: the model, the
//! next clip norm, the report and checkpoints. Messages and sums of the open round are the server's own and never printed;
//! a refusal names the length of the one message that it refuses, which is for the server as well.

mod checkpoint;
mod errors;
mod inbox;
mod open_round;
mod receive;
mod round_buffer;
mod saved;
mod setup;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use errors::{CloseError, Rejected};
pub use open_round::OpenRound;
pub use setup::{Setup, SetupError};

use crate::aggregate::{Contributions, PartialSum, PayloadSemantics};
use crate::defence::Defence;
use crate::global_model::GlobalModel;
use crate::message::{Expected, RoundTask};
use crate::noise::NoiseSource;
use crate::privacy::{ClosingSum, LocalPrivacy, Mode, NoiseShares};
use crate::staleness::Staleness;
use crate::tail_mean::TailMean;
use inbox::Inbox;
use round_buffer::RoundBuffer;

/// One federation, between two messages.
///
/// ```
/// use foltr_federation::{Coordinator, Message, Payload, Setup};
/// # struct Noise(foltr_rank::rng::Stream);
/// # impl rand::TryRng for Noise {
/// #     type Error = std::convert::Infallible;
/// #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { self.0.try_next_u32() }
/// #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { self.0.try_next_u64() }
/// #     fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> { self.0.try_fill_bytes(bytes) }
/// # }
/// # impl foltr_federation::NoiseSource for Noise {
/// #     fn is_simulated(&self) -> bool { true }
/// # }
/// # let streams = foltr_rank::rng::Streams::new(1);
/// # let mut noise = Noise(streams.open(foltr_rank::rng::Purpose::Noise, 0, 0));
///
/// let mut coordinator = Coordinator::new(Setup::averaging(vec![0.0, 0.0], 3, 4))?;
/// for (client, step) in (0..).zip([[1.0, 0.0], [0.0, 1.0]]) {
///     let payload = Payload::Step { n_interactions: 4, delta: step.to_vec() };
///     coordinator.receive(Message { round: 0, start: 0, client, payload })?;
/// }
/// // On a server, `noise` is the operating system's.
/// let report = coordinator.close(&mut noise)?;
/// assert_eq!((report.n_contributions, coordinator.task().round), (Some(2), 1));
/// assert_eq!(coordinator.task().global, [0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Coordinator {
    model: GlobalModel,
    privacy: Arc<dyn LocalPrivacy>,
    noise_shares: NoiseShares,
    divisor: f64,
    inbox: Inbox,
    /// All messages of the round, for a rule that must see them; then nothing is in the inbox.
    buffer: Option<RoundBuffer>,
    /// Who was drawn into the open round, in rising order; all clients if nobody said.
    drawn: Option<Vec<u32>>,
    defence: Defence,
    /// How messages are read that no mechanism has changed.
    usual: PayloadSemantics,
    staleness: Staleness,
    tail: Option<TailMean>,
    clusters: Vec<Cluster>,
    is_simulated: bool,
}

/// The model of a cluster, and the open round's sum of those who help it.
struct Cluster {
    model: GlobalModel,
    inbox: Inbox,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundReport {
    pub round: u32,
    /// None where the mechanism hides who takes part.
    pub n_contributions: Option<u32>,
    /// Clients of the round that an earlier message, or the zero vector, stood in for.
    pub n_stand_ins: u32,
    /// Euclidean norm of the aggregated step, noise included, before the optimiser.
    pub step_norm: f64,
    /// Steps of clusters that would have made a parameter infinite, and were dropped.
    pub n_dropped_clusters: u32,
}

impl Coordinator {
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        let rule = setup.semantics()?;
        let Setup {
            n_clients, defence, noise_shares, divisor, staleness, average_from, rule: usual, is_simulated, ..
        } = setup;
        let (privacy, mode) = (Arc::clone(&setup.privacy), setup.privacy.mode());
        let clusters = cluster_models(&setup, rule)?;
        let model = GlobalModel::new(setup, rule)?;
        staleness.check()?;
        defence.check()?;
        mode.admit(rule.needs_single_updates())?;
        mode.admit(defence.needs_single_updates())?;
        if !defence.only_sums() && rule.is_protected_sum() {
            return Err(SetupError::OnlySums);
        }
        let n_params = model.master.len();
        let new_buffer = || RoundBuffer::new(rule, defence.start(), n_clients, n_params, defence.stand_ins);
        let buffer = (!defence.only_sums()).then(new_buffer);
        let inbox = Inbox::new(rule, n_params);
        let tail = average_from.map(|round| TailMean::new(round, n_params));
        Ok(Self {
            model,
            privacy,
            noise_shares,
            divisor,
            inbox,
            buffer,
            drawn: None,
            defence,
            usual,
            staleness,
            tail,
            clusters,
            is_simulated,
        })
    }

    /// Clients were enrolled: they are numbered below this now. A population never shrinks.
    pub fn enrol(&mut self, n_clients: u32) {
        let known = &mut self.model.task.n_clients;
        *known = n_clients.max(*known);
        self.buffer.iter_mut().for_each(|buffer| buffer.enrol(n_clients));
    }

    /// Says who was drawn into the open round, before messages come; those that have come are dropped. Nothing changes
    /// on an error.
    pub fn open(&mut self, drawn: &[u32]) -> Result<(), Rejected> {
        drawn.iter().try_for_each(|&client| self.check_known(client))?;
        self.drop_messages();
        let own = self.drawn.get_or_insert_default();
        own.clear();
        own.extend_from_slice(drawn);
        own.sort_unstable();
        own.dedup();
        Ok(())
    }

    /// Whether nobody may see who takes part, nor how many: then a round to which nobody came is closed like any other.
    pub const fn hides_who(&self) -> bool {
        self.inbox.rule.hides_who()
    }

    /// Whether single messages are refused: secure aggregation hands over sums of them.
    pub fn is_sealed(&self) -> bool {
        self.privacy.mode() == Mode::Sealed
    }

    pub const fn defence(&self) -> &Defence {
        &self.defence
    }

    pub const fn task(&self) -> &RoundTask {
        &self.model.task
    }

    /// What a payload of the open round must be; for [`Contribution::decode`](crate::protocol::Contribution::decode).
    pub const fn expected(&self) -> &Expected {
        &self.model.expected
    }

    /// The global model before it is rounded to f32.
    pub fn master(&self) -> &[f64] {
        &self.model.master
    }

    /// The ranker to use after the rounds so far: the newest model, or the mean of the last ones.
    pub fn ranker(&self) -> foltr_rank::Params {
        self.tail.as_ref().and_then(TailMean::mean).unwrap_or_else(|| self.model.task.global.clone())
    }

    pub fn cluster_models(&self) -> impl Iterator<Item = &[f32]> {
        self.clusters.iter().map(|cluster| cluster.model.task.global.as_slice())
    }

    /// Single messages of the open round.
    pub fn n_messages(&self) -> usize {
        self.buffer.as_ref().map_or_else(|| self.inbox.n_messages(), RoundBuffer::len)
    }

    /// How much of the last step came from each client that the rule looked at; empty for sums and for rules that take
    /// different coordinates from different clients.
    pub fn shares(&self) -> &[(u32, f64)] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.shares)
    }

    /// The step that the rule would make of these messages of the open round, without those that it refuses, and of
    /// stand-ins for all others; nothing changes, and no noise is added. For attackers who know the server.
    pub fn rehearse(&self, round: &Contributions) -> Option<Vec<f64>> {
        let mut taken = Contributions::new(round.n_params());
        for (client, weight, row) in round.iter() {
            let is_finite = row.iter().all(|value| value.is_finite());
            if is_finite && Rejected::check_length(client, row, self.defence.longest).is_ok() {
                taken.push(client, weight, row);
            }
        }
        match &self.buffer {
            Some(buffer) => buffer.rehearse(&self.model.task, taken, self.drawn.as_deref()),
            None => {
                let mut sum = PartialSum::new(round.n_params());
                taken.iter().for_each(|(_, weight, row)| sum.add_step(row, weight));
                sum.mean()
            }
        }
    }

    /// Aggregates what has come, lets the mechanism add its noise, moves the model and the clip norm, and opens the next
    /// round.
    ///
    /// `noise` must be fresh, whatever the round: closing two rounds with the same numbers gives their difference away.
    /// A deployment draws from the operating system.
    pub fn close(&mut self, noise: &mut dyn NoiseSource) -> Result<RoundReport, CloseError> {
        let round = self.model.task.round;
        if noise.is_simulated() && !self.is_simulated {
            return Err(CloseError::SimulatedNoise { round });
        }
        if self.helps_clusters_only() {
            let n_dropped_clusters = self.move_clusters();
            self.advance();
            return Ok(RoundReport {
                round,
                n_contributions: Some(0),
                n_stand_ins: 0,
                step_norm: 0.0,
                n_dropped_clusters,
            });
        }
        let (sum, mut step, n_stand_ins) = match &mut self.buffer {
            Some(buffer) => {
                let combined = buffer.combine(&self.model.task.global, round, self.drawn.as_deref());
                let combined = combined.ok_or(CloseError::Empty { round })?;
                (self.closing(combined.n_fresh, 0), combined.step, combined.n_stand_ins)
            }
            None => {
                let (sum, step) = self.fold()?;
                (sum, step, 0)
            }
        };
        let clip_norm = self.privacy.finish(&sum, noise, &mut step);
        let n_dropped_clusters = self.move_clusters();
        let moved = self.model.apply(&step);
        match &mut self.buffer {
            Some(buffer) if moved.is_ok() => buffer.remember(round),
            // What did not move the model has no shares in a step, and does not stand in for anything.
            Some(buffer) => buffer.shares.clear(),
            None => {}
        }
        if moved.is_ok() {
            self.model.task.clip_norm = clip_norm;
            self.inbox.rule = self.rule_of_round();
        }
        self.advance();
        moved.map_err(|index| CloseError::Overflow { round, index })?;
        Ok(RoundReport {
            round,
            n_contributions: (!self.inbox.rule.hides_who()).then_some(sum.n_contributions),
            n_stand_ins,
            step_norm: step.iter().map(|value| value * value).sum::<f64>().sqrt(),
            n_dropped_clusters,
        })
    }

    /// How messages of the open round are read.
    fn rule_of_round(&self) -> PayloadSemantics {
        self.privacy.rule(self.usual, self.divisor, self.model.task.clip_norm)
    }

    fn helps_clusters_only(&self) -> bool {
        let helped = self.clusters.iter().any(|cluster| cluster.inbox.n_contributions() > 0);
        helped && self.inbox.n_contributions() == 0
    }

    /// Moves the models of clusters by the means of those who helped them; says how many steps were dropped.
    fn move_clusters(&mut self) -> u32 {
        let mut n_dropped = 0;
        for Cluster { model, inbox } in &mut self.clusters {
            if let Some(step) = inbox.fold().mean() {
                n_dropped += u32::from(model.apply(&step).is_err());
            }
        }
        n_dropped
    }

    /// The sum of all messages, as the step that the rule makes of it.
    fn fold(&mut self) -> Result<(ClosingSum, Vec<f64>), CloseError> {
        let (round, rule, got) = (self.model.task.round, self.inbox.rule, self.inbox.n_contributions());
        match rule {
            PayloadSemantics::Shares { min_survivors: needed, .. } if got < needed => {
                self.advance();
                return Err(CloseError::TooFewSurvivors { round, got, needed });
            }
            // Whether anyone came must not be seen.
            rule if rule.hides_who() => {}
            _ if got == 0 => return Err(CloseError::Empty { round }),
            _ => {}
        }
        let total = self.inbox.fold();
        let (n_within, step) = (total.n_within(), total.step(&rule).ok_or(CloseError::Empty { round })?);
        Ok((self.closing(got, n_within), step))
    }

    fn closing(&self, n_contributions: u32, n_within: u32) -> ClosingSum {
        let (clip_norm, divisor, shares) = (self.model.task.clip_norm, self.divisor, self.noise_shares);
        ClosingSum { n_contributions, n_within, clip_norm, divisor, shares }
    }

    /// Opens the next round without a step: nobody contributed, or nobody shall.
    pub fn skip(&mut self) {
        self.advance();
    }

    fn advance(&mut self) {
        self.drop_messages();
        self.model.task.round += 1;
        if let Some(tail) = &mut self.tail {
            tail.add(self.model.task.round, &self.model.master);
        }
    }

    fn drop_messages(&mut self) {
        self.inbox.clear();
        self.clusters.iter_mut().for_each(|cluster| cluster.inbox.clear());
        self.buffer.iter_mut().for_each(RoundBuffer::clear);
        self.drawn = None;
    }
}

/// The models of clusters as a setup begins them.
fn cluster_models(setup: &Setup, rule: PayloadSemantics) -> Result<Vec<Cluster>, SetupError> {
    if !setup.clusters.is_empty() && (rule != PayloadSemantics::Averaging || setup.defence != Defence::NONE) {
        return Err(SetupError::Clusters);
    }
    let cluster = |initial: &foltr_rank::Params| {
        let model = GlobalModel::new(Setup { initial: initial.clone(), ..setup.clone() }, rule)?;
        Ok(Cluster { inbox: Inbox::new(rule, model.master.len()), model })
    };
    setup.clusters.iter().map(cluster).collect()
}

impl fmt::Debug for Coordinator {
    /// Says nothing of the messages of the open round: their sum has no noise yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("task", &self.model.task)
            .field("privacy", &self.privacy)
            .finish_non_exhaustive()
    }
}
