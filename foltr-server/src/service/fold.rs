//! Contributions without rounds: folded in the transaction that stores them, in the order of arrival.

use std::sync::Arc;

use foltr_federation::protocol::SecretKey;
use foltr_federation::{Received, Refused};

use super::contribute::{Outcome, Upload, before, refused, unknown_start};
use crate::database::{Connection, DatabaseError};
use crate::engine::{Engine, MessageRefused};
use crate::federation::Federation;
use crate::operator::RoundLine;
use crate::problem::{Name, Problem};
use crate::snapshot::PlanParts;
use crate::store::contributions::{self, ContributionKey};
use crate::store::devices::{self, Status};
use crate::store::federations::{self, FederationRow, Phase};
use crate::store::rounds::{self, RoundRow};
use crate::store::{releases, states};

/// A federation without rounds while uploads are folded.
struct Folding {
    key: SecretKey,
    row: FederationRow,
    parts: Arc<PlanParts>,
    engine: Engine,
    now: u64,
}

fn damaged(error: impl std::fmt::Display) -> DatabaseError {
    DatabaseError::Damaged(error.to_string())
}

/// Folds contributions and publishes the versions that they lead to.
pub(super) fn fold(
    tables: &mut dyn Connection,
    federation: &Federation,
    row: FederationRow,
    uploads: &[Upload],
    now: u64,
) -> Result<(Vec<Outcome>, bool), DatabaseError> {
    // What a key signs that is no longer in force, no device follows.
    let key = federation.key();
    let has_key = row.public_key == *key.public_key().as_bytes();
    let is_open = row.phase == Phase::Open && !row.is_held && has_key;
    let is_current = |upload: &&Upload| upload.snapshot.row.plan == row.plan && is_open;
    let Some(first) = uploads.iter().find(is_current) else {
        return Ok((uploads.iter().map(|_| Outcome::Changed).collect(), false));
    };
    let parts = Arc::clone(&first.snapshot.parts);
    let engine = Engine::load(&parts.plan, &states::read(tables, row.id, row.plan)?).map_err(damaged)?;
    let plan = row.plan;
    let mut folding = Folding { key, row, parts, engine, now };
    let mut outcomes = Vec::with_capacity(uploads.len());
    for upload in uploads {
        outcomes.push(match upload.snapshot.row.plan == plan {
            true => folding.take(tables, upload)?,
            false => Outcome::Changed,
        });
    }
    states::write(tables, folding.row.id, plan, folding.engine.save())?;
    federations::update(tables, &folding.row)?;
    Ok((outcomes, false))
}

impl Folding {
    fn take(&mut self, tables: &mut dyn Connection, upload: &Upload) -> Result<Outcome, DatabaseError> {
        let Upload { number, contribution, hash, .. } = upload;
        // Another replica may have revoked it: there are no revisions to compare, since every version is one.
        let device = devices::find(tables, self.row.id, &contribution.device)?;
        if device.is_none_or(|device| device.status != Status::Active) {
            return Ok(Outcome::Refused(Problem::new(Name::Revoked, "the device was revoked or forgotten")));
        }
        let round = contribution.round;
        let key = ContributionKey { federation: self.row.id, plan: self.row.plan, round, number: *number };
        if contributions::find(tables, &key)?.is_some() {
            return before(tables, &key, hash);
        }
        let shards = releases::shards(tables, self.row.id)?;
        let shard = shards.first().ok_or_else(|| damaged("there is no release"))?;
        let starts = releases::starts(tables, self.row.id, shard, self.parts.n_starts())?;
        let message = match releases::message(contribution.clone(), *number, self.engine.task(0), &starts) {
            Ok(message) => message,
            Err(error) => return Ok(Outcome::Refused(unknown_start(error))),
        };
        let before = self.engine.task(0).global.clone();
        let received = match self.engine.receive(message) {
            Ok(received) => Some(received),
            // The buffer was dropped, with this contribution in it.
            Err(MessageRefused::Asynchronous(Refused::Overflow { .. })) => None,
            Err(error) => return Ok(Outcome::Refused(refused(error))),
        };
        contributions::insert(tables, &[(key, hash, None)], self.now)?;
        self.row.n_contributions += 1;
        match received {
            Some(Received::Buffered) => {}
            Some(Received::NewVersion) => self.publish(tables, shard.newest, &before)?,
            None => self.row.n_contributions = 0,
        }
        Ok(Outcome::Taken { time: self.now, is_new: true })
    }

    /// The release of a full buffer, and its line in the list of rounds.
    fn publish(&mut self, tables: &mut dyn Connection, newest: u32, before: &[f32]) -> Result<(), DatabaseError> {
        let (row, params) = (&mut self.row, self.engine.task(0).global.clone());
        let squares = params.iter().zip(before).map(|(new, old)| f64::from(new - old).powi(2));
        let step_norm = Some(squares.sum::<f64>().sqrt());
        let newest = releases::find(tables, row.id, 0, newest, params.len())?;
        let next = newest.next(self.parts.hash, params, &self.key).map_err(damaged)?;
        let cause = format!("version {}", self.engine.round());
        releases::publish(tables, row.id, &next, false, &cause, self.now)?;
        let line = RoundLine {
            round: row.round,
            opened_at: row.opened_at,
            closed_at: self.now,
            n_contributions: Some(row.n_contributions),
            n_wanted: row.n_wanted,
            step_norm,
            outcome: "closed".into(),
        };
        let n_contributions = row.n_contributions;
        rounds::insert(tables, row.id, &RoundRow { plan: row.plan, n_contributions, digest: [0; 32], line })?;
        row.revision += 1;
        (row.round, row.opened_at, row.n_contributions) = (self.engine.round(), self.now, 0);
        Ok(())
    }
}
