//! When a round closes: everybody that it waits for has come, or its time is over.

use super::{NO_DEADLINE, RoundError};
use crate::database::DatabaseError;
use crate::federation::Federation;
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::snapshot::{PlanParts, Snapshot};
use crate::store::contributions;
use crate::store::federations::{self, FederationRow, Phase};

impl Service {
    pub(super) fn close_if_due(
        &self,
        federation: &Federation,
        snapshot: &Snapshot,
        now: u64,
    ) -> Result<(), RoundError> {
        let row = self.pool.read(|tables| federations::find(tables, federation.id))?;
        if row.revision != snapshot.row.revision {
            return Ok(());
        }
        if is_too_late(&row, &federation.settings, now) {
            return self.bring_forward(federation, now);
        }
        if !is_due(&row, &snapshot.parts, now) {
            return Ok(());
        }
        if row.n_contributions == 0 && !snapshot.engine.hides_who() {
            return self.extend(federation, now);
        }
        if now < row.deadline && !self.has_everybody_come(&row, &snapshot.parts)? {
            return Ok(());
        }
        self.close(federation, &row)
    }

    /// Whether a round that waits for everybody has a contribution of every active device. Those of devices that were
    /// revoked since are counted in the round, and not here.
    fn has_everybody_come(&self, row: &FederationRow, parts: &PlanParts) -> Result<bool, DatabaseError> {
        if row.lottery.is_some() || parts.plan.quorum().is_some() {
            return Ok(true);
        }
        let n_come = self.pool.read(|tables| contributions::n_of_active(tables, row.id, row.plan, row.round))?;
        Ok(n_come >= row.n_active)
    }

    /// Nobody has come: the round stays open for as long again.
    fn extend(&self, federation: &Federation, now: u64) -> Result<(), RoundError> {
        self.pool.write(|tables| -> Result<(), DatabaseError> {
            let mut row = federations::lock(tables, federation.id)?;
            if row.phase == Phase::Open && row.n_contributions == 0 && row.deadline <= now {
                row.deadline = now.saturating_add(federation.settings.round_seconds);
                row.revision += 1;
                federations::update(tables, &row)?;
            }
            Ok(())
        })?;
        federation.refresh(&self.pool)?;
        Ok(())
    }

    /// No round waits without bound: its times are those of one that opens now at the latest.
    fn bring_forward(&self, federation: &Federation, now: u64) -> Result<(), RoundError> {
        let settings = &federation.settings;
        self.pool.write(|tables| -> Result<(), DatabaseError> {
            let mut row = federations::lock(tables, federation.id)?;
            if row.phase == Phase::Open && is_too_late(&row, settings, now) {
                row.staged_until = row.staged_until.min(now.saturating_add(settings.stage_seconds));
                row.deadline = row.staged_until.max(now).saturating_add(settings.round_seconds);
                row.revision += 1;
                federations::update(tables, &row)?;
            }
            Ok(())
        })?;
        federation.refresh(&self.pool)?;
        Ok(())
    }
}

/// Whether a round may close: everybody that it waits for has come, or its time is over.
pub fn is_due(row: &FederationRow, parts: &PlanParts, now: u64) -> bool {
    if row.is_held || now < row.staged_until {
        return false;
    }
    now >= row.deadline || row.n_contributions >= awaited(row, parts)
}

/// How many contributions close a round before its deadline.
pub fn awaited(row: &FederationRow, parts: &PlanParts) -> u32 {
    let awaited = match parts.plan.quorum() {
        _ if row.lottery.is_some() => row.n_wanted,
        Some(size) => size,
        None => row.n_active,
    };
    awaited.max(1)
}

/// Whether the times of an open round are later than those of one that would open now: it opened before the clock went back.
fn is_too_late(row: &FederationRow, settings: &FederationSettings, now: u64) -> bool {
    let staged = now.saturating_add(settings.stage_seconds);
    let latest = staged.saturating_add(settings.round_seconds);
    !row.is_held && row.deadline != NO_DEADLINE && (row.staged_until > staged || row.deadline > latest)
}
