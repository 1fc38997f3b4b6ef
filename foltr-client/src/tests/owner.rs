//! What an owner decides: pause, consent, budget; and for how long anything is kept.

use foltr_federation::privacy::Budget;
use foltr_federation::{FederationPlan, Guarantee};

use super::device::{TestDevice, averaging, documents, options, simulated};
use super::faults::federation_error;
use super::federation::{Way, lock, problem};
use super::modes;
use super::plan_changes::duchi;
use crate::core::{Consent, FederationError, Synced};
use crate::options::{Options, Retention};
use crate::personal::Personalisation;

pub fn n_stored(device: &TestDevice, what: &str) -> u64 {
    device.status().stored.iter().filter(|thing| thing.what.contains(what)).map(|thing| thing.count).sum()
}

/// The owner's word is taken down while the device is paused: two requests, and none beyond.
#[test]
fn who_joins_while_paused_becomes_a_member_and_does_nothing_more() {
    let device = TestDevice::new(averaging(), options(), 1);
    device.shell.set_paused(true).expect("stored");
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::Paused));
    let federation = device.status().federation.expect("a membership");
    assert!(federation.is_member && federation.newest_release.is_none(), "{federation:?}");
    assert_eq!(lock(&device.federation).n_requests, 2, "enrolment and plan");
    device.interact_paused();
    let device = device.reopen(2).expect("sound");
    assert_eq!(device.sync(), Ok(Synced::Paused));
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::Paused));
    assert_eq!(lock(&device.federation).n_requests, 2);
    device.shell.set_paused(false).expect("stored");
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
}

impl TestDevice {
    /// A list and a click that leave no trace.
    fn interact_paused(&self) {
        let list = self.shell.rank(&documents(1, 5)).expect("sound");
        assert_eq!(self.shell.clicked(list.impression, 0), Ok(crate::Click::Ignored));
        assert_eq!(self.status().n_open, 0);
    }

    /// A member whose first message waits: its way to the server was blocked.
    fn with_waiting_message() -> Self {
        let device = Self::member(averaging(), options(), 1);
        device.interact_times(4);
        device.shell.transport().way = Way::RequestLost;
        device.sync().expect_err("lost");
        device.shell.transport().way = Way::Clear;
        assert_eq!(device.waiting_round(), Some(0));
        device
    }

    fn waiting_round(&self) -> Option<u32> {
        self.status().federation.and_then(|federation| federation.waiting_round)
    }
}

#[test]
fn a_pause_holds_back_the_message_that_waits() {
    let device = TestDevice::with_waiting_message();
    device.shell.set_paused(true).expect("stored");
    let n_requests = lock(&device.federation).n_requests;
    assert_eq!(device.sync(), Ok(Synced::Paused));
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::Paused), "joining again is no way around it");
    let device = device.reopen(2).expect("sound");
    assert_eq!(device.sync(), Ok(Synced::Paused));
    assert_eq!((lock(&device.federation).n_requests, device.waiting_round()), (n_requests, Some(0)));
    device.shell.set_paused(false).expect("stored");
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
}

#[test]
fn a_consent_that_is_taken_back_holds_back_every_message() {
    let device = TestDevice::with_waiting_message();
    let error = federation_error(device.join(Consent::ProtectedMessages));
    assert!(matches!(error, FederationError::NeedsConsent { needed: Consent::NoPromise, .. }), "{error}");
    let device = device.reopen(2).expect("sound");
    device.interact_times(8);
    for _ in 0..2 {
        assert_eq!(device.sync(), Ok(Synced::UpToDate));
    }
    assert!(lock(&device.federation).received.is_empty());
    assert_eq!(device.status().federation.map(|it| it.consent), Some(Consent::ProtectedMessages));
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::Contributed { round: 0 }));
    // Without a message that waits.
    lock(&device.federation).skip_round(vec![0.1, 0.0, 0.0]);
    federation_error(device.join(Consent::TrustedServer));
    device.sync().expect("releases are followed");
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    let status = device.status().federation.expect("a member");
    assert_eq!((status.n_messages, status.waiting_round), (1, None), "no message is made, and none paid for");
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::Contributed { round: 1 }));
}

fn with_budget(epsilon: f64) -> Options {
    Options { budget: Some(Guarantee { epsilon, delta: 1e-5 }), ..options() }
}

fn assert_silent(device: &TestDevice) {
    let n_received = lock(&device.federation).received.len();
    lock(&device.federation).skip_round(vec![0.1, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate), "releases are followed");
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(lock(&device.federation).received.len(), n_received);
    let status = device.status();
    assert!(status.federation.clone().and_then(|it| it.budget).is_some_and(|it| it.is_exhausted), "{status}");
    assert!(status.to_string().contains("The budget is spent"), "{status}");
}

fn limit(device: &TestDevice) -> f64 {
    device.status().federation.and_then(|it| it.budget).expect("a ledger").limit.epsilon
}

