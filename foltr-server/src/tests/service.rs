//! A federation from the first device to the third release, on both stores.

use super::world::{BASE, TestDevice, TestStore, World, averaging, plan_of, problem, settings};
use crate::call::Method;
use crate::operator::Action;

#[test]
fn devices_join_contribute_and_get_releases() {
    TestStore::each(|store| {
        let name = store.name;
        let mut world = World::new(store, &plan_of(averaging(10), false), settings());
        world.enrol(2);
        let first = world.contribute(0, [1.0, 0.0]);
        assert_eq!(first, world.contribute(0, [1.0, 0.0]), "{name}: the same bytes have the same receipt");
        world.advance(5);
        assert_eq!(first, world.contribute(0, [1.0, 0.0]), "{name}: also later");
        let other = world.contribution(0, [2.0, 0.0]);
        assert_eq!(problem(&world.send(0, &other)), "already-contributed", "{name}");
        world.tick();
        assert_eq!(world.row().round, 0, "{name}: one of two has come");
        world.contribute(1, [0.0, 1.0]);
        let late = world.contribution(0, [1.0, 0.0]);
        world.tick();
        assert_eq!(world.newest(0).params(), [0.5, 0.5], "{name}");
        assert_eq!(world.row().round, 1, "{name}");
        // The receipt of a round that is closed is still given out.
        let answer = world.send(0, &late);
        assert_eq!(answer.status, 200, "{name}");
        assert_eq!(problem(&world.send(0, &other)), "already-contributed", "{name}");
        world.restart();
        world.contribute(0, [1.0, 1.0]);
        world.advance(world.settings.round_seconds);
        world.tick();
        assert_eq!(world.newest(0).params(), [1.5, 1.5], "{name}: closed at its deadline by one");
        world.act(Action::RollBack { version: 1 });
        assert_eq!(world.newest(0).params(), [0.5, 0.5], "{name}");
        assert_eq!((world.newest(0).header().version, world.row().round), (3, 3), "{name}: no round comes again");
        let report = crate::verifying::everything(&world.service).expect("a store");
        assert_eq!(report.problems, Vec::<String>::new(), "{name}");
    });
}

/// Strangers are few; the server looks up its own devices again after every round, and they may be many.
#[test]
fn more_devices_are_served_after_a_round_than_strangers_are() {
    let plan = plan_of(averaging(2_000), false);
    let mut world = World::new(TestStore::sqlite(), &plan, settings());
    for _ in 0..2 {
        world.enrol(600);
        world.advance(60);
    }
    for device in 0..1_200 {
        assert!(world.task(device, 0).is_some(), "device {device}");
    }
    let stranger = TestDevice::new(1_000_000);
    let ask = || world.service.answer(&stranger.call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new()));
    let answers: Vec<String> = (0..1_200).map(|_| problem(&ask())).collect();
    assert_eq!(answers[0], "unknown-device");
    assert_eq!(answers[1_199], "too-many-requests");
}
