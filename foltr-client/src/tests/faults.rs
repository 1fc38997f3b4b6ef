//! Whatever server, network, disk or clock do: a clear error, the last good model goes on ranking, and nothing is lost.

use std::path::Path;

use foltr_federation::FederationPlan;
use foltr_federation::protocol::{Plan, Release, SecretKey, Signed, Task};
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::SimulatedNoise;
use foltr_test::disk::{Disk, Fault};

use super::device::{FILE, TestDevice, averaging, documents, options, schema, simulated};
use super::federation::{Direct, Federation, Way, lock, problem};
use super::modes;
use crate::core::{Answer, Consent, FederationError, LoadError, Method, ModelInUse, Refused, Request, Synced};
use crate::error::{DeviceError, OpenError};
use crate::options::Options;
use crate::randomness::OsRandomness;
use crate::shell::{Shell, system_clock};
use crate::store::{Store, StoreError};

/// A member with release 0, in a federation that has published release 1.
fn behind() -> TestDevice {
    let device = TestDevice::member(averaging(), options(), 1);
    lock(&device.federation).publish_model(0, vec![1.0, 0.0, 0.0]);
    device
}

fn alter(device: &TestDevice, what: &'static str, change: impl Fn(Vec<u8>) -> Vec<u8> + Send + 'static) {
    device.shell.transport().alter = Some(Box::new(move |request: &Request, answer: Answer| {
        let path = request.path.rsplit('/').next().unwrap_or_default();
        if path.starts_with(what) || request.path.contains(&format!("/{what}/")) {
            Answer { body: change(answer.body), ..answer }
        } else {
            answer
        }
    }));
}

pub fn federation_error(result: Result<Synced, DeviceError>) -> FederationError {
    match result {
        Err(DeviceError::Refused(Refused::Federation(error)) | DeviceError::NotReached(error, _)) => error,
        other => panic!("{other:?}"),
    }
}

/// The device ranks with release 0, its status names the problem, and without the fault it gets on.
fn assert_goes_on(device: TestDevice, words: &str) {
    let status = device.shell.status().expect("a status");
    assert_eq!(status.model, ModelInUse::Release { version: 0 });
    let problem = status.problem.clone().unwrap_or_default();
    assert!(problem.contains(words), "{problem:?} has no {words:?}");
    assert!(status.to_string().contains(words), "{status}");
    device.interact(1, 5);
    device.shell.transport().alter = None;
    let device = device.reopen(2).expect("nothing is damaged");
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    let status = device.shell.status().expect("a status");
    assert_eq!((status.model, status.problem), (ModelInUse::Release { version: 1 }, None));
}

fn flip(mut body: Vec<u8>, from_end: usize) -> Vec<u8> {
    let at = body.len() - from_end;
    body[at] ^= 1;
    body
}

#[test]
fn a_damaged_release_is_refused() {
    let device = behind();
    alter(&device, "releases", |body| flip(body, 3));
    let error = federation_error(device.sync());
    assert!(matches!(error, FederationError::DamagedRelease { version: 1, .. }), "{error}");
    assert_goes_on(device, "release 1 is damaged");
}

#[test]
fn forged_documents_are_refused() {
    let device = behind();
    alter(&device, "headers", |body| flip(body, 40));
    assert!(matches!(federation_error(device.sync()), FederationError::Release(_)));
    assert_goes_on(device, "signature does not fit");

    let device = behind();
    device.sync().expect("the release is followed");
    alter(&device, "task", |body| {
        let mut task = *Signed::<Task>::decode(&body).expect("a task").unverified();
        task.round += 1;
        Signed::sign(task, &SecretKey::from_bytes(&[9; 32])).expect("sound").as_bytes().to_vec()
    });
    assert_eq!(federation_error(device.sync()), FederationError::Forged { what: "task" });

    let device = TestDevice::new(averaging(), options(), 1);
    alter(&device, "plans", |body| {
        let plan = Signed::<Plan>::decode(&body).expect("a plan").unverified().clone();
        Signed::sign(plan, &SecretKey::from_bytes(&[9; 32])).expect("sound").as_bytes().to_vec()
    });
    assert_eq!(federation_error(device.join(Consent::NoPromise)), FederationError::Forged { what: "plan" });
    device.interact(0, 3);

    let device = TestDevice::new(averaging(), options(), 1);
    alter(&device, "devices", |body| flip(body, 1));
    let error = federation_error(device.join(Consent::NoPromise));
    assert!(matches!(error, FederationError::Enrolment(_)), "{error}");
}

