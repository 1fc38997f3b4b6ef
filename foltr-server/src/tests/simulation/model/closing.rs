//! When a round closes, and what it makes of the updates in it.

use super::{LEASE, Model, Vector};
use crate::store::federations::Phase;
use crate::tests::simulation::plans::{Kind, QUORUM};

/// A round that a replica has begun to close.
pub struct ClosingModel {
    pub fence: u64,
    /// The models of shards, once they are computed.
    pub folded: Option<Vec<Vector>>,
}

impl Model {
    pub fn tick(&mut self) {
        match self.phase {
            Phase::Waiting => self.open_if_ready(),
            Phase::Open if !self.is_asynchronous() && self.is_too_late() => {
                self.staged_until = self.staged_until.min(self.now + self.settings.stage);
                self.deadline = self.staged_until.max(self.now) + self.settings.round_seconds;
            }
            Phase::Open if !self.is_asynchronous() && self.is_due() => {
                if self.open.is_empty() {
                    self.deadline = self.now + self.settings.round_seconds;
                } else {
                    self.close(true);
                }
            }
            Phase::Closing => self.close(false),
            Phase::Open | Phase::Finished => {}
        }
    }

    /// The clock went back.
    fn is_too_late(&self) -> bool {
        let staged = self.now + self.settings.stage;
        !self.is_held && (self.staged_until > staged || self.deadline > staged + self.settings.round_seconds)
    }

    fn is_due(&self) -> bool {
        let awaited = match self.kind() {
            Kind::Quorum => QUORUM as usize,
            Kind::Lottery => self.n_wanted,
            _ => self.n_active(),
        };
        // Whoever waits for all devices does not count those that were revoked since they came.
        let n_come = match self.kind() {
            Kind::Quorum | Kind::Lottery => self.open.len(),
            _ => self.open.iter().filter(|(number, _)| self.devices[*number as usize].1).count(),
        };
        let is_full = n_come >= awaited.max(1);
        !self.is_held && self.now >= self.staged_until && (self.now >= self.deadline || is_full)
    }

    pub fn close(&mut self, is_open: bool) {
        if let Some(mut closing) = self.begin_closing(is_open) {
            self.fold_round(&mut closing);
            self.publish_round(closing);
        }
    }

    /// Why the operator cannot close the round now.
    pub fn cannot_close(&self) -> bool {
        self.is_held || self.phase != Phase::Open || self.is_asynchronous() || self.open.is_empty()
    }

    pub fn begin_closing(&mut self, is_open: bool) -> Option<ClosingModel> {
        let is_abandoned = self.lease_until <= self.now || self.lease_until > self.now + LEASE;
        let may_begin = self.phase == Phase::Open || self.phase == Phase::Closing && !is_open && is_abandoned;
        if self.is_held || !may_begin {
            return None;
        }
        self.phase = Phase::Closing;
        self.fence += 1;
        self.lease_until = self.now + LEASE;
        Some(ClosingModel { fence: self.fence, folded: None })
    }

    pub fn is_closed_by(&self, closing: &ClosingModel) -> bool {
        self.phase == Phase::Closing && self.fence == closing.fence
    }

    pub fn fold_round(&self, closing: &mut ClosingModel) {
        closing.folded = Some(self.fold());
    }

    /// Only by who began last.
    pub fn publish_round(&mut self, closing: ClosingModel) {
        if let (true, Some(folded)) = (self.is_closed_by(&closing), closing.folded) {
            self.master = folded;
            self.publish(false);
            self.end_round(false);
            self.round += 1;
            self.next_round();
        }
    }

    pub(super) fn fold(&self) -> Vec<Vector> {
        let n_shards = self.kind().n_shards();
        let of_shard = |shard: u32| {
            let of_shard = self.open.iter().filter(|(number, _)| number % n_shards == shard);
            of_shard.map(|(_, delta)| *delta).collect::<Vec<Vector>>()
        };
        let step = |shard: u32| match self.kind() {
            Kind::Lottery => median(&self.with_absent()),
            _ => mean(&of_shard(shard)),
        };
        let add = |(shard, master): (u32, &Vector)| {
            let step = step(shard);
            [master[0] + step[0], master[1] + step[1]]
        };
        (0..).zip(&self.master).map(add).collect()
    }

    /// Who was invited and did not come counts as zero.
    fn with_absent(&self) -> Vec<Vector> {
        let has_come = |number: u32| self.open.iter().any(|(own, _)| *own == number);
        let is_absent = |number: &u32| {
            let is_active = self.devices[*number as usize].1;
            is_active && self.is_invited(*number) && !has_come(*number)
        };
        let absent = (0..self.devices.len() as u32).filter(is_absent).map(|_| [0.0; 2]);
        self.open.iter().map(|(_, delta)| *delta).chain(absent).collect()
    }
}

fn mean(rows: &[Vector]) -> Vector {
    let n = rows.len().max(1) as f64;
    [0, 1].map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / n)
}

fn median(rows: &[Vector]) -> Vector {
    [0, 1].map(|column| {
        let mut values: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
    })
}
