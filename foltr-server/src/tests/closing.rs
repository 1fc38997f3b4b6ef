//! Rounds that must not be closed, or not by this replica; and what came while one was about to be.

use std::sync::atomic::Ordering;

use super::world::{NAME, TestStore, World, averaging, plan_of, settings};
use crate::database::DatabaseError;
use crate::operator::Action;
use crate::rounds::{Gathered, RoundError};
use crate::store::contributions;
use crate::store::federations::Phase;

fn world(store: TestStore) -> World {
    let mut world = World::new(store, &plan_of(averaging(10), false), settings());
    world.enrol(2);
    world
}

#[test]
fn a_round_that_has_lost_a_contribution_is_not_closed() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        world.contribute(0, [1.0, 0.0]);
        world.contribute(1, [0.0, 1.0]);
        let deleted: Result<_, DatabaseError> = world.service.pool.write(|tables| {
            tables.execute_many("DELETE FROM contributions WHERE round = 0 AND number = $1", &[vec![1_u32.into()]])
        });
        assert_eq!(deleted, Ok(vec![1]), "{name}");
        world.advance(world.settings.round_seconds);
        let problems = world.service.tick();
        assert!(
            matches!(problems[..], [(_, RoundError::Lost { round: 0, found: 1, acknowledged: 2 })]),
            "{name}: {problems:?}"
        );
        assert_eq!(world.newest(0).header().version, 0, "{name}");
    });
}

/// The round was abandoned while a replica computed it, and the next one is being closed when it comes to publish.
#[test]
fn a_replica_that_was_overtaken_publishes_nothing() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        let federation = &world.service.federations[NAME];
        let begin = || world.service.begin_closing(federation, &world.row()).expect("a store").expect("a round");
        let fold = |row| world.service.fold_round(federation, row, Gathered::default()).expect("a store");
        world.contribute(0, [1.0, 0.0]);
        let begun = begin();
        let slow = fold(begun.clone()).expect("its round");
        world.act(Action::RollBack { version: 0 });
        world.contribute(1, [0.0, 1.0]);
        let next = begin();
        world.service.publish(federation, slow).expect("a store");
        assert_eq!((world.row().phase, world.newest(0).header().version), (Phase::Closing, 1), "{name}");
        assert!(fold(begun).is_none(), "{name}: it is not damaged, it is another one's");
        let fast = fold(next).expect("its round");
        world.service.publish(federation, fast).expect("a store");
        assert_eq!((world.newest(0).params(), world.row().round), ([0.0, 1.0].as_slice(), 2), "{name}");
    });
}

/// Most contributions are read before the round is marked. Others come meanwhile, on a clock that may go back.
#[test]
fn what_comes_while_a_round_is_about_to_be_closed_is_counted() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        let federation = &world.service.federations[NAME];
        for (back, expected) in [(0, [0.5, 0.5]), (1, [1.0, 1.0])] {
            world.contribute(0, [1.0, 0.0]);
            let seen = world.row();
            let gathered = world.service.gather(&seen).expect("a store");
            world.time.fetch_sub(back * 1_000, Ordering::Relaxed);
            world.contribute(1, [0.0, 1.0]);
            let marked = world.service.begin_closing(federation, &seen).expect("a store").expect("a round");
            let closing = world.service.fold_round(federation, marked, gathered).expect("a store").expect("its round");
            world.service.publish(federation, closing).expect("a store");
            assert_eq!(world.newest(0).params(), expected, "{name}, {back} s back");
        }
    });
}

#[test]
fn what_was_altered_after_it_came_is_not_counted() {
    TestStore::each(|store| {
        let name = store.name;
        let world = world(store);
        world.contribute(0, [1.0, 0.0]);
        world.contribute(1, [0.0, 1.0]);
        let altered: Result<_, DatabaseError> = world.service.pool.write(|tables| {
            let mut stored = contributions::of_round(tables, 1, 1, 0, 0)?;
            let mut bytes = stored.remove(1).bytes.expect("an open round");
            // The last digit of the last number: still a contribution, and not the one that was acknowledged.
            let at = bytes.len() - 4;
            bytes[at] ^= 1;
            let sql = "UPDATE contributions SET bytes = $1 WHERE round = 0 AND number = $2";
            tables.execute_many(sql, &[vec![bytes.as_slice().into(), 1_u32.into()]])
        });
        assert_eq!(altered, Ok(vec![1]), "{name}");
        world.advance(world.settings.round_seconds);
        let problems = world.service.tick();
        assert!(matches!(problems[..], [(_, RoundError::Contribution { number: 1, .. })]), "{name}: {problems:?}");
        assert_eq!(world.newest(0).header().version, 0, "{name}");
    });
}