/// The answer of a server whose history is another one.
fn with_history(device: &TestDevice, releases: Vec<Release>) {
    let newest = releases.last().expect("one at least").id();
    let bytes: Vec<Vec<u8>> = releases.iter().map(Release::encode).collect();
    let headers: Vec<_> = releases.iter().map(|release| release.signed_header().clone()).collect();
    device.shell.transport().alter = Some(Box::new(move |request: &Request, answer: Answer| {
        let key = SecretKey::from_bytes(&[7; 32]);
        let path = request.path.strip_prefix(super::federation::BASE).unwrap_or_default();
        let body = match path.split(['/', '?']).nth(1) {
            Some("task") => {
                let task = *Signed::<Task>::decode(&answer.body).expect("a task").unverified();
                Signed::sign(Task { start: newest, ..task }, &key).expect("sound").as_bytes().to_vec()
            }
            Some("headers") => {
                let after: usize = path.rsplit('=').next().and_then(|after| after.parse().ok()).unwrap_or(0);
                foltr_federation::protocol::encode_headers(headers.get(after + 1..).unwrap_or_default())
            }
            Some("releases") => bytes[newest.version as usize].clone(),
            _ => answer.body.clone(),
        };
        Answer { body, ..answer }
    }));
}

#[test]
fn forks_and_rollbacks_are_refused_and_an_operators_rollback_is_not() {
    let device = behind();
    device.sync().expect("release 1 is there");
    let (first, key) = (lock(&device.federation).releases[0][0].clone(), SecretKey::from_bytes(&[7; 32]));
    let hash = first.header().plan;
    let other = first.next(hash, vec![9.0, 9.0, 9.0], &key).expect("finite");
    with_history(&device, vec![first.clone(), other.clone()]);
    assert_eq!(federation_error(device.sync()), FederationError::Fork { version: 1 });
    let after = other.next(hash, vec![9.0, 9.0, 9.0], &key).expect("finite");
    with_history(&device, vec![first.clone(), other, after]);
    let error = federation_error(device.sync());
    assert!(error.to_string().contains("another past"), "{error}");
    with_history(&device, vec![first]);
    assert_eq!(federation_error(device.sync()), FederationError::Rollback { newest: 1, got: 0 });
    assert_eq!(device.shell.status().expect("a status").model, ModelInUse::Release { version: 1 });
    device.interact(1, 5);
    // Old parameters as a new version.
    device.shell.transport().alter = None;
    let old = lock(&device.federation).releases[0][0].params().to_vec();
    lock(&device.federation).publish_model(0, old);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    assert_eq!(device.shell.status().expect("a status").model, ModelInUse::Release { version: 2 });
}

#[test]
fn plans_that_cannot_be_followed_are_refused() {
    // Of other features.
    let features =
        foltr_federation::protocol::FeatureSchema::numbered(4, foltr_federation::protocol::Normalisation::None);
    let plan = Plan::new(modes::pdgd(1), &features, true).expect("deployable");
    let device = TestDevice::new(plan, options(), 1);
    let error = federation_error(device.join(Consent::NoPromise));
    assert!(error.to_string().contains("this device computes"), "{error}");
    device.interact(2, 4);
    // Another plan than the one that was asked for.
    let device = TestDevice::new(averaging(), options(), 1);
    alter(&device, "plans", |_| {
        let other = simulated(FederationPlan { n_rounds: 7, ..modes::pdgd(1) });
        Signed::sign(other, &SecretKey::from_bytes(&[7; 32])).expect("sound").as_bytes().to_vec()
    });
    assert!(matches!(federation_error(device.join(Consent::NoPromise)), FederationError::OtherPlan { .. }));
    // Without the owner's word.
    let device = TestDevice::new(averaging(), options(), 1);
    for consent in [Consent::ProtectedMessages, Consent::TrustedServer] {
        let error = federation_error(device.join(consent));
        assert!(matches!(error, FederationError::NeedsConsent { needed: Consent::NoPromise, .. }), "{error}");
        assert!(device.shell.status().expect("a status").federation.is_some_and(|it| !it.is_member));
    }
    device.join(Consent::NoPromise).expect("the owner's word");
}

