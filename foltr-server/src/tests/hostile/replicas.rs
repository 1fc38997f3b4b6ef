//! Two servers on one store, one of which has not seen yet what the other one did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use foltr_federation::asynchronous::Buffered;
use foltr_federation::protocol::{Plan, ReleaseChain, Signed, Task};
use foltr_federation::{Asynchrony, FederationPlan, NoiseSource, Staleness};

use crate::call::Method;
use crate::database::{DatabaseError, Pool};
use crate::federation::Federation;
use crate::operator::{Action, Operator};
use crate::randomness::{OsRandomness, Randomness};
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::store::releases;
use crate::tests::world::{BASE, NAME, TestStore, World, averaging, plan_of, problem, settings, text};

pub fn buffered(buffer: u32) -> FederationPlan {
    let asynchrony = Buffered { buffer, staleness_exponent: 0.5, rate_limit: 5, max_staleness: 3 };
    FederationPlan { asynchrony: Some(Asynchrony::Buffered(asynchrony)), ..averaging(10) }
}

fn world(store: TestStore, federation: FederationPlan) -> World {
    World::new(store, &plan_of(federation, false), settings())
}

/// Does something to the store between the arithmetic of a round and its release.
struct Meanwhile<F> {
    run: F,
    randomness: OsRandomness,
}

impl<F: FnMut() + Send> Randomness for Meanwhile<F> {
    fn noise(&mut self, round: u32) -> &mut dyn NoiseSource {
        (self.run)();
        self.randomness.noise(round)
    }

    fn lottery(&mut self, round: u32) -> [u8; 32] {
        self.randomness.lottery(round)
    }
}

#[test]
fn no_release_is_signed_by_a_key_that_was_replaced_while_its_round_closed() {
    TestStore::each(|store| {
        let mut world = world(store, averaging(10));
        world.enrol(1);
        world.contribute(0, [1.0, 0.0]);
        let other = Arc::clone(&world.service);
        let run = move || drop(other.act(NAME, &Action::RotateKey).expect("a rotation"));
        let late = world.replica(Box::new(Meanwhile { run, randomness: OsRandomness::default() }));
        assert_eq!(late.tick().len(), 1, "it has the old key");
        // The replica with the new key takes over.
        world.advance(100);
        world.tick();
        assert_eq!(world.row().round, 1);
        let pool = Pool::new(Arc::clone(&world.store.database), 2);
        let headers = pool.read(|tables| -> Result<_, DatabaseError> { releases::headers(tables, 1, 0, 0, 100) });
        let headers = headers.expect("releases");
        let mut chain = ReleaseChain::new(headers[0].unverified().plan, 0, world.key.public_key());
        assert_eq!(headers.len(), 3);
        for header in &headers {
            chain.follow(header).expect("a chain that devices can follow");
        }
    });
}

#[test]
fn a_round_goes_on_under_a_new_key() {
    for staleness in [None, Some(Staleness { most: 1, exponent: 0.5 })] {
        TestStore::each(|store| {
            let mut world = world(store, FederationPlan { staleness, ..averaging(10) });
            world.enrol(2);
            world.contribute(0, [1.0, 0.0]);
            world.act(Action::RotateKey);
            let task = world.devices[1].call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new());
            let task = *Signed::<Task>::decode(&world.service.answer(&task).body).expect("a task").unverified();
            let upload = world.devices[1].upload(&world.devices[1].step(&task, task.start, [3.0, 0.0]));
            assert_eq!(world.service.answer(&upload).status, 201);
            let report = crate::verifying::everything(&world.service).expect("a store");
            assert_eq!(report.problems, Vec::<String>::new());
            world.tick();
            assert_eq!((world.row().round, world.newest(0).params()), (1, [2.0, 0.0].as_slice()));
        });
    }
}

#[test]
fn what_another_replica_opened_is_known_before_anything_is_refused() {
    TestStore::each(|store| {
        let mut world = world(store, averaging(10));
        world.enrol(1);
        let behind = world.replica(Box::new(OsRandomness::default()));
        behind.tick();
        world.contribute(0, [1.0, 0.0]);
        world.tick();
        let upload = world.devices[0].upload(&world.contribution(0, [2.0, 0.0]));
        let answer = behind.answer(&upload);
        assert_eq!(answer.status, 201, "{}", text(&answer));
    });
}

