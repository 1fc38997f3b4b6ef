//! What is no longer needed goes, by stated rules and in small batches.

use crate::database::DatabaseError;
use crate::federation::Federation;
use crate::service::Service;
use crate::store::devices::{self, Status};
use crate::store::{contributions, federations, releases};

const DAY: u64 = 86_400;
/// Rows that one transaction takes away, so that uploads do not wait.
const BATCH: u32 = 500;

impl Service {
    /// Takes a batch of old receipts, old parameters and idle devices away.
    pub(crate) fn collect(&self, federation: &Federation, now: u64) -> Result<(), DatabaseError> {
        if !federation.is_time_to_collect(now) {
            return Ok(());
        }
        let settings = &federation.settings;
        let receipts_before = now.saturating_sub(settings.receipt_days.saturating_mul(DAY));
        self.pool.write(|tables| {
            contributions::delete_old(tables, federation.id, receipts_before, BATCH)?;
            for shard in releases::shards(tables, federation.id)? {
                let before = (shard.newest + 1).saturating_sub(settings.stored_releases);
                releases::drop_params(tables, federation.id, shard.shard, before, BATCH)?;
            }
            Ok(())
        })?;
        if settings.idle_days > 0 {
            self.revoke_idle(federation, now.saturating_sub(settings.idle_days.saturating_mul(DAY)))?;
        }
        Ok(())
    }

    fn revoke_idle(&self, federation: &Federation, before: u64) -> Result<(), DatabaseError> {
        self.pool.write(|tables| {
            let mut row = federations::lock(tables, federation.id)?;
            let idle = devices::unseen_since(tables, federation.id, before, BATCH)?;
            if idle.is_empty() {
                return Ok(());
            }
            for device in &idle {
                devices::set_status(tables, federation.id, device.number, Status::Revoked)?;
            }
            row.n_active = row.n_active.saturating_sub(idle.len() as u32);
            row.revision += 1;
            federations::update(tables, &row)
        })
    }

    /// Stores on which day devices were here.
    pub(crate) fn store_seen(&self, federation: &Federation) -> Result<(), DatabaseError> {
        let seen = federation.take_seen();
        if seen.is_empty() {
            return Ok(());
        }
        self.pool.write(|tables| devices::set_last_seen(tables, federation.id, &seen))
    }
}
