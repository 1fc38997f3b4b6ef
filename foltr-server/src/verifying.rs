//! Is everything that is stored as it was written?

use foltr_federation::protocol::{PublicKey, ReleaseChain, ReleaseError};

use crate::database::{Connection, DatabaseError};
use crate::engine::Engine;
use crate::federation::Federation;
use crate::history;
use crate::rounds::{is_intact, read_message};
use crate::service::Service;
use crate::snapshot::SnapshotError;
use crate::store::contributions::{self, Stored};
use crate::store::federations::Phase;
use crate::store::{plans, releases, rounds, states};

/// What was looked at, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub checked: Vec<String>,
    pub problems: Vec<String>,
}

/// Headers that are read at a time.
const BATCH: u32 = 1_000;

/// What a server looks at before it starts: the newest releases, the state, the open round. Damage is named.
pub fn before_start(service: &Service) -> Result<Vec<String>, DatabaseError> {
    let mut report = Report::default();
    for federation in service.federations.values() {
        look(service, federation, &mut report, false)?;
    }
    Ok(report.problems)
}

/// Everything: the database itself, every header from the first on, every round, receipts and histories.
pub fn everything(service: &Service) -> Result<Report, DatabaseError> {
    let mut report = Report::default();
    match service.pool.check() {
        Ok(()) => report.checked.push("the database finds no damage".into()),
        Err(DatabaseError::Damaged(why)) => report.problems.push(why),
        Err(error) => return Err(error),
    }
    for federation in service.federations.values() {
        look(service, federation, &mut report, true)?;
    }
    Ok(report)
}

fn look(
    service: &Service,
    federation: &Federation,
    report: &mut Report,
    is_thorough: bool,
) -> Result<(), DatabaseError> {
    let name = &federation.name;
    let snapshot = match federation.refresh(&service.pool) {
        Ok(snapshot) => snapshot,
        Err(SnapshotError::Database(error)) if !matches!(error, DatabaseError::Damaged(_)) => return Err(error),
        Err(error) => {
            report.problems.push(format!("{name}: {error}"));
            return Ok(());
        }
    };
    let mut run = |what: &str, check: &mut dyn FnMut(&mut dyn Connection) -> Result<String, DatabaseError>| {
        match service.pool.read(|tables| check(tables)) {
            Ok(found) => report.checked.push(format!("{name}: {found}")),
            Err(DatabaseError::Damaged(why)) => report.problems.push(format!("{name}: {what}: {why}")),
            Err(error) => return Err(error),
        }
        Ok(())
    };
    run("state", &mut |tables| {
        let state = states::read(tables, federation.id, snapshot.row.plan)?;
        Engine::load(&snapshot.parts.plan, &state).map_err(damaged)?;
        Ok("the coordinator's state can be read".into())
    })?;
    run("open round", &mut |tables| {
        let row = &snapshot.row;
        if !matches!(row.phase, Phase::Open | Phase::Closing) || snapshot.engine.is_asynchronous() {
            return Ok("no round is open".into());
        }
        let row = crate::store::federations::find(tables, row.id)?;
        let sent = contributions::of_round(tables, row.id, row.plan, row.round, 0)?;
        if row.revision == snapshot.row.revision {
            if sent.len() != row.n_contributions as usize {
                let why = format!("{} contributions are there, {} were acknowledged", sent.len(), row.n_contributions);
                return Err(damaged(why));
            }
            for stored in &sent {
                let number = stored.number;
                if !is_intact(stored) {
                    return Err(damaged(format!("contribution {number}: its bytes were altered")));
                }
                read_message(&snapshot, stored).map_err(|why| damaged(format!("contribution {number}: {why}")))?;
            }
        }
        Ok(format!("round {} has its {} contributions", row.round, sent.len()))
    })?;
    if is_thorough {
        let first = first_key(service, federation)?;
        run("releases", &mut |tables| check_chain(tables, federation, first))?;
        run("rounds", &mut |tables| check_rounds(tables, federation))?;
        run("history", &mut |tables| history::verify(tables, federation.id, &snapshot))?;
    }
    Ok(())
}

fn damaged(why: impl std::fmt::Display) -> DatabaseError {
    DatabaseError::Damaged(why.to_string())
}

