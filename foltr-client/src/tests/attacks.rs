//! Servers that want more than they are due, and disks that fail at the worst moment.

use std::collections::BTreeSet;

use foltr_federation::protocol::Plan;
use foltr_federation::{FederationPlan, Guarantee};
use foltr_rank::rng::{Purpose, Streams};
use foltr_test::disk::{Fault, Survivors};
use rand::RngExt;

use super::device::{TestDevice, averaging, documents, options, simulated};
use super::faults::federation_error;
use super::federation::{lock, problem};
use super::modes;
use super::plan_changes::{duchi, patient};
use crate::core::{Click, Consent, FederationError, ModelInUse, Synced};
use crate::error::DeviceError;
use crate::store::StoreError;

/// The disk is full when a message is made. Then there is room, a list takes along what waited, and the message is sent:
/// after a power failure its entry in the ledger must be there.
#[test]
fn a_message_that_could_not_be_stored_is_durable_before_it_is_sent() {
    let device = TestDevice::member(averaging(), patient(), 1);
    device.interact_times(4);
    let list = device.shell.rank(&documents(1, 5)).expect("sound").impression;
    assert_eq!(device.shell.clicked(list, 0), Ok(Click::Recorded), "all of the lists are durable");
    device.disk.fail_at(device.disk.n_operations(), Fault::Full);
    let refused = device.sync().expect_err("full");
    assert!(matches!(refused, DeviceError::Store(StoreError::Full { .. })), "{refused}");
    assert!(lock(&device.federation).received.is_empty(), "nothing is sent without its entry");
    device.disk.clear_fault();
    device.shell.rank(&documents(1, 5)).expect("sound");
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    let device = after_power_failure(device);
    let (ledger, task) = device.shell.with_core(|core, _| (core.ledger().expect("a member"), core.ledger_task()));
    let received = lock(&device.federation).received.clone();
    assert_eq!((ledger.n_messages(), received.len()), (1, 1));
    received.iter().for_each(|((round, _), bytes)| assert!(ledger.has_message(&task, *round, bytes)));
    for _ in 0..2 {
        device.interact_times(4);
        assert!(device.sync().is_ok());
    }
    let federation = lock(&device.federation);
    assert!(!federation.has_other_bytes && federation.received == received, "no second message for the round");
}

/// What was not synced is gone.
fn after_power_failure(device: TestDevice) -> TestDevice {
    let TestDevice { disk, federation, time, options, shell } = device;
    drop(shell);
    disk.reboot(Survivors::None, 3);
    let shell = super::device::open(&disk, &federation, &time, &options, 5).expect("sound");
    TestDevice { disk, federation, time, options, shell }
}

/// With 1 in every feature, three times the largest number is infinite: no order can be told from such scores.
#[test]
fn a_release_whose_scores_overflow_stops_no_ranking() {
    for has_own_model in [false, true] {
        let device = TestDevice::new(averaging(), options(), 1);
        device.interact_times(if has_own_model { 50 } else { 0 });
        lock(&device.federation).publish_model(0, vec![f32::MAX; 3]);
        assert_eq!(device.join(Consent::NoPromise), Ok(Synced::UpToDate));
        assert_eq!(device.model(), ModelInUse::Release { version: 1 }, "there is no evidence against it yet");
        let large: Vec<f32> = documents(1, 5).iter().map(|value| value * 4.0 + 1.0).collect();
        let mut shown = vec![];
        for is_paused in [true, false, true] {
            device.shell.set_paused(is_paused).expect("stored");
            let list = device.shell.rank(&large).expect("an order in any case");
            let docs: BTreeSet<usize> = list.order.iter().copied().collect();
            assert_eq!((docs.len(), list.order.len()), (5, 5), "paused: {is_paused}");
            shown.push(list.impression);
        }
        assert!(shown.windows(2).all(|ids| ids[0] < ids[1]), "{shown:?}");
        device.shell.set_paused(false).expect("stored");
        device.reopen(2).expect("sound").interact_times(20);
    }
}

/// A device of 300 lists of its own joins, and meets a release that ranks the other way round.
fn with_bad_release(plan: Plan) -> TestDevice {
    let device = TestDevice::new(plan, options(), 1);
    device.interact_among(6, 300);
    lock(&device.federation).publish_model(0, vec![-3.0, 0.0, 0.0]);
    device.join(Consent::NoPromise).expect("it joins");
    assert_eq!(device.model(), ModelInUse::Release { version: 1 }, "no list has told anything about it yet");
    device
}

