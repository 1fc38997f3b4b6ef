//! Those who are not enrolled take nothing away from those who are.

use foltr_federation::protocol::{EnrolmentRequest, Invitation};

use crate::call::Method;
use crate::operator::Action;
use crate::tests::world::{BASE, TestDevice, TestStore, World, averaging, plan_of, problem, settings};

/// More than a server answers at once, while the clock stands still.
const MANY: usize = 2_000;

#[test]
fn devices_are_answered_while_strangers_flood_the_server() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    world.enrol(3);
    let flood = |world: &World| {
        let stranger = TestDevice::new(1_000).call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new());
        let last = (0..MANY).map(|_| problem(&world.service.answer(&stranger))).reduce(|_, next| next);
        assert_eq!(last.as_deref(), Some("too-many-requests"));
    };
    flood(&world);
    // The revision is another one, so that every device is looked up again.
    world.act(Action::Hold);
    world.act(Action::Resume);
    assert!((0..3).all(|device| world.task(device, 0).is_some()));
    world.restart();
    world.tick();
    flood(&world);
    assert!((0..3).all(|device| world.task(device, 0).is_some()));
}

#[test]
fn who_is_invited_joins_while_others_try_secrets() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    world.enrol(1);
    let invitation = world.invitation(1);
    let guess = Invitation::new(invitation.address.clone(), invitation.key, [1; 32]).expect("an invitation");
    let guessing = TestDevice::new(1_000).enrolment(&guess);
    assert_eq!(problem(&world.service.answer(&guessing)), "invitation-refused");
    let last = (0..MANY).map(|_| problem(&world.service.answer(&guessing))).reduce(|_, next| next);
    assert_eq!(last.as_deref(), Some("too-many-requests"));
    let device = TestDevice::new(2_000);
    assert_eq!(world.service.answer(&device.enrolment(&invitation)).status, 201);
    // It asks at once, before anybody has looked who is new.
    let task = device.call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new());
    assert_eq!(world.service.answer(&task).status, 200);
}

#[test]
fn only_who_has_an_invitation_learns_that_a_federation_is_full() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(2), false), settings());
    world.enrol(2);
    let invitation = world.invitation(1);
    let device = TestDevice::new(1_000);
    assert_eq!(problem(&world.service.answer(&device.enrolment(&invitation))), "federation-full");
    let request = EnrolmentRequest { secret: [1; 32], key: device.key.public_key() };
    let guess = device.call(Method::Post, &format!("{BASE}/devices"), request.encode());
    assert_eq!(problem(&world.service.answer(&guess)), "invitation-refused");
}
