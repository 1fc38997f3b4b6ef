//! Receipts: every altered field, every flipped byte and every other history is found.

use super::*;
use crate::accountant::PrivacyCost;
use crate::aggregate::Contributions;
use crate::history::{Checkpoint, Erasure, Header, HistoryPolicy, Touched};
use crate::unlearn::{Certificate, FedEraser, LedgerSubtraction, NoisyRollback, Retrain, Sensitivity, Spent, Variant};
use crate::{Coordinator, ServerOptimiser, Setup};
use foltr_rank::rng::{Purpose, Stream, Streams};

const SECRET: [u8; 32] = [7; 32];
const N_ROUNDS: u32 = 20;
const COST: MessageCost = MessageCost { cost: PrivacyCost::Gaussian { mu: 0.2 }, delta: 1e-5, budget: None };

fn eraser() -> Unlearning {
    Unlearning::FedEraser(FedEraser { interval: 5, steps: 4, variant: Variant::Thesis })
}

fn salts(seed: u64) -> Stream {
    Streams::new(seed).open(Purpose::Noise, 0, 0)
}

fn state(round: u32, value: f64) -> Checkpoint {
    let start = Coordinator::new(Setup::averaging(vec![0.5, -0.5], 5, 1)).expect("a sound setup").checkpoint();
    Checkpoint { round, master: vec![value, f64::from(round)], ..start }
}

fn rounds(history: &mut History, until: u32) {
    for round in history.n_rounds()..until {
        let stay = |client: &u32| !history.is_forgotten(*client);
        let clients: Vec<u32> = (0..5).filter(stay).filter(|&client| client != 2 || round >= 5).collect();
        history.close(round, &[0.0; 2], &clients, &Contributions::new(2), &mut salts(1));
    }
}

/// Twenty rounds of five clients, of which client 2 comes from round 5 on.
fn history() -> History {
    let optimiser = ServerOptimiser::LearningRate { rate: 1.0 };
    let (settings, initial) = (Fingerprint::of(b"settings"), vec![0.5, -0.5]);
    let policy = HistoryPolicy { checkpoints_every: Some(1), ..HistoryPolicy::default() };
    let mut history = History::new(Header { policy, n_clients: 5, optimiser, settings, initial });
    rounds(&mut history, N_ROUNDS);
    history.add_checkpoint(state(N_ROUNDS, 0.5), &mut salts(2));
    history
}

/// A client leaves; the federation goes back, if it does, and has a model with this value in the end.
fn forget(before: &History, client: u32, method: Unlearning, back_to: Option<u32>, value: Option<f64>) -> History {
    let mut after = before.clone();
    let fresh_rounds = if matches!(method, Unlearning::FedEraser(_)) { 4 } else { 0 };
    let erasure = Erasure { round: N_ROUNDS, clients: vec![client], method, fresh_rounds };
    after.erase(erasure, Touched::Drop).expect("a client");
    if let Some(to) = back_to {
        after.roll_back(to);
        rounds(&mut after, N_ROUNDS);
    }
    if let Some(value) = value {
        after.add_checkpoint(state(N_ROUNDS, value), &mut salts(3));
    }
    after
}

fn claim(before: &History, after: &History, guarantee: Assurance) -> Claim {
    let erasure = after.erasures().last().expect("somebody has left");
    let published = Published {
        before: Fingerprint::of_model(&[0.5, 20.0]),
        after: after.course().newest_ranker().expect("a state").1,
    };
    let met = Met {
        before,
        after,
        leavers: &erasure.clients,
        method: erasure.method,
        guarantee: &guarantee,
        published,
        cost: COST,
    };
    Claim::of(&met, "2024-05-01T12:00:00Z").expect("both have a state")
}

