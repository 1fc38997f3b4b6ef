//! After a crash: is everything there that was acknowledged, and is every release made of what is there, once?

use std::collections::BTreeMap;

use foltr_federation::protocol::Release;

use super::site::Site;
use crate::database::{Connection, DatabaseError};
use crate::store::contributions::{self, ContributionKey};
use crate::store::{plans, releases, rounds};
use crate::tests::simulation::plans::{BUFFER, Kind};
use crate::verifying;

const TOLERANCE: f64 = 1e-4;

impl Site {
    /// The server opens, and what it has is sound.
    pub fn check(&mut self) {
        let service = self.service.as_ref().expect("it was started");
        let problems = verifying::before_start(service).expect("a store that can be read");
        assert_eq!(problems, Vec::<String>::new(), "before the start");
        let report = verifying::everything(service).expect("a store that can be read");
        assert_eq!(report.problems, Vec::<String>::new());
        let pool = &service.pool;
        pool.read(|tables| self.check_acknowledged(tables)).expect("a store that can be read");
        pool.read(|tables| self.check_place(tables)).expect("a store that can be read");
        match self.kind {
            Kind::Buffered => pool.read(|tables| self.check_versions(tables)),
            _ => pool.read(|tables| self.check_releases(tables)),
        }
        .expect("a store that can be read");
        self.look();
    }

    fn check_acknowledged(&self, tables: &mut dyn Connection) -> Result<(), DatabaseError> {
        for sent in &self.acknowledged {
            let plan = plans::number_of(tables, 1, &sent.plan)?.expect("its plan is there");
            let key = ContributionKey { federation: 1, plan, round: sent.round, number: sent.number };
            let stored = contributions::find(tables, &key)?;
            let stored = stored.unwrap_or_else(|| panic!("the contribution {key:?} was acknowledged and is lost"));
            assert_eq!((stored.hash, stored.time), (sent.hash, sent.time), "{key:?}");
        }
        Ok(())
    }

    /// Closed rounds do not open again, and releases that were seen do not change.
    fn check_place(&self, tables: &mut dyn Connection) -> Result<(), DatabaseError> {
        let Some((plan, round, newest)) = self.seen else { return Ok(()) };
        let row = crate::store::federations::find(tables, 1)?;
        assert!((row.plan, row.round) >= (plan, round), "{row:?} is before round {round} of plan {plan}");
        let header = releases::headers(tables, 1, 0, newest.version, 1)?;
        assert_eq!(header.first().map(|header| header.id()), Some(newest), "a release that was seen");
        Ok(())
    }

    fn delta(&self, hash: &foltr_federation::Fingerprint) -> (usize, [f64; 2]) {
        *self.sent.get(hash.as_bytes()).unwrap_or_else(|| panic!("{hash} was never sent"))
    }

    /// Every release follows from the one before it and what was sent to its round.
    fn check_releases(&self, tables: &mut dyn Connection) -> Result<(), DatabaseError> {
        let mut models: Vec<[f64; 2]> = Vec::new();
        for (release, cause) in all_releases(tables)? {
            let found = [0, 1].map(|column| f64::from(release.params()[column]));
            let plan = plans::number_of(tables, 1, &release.header().plan)?.expect("its plan is there");
            let newest = models.last().copied();
            let expected = match (cause.split_once(' '), cause.strip_prefix("rollback to ")) {
                (_, Some(version)) => models[version.parse::<usize>().expect("a version")],
                (Some(("round", round)), _) => {
                    let round = round.parse().expect("a round");
                    let sent = contributions::of_round(tables, 1, plan, round, 0)?;
                    let deltas: Vec<_> = sent.iter().map(|stored| self.delta(&stored.hash).1).collect();
                    add_mean(newest.expect("there is one before"), &deltas)
                }
                _ => newest.unwrap_or([0.0; 2]),
            };
            assert_near(found, expected, &cause);
            models.push(found);
        }
        Ok(())
    }

    /// Without rounds: what is there, in the order in which it was sent, fills one buffer after the other.
    fn check_versions(&self, tables: &mut dyn Connection) -> Result<(), DatabaseError> {
        let mut sent: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
        let row = crate::store::federations::find(tables, 1)?;
        for round in 0..=row.round {
            let stored = contributions::of_round(tables, 1, row.plan, round, 0)?;
            sent.extend(stored.iter().map(|stored| self.delta(&stored.hash)));
        }
        let n_closed = rounds::newest(tables, 1, u32::MAX)?.len();
        assert_eq!(sent.len(), n_closed * BUFFER + row.n_contributions as usize, "contributions in all versions");
        let deltas: Vec<[f64; 2]> = sent.into_values().collect();
        let (mut model, mut buffers) = ([0.0; 2], deltas.chunks_exact(BUFFER));
        for (release, cause) in all_releases(tables)? {
            if cause.starts_with("version") {
                model = add_mean(model, buffers.next().expect("as many as versions"));
            }
            assert_near([0, 1].map(|column| f64::from(release.params()[column])), model, &cause);
        }
        Ok(())
    }
}

fn all_releases(tables: &mut dyn Connection) -> Result<Vec<(Release, String)>, DatabaseError> {
    let mut listed = releases::list(tables, 1, u32::MAX)?;
    listed.reverse();
    let read = |it: releases::Listed| Ok((releases::find(tables, 1, 0, it.header.unverified().version, 2)?, it.cause));
    listed.into_iter().map(read).collect()
}

fn add_mean(model: [f64; 2], deltas: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|column| {
        let sum: f64 = deltas.iter().map(|delta| delta[column]).sum();
        model[column] + sum / deltas.len().max(1) as f64
    })
}

fn assert_near(found: [f64; 2], expected: [f64; 2], cause: &str) {
    let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < TOLERANCE);
    assert!(is_near, "the release of {cause} is {found:?}, and its contributions make {expected:?}");
}
