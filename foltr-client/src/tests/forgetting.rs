//! Being forgotten: here at once and without a trace, and by every server that was asked, in its own time.

use foltr_federation::accountant::PrivacyCost;
use foltr_federation::receipt::{Claim, Model, Published};
use foltr_federation::unlearn::{Accounting, Retrain, Spent};
use foltr_federation::{Assurance, Fingerprint, Unlearning};
use foltr_test::disk::Fault;

use super::device::{TestDevice, averaging, documents, options};
use super::faults::federation_error;
use super::federation::{Federation, lock, problem};
use super::owner::n_stored;
use crate::core::{Consent, ModelInUse, Refused, Synced};
use crate::error::DeviceError;

/// Whether a file has these four bytes in a row.
fn is_anywhere(device: &TestDevice, value: f32) -> bool {
    let has_it = |content: Vec<u8>| content.windows(4).any(|bytes| bytes == value.to_le_bytes());
    device.disk.files().into_iter().any(|(name, _)| device.disk.read(&name).is_some_and(has_it))
}

const ODD: f32 = 1_234.567_8;

/// A list with a number that nothing else has, open or ended.
fn show_odd_list(device: &TestDevice) {
    let mut features = documents(1, 5);
    features[1] = ODD;
    for is_ended in [true, false] {
        let list = device.shell.rank(&features).expect("sound").impression;
        device.shell.clicked(list, 1).expect("open");
        if is_ended {
            device.shell.dismiss(list).expect("open");
        }
    }
    assert!(is_anywhere(device, ODD), "the attack looks in the right place");
}

/// The disk is full when the owner wants everything deleted: the server is not asked before that is done.
#[test]
fn forgetting_waits_for_the_disk_before_it_asks_the_server() {
    for is_member in [false, true] {
        let device = TestDevice::new(averaging(), options(), 1);
        if is_member {
            device.join(Consent::NoPromise).expect("it joins");
        }
        show_odd_list(&device);
        device.disk.fail_at(device.disk.n_operations(), Fault::Full);
        let n_requests = lock(&device.federation).n_requests;
        device.shell.forget().expect_err("it is not deleted");
        device.sync().expect_err("still not");
        if is_member {
            device.join(Consent::NoPromise).expect_err("it is being forgotten there");
        }
        device.shell.rank(&documents(1, 5)).expect("ranking goes on");
        assert_eq!(lock(&device.federation).n_requests, n_requests, "nothing was asked");
        device.disk.clear_fault();
        let synced = device.shell.sync().expect("room");
        assert_eq!(synced, if is_member { Synced::ForgettingAsked } else { Synced::Alone });
        assert!(!is_anywhere(&device, ODD));
        let device = device.reopen(2).expect("sound");
        assert!(!is_anywhere(&device, ODD));
        assert_eq!((n_stored(&device, "plan of"), n_stored(&device, "releases in use")), (0, 0));
        assert_eq!((device.model(), device.status().n_learnt_alone), (ModelInUse::Own, 0));
    }
}

#[test]
fn nothing_of_a_list_is_left_on_the_disk_after_forgetting() {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact_times(50);
    show_odd_list(&device);
    device.interact_times(200);
    assert_eq!(device.shell.forget(), Ok(Synced::ForgettingAsked));
    assert!(!is_anywhere(&device, ODD));
    assert_eq!(n_stored(&device, "lists"), 0);
    let device = device.reopen(2).expect("sound");
    assert!(!is_anywhere(&device, ODD));
    assert_eq!((device.model(), device.status().federation), (ModelInUse::Own, None));
    device.interact(1, 5);
}

/// What a server signs when it has forgotten these clients.
fn receipt(leavers: &[u32], secret: [u8; 32]) -> Vec<u8> {
    let [before, after] = [b"before", b" after"].map(|name| Fingerprint::of(name));
    let spent = Spent { messages: 1, epsilon: None };
    let claim = Claim {
        leavers: leavers.to_vec(),
        method: Unlearning::Retrain(Retrain {}),
        guarantee: Assurance::Exact,
        from: Model { round: 1, model: before },
        to: Model { round: 1, model: after },
        published: Published { before, after },
        privacy: Accounting { cost: PrivacyCost::Unbounded, delta: 1e-5, leavers: spent, stayers: spent },
        head_before: before,
        head_after: after,
        settings: Fingerprint::of(b"settings"),
        time: "2026-01-01".into(),
    };
    serde_json::to_vec(&claim.sign(&secret)).expect("texts and numbers")
}

