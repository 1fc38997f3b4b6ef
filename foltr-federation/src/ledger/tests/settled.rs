//! Settled rounds cost what they cost, and take nothing more.

use super::*;

/// Two messages for 0.5 each, two coins of which one has a message, and one message without privacy.
fn booked() -> Ledger {
    let mut ledger = ledger();
    ledger.reserve("news", 0, pure(0.5), b"a").expect("within the budget");
    ledger.reserve("news", 3, pure(0.5), b"b").expect("within the budget");
    ledger.book_coin("news", 1, COIN).expect("within the budget");
    ledger.book_coin("news", 2, COIN).expect("within the budget");
    ledger.reserve("news", 2, COIN, b"c").expect("its coin was booked");
    ledger.book_unprotected("news", 4, b"d").expect("a plan that promises nothing");
    ledger
}

#[test]
fn settled_rounds_keep_their_cost_and_take_nothing_more() {
    let mut ledger = ledger();
    for round in 0..3 {
        ledger.reserve("news", round, pure(1.0), b"a").expect("within the budget");
    }
    ledger.reserve("shop", 0, pure(0.5), b"a").expect("within the budget");
    ledger.settle("news", 2);
    assert_eq!((ledger.spent().epsilon, ledger.n_messages()), (3.5, 4));
    // The fingerprints of rounds 0 and 1 are gone; round 2 and the other task are as they were.
    let known = [("news", 0), ("news", 1), ("news", 2), ("shop", 0)];
    assert_eq!(known.map(|(task, round)| ledger.has_message(task, round, b"a")), [false, false, true, true]);
    let before = ledger.clone();
    let refused = Refused::Settled { task: "news".into(), round: 1, before: 2 };
    assert!(refused.to_string().contains("has settled all rounds before 2"), "{refused}");
    assert_eq!(ledger.reserve("news", 1, pure(1.0), b"a"), Err(refused.clone()));
    assert_eq!(ledger.book_coin("news", 1, COIN), Err(refused.clone()));
    assert_eq!(ledger.book_unprotected("news", 1, b"a"), Err(refused));
    assert!(ledger.reserve("news", 2, pure(1.0), b"a").expect("the same bytes").is_repeat);
    // What was settled stays so.
    ledger.settle("news", 1);
    ledger.settle("news", 2);
    ledger.settle("else", 0);
    assert_eq!(ledger, before);
    assert!(matches!(ledger.reserve("news", 3, pure(1.0), b"b"), Err(Refused::Exceeded { would_be: 4.5, .. })));
}

#[test]
fn the_stored_form_of_settled_rounds_has_counts_only() {
    let mut ledger = booked();
    assert_eq!((ledger.n_messages(), ledger.n_unprotected()), (4, 1));
    ledger.settle("news", 3);
    let text = json(&ledger);
    let expected = concat!(
        r#""coins":{},"messages":{"news":{"3":"af63df4c8601f1a5"}},"unprotected":{"news":{"4":"af63d94c8601e773"}},"#,
        r#""settled":{"news":{"before":3,"n_coins":2,"n_with_coin":1,"n_without_coin":1,"n_unprotected":0}},"checksum":""#,
    );
    assert!(text.contains(expected), "{text}");
    assert_eq!(read(&text), Ok(ledger.clone()));
    ledger.settle("news", 100);
    let settled = Settled { before: 100, n_coins: 2, n_with_coin: 1, n_without_coin: 2, n_unprotected: 1 };
    assert_eq!(ledger.settled["news"], settled);
    assert!(ledger.coins.is_empty() && ledger.messages.is_empty() && ledger.unprotected.is_empty());
    assert_eq!((ledger.n_messages(), ledger.n_unprotected(), ledger.spent().epsilon), (4, 1, f64::INFINITY));
    assert_eq!(read(&json(&ledger)), Ok(ledger));
}

#[test]
fn a_device_that_lives_for_years_has_a_small_ledger() {
    // Without a delta epsilons add up.
    let budget = Guarantee { epsilon: 1e6, delta: 0.0 };
    let mut ledger = Ledger::new(budget).expect("a sound budget");
    let mut longest = 0;
    for round in 0..5_000 {
        ledger.reserve("news", round, pure(1.0), &round.to_le_bytes()).expect("within the budget");
        ledger.settle("news", round.saturating_sub(9));
        longest = longest.max(json(&ledger).len());
    }
    assert!(longest < 800, "{longest} bytes");
    assert_eq!((ledger.n_messages(), ledger.spent().epsilon), (5_000, 5_000.0));
}