/// A plan whose noise could be foreseen is for tests, and a device that people have refuses it.
#[test]
fn a_simulated_plan_is_refused_with_numbers_of_the_operating_system() {
    let (disk, federation) = (Disk::new(), Federation::shared(averaging()));
    let (store, records) = Store::open(Path::new(FILE), Some(disk.name())).expect("a store");
    let invitation = lock(&federation).invitation("http://localhost");
    let transport = Direct::to(&federation);
    let random = OsRandomness::new();
    let shell = Shell::with_store(store, records, options(), random, transport, system_clock(), None).expect("sound");
    let error = federation_error(shell.join(&invitation, Consent::NoPromise));
    assert!(error.to_string().contains("its noise can be foreseen"), "{error}");
}

#[test]
fn a_message_is_sent_again_with_the_same_bytes_until_it_is_taken() {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact_times(4);
    device.shell.transport().way = Way::AnswerLost;
    assert!(matches!(federation_error(device.sync()), FederationError::NotReached { .. }));
    let sent = lock(&device.federation).received.clone();
    assert_eq!(sent.len(), 1);
    let device = device.reopen(77).expect("sound");
    let waiting = device.shell.status().expect("a status").federation.and_then(|it| it.waiting_round);
    assert_eq!(waiting, Some(0));
    assert_eq!(device.shell.sync().map(|it| matches!(it, Synced::Later { .. })), Ok(true), "it backs off");
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
    assert_eq!(lock(&device.federation).received, sent);
    // The next lists go into the next round.
    device.close_round();
    assert_eq!(device.sync(), Ok(Synced::UpToDate), "those lists were of a release that is too old now");
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 1 }));
}

#[test]
fn a_message_for_a_closed_round_is_given_up_and_stays_paid_for() {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact_times(4);
    device.shell.transport().way = Way::RequestLost;
    device.sync().expect_err("lost");
    device.shell.transport().way = Way::Clear;
    let mut noise = SimulatedNoise::open(&Streams::new(1), Purpose::Noise, 0, 0);
    lock(&device.federation).close(&[0], &[], &mut noise);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    let budget = device.shell.status().expect("a status").federation.and_then(|it| it.budget).expect("a ledger");
    assert_eq!((budget.n_unprotected, lock(&device.federation).received.len()), (1, 0));
}

#[test]
fn another_message_of_the_same_device_is_reported() {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact_times(4);
    device.shell.transport().alter = Some(Box::new(|request: &Request, answer: Answer| match request.method {
        Method::Put => problem(409, "already-contributed"),
        _ => answer,
    }));
    assert_eq!(federation_error(device.sync()), FederationError::OtherMessage { round: 0 });
}

#[test]
fn a_server_that_is_down_busy_or_talks_nonsense_is_tried_again_for_ever() {
    let device = behind();
    let nonsense: Vec<fn() -> Answer> = vec![
        || problem(503, "unavailable"),
        || Answer { retry_after: Some(u64::MAX), ..problem(429, "too-many-requests") },
        || Answer { status: 500, body: vec![0xFF; 100], retry_after: None },
        || Answer { status: 200, body: b"<html>".to_vec(), retry_after: None },
        || Answer { status: 302, ..Answer::default() },
        || Answer { status: 200, body: vec![0; 1 << 20], retry_after: None },
        || problem(403, "revoked"),
    ];
    for answer in nonsense {
        device.shell.transport().alter = Some(Box::new(move |_: &Request, _| answer()));
        for _ in 0..3 {
            device.sync().expect_err("no task");
        }
        device.interact(1, 5);
    }
    assert_goes_on(device, "revoked");
}

