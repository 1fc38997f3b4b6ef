//! A device contributes: its bytes are checked, made durable, and acknowledged by a signed receipt.
//!
//! With rounds a contribution is stored and folded when its round is closed. Without rounds it is folded in the same
//! transaction, since the order of arrival is part of the result.

use std::sync::Arc;

use foltr_federation::protocol::{
    Contribution, ContributionError, ContributionReceipt, DeviceId, Signed, UnknownStart,
};
use foltr_federation::{Fingerprint, Refused, Rejected};

use super::fold::fold;
use super::{Service, unavailable};
use crate::call::{Answer, Call};
use crate::database::{Connection, DatabaseError};
use crate::engine::MessageRefused;
use crate::federation::Federation;
use crate::problem::{Name, Problem};
use crate::snapshot::Snapshot;
use crate::store::contributions::{self, ContributionKey, Stored};
use crate::store::federations::{self, FederationRow, Phase};
use crate::store::plans;

/// How often an upload looks again when the federation changes under it.
const ATTEMPTS: usize = 4;

/// A checked contribution on its way into the store.
pub struct Upload {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) number: u32,
    pub(super) contribution: Contribution,
    pub(super) hash: Fingerprint,
    pub(super) bytes: Vec<u8>,
}

/// What became of an upload.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Durable, since this time; new or not.
    Taken {
        time: u64,
        is_new: bool,
    },
    /// There are other bytes of this device.
    OtherBytes,
    /// The federation has changed meanwhile.
    Changed,
    Refused(Problem),
    Failed(DatabaseError),
}

impl Service {
    pub(super) fn contribute(
        &self,
        federation: &Federation,
        call: &Call,
        round: u32,
        device: &str,
    ) -> Result<Answer, Problem> {
        if device != call.device {
            return Err(Problem::new(Name::OtherDevice, "the path is of another device than the one that signed"));
        }
        let refresh = || federation.refresh(&self.pool).map_err(|error| super::unusable(federation, &error));
        for _ in 0..ATTEMPTS {
            let snapshot = self.snapshot(federation)?;
            // After the snapshot: to revoke a device changes the revision, and it is looked at again.
            let row = self.authenticate(federation, call)?;
            let upload = match check(&snapshot, row.number, call, round) {
                Ok(upload) => upload,
                // Another replica may have gone on since, and a device drops what was refused.
                Err(_) if refresh()?.row.revision != snapshot.row.revision => continue,
                Err(problem) => return self.known_or(federation, &snapshot, call, round, row.number, problem),
            };
            let outcome = federation.uploads.submit(upload, |uploads| self.store_uploads(federation, uploads));
            match outcome.unwrap_or(Outcome::Failed(DatabaseError::Unavailable("the writer failed".into()))) {
                Outcome::Taken { time, is_new } => {
                    return receipt(federation, &snapshot, call, round, time, if is_new { 201 } else { 200 });
                }
                Outcome::OtherBytes => return Err(other_bytes()),
                Outcome::Refused(problem) => return Err(problem),
                Outcome::Failed(error) => return Err(unavailable(&error)),
                Outcome::Changed => drop(refresh()?),
            }
        }
        Err(Problem::later(Name::Unavailable, "the federation changes too fast", crate::randomness::spread(5)))
    }

    /// The receipt of a contribution that was taken earlier, whatever has happened since; or the problem.
    fn known_or(
        &self,
        federation: &Federation,
        snapshot: &Snapshot,
        call: &Call,
        round: u32,
        number: u32,
        problem: Problem,
    ) -> Result<Answer, Problem> {
        let Some(plan) = Contribution::plan_of(&call.body) else { return Err(problem) };
        let find = |tables: &mut dyn Connection| {
            let Some(plan) = plans::number_of(tables, federation.id, &plan)? else { return Ok(None) };
            contributions::find(tables, &ContributionKey { federation: federation.id, plan, round, number })
        };
        let hash = Contribution::hash_of(&call.body);
        match self.pool.read(find).map_err(|error| unavailable(&error))? {
            Some(Stored { hash: stored, time, .. }) if stored == hash => {
                receipt(federation, snapshot, call, round, time, 200)
            }
            Some(_) => Err(other_bytes()),
            None => Err(problem),
        }
    }

