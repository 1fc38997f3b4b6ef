//! Clocks that jump, numbers at their limits, and threads that panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foltr_federation::NoiseSource;

use crate::application::Closer;
use crate::database::Pool;
use crate::federation::Federation;
use crate::operator::{Action, Operator};
use crate::randomness::{OsRandomness, Randomness};
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::tests::world::{NAME, TestStore, World, averaging, plan_of, settings};

const YEAR: u64 = 365 * 86_400;

/// Ends whoever closes a round.
struct Crashes;

impl Randomness for Crashes {
    fn noise(&mut self, _: u32) -> &mut dyn NoiseSource {
        panic!("on purpose")
    }

    fn lottery(&mut self, round: u32) -> [u8; 32] {
        OsRandomness::default().lottery(round)
    }
}

#[test]
fn a_round_that_was_left_half_closed_by_a_clock_that_was_ahead_is_closed() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    world.enrol(1);
    world.contribute(0, [1.0, 0.0]);
    let crashes = world.replica(Box::new(Crashes));
    world.advance(YEAR);
    assert!(catch_unwind(AssertUnwindSafe(|| crashes.tick())).is_err());
    world.time.fetch_sub(YEAR * 1_000, Ordering::Relaxed);
    world.tick();
    assert_eq!(world.row().round, 1);
}

#[test]
fn who_may_be_idle_for_ever_is_not_revoked() {
    // A product that wraps around to less than a day.
    let idle_days = u64::MAX / 86_400 + 1;
    let settings = FederationSettings { idle_days, receipt_days: idle_days, ..settings() };
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings);
    world.enrol(1);
    let receipt = world.contribute(0, [1.0, 0.0]);
    let again = world.devices[0].upload(&world.contribution(0, [1.0, 0.0]));
    world.advance(YEAR);
    (0..2).for_each(|_| world.tick());
    assert_eq!(world.row().n_active, 1);
    assert_eq!((world.service.answer(&again).status, receipt.round), (200, 0), "its receipt is still given out");
}

#[test]
fn an_invitation_may_have_any_note() {
    let world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    world.act(Action::NewInvitation { uses: 1, seconds: u64::MAX, note: "a\0b\n\u{202e}".repeat(1_000) });
    let overview = world.service.overview().expect("a store");
    assert!(overview.federations[0].invitations[0].note.starts_with("ab\u{202e}ab"));
}

#[test]
fn rounds_close_after_a_panic() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    world.enrol(1);
    world.contribute(0, [1.0, 0.0]);
    let has_panicked = Arc::new(AtomicBool::new(false));
    let (time, flag) = (Arc::clone(&world.time), Arc::clone(&has_panicked));
    let clock = move || {
        assert!(flag.swap(true, Ordering::Relaxed), "on purpose");
        time.load(Ordering::Relaxed)
    };
    let federation = Federation::new(1, NAME.into(), world.settings.clone(), world.key.clone(), None);
    let pool = Pool::new(Arc::clone(&world.store.database), 4);
    let closer = Closer::start(Arc::new(Service::new(pool, vec![federation], Arc::new(clock)))).expect("a thread");
    let began = Instant::now();
    while world.row().round == 0 && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(closer);
    assert!(has_panicked.load(Ordering::Relaxed));
    assert_eq!(world.row().round, 1);
}
