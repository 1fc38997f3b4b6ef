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
fn every_altered_field_is_found() {
    let (receipt, _) = receipt();
    let text = serde_json::to_value(&receipt).expect("JSON");
    let paths = leaves(&text, String::new());
    assert!(paths.len() >= 17, "{paths:?}");
    for path in paths {
        let mut altered = text.clone();
        let leaf = altered.pointer_mut(&path).expect("a leaf");
        *leaf = match leaf {
            serde_json::Value::Number(number) => (number.as_f64().unwrap_or(0.0) as u64 + 1).into(),
            serde_json::Value::String(text) => changed(text).into(),
            other => panic!("{other} is no leaf"),
        };
        match serde_json::from_value::<Receipt>(altered) {
            // Such as a method that does not exist.
            Err(error) => assert!(path.ends_with("kind") || path.ends_with("variant"), "{path}: {error}"),
            Ok(altered) => {
                let error = altered.verify(&public_key(&SECRET)).expect_err("altered");
                let wanted = match path.as_str() {
                    "/version" => ReceiptError::Version { found: 2 },
                    "/public_key" => ReceiptError::Key,
                    _ => ReceiptError::Signature,
                };
                assert_eq!(error, wanted, "{path}");
            }
        }
    }
}

/// A text with another first character, of the same kind.
fn changed(text: &str) -> String {
    let first = if text.starts_with('0') { '1' } else { '0' };
    std::iter::once(first).chain(text.chars().skip(1)).collect()
}

/// Paths of all texts and numbers.
fn leaves(value: &serde_json::Value, path: String) -> Vec<String> {
    match value {
        serde_json::Value::Object(map) => {
            map.iter().flat_map(|(key, it)| leaves(it, format!("{path}/{key}"))).collect()
        }
        serde_json::Value::Array(all) => {
            all.iter().enumerate().flat_map(|(key, it)| leaves(it, format!("{path}/{key}"))).collect()
        }
        _ => vec![path],
    }
}

#[test]
fn every_flipped_bit_of_the_text_is_found() {
    let (receipt, after) = receipt();
    let text = serde_json::to_string(&receipt).expect("JSON").into_bytes();
    let key = public_key(&SECRET);
    for bit in 0..8 * text.len() {
        let mut altered = text.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        let read = serde_json::from_slice::<Receipt>(&altered);
        let is_believed = read.is_ok_and(|read| read.verify(&key).is_ok() && read.matches(&after).is_ok());
        assert!(!is_believed, "bit {bit}: {}", String::from_utf8_lossy(&altered));
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