    fn store_uploads(&self, federation: &Federation, uploads: Vec<Upload>) -> Vec<Outcome> {
        let now = self.now();
        let written = self.pool.write(|tables| {
            let row = federations::lock(tables, federation.id)?;
            // Of the plan in force: those to another one are looked at again.
            let in_force = uploads.iter().find(|upload| upload.snapshot.row.plan == row.plan);
            match in_force.map(|upload| upload.snapshot.engine.is_asynchronous()) {
                Some(true) => fold(tables, federation, row, &uploads, now),
                _ => store(tables, row, &uploads, now),
            }
        });
        match written {
            Ok((outcomes, is_due)) => {
                if is_due {
                    self.wake();
                }
                outcomes
            }
            Err(error) => uploads.iter().map(|_| Outcome::Failed(error.clone())).collect(),
        }
    }
}

fn other_bytes() -> Problem {
    Problem::new(Name::AlreadyContributed, "the device has contributed other bytes to this round")
}

/// Everything that can be said about a contribution before it is stored.
fn check(snapshot: &Arc<Snapshot>, number: u32, call: &Call, round: u32) -> Result<Upload, Problem> {
    let parts = &snapshot.parts;
    let contribution = Contribution::decode(&call.body, &parts.hash, &parts.expected).map_err(|error| match error {
        ContributionError::Plan { .. } => Problem::new(Name::OtherPlan, error.to_string()),
        error => Problem::new(Name::Malformed, error.to_string()),
    })?;
    if contribution.device.to_string() != call.device {
        return Err(Problem::new(Name::OtherDevice, "the contribution is of another device than the one that signed"));
    }
    if contribution.round != round {
        return Err(Problem::new(Name::Malformed, "the contribution is of another round than the path"));
    }
    check_round(&snapshot.row, snapshot.engine.is_asynchronous(), round)?;
    check_invited(&snapshot.row, number, &contribution)?;
    let shard = parts.plan.shard_of(number);
    let message =
        contribution.clone().into_message(number, snapshot.engine.task(shard), &snapshot.shards[shard as usize].starts);
    let message = message.map_err(unknown_start)?;
    snapshot.engine.check(&message).map_err(refused)?;
    let hash = Contribution::hash_of(&call.body);
    Ok(Upload { snapshot: Arc::clone(snapshot), number, contribution, hash, bytes: call.body.clone() })
}

fn check_round(row: &FederationRow, is_asynchronous: bool, round: u32) -> Result<(), Problem> {
    let is_open = row.phase == Phase::Open && (is_asynchronous || row.round == round);
    if is_open { Ok(()) } else { Err(Problem::new(Name::RoundClosed, format!("round {round} is not open"))) }
}

fn check_invited(row: &FederationRow, number: u32, contribution: &Contribution) -> Result<(), Problem> {
    let is_invited = row.lottery.is_none_or(|lottery| number < row.n_eligible && lottery.invites(&contribution.device));
    if is_invited {
        return Ok(());
    }
    Err(Problem::new(Name::NotInvited, format!("the lottery of round {} did not invite this device", row.round)))
}

pub(super) fn unknown_start(error: UnknownStart) -> Problem {
    Problem::new(Name::UnknownStart, error.to_string())
}

pub(super) fn refused(error: MessageRefused) -> Problem {
    let name = match &error {
        MessageRefused::Rounds(Rejected::Round { .. }) => Name::RoundClosed,
        MessageRefused::Rounds(Rejected::TooStale { .. } | Rejected::UnknownRelease { .. })
        | MessageRefused::Asynchronous(Refused::TooStale { .. } | Refused::UnknownVersion { .. }) => Name::UnknownStart,
        MessageRefused::Rounds(Rejected::NotDrawn { .. }) => Name::NotInvited,
        MessageRefused::Asynchronous(Refused::RateLimit { .. }) => Name::BufferLimit,
        _ => Name::UpdateRefused,
    };
    Problem::new(name, error.to_string())
}