/// Written by the program that had version 2.
const VERSION_2: &str = concat!(
    r#"{"version":2,"budget":{"epsilon":4.0,"delta":0.00001},"spent":[{"cost":{"kind":"pure","epsilon":1.5},"times":2},"#,
    r#"{"cost":{"kind":"subsampled","probability":0.25,"noise_multiplier":8.0},"times":2}],"coins":{"shop":{"7":1,"8":1}},"#,
    r#""messages":{"news":{"0":"af63dc4c8601ec8c","3":"af63df4c8601f1a5"},"shop":{"8":"af63de4c8601eff2"}},"#,
    r#""checksum":"96666c34f859e774"}"#,
);

#[test]
fn a_ledger_of_version_2_is_read_and_written_as_version_3() {
    let mut same = ledger();
    let coin = PrivacyCost::Subsampled { probability: 0.25, noise_multiplier: 8.0 };
    same.reserve("news", 0, pure(1.5), b"a").expect("within the budget");
    same.reserve("news", 3, pure(1.5), b"b").expect("within the budget");
    same.book_coin("shop", 7, coin).expect("within the budget");
    same.book_coin("shop", 8, coin).expect("within the budget");
    same.reserve("shop", 8, coin, b"c").expect("its coin was booked");
    let old = read(VERSION_2).expect("version 2");
    assert_eq!(old, same);
    assert!(json(&old).starts_with(r#"{"version":3,"#));
    // What is new is not under its checksum, so it must not be there.
    for extra in [
        r#""unprotected":{"open":{"0":"af63dc4c8601ec8c"}},"checksum""#,
        r#""settled":{"news":{"before":0,"n_coins":0,"n_with_coin":0,"n_without_coin":0,"n_unprotected":0}},"checksum""#,
    ] {
        let error = read(&VERSION_2.replacen(r#""checksum""#, extra, 1)).expect_err("not of version 2");
        assert!(error.contains("parts that its version does not have"), "{error}");
    }
    for (from, to) in [(r#""version":2"#, r#""version":3"#), (r#""3":"#, r#""4":"#), ("1.5", "1.25")] {
        let error = read(&VERSION_2.replacen(from, to, 1)).expect_err("edited");
        assert!(error.contains("checksum"), "{error}");
    }
}

#[test]
fn every_bit_of_both_versions_is_under_the_checksum() {
    let mut ledger = booked();
    ledger.settle("news", 3);
    let text = json(&ledger);
    for (text, ledger) in [(text.as_str(), &ledger), (VERSION_2, &read(VERSION_2).expect("version 2"))] {
        for bit in 0..8 * text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // `1E-5` is another spelling of `1e-5`.
            if let Ok(read) = serde_json::from_slice::<Ledger>(&bytes) {
                assert_eq!(read, *ledger, "bit {bit} of {text}");
            }
        }
    }
}

#[test]
fn counts_that_do_not_fit_are_refused_whatever_the_checksum() {
    fn news(ledger: &mut Ledger) -> &mut Settled {
        ledger.settled.get_mut("news").expect("settled")
    }
    let edits: [fn(&mut Ledger); 12] = [
        |ledger| news(ledger).n_coins -= 1,
        |ledger| news(ledger).n_without_coin += 1,
        |ledger| news(ledger).n_with_coin = 3,
        |ledger| news(ledger).n_unprotected = 1,
        |ledger| news(ledger).before = 0,
        |ledger| news(ledger).before = 2,
        // Round 3 is still there.
        |ledger| news(ledger).before = 4,
        |ledger| ledger.settled.clear(),
        |ledger| ledger.spent[0].1 -= 1,
        |ledger| ledger.spent[1].1 += 1,
        // Booked with and without a promise.
        |ledger| {
            *ledger.unprotected.entry("news".into()).or_default().entry(3).or_insert(Hash::of(b"b")) = Hash::of(b"c")
        },
        |ledger| *news(ledger) = Settled { n_coins: u32::MAX, n_without_coin: u32::MAX, ..*news(ledger) },
    ];
    let mut ledger = booked();
    ledger.settle("news", 3);
    assert_eq!(read(&json(&ledger)), Ok(ledger.clone()));
    assert_each_refused(&ledger, &edits);
}
