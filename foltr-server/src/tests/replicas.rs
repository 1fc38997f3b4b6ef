//! Two replicas on one store: one lags behind, dies, or takes long.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use foltr_federation::NoiseSource;

use super::world::{NAME, TestStore, World, averaging, plan_of, problem, settings, text};
use crate::database::DatabaseError;
use crate::randomness::{OsNoise, OsRandomness, Randomness};
use crate::store::federations::{self, Phase};

fn world(store: TestStore) -> World {
    let mut world = World::new(store, &plan_of(averaging(10), false), settings());
    world.enrol(2);
    world
}

#[test]
fn a_replica_that_lags_behind_takes_what_another_one_has_asked_for() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        let behind = world.replica(Box::new(OsRandomness::default()));
        let answer = behind.answer(&world.devices[0].upload(&world.contribution(0, [1.0, 0.0])));
        assert_eq!(answer.status, 201, "{name}: {}", text(&answer));
        world.contribute(1, [1.0, 0.0]);
        world.tick();
        // It has seen round 0 only.
        let answer = behind.answer(&world.devices[0].upload(&world.contribution(0, [2.0, 0.0])));
        assert_eq!(answer.status, 201, "{name}: {}", text(&answer));
        let mut never = world.contribution(0, [2.0, 0.0]);
        never.round = 7;
        let refused = behind.answer(&world.devices[0].upload(&never));
        assert_eq!(problem(&refused), "round-closed", "{name}: a round that never began");
    });
}

/// Both see that everybody has come; the slower one finds the next round open.
#[test]
fn a_round_that_nobody_found_due_is_not_closed() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        world.contribute(0, [1.0, 0.0]);
        world.contribute(1, [1.0, 0.0]);
        let (seen, slower) = (world.row(), world.replica(Box::new(OsRandomness::default())));
        world.tick();
        world.contribute(0, [1.0, 0.0]);
        slower.close(&slower.federations[NAME], &seen).expect("a store");
        let row = world.row();
        assert_eq!((row.phase, row.round, row.n_contributions), (Phase::Open, 1, 1), "{name}");
    });
}

#[test]
fn a_round_whose_replica_died_is_closed_by_another_within_seconds() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        world.contribute(0, [1.0, 0.0]);
        let half_closed = world.service.pool.write(|tables| {
            let mut row = federations::lock(tables, 1)?;
            (row.phase, row.fence, row.lease_until) = (Phase::Closing, row.fence + 1, world.service.now() + 3);
            row.revision += 1;
            federations::update(tables, &row)
        });
        half_closed.expect("a store");
        world.advance(2);
        world.tick();
        assert_eq!(world.row().phase, Phase::Closing, "{name}: it may live");
        world.advance(1);
        world.tick();
        assert_eq!((world.row().phase, world.row().round), (Phase::Open, 1), "{name}");
        assert_eq!(world.newest(0).params(), [1.0, 0.0], "{name}");
    });
}

/// Closing a round takes as long as the test wants.
struct Slow {
    noise: OsNoise,
    begun: SyncSender<()>,
    go_on: Receiver<()>,
}

impl Randomness for Slow {
    fn noise(&mut self, _: u32) -> &mut dyn NoiseSource {
        self.begun.send(()).expect("the test waits");
        self.go_on.recv().expect("the test goes on");
        &mut self.noise
    }

    fn lottery(&mut self, _: u32) -> [u8; 32] {
        [0; 32]
    }
}

#[test]
fn a_replica_that_takes_long_keeps_its_round() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        world.contribute(0, [1.0, 0.0]);
        world.contribute(1, [0.0, 1.0]);
        let seen = world.row();
        let ((begun, has_begun), (permit, go_on)) = (sync_channel(1), sync_channel(1));
        let slow = world.replica(Box::new(Slow { noise: OsNoise::default(), begun, go_on }));
        std::thread::scope(|threads| {
            let closing = threads.spawn(|| slow.close(&slow.federations[NAME], &seen));
            has_begun.recv().expect("it has begun");
            let before = world.row().lease_until;
            world.advance(2);
            let since = Instant::now();
            while world.row().lease_until == before {
                assert!(since.elapsed() < Duration::from_secs(20), "{name}: the lease is not renewed");
                std::thread::sleep(Duration::from_millis(20));
            }
            // The first lease is over.
            world.advance(2);
            world.tick();
            assert_eq!((world.row().phase, world.row().fence), (Phase::Closing, 1), "{name}");
            permit.send(()).expect("it waits");
            closing.join().expect("no panic").expect("it is closed");
        });
        assert_eq!((world.row().round, world.row().fence), (1, 1), "{name}");
        world.tick();
        assert_eq!(world.newest(0).params(), [0.5, 0.5], "{name}");
    });
}

/// What an older fence has folded is not published.
#[test]
fn a_replica_that_lost_its_round_publishes_nothing() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        world.contribute(0, [1.0, 0.0]);
        let seen = world.row();
        let ((begun, has_begun), (permit, go_on)) = (sync_channel(1), sync_channel(1));
        let lost = world.replica(Box::new(Slow { noise: OsNoise::default(), begun, go_on }));
        std::thread::scope(|threads| {
            let closing = threads.spawn(|| lost.close(&lost.federations[NAME], &seen));
            has_begun.recv().expect("it has begun");
            let over: Result<(), DatabaseError> = world.service.pool.write(|tables| {
                let mut row = federations::lock(tables, 1)?;
                row.lease_until = world.service.now();
                federations::update(tables, &row)
            });
            over.expect("a store");
            world.tick();
            assert_eq!(world.row().round, 1, "{name}: another one has closed it");
            world.contribute(0, [5.0, 0.0]);
            permit.send(()).expect("it waits");
            closing.join().expect("no panic").expect("no error");
        });
        assert_eq!((world.row().round, world.row().n_contributions), (1, 1), "{name}");
        assert_eq!(world.newest(0).params(), [1.0, 0.0], "{name}");
        let report = crate::verifying::everything(&world.service).expect("a store");
        assert_eq!(report.problems, Vec::<String>::new(), "{name}");
    });
}
