//! Requests of ids that nobody has are limited; those of devices that the server has not seen for a while are not.

use super::world::{BASE, TestDevice, TestStore, World, averaging, plan_of, problem, settings};
use crate::call::Method;
use crate::operator::Action;
use crate::randomness::OsRandomness;
use crate::service::Service;

#[test]
fn strangers_do_not_keep_devices_out() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    world.enrol(3);
    let path = format!("{BASE}/task?shard=0");
    let ask = |device: &TestDevice| problem(&world.service.answer(&device.call(Method::Get, &path, Vec::new())));
    let stranger = TestDevice::new(99);
    assert_eq!(ask(&stranger), "unknown-device");
    let refused = (0..2_000).map(|_| ask(&stranger)).find(|problem| problem != "unknown-device");
    assert_eq!(refused.as_deref(), Some("too-many-requests"));
    // Another process, with the same strangers: no device is in memory.
    world.restart();
    let ask = |device: &TestDevice| problem(&world.service.answer(&device.call(Method::Get, &path, Vec::new())));
    drop((0..2_000).map(|_| ask(&stranger)).find(|problem| problem != "unknown-device"));
    for device in &world.devices {
        assert_eq!(ask(device), "", "a task");
    }
}

#[test]
fn a_device_that_is_revoked_elsewhere_is_refused_from_the_next_look_on() {
    TestStore::each(|store| {
        let name = store.name;
        let mut world = World::new(store, &plan_of(averaging(10), false), settings());
        world.enrol(3);
        let path = format!("{BASE}/task?shard=0");
        let ask = |service: &Service, device: usize| {
            problem(&service.answer(&world.devices[device].call(Method::Get, &path, Vec::new())))
        };
        let other = world.replica(Box::new(OsRandomness::default()));
        for device in 0..3 {
            assert_eq!((ask(&world.service, device), ask(&other, device)), (String::new(), String::new()), "{name}");
        }
        // A round in between leaves devices in memory.
        world.contribute(0, [1.0, 0.0]);
        world.advance(world.settings.round_seconds);
        world.tick();
        let device = world.devices[1].id.to_string();
        world.act(Action::RevokeDevice { device });
        assert_eq!(ask(&world.service, 1), "revoked", "{name}: here at once");
        assert!(other.tick().is_empty());
        assert_eq!(
            (ask(&other, 1), ask(&other, 2)),
            ("revoked".into(), String::new()),
            "{name}: there with the next tick"
        );
    });
}