#[test]
fn a_disk_that_fills_up_stops_promises_and_not_rankings() {
    let device = TestDevice::member(averaging(), options(), 1);
    let before = device.shell.rank(&documents(1, 5)).expect("room");
    device.disk.fail_at(device.disk.n_operations(), Fault::Full);
    let list = device.shell.rank(&documents(1, 5)).expect("ranking goes on");
    let refused = device.shell.clicked(list.impression, 0).expect_err("no promise");
    assert!(matches!(refused, DeviceError::Store(StoreError::Full { .. })), "{refused}");
    assert!(refused.to_string().contains("disk is full"), "{refused}");
    device.shell.dismiss(before.impression).expect("it can be written later");
    assert!(device.sync().is_err(), "nothing is sent that cannot be booked");
    assert!(device.shell.status().expect("a status").problem.is_some_and(|it| it.contains("full")));
    device.disk.clear_fault();
    device.shell.clicked(list.impression, 0).expect("room again");
    let device = device.reopen(2).expect("sound");
    let open = device.shell.with_core(|core, _| core.open_clicks());
    assert_eq!(open.keys().copied().collect::<Vec<_>>(), [list.impression.0], "all that waited was written");
}

#[test]
fn a_damaged_file_is_noticed_and_left_as_it_is() {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact_times(20);
    let device = device.reopen(1).expect("sound");
    let disk = device.disk.clone();
    drop(device);
    let open = |disk: &Disk| Store::open(Path::new(FILE), Some(disk.name())).map(|(_, records)| records);
    let intact = open(&disk.copy()).expect("sound");
    let (_, length) = disk.files().into_iter().find(|(name, _)| name == FILE).expect("the file");
    let mut n_refused = 0;
    // Every 13th byte of the file, one at a time.
    for offset in (0..length).step_by(13) {
        let copy = disk.copy();
        copy.corrupt(FILE, offset, 0x40);
        let before = copy.read(FILE);
        match open(&copy) {
            Err(error) => {
                n_refused += 1;
                assert!(error.to_string().contains(FILE), "{error}");
                assert!(copy.read(FILE) == before, "byte {offset}: the file was changed ({error})");
            }
            // Free space, or what the log has anew.
            Ok(records) => assert!(records == intact, "byte {offset} was altered, and nobody noticed"),
        }
    }
    assert!(n_refused > length / 13 / 10, "{n_refused} refused of {length} / 13");
}

#[test]
fn folders_of_a_newer_version_other_features_or_another_ranker_are_refused() {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact(0, 3);
    let TestDevice { disk, federation, time, options, shell } = device;
    drop(shell);
    let open = |options: &Options| super::device::open(&disk, &federation, &time, options, 1).map(drop);
    let wider = foltr_federation::protocol::FeatureSchema::numbered(4, foltr_federation::protocol::Normalisation::None);
    let refused = open(&Options { features: wider, ..options.clone() }).expect_err("other features");
    assert!(matches!(refused, OpenError::Load(LoadError::OtherFeatures { .. })), "{refused}");
    let mut network = options.clone();
    network.alone.ranker = foltr_rank::RankerShape::Mlp {
        hidden: 3,
        activation: foltr_rank::Activation::Relu,
        initialisation: foltr_rank::Initialisation::FanIn,
    };
    let refused = open(&network).expect_err("another ranker");
    assert!(matches!(refused, OpenError::Load(LoadError::OtherRanker { .. })), "{refused}");
    open(&options).expect("as it was");
    {
        let connection =
            rusqlite::Connection::open_with_flags_and_vfs(FILE, rusqlite::OpenFlags::default(), disk.name());
        let connection = connection.expect("a file");
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version = 9").expect("written");
    }
    let refused = open(&options).expect_err("newer");
    assert!(matches!(refused, OpenError::Store(StoreError::Newer { found: 9, .. })), "{refused}");
    assert!(refused.to_string().contains("newer version"), "{refused}");
}

