//! Requests of ids that nobody has are limited; those of devices that the server has not seen for a while are not.

use super::world::{BASE, TestDevice, TestStore, World, averaging, plan_of, problem, settings};
use crate::call::Method;

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
    // A new revision: no device is in memory.
    world.contribute(0, [1.0, 0.0]);
    world.advance(world.settings.round_seconds);
    world.tick();
    assert_eq!(world.row().round, 1);
    for device in &world.devices {
        assert_eq!(ask(device), "", "a task");
    }
}