/// A replica during whose next look at the clock, in the middle of a request, the first device is revoked.
fn revoking(world: &World) -> (Arc<Service>, Arc<AtomicBool>) {
    let armed = Arc::new(AtomicBool::new(false));
    let own: Arc<OnceLock<Arc<Service>>> = Arc::default();
    let (flag, itself) = (Arc::clone(&armed), Arc::clone(&own));
    let (time, other, device) = (Arc::clone(&world.time), Arc::clone(&world.service), world.devices[0].id.to_string());
    let clock = move || {
        if flag.swap(false, Ordering::Relaxed) {
            other.act(NAME, &Action::RevokeDevice { device: device.clone() }).expect("a device");
            itself.get().expect("it was made").readiness().expect("a store");
        }
        time.load(Ordering::Relaxed)
    };
    let federation = Federation::new(1, NAME.into(), world.settings.clone(), world.key.clone(), None);
    let pool = Pool::new(Arc::clone(&world.store.database), 4);
    let service = Arc::new(Service::new(pool, vec![federation], Arc::new(clock)));
    drop(own.set(Arc::clone(&service)));
    (service, armed)
}

#[test]
fn who_is_revoked_in_the_middle_of_an_upload_does_not_contribute() {
    for federation in [averaging(10), buffered(3)] {
        TestStore::each(|store| {
            let mut world = world(store, federation.clone());
            world.enrol(2);
            let (replica, armed) = revoking(&world);
            let upload = world.devices[0].upload(&world.contribution(0, [1.0, 0.0]));
            let other = world.devices[1].upload(&world.contribution(1, [1.0, 0.0]));
            assert_eq!(replica.answer(&other).status, 201);
            armed.store(true, Ordering::Relaxed);
            assert_eq!(problem(&replica.answer(&upload)), "revoked");
            assert_eq!(world.row().n_contributions, 1);
        });
    }
}

fn change(world: &World, plan: &Plan) {
    world.service.change_plan(NAME, plan, None).expect("another plan");
}

#[test]
fn a_plan_comes_into_force_once() {
    let mut world = world(TestStore::sqlite(), averaging(10));
    world.enrol(1);
    change(&world, &plan_of(averaging(11), false));
    let again = world.service.change_plan(NAME, &plan_of(averaging(10), false), None);
    assert!(again.is_err_and(|error| error.to_string().contains("never come again")));
    let present = world.service.change_plan(NAME, &plan_of(averaging(11), false), None);
    assert!(present.is_err());
}

#[test]
fn a_federation_without_rounds_goes_on_after_a_rollback() {
    TestStore::each(|store| {
        let mut world = world(store, buffered(1));
        world.enrol(1);
        for delta in [1.0, 2.0] {
            let mut contribution = world.contribution(0, [delta, 0.0]);
            contribution.round = delta as u32;
            assert_eq!(world.send(0, &contribution).status, 201);
            world.tick();
        }
        world.act(Action::RollBack { version: 1 });
        for round in 5..7 {
            let mut contribution = world.contribution(0, [1.0, 0.0]);
            contribution.round = round;
            let answer = world.send(0, &contribution);
            assert_eq!(answer.status, 201, "{}", text(&answer));
            world.tick();
        }
        assert_eq!(world.newest(0).params(), [3.0, 0.0]);
    });
}

#[test]
fn a_release_that_was_rolled_back_is_given_to_nobody() {
    let settings = FederationSettings { stage_share: 1e-9, stage_seconds: 1_000, ..settings() };
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings);
    world.enrol(1);
    world.advance(1_000);
    world.contribute(0, [9.0, 0.0]);
    world.tick();
    world.advance(1_000);
    assert_eq!(world.newest(0).params(), [9.0, 0.0]);
    world.act(Action::RollBack { version: 0 });
    let newest = world.newest(0);
    assert_eq!((newest.header().version, newest.params()), (2, [0.0, 0.0].as_slice()));
}

#[test]
fn a_key_that_cannot_be_kept_is_not_made() {
    let mut world = world(TestStore::sqlite(), averaging(10));
    world.enrol(1);
    let mut federation = Federation::new(1, NAME.into(), world.settings.clone(), world.key.clone(), None);
    federation.is_key_of_environment = true;
    let pool = Pool::new(Arc::clone(&world.store.database), 4);
    let service = Service::new(pool, vec![federation], crate::application::system_clock());
    assert!(service.act(NAME, &Action::RotateKey).is_err());
    assert_eq!(world.row().public_key, *world.key.public_key().as_bytes());
}
