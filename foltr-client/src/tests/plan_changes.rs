//! A federation changes its plan: nothing is lost on the way, and nothing that protects the owner becomes less unasked.

use foltr_federation::FederationPlan;
use foltr_federation::privacy::{DuchiParameters, Privacy};
use foltr_federation::protocol::{Document, Plan, SecretKey};
use foltr_rank::{Activation, ImpressionId, Initialisation, RankerShape};

use super::device::{TestDevice, averaging, documents, options, simulated};
use super::faults::federation_error;
use super::federation::{lock, problem};
use super::modes;
use crate::core::{Click, Consent, FederationError, ModelInUse, Request, Synced};
use crate::options::{Options, Retention};

const NETWORK: RankerShape =
    RankerShape::Mlp { hidden: 2, activation: Activation::Logistic, initialisation: Initialisation::FanIn };

/// No list ends by itself.
pub fn patient() -> Options {
    let retention = Retention { list_timeout: u64::MAX, ..Retention::default() };
    Options { retention, ..options() }
}

fn rounds(n_rounds: usize) -> Plan {
    simulated(FederationPlan { n_rounds, ..modes::pdgd(1) })
}

/// Every message says this much about its sender.
pub fn duchi(epsilon: f64) -> FederationPlan {
    let privacy = Privacy::Duchi(DuchiParameters { epsilon: Some(epsilon), bound: 0.05, whole_run: None });
    FederationPlan { n_rounds: 1_000, privacy, ..modes::pdgd(1) }
}

fn change(device: &TestDevice, plan: &Plan, params: &[f32]) {
    lock(&device.federation).change_plan(plan.clone(), params);
}

/// Whether messages would be booked under this plan.
fn is_in_effect(device: &TestDevice, plan: &Plan) -> bool {
    let hash = plan.hash().expect("sound").to_string();
    device.shell.with_core(|core, _| core.ledger_task()).starts_with(&hash)
}

fn is_clicked(device: &TestDevice, list: ImpressionId, position: usize) -> bool {
    let open = device.shell.with_core(|core, _| core.open_clicks());
    open.get(&list.0).is_some_and(|clicks| clicks.at(position))
}

/// The server announces two plans, one after the other, and withholds their releases; the device restarts each time.
#[test]
fn a_plan_without_its_first_release_changes_nothing() {
    let mut device = TestDevice::member(averaging(), patient(), 1);
    let open = device.shell.rank(&documents(1, 5)).expect("sound").impression;
    device.shell.clicked(open, 0).expect("open");
    let mut newest = open;
    for (seed, n_rounds) in [(2, 77), (3, 78)] {
        change(&device, &rounds(n_rounds), &[0.25; 3]);
        device.answer("/releases/", || problem(503, "unavailable"));
        let error = federation_error(device.sync());
        assert!(matches!(error, FederationError::Server { status: 503, .. }), "{error}");
        for is_restarted in [false, true] {
            if is_restarted {
                device = device.reopen(seed).expect("nothing is damaged");
            }
            assert_eq!(device.model(), ModelInUse::Release { version: 0 });
            assert!(is_in_effect(&device, &averaging()) && is_clicked(&device, open, 0), "restarted: {is_restarted}");
            let next = device.shell.rank(&documents(1, 5)).expect("sound").impression;
            assert!(next > newest, "{next:?} came after {newest:?}");
            newest = next;
        }
    }
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(device.model(), ModelInUse::Release { version: 2 });
    assert!(is_in_effect(&device, &rounds(78)) && is_clicked(&device, open, 0));
    device.shell.clicked(open, 1).expect("still open");
    let device = device.reopen(4).expect("sound");
    assert!(is_clicked(&device, open, 1) && device.status().n_open == 5);
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    assert_eq!(lock(&device.federation).starts(), [(0, 2)].into());
}