/// Of the key of the federation; the device has number 0.
fn sound_receipt() -> Vec<u8> {
    receipt(&[0], [7; 32])
}

/// A receipt for somebody else, one that anybody could have signed, and one that was altered: none of them is a receipt,
/// and the server is asked again until it has a real one.
#[test]
fn only_a_receipt_for_this_device_by_this_federation_is_taken() {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact_times(2);
    lock(&device.federation).deletion = Some(receipt(&[1, 2], [7; 32]));
    assert_eq!(device.shell.forget(), Ok(Synced::ForgettingLater));
    let mut altered = String::from_utf8(sound_receipt()).expect("text");
    altered = altered.replace("2026", "2027");
    for (wrong, words) in [
        (receipt(&[1, 2], [7; 32]), "other clients than number 0"),
        (receipt(&[0], [8; 32]), "another key"),
        (altered.into_bytes(), "altered"),
        (b"forgotten, promised".to_vec(), "cannot be read"),
    ] {
        lock(&device.federation).deletion = Some(wrong);
        let error = federation_error(device.sync()).to_string();
        assert!(error.contains(words), "{error:?} has no {words:?}");
        assert_eq!((device.status().being_forgotten_by.len(), device.shell.deletion_receipt()), (1, Ok(None)));
    }
    let device = device.reopen(2).expect("sound");
    lock(&device.federation).deletion = Some(sound_receipt());
    assert_eq!(device.sync(), Ok(Synced::Forgotten));
    for seed in [3, 4] {
        assert_eq!(device.shell.deletion_receipt(), Ok(Some(sound_receipt())), "{seed}");
        assert!(device.status().being_forgotten_by.is_empty());
        assert_eq!(device.shell.forget(), Ok(Synced::Alone), "a second time there is nobody to ask");
    }
    let device = device.reopen(3).expect("sound");
    assert_eq!(device.shell.deletion_receipt(), Ok(Some(sound_receipt())));
}

/// A server that never confirms keeps its device from joining it again, and from nothing else.
#[test]
fn a_silent_server_keeps_nobody_from_another_federation() {
    let device = TestDevice::member(averaging(), options(), 1);
    let second = Federation::shared(averaging());
    let elsewhere = "http://127.0.0.1:9";
    device.shell.transport().elsewhere.insert(elsewhere.into(), second.clone());
    device.interact_times(4);
    assert_eq!(device.shell.forget(), Ok(Synced::ForgettingAsked));
    let refused = device.join(Consent::NoPromise).expect_err("it is being forgotten there");
    assert!(matches!(refused, DeviceError::Refused(Refused::BeingForgotten { .. })), "{refused}");
    device.answer("/forget", || problem(503, "unavailable"));
    let invitation = lock(&second).invitation(elsewhere);
    assert_eq!(device.shell.join(&invitation, Consent::NoPromise), Ok(Synced::UpToDate));
    for _ in 0..3 {
        device.interact_times(4);
        device.sync().expect("the silent server does not matter");
    }
    assert_eq!((lock(&second).received.len(), lock(&device.federation).received.len()), (1, 0));
    assert_eq!(device.status().being_forgotten_by.len(), 1);
    // Forgotten by the second one as well: both are asked in one visit, and both confirm.
    device.answer_honestly();
    [&device.federation, &second].iter().for_each(|it| lock(it).deletion = Some(sound_receipt()));
    assert_eq!(device.shell.forget(), Ok(Synced::Forgotten));
    assert!(device.status().being_forgotten_by.is_empty());
    assert_eq!(device.shell.join(&invitation, Consent::NoPromise), Ok(Synced::UpToDate));
    let refused = device.join(Consent::NoPromise).expect_err("one at a time");
    assert!(matches!(refused, DeviceError::Refused(Refused::OtherFederation { .. })), "{refused}");
}