fn receipt() -> (Receipt, History) {
    let before = history();
    let after = forget(&before, 2, eraser(), None, Some(0.25));
    (claim(&before, &after, eraser().guarantee()).sign(&SECRET), after)
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
    assert_eq!(refused(Receipt { version: 1, ..receipt.clone() }), ReceiptError::Version { found: 1 });
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
fn signed_bytes_are_those_of_version_2() {
    let known = "93a2c6169aa73f2de834883445544fbc8e20ed8440a2dc21cafc262dca19dc85";
    assert_eq!(Fingerprint::of(&receipt().0.canonical_bytes()).to_string(), known);
    let before = history();
    let mut digests = Vec::new();
    for method in Unlearning::examples() {
        let after = forget(&before, 2, method, Some(0), Some(0.25));
        let receipt = claim(&before, &after, method.guarantee()).sign(&SECRET);
        digests.push(Fingerprint::of(&receipt.canonical_bytes()));
        let read: Receipt =
            serde_json::from_str(&serde_json::to_string(&receipt).expect("JSON")).expect("our own text");
        assert_eq!((read.verify(&public_key(&SECRET)), read), (Ok(()), receipt), "{}", method.name());
    }
    let all = digests.iter().fold(Writer::default(), |mut all, digest| {
        all.fingerprint(digest);
        all
    });
    assert_eq!(all.finish().to_string(), "78d28d7cb55efea29cec3d2c3a3c1c57ae6ae89c94207c6d1bb8a13dfe74fca3");
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
    // A later request changes nothing about an earlier receipt, also where it dropped the models of the receipt.
    let later = forget(&after, 3, Unlearning::Retrain(Retrain {}), Some(0), Some(0.75));
    assert_eq!(receipt.matches(&later), Ok(()));
    let head_after = receipt.claim.head_after;
    let before = history();
    assert_eq!(receipt.matches(&before), Err(ReceiptError::Head { head: head_after }), "nothing was forgotten");
    let other_model = forget(&before, 2, eraser(), None, Some(0.3));
    assert_eq!(receipt.matches(&other_model), Err(ReceiptError::Head { head: head_after }));
    let sign = |change: &dyn Fn(&mut Claim)| {
        let mut claim = receipt.claim.clone();
        change(&mut claim);
        claim.sign(&SECRET)
    };
    let other = Fingerprint::of_model(&[0.0, 0.0]);
    let of_model = Err(ReceiptError::Model { round: N_ROUNDS });
    for history in [&after, &later] {
        assert_eq!(sign(&|claim| claim.leavers = vec![1]).matches(history), Err(ReceiptError::Erasure));
        let steps = Unlearning::FedEraser(FedEraser { interval: 5, steps: 5, variant: Variant::Thesis });
        assert_eq!(sign(&|claim| claim.method = steps).matches(history), Err(ReceiptError::Erasure), "a parameter");
        assert_eq!(sign(&|claim| claim.guarantee = Assurance::Exact).matches(history), Err(ReceiptError::Guarantee));
        let no_op = sign(&|claim| claim.head_after = claim.head_before);
        assert_eq!(no_op.matches(history), Err(ReceiptError::Erasure), "nothing happens between a head and itself");
        let swapped = sign(&|claim| std::mem::swap(&mut claim.head_before, &mut claim.head_after));
        assert_eq!(swapped.matches(history), Err(ReceiptError::Erasure), "backwards");
        assert_eq!(sign(&|claim| claim.to.model = other).matches(history), of_model);
        assert_eq!(sign(&|claim| claim.from.model = other).matches(history), of_model);
        assert_eq!(sign(&|claim| claim.published.before = other).matches(history), of_model);
        assert_eq!(sign(&|claim| claim.published.after = other).matches(history), of_model);
        assert_eq!(sign(&|claim| claim.settings = other).matches(history), Err(ReceiptError::Settings));
    }
}

#[test]
fn a_guarantee_is_what_the_chain_proves() {
    let before = history();
    let rollback = |max_noise, sensitivity| {
        let (clip_norm, epsilon, delta) = (0.5, 2.0, 1e-5);
        Unlearning::NoisyRollback(NoisyRollback { clip_norm, epsilon, delta, max_noise, sensitivity })
    };
    let (retrain, exact) = (Unlearning::Retrain(Retrain {}), Assurance::Exact);
    let certified = Assurance::Certified { epsilon: 2.0, delta: 1e-5 };
    let (worst, smooth) = (Sensitivity::WorstCase, Sensitivity::Smooth { lipschitz: 1.0, clients: 4 });
    let subtraction = Unlearning::LedgerSubtraction(LedgerSubtraction {});
    // Client 2 came in round 5. Noise of 10 hides five rounds of clipped updates, of .01 not even one.
    for (method, back_to, guarantee, is_right) in [
        (retrain, Some(0), &exact, true),
        (retrain, Some(5), &exact, true),
        (retrain, Some(6), &exact, false),
        (retrain, None, &exact, false),
        (rollback(0.01, worst), Some(5), &exact, true),
        // Does nothing, and says that nothing was to be done.
        (rollback(0.01, worst), Some(20), &exact, false),
        (rollback(0.01, worst), None, &exact, false),
        (rollback(0.01, worst), Some(6), &certified, false),
        (rollback(10.0, worst), Some(8), &certified, true),
        (rollback(10.0, worst), Some(5), &certified, false),
        (rollback(10.0, worst), Some(20), &certified, false),
        (rollback(10.0, worst), Some(8), &Assurance::Certified { epsilon: 1.0, delta: 1e-5 }, false),
        (rollback(10.0, smooth), Some(8), &certified, false),
        (subtraction, None, &exact, false),
        (subtraction, None, &certified, false),
        (subtraction, None, &subtraction.guarantee(), true),
        (eraser(), None, &certified, false),
        // A heuristic of another kind than the method's.
        (eraser(), None, &subtraction.guarantee(), false),
    ] {
        let after = forget(&before, 2, method, back_to, Some(0.25));
        let matched = claim(&before, &after, guarantee.clone()).sign(&SECRET).matches(&after);
        let expected = if is_right { Ok(()) } else { Err(ReceiptError::Guarantee) };
        assert_eq!(matched, expected, "{method:?} {back_to:?} {guarantee}");
    }
}

#[test]
fn a_certificate_covers_every_message_of_the_chain() {
    // Somebody says that the leaver has sent one message (epsilon .6), where 15 are in the chain (epsilon 3).
    let before = history();
    let certificate = |epsilon| Unlearning::Certificate(Certificate { epsilon, delta: 1e-5 });
    let true_epsilon = COST.cost.after(15, 1e-5).epsilon;
    let sign = |epsilon: f64, messages: Option<u32>| {
        let method = certificate(epsilon);
        let after = forget(&before, 2, method, None, None);
        let mut claim = claim(&before, &after, method.guarantee());
        assert_eq!((claim.privacy.leavers.messages, claim.privacy.stayers.messages), (15, 20));
        if let Some(messages) = messages {
            let epsilon = Some(COST.cost.after(messages, 1e-5).epsilon);
            claim.privacy.leavers = Spent { messages, epsilon };
        }
        claim.sign(&SECRET).matches(&after)
    };
    assert_eq!(sign(true_epsilon, None), Ok(()));
    assert_eq!(sign(0.9 * true_epsilon, None), Err(ReceiptError::Guarantee));
    let of_one = COST.cost.after(1, 1e-5).epsilon;
    assert!(of_one < 0.3 * true_epsilon);
    assert_eq!(sign(of_one, Some(1)), Err(ReceiptError::Accounting));
}

#[test]
fn those_who_stay_pay_for_replays_and_leavers_do_not() {
    let before = history();
    let retrain = Unlearning::Retrain(Retrain {});
    let after = forget(&before, 2, retrain, Some(5), Some(0.25));
    let first = claim(&before, &after, Assurance::Exact);
    let epsilon = |cost: PrivacyCost, messages| Some(cost.after(messages, 1e-5).epsilon);
    let spent = |messages| Spent { messages, epsilon: epsilon(COST.cost, messages) };
    assert_eq!((first.privacy.leavers, first.privacy.stayers), (spent(15), spent(35)));
    let later = forget(&after, 0, retrain, Some(0), Some(0.125));
    let second = claim(&after, &later, Assurance::Exact);
    assert_eq!((second.privacy.leavers, second.privacy.stayers), (spent(35), spent(55)));
    // A client that takes part by coins pays for every coin, whether or not it came.
    let coins = PrivacyCost::Subsampled { probability: 0.1, noise_multiplier: 2.0 };
    let of = |cost| MessageCost { cost, ..COST }.accounting(&before.course(), &after.course(), &[2]);
    let by_coins = of(coins);
    assert_eq!((by_coins.leavers.messages, by_coins.stayers.messages), (20, 35));
    assert_eq!(by_coins.leavers.epsilon, epsilon(coins, 20));
    assert!(by_coins.to_string().contains("35 rounds"), "{by_coins}");
    // Shares of Laplace noise that are missing leave noise of which nothing is known.
    let shares = of(PrivacyCost::Laplace { scale: 1.0, shift: 1.0, n_params: 2 });
    assert!(shares.leavers.epsilon.is_some() && shares.stayers.epsilon.is_none());
    assert!(shares.to_string().ends_with("those who stay at most 35 messages: nothing is proven"), "{shares}");
    let nothing = of(PrivacyCost::Unbounded);
    assert_eq!((nothing.leavers.epsilon, nothing.stayers.epsilon), (None, None));
    let infinite = of(PrivacyCost::Pure { epsilon: f64::INFINITY });
    assert_eq!(infinite, nothing, "what has no bound has no number");
}