/// Lists of five documents do not fit a plan that shows three: they have ended, and what was clicked stays evidence.
#[test]
fn lists_that_are_too_long_for_the_new_plan_end_and_teach() {
    let device = TestDevice::member(averaging(), patient(), 1);
    let [long, short] = [5, 2].map(|n_docs| device.shell.rank(&documents(1, n_docs)).expect("sound").impression);
    [long, short].into_iter().for_each(|list| assert_eq!(device.shell.clicked(list, 1), Ok(Click::Recorded)));
    let plan = simulated(FederationPlan { list_length: 3, ..modes::pdgd(1) });
    change(&device, &plan, &[0.25; 3]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    let check = |device: &TestDevice| {
        let (open, n_observed) = device.shell.with_core(|core, _| (core.open_clicks(), core.n_observed()));
        assert_eq!(open.keys().copied().collect::<Vec<_>>(), [short.0]);
        assert_eq!(n_observed, 1, "the long list is evidence");
        assert!(is_in_effect(device, &plan));
    };
    check(&device);
    let device = device.reopen(2).expect("sound");
    check(&device);
    device.shell.clicked(long, 0).expect_err("it has ended");
    device.shell.dismiss(short).expect("open");
    assert_eq!(device.shell.rank(&documents(1, 5)).expect("sound").n_ranked, 3);
}

/// A member of 400 lists, all for the first feature.
fn experienced(plan: Plan) -> TestDevice {
    let device = TestDevice::member(plan, options(), 1);
    device.interact_among(6, 400);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    device
}

/// A server that cannot get a bad model through the tests gives it out as the first of a new plan.
#[test]
fn the_first_release_of_a_plan_is_tested_like_any_other() {
    let device = experienced(averaging());
    change(&device, &rounds(77), &[-8.0, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    let device = device.reopen(2).expect("sound");
    assert!(is_in_effect(&device, &rounds(77)));
    assert!(device.status().federation.expect("a member").is_newest_refused);
    assert_eq!(device.model(), ModelInUse::Release { version: 0 });
    device.interact_times(8);
    assert_eq!(device.sync(), Ok(Synced::UpToDate), "its lists are of a model of another plan");
    assert!(lock(&device.federation).received.is_empty());
    // A good one is adopted, and messages go on.
    lock(&device.federation).publish_model(0, vec![3.0, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    assert_eq!(lock(&device.federation).starts(), [(0, 2)].into());
}

/// The same where messages are protected: who refuses sends an update of zero, in time and from the newest release.
#[test]
fn who_refuses_the_first_release_of_a_private_plan_sends_zeros() {
    let device = experienced(simulated(duchi(1.0)));
    change(&device, &simulated(FederationPlan { n_rounds: 77, ..duchi(1.0) }), &[-8.0, 0.0, 0.0]);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(device.model(), ModelInUse::Release { version: 0 });
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    assert_eq!(lock(&device.federation).starts(), [(0, 1)].into());
}

/// The device does not follow this plan until its owner says so.
fn assert_needs_the_owner(before: FederationPlan, after: FederationPlan, words: &str) {
    let (before, after) = (simulated(before), simulated(after));
    let device = TestDevice::member(before.clone(), patient(), 1);
    let open = device.shell.rank(&documents(1, 5)).expect("sound").impression;
    device.shell.clicked(open, 0).expect("open");
    change(&device, &after, &vec![0.25; after.shape().n_params()]);
    for seed in [2, 3] {
        let error = federation_error(device.sync());
        let FederationError::NewPlan { why } = &error else { panic!("{words}: {error}") };
        assert!(why.contains(words), "{why}");
        assert!(is_in_effect(&device, &before) && is_clicked(&device, open, 0), "{words}, {seed}");
        assert_eq!(device.model(), ModelInUse::Release { version: 0 });
    }
    let device = device.reopen(2).expect("sound");
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::UpToDate), "{words}");
    assert!(is_in_effect(&device, &after), "{words}");
    assert_eq!(device.model(), ModelInUse::Release { version: 1 });
    let device = device.reopen(3).expect("sound");
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }), "{words}");
}

#[test]
fn plans_that_weaken_something_need_the_owner() {
    let pdgd = || modes::pdgd(1);
    assert_needs_the_owner(pdgd(), FederationPlan { ranker: Some(NETWORK), ..pdgd() }, "another form");
    assert_needs_the_owner(pdgd(), modes::evolution(1), "cannot be tested");
    assert_needs_the_owner(duchi(1.0), duchi(30.0), "says more about its sender");
}

