//! Rankers on their way to becoming rows.

use std::collections::VecDeque;

use foltr_rank::learn::OwnRanker;
use foltr_rank::{Params, Shape};
use foltr_simulation::client_round::RoundStats;

use super::evaluator::{OwnValues, RunEvaluator};
use super::own_block::{OwnBlock, OwnRound};
use super::round_rows::RoundRows;
use super::trainer::Trainer;
use crate::evaluate::SNAPSHOTS;
use crate::rows::{ClientValue, MetricName, QueryValue, Row};
use crate::spec::Split;

pub(super) struct Recorder<'a, 's> {
    pub(super) shape: Shape,
    evaluator: RunEvaluator<'a>,
    /// Global rankers that wait to be evaluated together.
    pending: Vec<(usize, Params)>,
    /// Rankers of clients that do.
    own: OwnBlock,
    /// Rows, each behind so many rounds of these.
    waiting: VecDeque<(usize, Row)>,
    rounds: RoundRows,
    /// Whether pending rankers are of unlearning.
    is_unlearning: bool,
    /// The newest value of the first metric.
    pub(super) newest: Option<f64>,
    /// What the rankers evaluated last are worth to every client, if clients differ.
    pub(super) clients: Vec<ClientValue>,
    /// Refused messages and dropped steps of the rounds so far.
    losses: [u64; 2],
    sink: &'s mut dyn FnMut(Row),
}

impl<'a, 's> Recorder<'a, 's> {
    pub(super) fn new(shape: Shape, evaluator: RunEvaluator<'a>, sink: &'s mut dyn FnMut(Row)) -> Self {
        Self {
            shape,
            evaluator,
            pending: Vec::new(),
            own: OwnBlock::default(),
            waiting: VecDeque::new(),
            rounds: RoundRows::new(1, 0),
            is_unlearning: false,
            newest: None,
            clients: Vec::new(),
            losses: [0; 2],
            sink,
        }
    }

    pub(super) fn with_rounds(self, rounds: RoundRows) -> Self {
        Self { rounds, ..self }
    }

    /// Rows leave in the order of rounds: those behind rankers that are not evaluated yet wait.
    pub(super) fn send(&mut self, round: usize, metric: MetricName, value: f64) {
        let row = Row { round, metric, value };
        match self.own.rounds.len() {
            0 => (self.sink)(row),
            n_before => self.waiting.push_back((n_before, row)),
        }
    }

    pub(super) fn round(&mut self, round: usize, stats: &RoundStats, cutoff: usize, trainer: &Trainer<'_>) {
        // A round that nobody came to has no mean.
        if stats.n_clients > 0 {
            let n_clients = stats.n_clients as f64;
            self.rounds.add(MetricName::OnlineNdcg(cutoff), stats.ndcg / n_clients);
            self.rounds.add(MetricName::OnlineMaxRr, stats.max_rr / n_clients);
        }
        if let Some(time) = trainer.time() {
            self.rounds.add(MetricName::SimulatedTime, time);
        }
        if let Some(share) = trainer.attacker_share() {
            self.rounds.add(MetricName::AttackerShare, share);
        }
        if let Some(share) = trainer.refused_share() {
            self.rounds.add(MetricName::RefusedReleases, share);
        }
        for (metric, value) in self.rounds.after(round) {
            self.send(round, metric, value);
        }
        let losses = [trainer.n_refused(), trainer.n_dropped_steps()];
        let before = std::mem::replace(&mut self.losses, losses);
        for (i, metric) in [MetricName::RefusedMessages, MetricName::DroppedSteps].into_iter().enumerate() {
            if losses[i] > before[i] {
                self.send(round, metric, losses[i] as f64);
            }
        }
    }

    pub(super) fn snapshot(&mut self, round: usize, params: &[f32]) {
        self.pending.push((round, params.to_vec()));
        if self.pending.len() == SNAPSHOTS {
            self.flush_global();
        }
    }

    /// The global ranker after a round of unlearning; 0 is before it.
    pub(super) fn unlearning(&mut self, round: usize, params: &[f32]) {
        if !self.is_unlearning {
            self.flush();
            self.is_unlearning = true;
        }
        self.snapshot(round, params);
    }

    pub(super) fn flush(&mut self) {
        self.flush_global();
        self.flush_own();
    }

    fn flush_global(&mut self) {
        let (rounds, models): (Vec<usize>, Vec<Params>) = self.pending.drain(..).unzip();
        let name = if self.is_unlearning { MetricName::Unlearning } else { MetricName::Offline };
        let mut rows = Vec::new();
        for split in &self.evaluator.splits {
            let values = split.global(self.shape, &models);
            for (&round, values) in rounds.iter().zip(values) {
                self.newest = values.first().copied();
                for (&metric, value) in self.evaluator.metrics.iter().zip(values) {
                    rows.push((round, name(split.split, metric), value));
                }
            }
        }
        rows.into_iter().for_each(|(round, metric, value)| self.send(round, metric, value));
    }