/// Stores contributions to the open round; says whether the round may be due.
fn store(
    tables: &mut dyn Connection,
    row: FederationRow,
    uploads: &[Upload],
    now: u64,
) -> Result<(Vec<Outcome>, bool), DatabaseError> {
    // What was checked against another state is checked again.
    let is_current = |upload: &&Upload| {
        let Snapshot { row: seen, engine, .. } = &*upload.snapshot;
        seen.revision == row.revision && row.phase == Phase::Open && !engine.is_asynchronous()
    };
    let current: Vec<&Upload> = uploads.iter().filter(is_current).collect();
    let key = |upload: &Upload| ContributionKey {
        federation: row.id,
        plan: row.plan,
        round: row.round,
        number: upload.number,
    };
    let rows: Vec<_> =
        current.iter().map(|upload| (key(upload), &upload.hash, Some(upload.bytes.as_slice()))).collect();
    let mut inserted = contributions::insert(tables, &rows, now)?.into_iter();
    let (mut outcomes, mut n_new) = (Vec::with_capacity(uploads.len()), 0);
    for upload in uploads {
        outcomes.push(match is_current(&upload).then(|| inserted.next()).flatten() {
            None => Outcome::Changed,
            Some(true) => {
                n_new += 1;
                Outcome::Taken { time: now, is_new: true }
            }
            Some(false) => before(tables, &key(upload), &upload.hash)?,
        });
    }
    let n_contributions = row.n_contributions + n_new;
    if n_new > 0 {
        federations::set_n_contributions(tables, row.id, n_contributions)?;
    }
    Ok((outcomes, n_contributions >= row.n_wanted))
}

/// What became of a contribution whose place is taken.
pub(super) fn before(
    tables: &mut dyn Connection,
    key: &ContributionKey,
    hash: &Fingerprint,
) -> Result<Outcome, DatabaseError> {
    Ok(match contributions::find(tables, key)? {
        Some(stored) if stored.hash == *hash => Outcome::Taken { time: stored.time, is_new: false },
        _ => Outcome::OtherBytes,
    })
}

fn receipt(
    federation: &Federation,
    snapshot: &Snapshot,
    call: &Call,
    round: u32,
    time: u64,
    status: u16,
) -> Result<Answer, Problem> {
    let device = crate::hex::decode(&call.device).map(DeviceId::from_bytes);
    let device = device.ok_or_else(|| Problem::new(Name::BadRequest, "foltr-device must be 64 hexadecimal digits"))?;
    let plan = Contribution::plan_of(&call.body).unwrap_or(snapshot.parts.hash);
    let contribution = Contribution::hash_of(&call.body);
    let receipt = ContributionReceipt { plan, round, device, contribution, time };
    let signed = Signed::sign(receipt, &federation.key());
    let signed = signed.map_err(|error| Problem::new(Name::Internal, error.to_string()))?;
    Ok(Answer::bytes(status, signed.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hostile::replicas::buffered;
    use crate::tests::world::{NAME, TestStore, World, averaging, plan_of, settings};

    fn upload(world: &World) -> Upload {
        let federation = &world.service.federations[NAME];
        let contribution = world.contribution(0, [1.0, 0.0]);
        let call = world.devices[0].upload(&contribution);
        let snapshot = federation.refresh(&world.service.pool).expect("a store");
        check(&snapshot, 0, &call, contribution.round).unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    #[test]
    fn a_batch_may_have_contributions_to_plans_with_and_without_rounds() {
        for (before, after) in [(averaging(10), buffered(2)), (buffered(2), averaging(10))] {
            let mut world = World::new(TestStore::sqlite(), &plan_of(before, false), settings());
            world.enrol(1);
            let old = upload(&world);
            world.service.change_plan(NAME, &plan_of(after, false), None).expect("another plan");
            let uploads = vec![old, upload(&world)];
            let outcomes = world.service.store_uploads(&world.service.federations[NAME], uploads);
            assert!(matches!(outcomes[..], [Outcome::Changed, Outcome::Taken { is_new: true, .. }]), "{outcomes:?}");
            let report = crate::verifying::everything(&world.service).expect("a store");
            assert_eq!(report.problems, Vec::<String>::new());
            // Without rounds the bytes are folded at once, and not stored.
            let key = ContributionKey { federation: 1, plan: 2, round: 0, number: 0 };
            let stored = world.service.pool.read(|tables| find(tables, &key)).expect("a store").expect("stored");
            let is_asynchronous = world.row().deadline == crate::rounds::NO_DEADLINE;
            assert_eq!(stored.bytes.is_none(), is_asynchronous);
        }
    }

    fn find(tables: &mut dyn Connection, key: &ContributionKey) -> Result<Option<Stored>, DatabaseError> {
        contributions::find(tables, key)
    }
}