/// 65,536 hidden units with 3 weights, a threshold and an output each are 1.3 megabytes, where 12 bytes were enough before: so
/// much longer may the answer be.
#[test]
fn the_model_of_a_new_plan_may_be_much_larger() {
    let hidden = 65_536;
    let ranker = RankerShape::Mlp { hidden, activation: Activation::Logistic, initialisation: Initialisation::FanIn };
    let large = simulated(FederationPlan { ranker: Some(ranker), ..modes::pdgd(1) });
    let n_params = 5 * 65_536;
    let device = TestDevice::member(averaging(), options(), 1);
    change(&device, &large, &vec![0.0; n_params]);
    device.shell.transport().alter = Some(Box::new(move |request: &Request, answer| {
        let is_long_enough = request.most >= (2 << 20) + 4 * n_params;
        if request.path.contains("/releases/") && !is_long_enough { problem(500, "cut-off") } else { answer }
    }));
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::UpToDate));
    assert_eq!(device.model(), ModelInUse::Release { version: 1 });
}

/// Device 1 of two shards belongs to shard 1; without shards, to shard 0. What was in use has the version that the bad
/// model has there.
#[test]
fn a_plan_that_moves_the_device_to_another_shard_needs_the_owner() {
    let shards = FederationPlan { shards: Some(2), ..modes::pdgd(4) };
    let device = TestDevice::new(simulated(shards), options(), 1);
    lock(&device.federation).devices.push(SecretKey::from_bytes(&[1; 32]).public_key());
    lock(&device.federation).publish_model(1, vec![3.0, 0.0, 0.0]);
    device.join(Consent::NoPromise).expect("device 1");
    device.interact_among(6, 50);
    assert_eq!(device.model(), ModelInUse::Release { version: 1 });
    let after = simulated(modes::pdgd(4));
    change(&device, &after, &[-8.0, 0.0, 0.0]);
    let error = federation_error(device.sync());
    assert!(error.to_string().contains("another shard"), "{error}");
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::UpToDate));
    assert!(is_in_effect(&device, &after));
    let n_observed = device.shell.with_core(|core, _| core.n_observed());
    assert_eq!(n_observed, 0, "those lists were evidence about another release 1");
    let device = device.reopen(2).expect("sound");
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
}

/// There and back again: numbers of messages are not used twice, and sending goes on.
#[test]
fn a_plan_without_rounds_can_come_back() {
    let plan = modes::asynchronous_plans(3, modes::BUFFERED).remove(0);
    let other = FederationPlan { n_rounds: plan.n_rounds + 1, ..plan.clone() };
    let [plan, other] = [plan, other].map(simulated);
    let device = TestDevice::member(plan.clone(), options(), 1);
    for expected in 0..2 {
        device.interact_times(4);
        assert_eq!(device.sync(), Ok(Synced::Contributed { round: expected }));
    }
    change(&device, &other, &[0.25; 3]);
    device.sync().expect("it follows");
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    change(&device, &plan, &[0.25; 3]);
    let device = device.reopen(2).expect("sound");
    device.sync().expect("it follows");
    for expected in 2..5 {
        device.interact_times(4);
        assert_eq!(device.sync(), Ok(Synced::Contributed { round: expected }));
    }
}

/// Enrolled under one plan; while the owner thinks it over, another one with a model of another form takes its place.
#[test]
fn a_plan_may_change_between_enrolment_and_consent() {
    let device = TestDevice::new(averaging(), options(), 1);
    let error = federation_error(device.join(Consent::ProtectedMessages));
    assert!(matches!(error, FederationError::NeedsConsent { .. }), "{error}");
    let network = simulated(FederationPlan { ranker: Some(NETWORK), ..modes::pdgd(1) });
    change(&device, &network, &vec![0.25; network.shape().n_params()]);
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::UpToDate), "the owner's word is for what is there now");
    assert!(is_in_effect(&device, &network));
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));

    // The same while the server answers nothing but the plan: then it is not the owner who meets the new one.
    let device = TestDevice::new(averaging(), options(), 1);
    device.answer("/task", || problem(503, "unavailable"));
    federation_error(device.join(Consent::NoPromise));
    change(&device, &network, &vec![0.25; network.shape().n_params()]);
    device.answer_honestly();
    for _ in 0..2 {
        let error = federation_error(device.sync());
        assert!(matches!(error, FederationError::NewPlan { .. }), "{error}");
        device.interact(1, 5);
    }
    assert_eq!(device.join(Consent::NoPromise), Ok(Synced::UpToDate));
    assert!(is_in_effect(&device, &network));
}