#[test]
fn wrong_options_are_named() {
    let device = TestDevice::new(averaging(), options(), 1);
    device.shell.rank(&documents(1, 5)).expect("a list that stays open");
    let TestDevice { disk, federation, time, options, shell } = device;
    drop(shell);
    let refused = |change: &dyn Fn(&mut Options)| {
        let mut options = options.clone();
        change(&mut options);
        super::device::open(&disk, &federation, &time, &options, 1).map(drop).expect_err("of no use").to_string()
    };
    let words = [
        refused(&|it| it.alone.list_length = 3),
        refused(&|it| it.alone.list_length = 101),
        refused(&|it| it.alone.learner.learning_rate = f64::NAN),
        refused(&|it| it.adoption = Some(foltr_rank::adoption::AdoptionRule { error: 7.0, lists: 9 })),
        refused(&|it| it.budget = Some(crate::Guarantee { epsilon: -1.0, delta: 1e-5 })),
    ];
    let expected = ["list_length", "n_shown", "learning_rate", "error", "budget.epsilon"];
    words.iter().zip(expected).for_each(|(words, name)| assert!(words.contains(name), "{words} has no {name}"));
}

#[test]
fn wrong_features_of_a_query_are_named() {
    let device = TestDevice::new(averaging(), options(), 1);
    let refused = device.shell.rank(&[0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0]).expect_err("not a number").to_string();
    assert_eq!(refused, "document 1, feature 1 (`2`) is NaN; it must be a finite number");
    let refused = device.shell.rank(&[0.0; 4]).expect_err("half a document").to_string();
    assert_eq!(refused, "4 values are no whole number of documents with 3 features each");
    device.shell.rank(&[f32::MAX; 6]).expect("large, and finite");
}

#[test]
fn clocks_may_jump() {
    let device = TestDevice::member(averaging(), options(), 1);
    let set = |time: u64| device.time.store(time, std::sync::atomic::Ordering::Relaxed);
    let list = device.shell.rank(&documents(1, 5)).expect("sound");
    device.shell.clicked(list.impression, 0).expect("open");
    for time in [0, 4_000_000_000, 1, u64::MAX, 5, u64::MAX - 1, 1_800_000_000] {
        set(time);
        device.interact(1, 5);
        device.shell.transport().alter = Some(Box::new(|_: &Request, _| problem(503, "unavailable")));
        device.shell.sync().map(|synced| assert!(matches!(synced, Synced::Later { .. }), "{synced:?}")).unwrap_or(());
        device.shell.transport().alter = None;
    }
    // No wait is longer than a day, whatever the clock said before.
    assert!(device.sync().is_ok());
    let device = device.reopen(5).expect("sound");
    assert!(device.shell.status().expect("a status").n_open <= 1);
    device.interact(1, 5);
}

#[test]
fn an_invitation_that_is_used_up_or_of_another_federation_is_refused() {
    let device = TestDevice::new(averaging(), options(), 1);
    device.shell.transport().alter = Some(Box::new(|_: &Request, _| problem(403, "invitation-refused")));
    let error = federation_error(device.join(Consent::NoPromise));
    assert!(error.to_string().contains("ask for another one"), "{error}");
    device.shell.transport().alter = None;
    device.join(Consent::NoPromise).expect("another try");
    let elsewhere = lock(&device.federation).invitation("http://127.0.0.1:9");
    let refused = device.shell.join(&elsewhere, Consent::NoPromise).expect_err("one federation at a time");
    assert!(matches!(refused, DeviceError::Refused(Refused::OtherFederation { .. })), "{refused}");
    assert_eq!(schema().features.len(), super::device::N_FEATURES);
}
