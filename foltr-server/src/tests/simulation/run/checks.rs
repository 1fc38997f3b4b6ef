//! Is what the server has stored what the model says?

use anyhow::{Result, ensure};
use foltr_federation::protocol::Release;

use super::Run;
use crate::database::{Connection, DatabaseError};
use crate::store::contributions::{self, Stored};
use crate::store::federations::{self, FederationRow, Phase};
use crate::store::{releases, rounds};
use crate::tests::simulation::model::Verdict;
use crate::tests::world::text;
use crate::verifying;

/// Parameters are small, and sums of powers of two divided by less than ten.
const TOLERANCE: f64 = 1e-4;

impl Run {
    /// After every operation.
    pub(super) fn check(&mut self) -> Result<()> {
        let row: FederationRow = self.store.read(|tables| federations::find(tables, 1))?;
        let model = &self.model;
        let n_open = model.open.len();
        let found = (row.phase, row.round, row.plan, row.is_held, row.n_contributions as usize, row.n_active as usize);
        let expected = (model.phase, model.round, model.plan_number(), model.is_held, n_open, model.n_active());
        ensure!(
            found == expected,
            "phase, round, plan, is held, contributions, devices: {found:?}, and not {expected:?}"
        );
        let has_deadline = model.phase == Phase::Open;
        ensure!(!has_deadline || row.deadline == model.deadline, "deadline {}, not {}", row.deadline, model.deadline);
        self.note((row.round, row.plan, n_open));
        self.check_open_round(&row)?;
        self.check_releases()
    }

    fn stored(&self, plan: i64, round: u32) -> Result<Vec<(u32, [u8; 32], u64)>> {
        let read = |tables: &mut dyn Connection| contributions::of_round(tables, 1, plan, round, 0);
        let stored: Vec<Stored> = self.store.read(read)?;
        Ok(stored.iter().map(|it| (it.number, *it.hash.as_bytes(), it.time)).collect())
    }

    /// Everything that was acknowledged is there, and nothing else.
    fn check_round(&self, plan: i64, round: u32) -> Result<()> {
        let of_round = self.model.sent.range((plan, round, 0)..=(plan, round, u32::MAX));
        let expected: Vec<_> =
            of_round.map(|((_, _, number), sent)| (*number, *sent.hash.as_bytes(), sent.time)).collect();
        let found = self.stored(plan, round)?;
        ensure!(found == expected, "round {round} of plan {plan} has {found:?}, and acknowledged were {expected:?}");
        Ok(())
    }

    fn check_open_round(&self, row: &FederationRow) -> Result<()> {
        self.check_round(row.plan, row.round)
    }

    /// New releases are made of those, and only those, who were acknowledged.
    fn check_releases(&mut self) -> Result<()> {
        for shard in 0..self.ids.len() {
            for version in self.ids[shard].len()..=self.model.newest() {
                let found = self.release(shard as u32, version as u32)?;
                let Some(release) = found else { anyhow::bail!("release {version} of shard {shard} is missing") };
                let expected = self.model.releases[version].params[shard];
                let is_equal =
                    release.params().iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < TOLERANCE);
                ensure!(is_equal, "release {version} of shard {shard} is {:?}, not {expected:?}", release.params());
                self.ids[shard].push(release.id());
            }
            let next = self.release(shard as u32, self.model.newest() as u32 + 1)?;
            ensure!(next.is_none(), "there is a release after {} of shard {shard}", self.model.newest());
        }
        Ok(())
    }

    fn release(&self, shard: u32, version: u32) -> Result<Option<Release>> {
        let bytes: Result<_, DatabaseError> = self.store.read(|tables| releases::bytes(tables, 1, shard, version));
        Ok(bytes?.map(|bytes| Release::decode(&bytes, 2)).transpose()?)
    }

    /// At the end: every round, every receipt, every chain.
    pub(super) fn check_everything(&mut self) -> Result<()> {
        for replica in 0..self.replicas.len() {
            self.restart(replica)?;
        }
        let report = verifying::everything(&self.replicas[0])?;
        ensure!(report.problems.is_empty(), "damage: {:?}", report.problems);
        self.check_rounds()?;
        self.check_receipts()?;
        (0..self.members.len()).try_for_each(|number| self.follow(number, number % 2))
    }

    fn check_rounds(&self) -> Result<()> {
        let found: Vec<rounds::RoundRow> = self.store.read(|tables| rounds::newest(tables, 1, u32::MAX))?;
        let found: Vec<_> = found.iter().map(|it| (it.plan, it.line.round, it.n_contributions as usize)).collect();
        let mut expected: Vec<_> = self.model.over.iter().map(|it| (it.plan, it.round, it.numbers.len())).collect();
        expected.sort_unstable();
        ensure!(found == expected, "rounds that are over: {found:?}, and not {expected:?}");
        for over in self.model.over.iter().filter(|over| !over.is_buffer) {
            self.check_round(over.plan, over.round)?;
            let sent = self.stored(over.plan, over.round)?;
            let numbers: Vec<u32> = sent.iter().map(|(number, ..)| *number).collect();
            ensure!(numbers == over.numbers, "round {} was closed with {:?}", over.round, over.numbers);
        }
        Ok(())
    }

    /// What was acknowledged once is acknowledged for ever, by the same receipt.
    fn check_receipts(&self) -> Result<()> {
        for member in &self.members {
            for past in &member.past {
                let answer = self.replicas[0].answer(&past.call);
                let verdict = self.model.verdict(&past.sending);
                let is_kept = matches!(verdict, Verdict::Known(_)) || verdict == Verdict::Refused("revoked");
                ensure!(is_kept, "{:?} was acknowledged, and now is {}", past.sending, text(&answer));
                self.compare(&past.sending, &past.call, &answer, &verdict)?;
            }
        }
        Ok(())
    }
}