/// A message costs 1, the owner allows 2.5: two messages are sent. Neither a restart with a larger budget, nor a plan that
/// allows more, nor being forgotten and joining again brings a third.
#[test]
fn a_spent_budget_stops_sending_for_good_and_never_ranking() {
    let mut device = TestDevice::member(simulated(duchi(1.0)), with_budget(2.5), 1);
    for round in 0..2 {
        device.interact_times(4);
        assert_eq!(device.sync(), Ok(Synced::Contributed { round }));
        lock(&device.federation).skip_round(vec![0.1, 0.0, 0.0]);
        device.sync().expect("a release");
    }
    assert_silent(&device);
    device.options = with_budget(100.0);
    let device = device.reopen(2).expect("sound");
    assert_silent(&device);
    let generous = FederationPlan { budget: Some(Budget { epsilon: 50.0, delta: 1e-5 }), ..duchi(1.0) };
    lock(&device.federation).change_plan(simulated(generous), &[0.1, 0.0, 0.0]);
    assert_silent(&device);
    assert_eq!(limit(&device), 2.5);
    device.answer("/forget", || problem(410, "unknown-device"));
    assert_eq!(device.shell.forget(), Ok(Synced::Forgotten));
    device.join(Consent::ProtectedMessages).expect("it joins again");
    assert_silent(&device);
    assert_eq!((limit(&device), lock(&device.federation).received.len()), (2.5, 0));
}

#[test]
fn a_budget_that_is_lowered_later_holds_from_then_on() {
    let mut device = TestDevice::member(simulated(duchi(1.0)), options(), 1);
    device.options = with_budget(0.5);
    let device = device.reopen(2).expect("sound");
    assert_eq!(limit(&device), 0.5);
    assert_silent(&device);
}

#[test]
fn no_more_lists_stay_open_than_allowed_and_none_for_ever() {
    let retention = Retention { open_lists: 5, list_timeout: 100, ended_lists: 1_000 };
    let device = TestDevice::member(averaging(), Options { retention, ..options() }, 1);
    let lists: Vec<_> = (0..12).map(|_| device.shell.rank(&documents(1, 5)).expect("sound").impression).collect();
    assert_eq!((device.status().n_open, n_stored(&device, "lists that are open")), (5, 5));
    device.shell.clicked(lists[6], 0).expect_err("it has ended");
    device.pass(60);
    device.shell.clicked(lists[7], 0).expect("open");
    device.pass(60);
    device.shell.sync().expect("an honest server");
    let open = device.shell.with_core(|core, _| core.open_clicks());
    assert_eq!(open.keys().copied().collect::<Vec<_>>(), [lists[7].0], "the others had no event for 120 seconds");
    // Those of the time alone make room first for those of the federation.
    let device = TestDevice::new(averaging(), Options { retention, ..options() }, 1);
    (0..5).for_each(|_| drop(device.shell.rank(&documents(1, 5)).expect("sound")));
    device.join(Consent::NoPromise).expect("it joins");
    let first = device.shell.rank(&documents(1, 5)).expect("sound").impression;
    device.shell.rank(&documents(1, 5)).expect("sound");
    device.shell.clicked(first, 0).expect("the newest but one");
    assert_eq!(device.status().n_open, 5);
}

/// Lists that have ended go after their time, also on a device that is opened anew every day and is never away.
#[test]
fn ended_lists_are_dropped_after_their_time() {
    const DAY: u64 = 24 * 60 * 60;
    for is_restarted in [false, true] {
        let retention = Retention { ended_lists: 100 * DAY, ..Retention::default() };
        let mut device = TestDevice::member(averaging(), Options { retention, ..options() }, 1);
        device.interact_times(3);
        let mut n_days = 0;
        while n_stored(&device, "lists with clicks") == 3 {
            assert!(n_days < 110, "after {n_days} days the lists are still there (restarted: {is_restarted})");
            device.pass(DAY);
            n_days += 1;
            device.shell.sync().expect("an honest server");
            if is_restarted {
                device = device.reopen(n_days).expect("sound");
            }
        }
        assert_eq!((n_days, n_stored(&device, "lists with clicks")), (101, 0), "restarted: {is_restarted}");
    }
}

#[test]
fn receipts_of_the_last_hundred_messages_are_kept() {
    let plan = FederationPlan { n_rounds: 1_000, ..modes::pdgd(1) };
    let device = TestDevice::member(simulated(plan), options(), 1);
    for round in 0..130 {
        device.interact_times(4);
        assert_eq!(device.sync(), Ok(Synced::Contributed { round }));
        lock(&device.federation).skip_round(vec![0.1, 0.0, 0.0]);
        device.sync().expect("a release");
    }
    assert_eq!(n_stored(&device, "receipts of contributions"), 100);
}

/// Alone, with each kind of ranker of one's own: the wanted document moves up, and a restart changes no list.
#[test]
fn every_ranker_of_ones_own_learns_alone_and_survives_a_restart() {
    let alone = Personalisation::examples().into_iter().filter(|method| method.n_clusters() == 0).map(Some);
    for personalisation in alone.chain([None]) {
        let mut options = options();
        options.alone.personalisation = personalisation;
        let device = TestDevice::new(averaging(), options, 1);
        let mean = |times: usize| (0..times).map(|it| device.interact(it % 8, 8)).sum::<usize>() as f64 / times as f64;
        let (first, _, last) = (mean(20), mean(400), mean(100));
        assert!(last < 1.5 && last < first - 1.0, "{personalisation:?}: position {first} at first, {last} at last");
        let again = |device: TestDevice| {
            let device = device.reopen(7).expect("sound");
            let order = |wanted| device.shell.rank(&documents(wanted, 8)).expect("sound").order;
            (0..8).map(order).collect::<Vec<_>>()
        };
        let copy = TestDevice { disk: device.disk.copy(), ..TestDevice::new(averaging(), device.options.clone(), 1) };
        assert_eq!(again(copy), again(device), "{personalisation:?}");
    }
}