/// The key that signed the first release: the present one, or one that an earlier release replaced.
fn first_key(service: &Service, federation: &Federation) -> Result<Option<PublicKey>, DatabaseError> {
    let own = federation.key().public_key();
    service.pool.read(|tables| {
        let first = releases::headers(tables, federation.id, 0, 0, 1)?;
        Ok(first.first().filter(|header| header.verify(&own).is_ok()).map(|_| own))
    })
}

/// Every header follows the one before; parameters are those of their header.
fn check_chain(
    tables: &mut dyn Connection,
    federation: &Federation,
    first_key: Option<PublicKey>,
) -> Result<String, DatabaseError> {
    let (mut n_headers, mut n_models) = (0, 0);
    for shard in releases::shards(tables, federation.id)? {
        let mut chain: Option<ReleaseChain> = None;
        let (mut next, mut key) = (0, first_key);
        loop {
            let headers = releases::headers(tables, federation.id, shard.shard, next, BATCH)?;
            let Some(last) = headers.last() else { break };
            let last = last.unverified().version;
            for header in &headers {
                let content = *header.unverified();
                let of_plan = chain.get_or_insert_with(|| {
                    ReleaseChain::new(content.plan, shard.shard, key.unwrap_or_else(|| federation.key().public_key()))
                });
                if of_plan.plan() != content.plan {
                    of_plan.change_plan(content.plan);
                }
                match of_plan.follow(header) {
                    Ok(_) => {}
                    // The key of before is not known: what it signed is chained by hashes to what the present one signed.
                    Err(ReleaseError::Signature(_)) if key.is_none() => {
                        let own = federation.key().public_key();
                        let known = content.next_key.filter(|next| *next == own);
                        let follows = content.previous == of_plan.newest().map(|newest| newest.hash);
                        if !follows {
                            return Err(damaged(format!(
                                "release {}: {}",
                                content.version,
                                ReleaseError::Fork { version: content.version }
                            )));
                        }
                        *of_plan = ReleaseChain::resume(content.plan, shard.shard, own, Some(header.id()));
                        key = known;
                    }
                    Err(error) => return Err(damaged(format!("release {}: {error}", content.version))),
                }
            }
            n_headers += headers.len();
            next = last + 1;
        }
        if next != shard.newest + 1 {
            return Err(damaged(format!("the newest release is {}, and the chain ends before {next}", shard.newest)));
        }
        n_models += check_models(tables, federation, shard.shard)?;
    }
    Ok(format!("{n_headers} releases follow each other, {n_models} with parameters"))
}

fn check_models(tables: &mut dyn Connection, federation: &Federation, shard: u32) -> Result<usize, DatabaseError> {
    let mut n_models = 0;
    for listed in releases::list(tables, federation.id, u32::MAX)? {
        let header = listed.header.unverified();
        if header.shard != shard || !listed.has_params {
            continue;
        }
        let bytes = releases::bytes(tables, federation.id, shard, header.version)?.unwrap_or_default();
        let n_params = (bytes.len() - listed.header.as_bytes().len()) / 4;
        let decoded = foltr_federation::protocol::Release::decode(&bytes, n_params);
        decoded.map_err(|error| damaged(format!("release {}: {error}", header.version)))?;
        n_models += 1;
    }
    Ok(n_models)
}

/// Every closed round still has the contributions that it was closed with, unless receipts were deleted by age.
fn check_rounds(tables: &mut dyn Connection, federation: &Federation) -> Result<String, DatabaseError> {
    let (mut n_rounds, mut n_receipts, mut n_old) = (0, 0, 0);
    for round in rounds::newest(tables, federation.id, u32::MAX)? {
        plans::find(tables, federation.id, round.plan)?;
        n_rounds += 1;
        if round.digest == [0; 32] {
            continue;
        }
        let sent: Vec<Stored> = contributions::of_round(tables, federation.id, round.plan, round.line.round, 0)?;
        if sent.len() < round.n_contributions as usize {
            n_old += 1;
            continue;
        }
        if contributions::digest(&sent) != round.digest {
            return Err(damaged(format!(
                "the contributions of round {} are not those it was closed with",
                round.line.round
            )));
        }
        n_receipts += sent.len();
    }
    let old = if n_old > 0 { format!(", {n_old} rounds have lost receipts by age") } else { String::new() };
    Ok(format!("{n_rounds} rounds with {n_receipts} receipts{old}"))
}
