//! Receipts: every altered field, every flipped byte and every other history is found.

use super::*;
use crate::ServerOptimiser;
use crate::coordinator::{Coordinator, Setup};
use crate::history::{Erasure, Header, HistoryPolicy, Touched};
use crate::unlearn::FedEraser;

const SECRET: [u8; 32] = [7; 32];

fn history() -> History {
    let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
    let settings = Fingerprint::of(b"settings");
    let initial = vec![0.5, -0.5];
    let mut history =
        History::new(Header { policy: HistoryPolicy::default(), n_clients: 5, optimiser, settings, initial });
    let setup = Setup::averaging(vec![0.5, -0.5], 5, 1);
    history.add_checkpoint(Coordinator::new(setup).expect("a sound setup").checkpoint());
    history
}

fn forget(before: &History, client: u32, value: f64) -> History {
    let mut after = before.clone();
    let (clients, method) = (vec![client], "fed-eraser".to_owned());
    let erasure = Erasure { round: 0, clients, method, is_proven: false, fresh_rounds: 3 };
    after.erase(erasure, Touched::Drop).expect("a client");
    let mut state = before.latest().expect("a state").clone();
    state.master = vec![value, value];
    after.add_checkpoint(state);
    after
}

fn claim(before: &History, after: &History, client: u32) -> Claim {
    let method = Unlearning::FedEraser(FedEraser { interval: 5, steps: 4, variant: crate::unlearn::Variant::Thesis });
    let time = "2024-05-01T12:00:00Z";
    Claim::between(before, after, &[client], method, method.guarantee(), time).expect("both have a state")
}

fn receipt() -> (Receipt, History) {
    let before = history();
    let after = forget(&before, 2, 0.25);
    (claim(&before, &after, 2).sign(&SECRET), after)
}

#[test]
fn a_receipt_is_believed_with_its_key_and_its_history() {
    let (receipt, after) = receipt();
    assert_eq!((receipt.verify(&public_key(&SECRET)), receipt.matches(&after)), (Ok(()), Ok(())));
    assert_eq!(receipt.verify(&public_key(&[8; 32])), Err(ReceiptError::Key));
    // Signed by somebody else, who says so.
    let other = receipt.claim.clone().sign(&[8; 32]);
    assert_eq!(other.verify(&public_key(&SECRET)), Err(ReceiptError::Key));
    // Signed by somebody else, who does not say so.
    let forged = Receipt { public_key: public_key(&SECRET), ..other };
    assert_eq!(forged.verify(&public_key(&SECRET)), Err(ReceiptError::Signature));
}

#[test]
fn the_signature_is_that_of_rfc_8032() {
    // Its first test: an empty message.
    let bytes = |text| hexadecimal::parse(text).expect("hexadecimal digits");
    let secret: [u8; 32] = bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    assert_eq!(public_key(&secret), bytes(public));
    let signature = SigningKey::from_bytes(&secret).sign(b"").to_bytes();
    assert_eq!(signature[..4], [0xe5, 0x56, 0x43, 0x00]);
}

#[test]
fn every_flipped_bit_of_the_text_is_found() {
    let (receipt, after) = receipt();
    let text = serde_json::to_string(&receipt).expect("JSON").into_bytes();
    let key = public_key(&SECRET);
    let refused = |receipt: Receipt| receipt.verify(&key).expect_err("altered");
    assert_eq!(refused(Receipt { version: 2, ..receipt.clone() }), ReceiptError::Version { found: 2 });
    let claim = Claim { time: "2024-05-02T12:00:00Z".into(), ..receipt.claim.clone() };
    assert_eq!(refused(Receipt { claim, ..receipt.clone() }), ReceiptError::Signature);
    for bit in 0..8 * text.len() {
        let mut altered = text.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        let read = serde_json::from_slice::<Receipt>(&altered);
        let is_believed = read.is_ok_and(|read| read.verify(&key).is_ok() && read.matches(&after).is_ok());
        assert!(!is_believed, "bit {bit}: {}", String::from_utf8_lossy(&altered));
    }
}

#[test]
fn signed_bytes_are_those_of_version_1() {
    assert_eq!(
        Fingerprint::of(&receipt().0.canonical_bytes()).to_string(),
        "909be75dbe607282fac80f3c074f95b8d4b5320dc985e3808a38a3b0d041dd4d"
    );
    let before = history();
    let after = forget(&before, 2, 0.25);
    for (method, known) in Unlearning::examples().into_iter().zip([
        "956368d52e56622fe3b7fbaac2ced133e8d3d931eda58613811a61016caf5498",
        "afdc46973dc9c737269773dc87f7b57c1209ff1dcadc318968662911b40d489d",
        "7348e6ca1ff44651e332a45ec12dbc02090802d437f878f86444a62a1a844523",
        "fb82095f0bfd2e4fb40af00a03b88d384c4921a2163eb829c3dda390d7cde972",
        "0c964bc9d7452f7f13419b41b93bab01f1d7b31b0c7c02942475df70ec6eab27",
        "a9bfc6660a0521051021216b268fcdcfb841e755c99709e796630db2a4d3cdce",
    ]) {
        let claim = Claim::between(&before, &after, &[2], method, method.guarantee(), "t").expect("both have a state");
        let receipt = claim.sign(&SECRET);
        assert_eq!(Fingerprint::of(&receipt.canonical_bytes()).to_string(), known, "{}", method.name());
        let read: Receipt =
            serde_json::from_str(&serde_json::to_string(&receipt).expect("JSON")).expect("our own text");
        assert_eq!((read.verify(&public_key(&SECRET)), read), (Ok(()), receipt));
    }
}

#[test]
fn unknown_keys_are_refused() {
    let mut text = serde_json::to_value(receipt().0).expect("JSON");
    text["claim"]["comment"] = "trust me".into();
    assert!(serde_json::from_value::<Receipt>(text).is_err());
}

#[test]
fn another_history_does_not_match() {
    let (receipt, after) = receipt();
    // A later request changes nothing about an earlier receipt.
    assert_eq!(receipt.matches(&forget(&after, 3, 0.75)), Ok(()));
    let head_after = receipt.claim.head_after;
    let before = history();
    assert_eq!(receipt.matches(&before), Err(ReceiptError::Head { head: head_after }), "nothing was forgotten");
    let other_model = forget(&before, 2, 0.3);
    assert_eq!(receipt.matches(&other_model), Err(ReceiptError::Head { head: head_after }));
    let sign = |change: &dyn Fn(&mut Claim)| {
        let mut claim = receipt.claim.clone();
        change(&mut claim);
        claim.sign(&SECRET)
    };
    assert_eq!(sign(&|claim| claim.leavers = vec![1]).matches(&after), Err(ReceiptError::Erasure));
    assert_eq!(sign(&|claim| claim.guarantee = Assurance::Exact).matches(&after), Err(ReceiptError::Erasure));
    let no_op = sign(&|claim| claim.head_after = claim.head_before);
    assert_eq!(no_op.matches(&after), Err(ReceiptError::Erasure), "nothing happens between a head and itself");
    let model = Fingerprint::of_model(&[0.0, 0.0]);
    assert_eq!(sign(&|claim| claim.to.model = model).matches(&after), Err(ReceiptError::Model { round: 0 }));
    assert_eq!(sign(&|claim| claim.from.model = model).matches(&after), Err(ReceiptError::Model { round: 0 }));
    assert_eq!(sign(&|claim| claim.settings = model).matches(&after), Err(ReceiptError::Settings));
}