    /// What a ranker is worth on every test and validation query that counts.
    pub(super) fn queries(&self, params: &Params) -> Vec<QueryValue> {
        let name = if self.is_unlearning { MetricName::Unlearning } else { MetricName::Offline };
        let mut queries = Vec::new();
        for split in self.evaluator.splits.iter().filter(|split| split.split != Split::Train) {
            for (query, values) in split.by_query(self.shape, params) {
                for (&metric, value) in self.evaluator.metrics.iter().zip(values) {
                    let metric = name(split.split, metric);
                    queries.extend(value.map(|value| QueryValue { query: query.into(), metric, value }));
                }
            }
        }
        queries
    }

    /// Takes the rankers that clients use after a round, if clients differ; what they are worth becomes known with those of
    /// other rounds.
    ///
    /// `global` is the ranker of those that have none of their own; `has_global` whether all help to train it.
    pub(super) fn own_rankers(
        &mut self,
        round: usize,
        global: Params,
        has_global: bool,
        own_ranker: impl Fn(u32) -> Option<OwnRanker> + Sync,
    ) {
        if !self.evaluator.has_different_clients() {
            return;
        }
        let global = OwnRanker { shape: self.shape, params: global };
        // Attackers, which have none of their own, come first.
        let is_compared = has_global && own_ranker(self.evaluator.n_clients - 1).is_some();
        let global = self.own.number_of(global);
        let number_of = |client: u32| own_ranker(client).map_or(global, |own| self.own.number_of(own));
        let of_clients = (0..self.evaluator.n_clients).map(number_of).collect();
        self.own.rounds.push(OwnRound { round, of_clients, global: is_compared.then_some(global) });
        if self.own.is_full() {
            self.flush_own();
        }
    }

    /// Evaluates all rankers that clients use and that wait for it.
    fn flush_own(&mut self) {
        let block = std::mem::take(&mut self.own);
        if block.rounds.is_empty() {
            return;
        }
        let of_split = |split| self.evaluator.own_values(split, &block);
        let values: Vec<OwnValues> = self.evaluator.splits.iter().map(of_split).collect();
        for (n_done, round) in (1..).zip(&block.rounds) {
            self.clients.clear();
            values.iter().enumerate().for_each(|(split, values)| self.send_own(round, split, values));
            while let Some(&(n_before, row)) = self.waiting.front()
                && n_before == n_done
            {
                (self.sink)(row);
                self.waiting.pop_front();
            }
        }
    }

    fn send_own(&mut self, round: &OwnRound, split: usize, values: &OwnValues) {
        let split = self.evaluator.splits[split].split;
        for (i, &metric) in self.evaluator.metrics.iter().enumerate() {
            let own = values.own(round, i);
            let mut send = |metric, value| (self.sink)(Row { round: round.round, metric, value });
            let (mean, worst) = mean_and_worst_decile(&own);
            self.newest = Some(mean);
            send(MetricName::Own(split, metric), mean);
            send(MetricName::WorstDecile(split, metric), worst);
            if let Some(global) = values.global(round, i) {
                send(MetricName::WorseOff(split, metric), worse_off(own.iter().zip(global)));
            }
            let name = MetricName::Own(split, metric);
            let of_client = |(client, &value): (u32, &f64)| {
                let group = self.evaluator.group(client);
                (!value.is_nan()).then_some(ClientValue { client, group, metric: name, value })
            };
            self.clients.extend((0..).zip(&own).filter_map(of_client));
        }
    }
}

/// The mean over clients, and that over the tenth of them that is served worst. Clients without a value do not count.
fn mean_and_worst_decile(values: &[f64]) -> (f64, f64) {
    let mut known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    known.sort_unstable_by(f64::total_cmp);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (mean(&known), mean(&known[..known.len().div_ceil(10)]))
}

/// The share of clients to whom their own ranker is worth less than the other one.
fn worse_off<'v>(pairs: impl Iterator<Item = (&'v f64, f64)>) -> f64 {
    let (mut n_worse, mut n) = (0_u32, 0_u32);
    for (&own, other) in pairs.filter(|(own, other)| !own.is_nan() && !other.is_nan()) {
        n_worse += u32::from(own < other);
        n += 1;
    }
    f64::from(n_worse) / f64::from(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deciles_and_losers_by_hand() {
        let values: Vec<f64> = (0..20).rev().map(f64::from).chain([f64::NAN]).collect();
        assert_eq!(mean_and_worst_decile(&values), (9.5, 0.5));
        assert_eq!(mean_and_worst_decile(&[3.0, 1.0]), (2.0, 1.0), "less than a client is one client");
        let pairs = [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (f64::NAN, 0.0)];
        assert_eq!(worse_off(pairs.iter().map(|(own, other)| (own, *other))), 1.0 / 3.0);
    }
}