fn until_given_up(device: &TestDevice) -> usize {
    let is_own = |number: &usize| {
        device.interact(number % 6, 6);
        device.model() == ModelInUse::Own
    };
    1 + (0..3_000).find(is_own).expect("it is given up")
}

/// Rounds that began with a release that was given up since are of no use to anybody, however stale they may be.
#[test]
fn who_gives_a_release_up_sends_nothing_that_started_from_it() {
    let device = with_bad_release(simulated(FederationPlan { n_rounds: 1_000, ..modes::stale(modes::pdgd(1)) }));
    until_given_up(&device);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    lock(&device.federation).publish_model(0, vec![3.0, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(device.model(), ModelInUse::Release { version: 2 });
    let device = device.reopen(2).expect("sound");
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    assert_eq!(lock(&device.federation).starts(), [(0, 2)].into());
}

/// From alone to a bad release, back to the own model, to a good release and to its rollback.
#[test]
fn bad_releases_are_given_up_and_good_ones_adopted() {
    let device = with_bad_release(averaging());
    let n_lists = until_given_up(&device);
    assert!(
        n_lists.is_multiple_of(16) || n_lists.is_power_of_two(),
        "a test is due at 16, 32, 64 ... lists: {n_lists}"
    );
    assert!(device.status().federation.expect("a member").is_newest_refused);
    let device = device.reopen(2).expect("sound");
    assert_eq!(device.model(), ModelInUse::Own);
    device.interact_among(6, 50);
    lock(&device.federation).publish_model(0, vec![3.0, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(device.model(), ModelInUse::Release { version: 2 });
    // Worse than the one before: refused, with all that is known by now.
    lock(&device.federation).publish_model(0, vec![-3.0, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(device.model(), ModelInUse::Release { version: 2 });
    lock(&device.federation).publish_model(0, vec![3.0, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(device.model(), ModelInUse::Release { version: 4 }, "the operator has taken version 3 back");
}

/// Two persons with the same lists and opposite clicks, through the same releases at the same times.
struct Twins([TestDevice; 2]);

impl Twins {
    fn new(plan: &FederationPlan) -> Self {
        let twins = Self([1, 2].map(|seed| TestDevice::member(simulated(plan.clone()), options(), seed)));
        (0..400).for_each(|number| twins.interact(number % 6));
        twins
    }

    fn interact(&self, wanted: usize) {
        let [one, other] = &self.0;
        one.interact(wanted, 6);
        // The other person never wants the document that has the first feature.
        let list = other.shell.rank(&documents(wanted, 6)).expect("sound");
        let position = list.order.iter().position(|&doc| doc == (wanted + 1) % 6).expect("all are shown");
        other.shell.clicked(list.impression, position).expect("open");
        other.shell.dismiss(list.impression).expect("open");
    }

    fn each(&self, act: impl Fn(&TestDevice)) {
        self.0.iter().for_each(act);
    }

    /// Anything may happen, to both.
    fn live(&self, seed: u64) {
        let mut random = Streams::new(seed).open(Purpose::Data, 0, 0);
        for number in 0..40 {
            match random.random_range(0..4_u32) {
                0 => {
                    let model = [vec![3.0, 0.0, 0.0], vec![-3.0, 0.0, 0.0]][random.random_range(0..2_usize)].clone();
                    self.each(|device| lock(&device.federation).skip_round(model.clone()));
                }
                1 => self.each(|device| assert!(device.sync().is_ok())),
                _ => (0..random.random_range(1..4)).for_each(|_| self.interact(number % 6)),
            }
        }
    }
}

/// Whether, when and from which release a protected message comes says nothing about what its sender clicked.
#[test]
fn refusing_a_release_of_a_private_plan_cannot_be_seen() {
    let [mut n_messages, mut n_differences] = [0; 2];
    for (seed, plan) in [duchi(1.0), modes::stale(duchi(1.0))].iter().cycle().take(8).enumerate() {
        let twins = Twins::new(plan);
        for part in 0..4 {
            twins.live(10 * seed as u64 + part);
            let [one, other] = &twins.0;
            n_differences += usize::from(one.model() != other.model());
            let [one, other] = [one, other].map(|device| lock(&device.federation).starts());
            assert_eq!(one, other, "seed {seed}");
            n_messages += one.len();
        }
        let spent = |device: &TestDevice| device.status().federation.expect("a member").budget.expect("a ledger").spent;
        assert_eq!(spent(&twins.0[0]), spent(&twins.0[1]));
    }
    assert!(n_messages > 100 && n_differences > 10, "{n_messages} messages, {n_differences} differences in use");
}

/// Lists of a round that nobody takes any more are not paid for with an update of zero.
#[test]
fn a_private_round_is_counted_from_the_release_that_it_started_from() {
    let device = TestDevice::member(simulated(duchi(1.0)), patient(), 1);
    device.interact_times(3);
    lock(&device.federation).skip_round(vec![0.1, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    device.interact_times(3);
    assert_eq!(device.sync(), Ok(Synced::UpToDate), "three lists of four, whatever came before");
    device.interact_times(1);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 1 }));
}

/// A list is open while a round of perturbations ends: reopened or not, it teaches the same, and the message is the same.
#[test]
fn a_restart_changes_no_message_of_perturbations() {
    for n_before in 0..4 {
        let device = TestDevice::member(simulated(modes::evolution(1)), patient(), 1);
        device.interact_times(n_before);
        let open = device.shell.rank(&documents(1, 5)).expect("sound").impression;
        device.shell.clicked(open, 0).expect("open");
        lock(&device.federation).publish_model(0, vec![0.5, 0.0, 0.0]);
        assert_eq!(device.sync(), Ok(Synced::UpToDate));
        let beside = device.shell.rank(&documents(2, 5)).expect("sound").impression;
        let disk = device.disk.copy();
        let (federation, time, options) = (device.federation.clone(), device.time.clone(), device.options.clone());
        let shell = super::device::open(&disk, &federation, &time, &options, 77).expect("sound");
        let reopened = TestDevice { disk, federation, time, options, shell };
        let finish = |device: &TestDevice| {
            [open, beside].into_iter().for_each(|list| device.shell.dismiss(list).expect("open"));
            let n_interactions = device.status().federation.expect("a member").n_interactions;
            device.interact_times(4);
            assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
            n_interactions
        };
        assert_eq!(finish(&device), finish(&reopened), "{n_before} lists before");
        assert!(!lock(&device.federation).has_other_bytes, "{n_before} lists before");
    }
}

/// The server says that it has another message of this device: then nobody knows what was spent, and nothing more is sent
/// to this address, whatever the device was told to do since.
#[test]
fn after_a_message_that_the_ledger_does_not_know_nothing_is_sent() {
    let budget = Some(Guarantee { epsilon: 100.0, delta: 1e-5 });
    let device = TestDevice::member(simulated(duchi(1.0)), crate::Options { budget, ..options() }, 1);
    device.interact_times(4);
    device.answer("/contributions/", || problem(409, "already-contributed"));
    assert_eq!(federation_error(device.sync()), FederationError::OtherMessage { round: 0 });
    lock(&device.federation).received.clear();
    device.answer_honestly();
    let assert_silent = |device: &TestDevice| {
        for _ in 0..3 {
            lock(&device.federation).skip_round(vec![0.1, 0.0, 0.0]);
            assert_eq!(device.sync(), Ok(Synced::UpToDate));
            device.interact_times(4);
            assert_eq!(device.sync(), Ok(Synced::UpToDate));
        }
        assert!(lock(&device.federation).received.is_empty());
        let status = device.status();
        assert!(status.federation.clone().and_then(|it| it.budget).is_some_and(|it| it.is_unknown), "{status}");
        assert!(status.to_string().contains("nobody knows what was spent"), "{status}");
        assert!(!status.to_string().contains("budget is spent"), "{status}");
    };
    assert_silent(&device);
    let device = device.reopen(2).expect("sound");
    assert_silent(&device);
    device.answer("/forget", || problem(410, "unknown-device"));
    assert_eq!(device.shell.forget(), Ok(Synced::Forgotten));
    device.join(Consent::ProtectedMessages).expect("it joins again");
    assert_silent(&device);
}
