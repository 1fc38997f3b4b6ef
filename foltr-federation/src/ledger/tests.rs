//! A ledger never exceeds its budget, forgets nothing, and is not believed when damaged.

mod settled;
mod unprotected;

use proptest::prelude::*;

use super::*;

const BUDGET: Guarantee = Guarantee { epsilon: 4.0, delta: 1e-5 };

fn ledger() -> Ledger {
    Ledger::new(BUDGET).expect("a sound budget")
}

fn gaussian(mu: f64) -> PrivacyCost {
    PrivacyCost::Gaussian { mu }
}

fn pure(per_message: f64) -> PrivacyCost {
    PrivacyCost::Pure { epsilon: per_message }
}

fn json(ledger: &Ledger) -> String {
    serde_json::to_string(ledger).expect("plain data")
}

fn read(text: &str) -> Result<Ledger, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn the_next_round_is_behind_all_that_were_booked_or_settled() {
    let mut ledger = Ledger::new(Guarantee { epsilon: 10.0, delta: 1e-5 }).expect("a budget");
    let cost = PrivacyCost::Pure { epsilon: 0.1 };
    assert_eq!(ledger.next_round("a"), 0);
    ledger.reserve("a", 4, cost, b"x").expect("within the budget");
    ledger.book_unprotected("b", 7, b"x").expect("no budget");
    assert_eq!((ledger.next_round("a"), ledger.next_round("b"), ledger.next_round("c")), (5, 8, 0));
    ledger.settle("a", 9);
    assert_eq!(ledger.next_round("a"), 9);
}

#[test]
fn a_retry_costs_nothing_and_other_bytes_are_refused() {
    let mut ledger = ledger();
    let first = ledger.reserve("news", 7, pure(3.0), b"message").expect("within the budget");
    assert_eq!(first, Receipt { is_repeat: false, spent: Guarantee { epsilon: 3.0, delta: 0.0 } });
    let again = ledger.reserve("news", 7, pure(3.0), b"message").expect("the same bytes");
    assert_eq!(again, Receipt { is_repeat: true, ..first });
    let before = ledger.clone();
    let other = ledger.reserve("news", 7, pure(0.1), b"massage").expect_err("other bytes");
    assert_eq!(other, Refused::OtherBytes { task: "news".into(), round: 7 });
    assert_eq!(ledger, before);
    // The same round of another task is another message.
    assert!(!ledger.reserve("shop", 7, pure(0.5), b"massage").expect("within the budget").is_repeat);
}

#[test]
fn what_would_exceed_the_budget_is_refused_and_changes_nothing() {
    let mut ledger = ledger();
    ledger.reserve("news", 0, pure(3.0), b"a").expect("within the budget");
    let before = ledger.clone();
    let refused = ledger.reserve("news", 1, pure(1.5), b"b").expect_err("4.5 is above 4");
    let message = "round 1 of task `news` would raise the epsilon of this device to 4.5000, above its budget of 4 at delta 0.00001";
    assert_eq!(refused.to_string(), message);
    assert_eq!(ledger, before);
    ledger.reserve("news", 1, pure(1.0), b"b").expect("exactly the budget");
    for cost in [PrivacyCost::Unbounded, pure(f64::INFINITY), pure(f64::NAN), pure(-1.0), gaussian(-0.1)] {
        let refused = ledger.reserve("news", 2, cost, b"c").expect_err("not bounded");
        assert!(matches!(refused, Refused::NotBounded { .. }), "{refused}");
    }
}

#[test]
fn as_many_gaussian_rounds_fit_as_the_exact_bound_allows() {
    let (mut ledger, mu) = (ledger(), 0.1);
    let fits = (0..1000).take_while(|round| ledger.reserve("news", *round, gaussian(mu), b"x").is_ok()).count();
    let allowed = (accountant::gaussian::mu_for(4.0, 1e-5) / mu).powi(2);
    assert_eq!(fits, allowed as usize);
    // Different noise in every round: still one sum of squares.
    let mut mixed = Ledger::new(BUDGET).expect("a sound budget");
    for round in 0..20 {
        let mu = 0.1 + 0.001 * f64::from(round);
        mixed.reserve("news", round, gaussian(mu), b"x").expect("within the budget");
    }
    let mu = (0..20).map(|round| (0.1 + 0.001 * f64::from(round)).powi(2)).sum::<f64>().sqrt();
    let exact = accountant::gaussian::epsilon(mu, 1e-5);
    assert!((mixed.spent().epsilon / exact - 1.0).abs() < 1e-6);
}

const COIN: PrivacyCost = PrivacyCost::Subsampled { probability: 0.1, noise_multiplier: 1.0 };

/// A device takes part in a tenth of 100 rounds, by its coin. Booking the ten messages at the price of a coin showed an
/// epsilon of 3.44 by the bound of Renyi divergences; all the hundred coins cost 7.90 by the same bound: that the other
/// ninety said no is as secret as that ten said yes. Now each coin is booked, and a message without one is refused.
#[test]
fn coins_cost_whether_or_not_they_say_yes() {
    let mut ledger = Ledger::new(Guarantee { epsilon: 20.0, delta: 1e-5 }).expect("a sound budget");
    let refused = ledger.reserve("news", 0, COIN, b"x").expect_err("no coin was booked");
    assert_eq!(refused, Refused::NoCoin { task: "news".into(), round: 0 });
    assert!(refused.to_string().contains("book it before it is tossed"), "{refused}");
    for round in 0..100 {
        let booked = ledger.book_coin("news", round, COIN).expect("within the budget");
        assert!(!booked.is_repeat);
        if round % 10 == 0 {
            let sent = ledger.reserve("news", round, COIN, b"x").expect("its coin was booked");
            assert_eq!(sent, Receipt { is_repeat: false, spent: booked.spent });
        }
    }
    let by_renyi = |n| accountant::subsampled::epsilon(0.1, 1.0, n, 1e-5);
    assert!((by_renyi(10) - 3.44).abs() < 0.01 && (by_renyi(100) - 7.90).abs() < 0.01);
    let spent = ledger.spent();
    assert_eq!(spent, COIN.after(100, 1e-5));
    // The exact value is between 7.0456 and 7.0466.
    assert!((7.0456..7.055).contains(&spent.epsilon), "{spent:?}");
    assert_eq!(read(&json(&ledger)), Ok(ledger));
}

#[test]
fn a_coin_is_booked_once_and_pays_for_its_own_message_only() {
    let mut ledger = ledger();
    let first = ledger.book_coin("news", 3, COIN).expect("within the budget");
    let again = ledger.book_coin("news", 3, COIN).expect("the same coin");
    assert_eq!(again, Receipt { is_repeat: true, ..first });
    let dearer = PrivacyCost::Subsampled { probability: 0.5, noise_multiplier: 1.0 };
    let other_cost = |round| Refused::OtherCost { task: "news".into(), round };
    assert_eq!(ledger.book_coin("news", 3, dearer), Err(other_cost(3)));
    // A cheap coin does not pay for another message.
    for cost in [pure(0.1), dearer, gaussian(1.0)] {
        assert_eq!(ledger.reserve("news", 3, cost, b"x"), Err(other_cost(3)));
    }
    ledger.reserve("news", 3, COIN, b"x").expect("its own message");
    assert!(ledger.reserve("news", 3, COIN, b"x").expect("the same bytes").is_repeat);
    assert_eq!(ledger.reserve("news", 3, COIN, b"y"), Err(Refused::OtherBytes { task: "news".into(), round: 3 }));
    assert_eq!(ledger.book_coin("news", 4, pure(0.1)), Err(Refused::NotACoin { cost: pure(0.1) }));
    // What was sent without a coin has paid for its round.
    ledger.reserve("news", 5, pure(0.1), b"x").expect("within the budget");
    assert_eq!(ledger.book_coin("news", 5, COIN), Err(other_cost(5)));
    let before = ledger.clone();
    let fits = (10..1000).take_while(|round| ledger.book_coin("shop", *round, COIN).is_ok()).count() as u32;
    assert!(fits > 5 && fits < 100, "{fits}");
    let refused = ledger.book_coin("shop", 10 + fits, COIN).expect_err("the budget is spent");
    assert!(matches!(refused, Refused::Exceeded { .. }), "{refused}");
    assert!(ledger.spent().epsilon <= BUDGET.epsilon && ledger != before);
    let nothing = PrivacyCost::Subsampled { probability: 0.1, noise_multiplier: 0.0 };
    assert!(matches!(ledger.book_coin("shop", 2000, nothing), Err(Refused::NotBounded { .. })));
}

#[test]
fn budgets_that_cannot_be_kept_are_refused() {
    for (epsilon, delta) in
        [(-1.0, 0.0), (f64::INFINITY, 0.0), (f64::NAN, 0.0), (1.0, 1.0), (1.0, -0.1), (1.0, f64::NAN)]
    {
        assert!(Ledger::new(Guarantee { epsilon, delta }).is_err(), "{epsilon}, {delta}");
    }
}

#[test]
fn the_stored_form_is_small_and_readable() {
    let mut ledger = ledger();
    ledger.reserve("news", 0, pure(1.5), b"a").expect("within the budget");
    ledger.reserve("news", 3, pure(1.5), b"b").expect("within the budget");
    ledger.book_coin("shop", 7, PrivacyCost::Subsampled { probability: 0.25, noise_multiplier: 8.0 }).expect("cheap");
    let text = json(&ledger);
    let expected = concat!(
        r#"{"version":3,"budget":{"epsilon":4.0,"delta":0.00001},"#,
        r#""spent":[{"cost":{"kind":"pure","epsilon":1.5},"times":2},"#,
        r#"{"cost":{"kind":"subsampled","probability":0.25,"noise_multiplier":8.0},"times":1}],"#,
        r#""coins":{"shop":{"7":1}},"messages":{"news":{"0":"af63dc4c8601ec8c","3":"af63df4c8601f1a5"}},"#,
        r#""unprotected":{},"settled":{},"checksum":""#,
    );
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(read(&text), Ok(ledger));
}

#[test]
fn damaged_ledgers_are_refused_with_a_reason() {
    let mut ledger = ledger();
    ledger.reserve("news", 0, pure(1.5), b"a").expect("within the budget");
    let text = json(&ledger);
    for (from, to, reason) in [
        (r#""version":3"#, r#""version":1"#, "has version 1; this program reads versions 2 to 3"),
        (r#""version":3"#, r#""version":4"#, "has version 4; this program reads versions 2 to 3"),
        (r#""version":3"#, r#""version":2"#, "checksum"),
        (r#""epsilon":4.0"#, r#""epsilon":40.0"#, "damaged or was edited: its checksum does not fit"),
        (r#""epsilon":4.0"#, r#""epsilon":-4.0"#, "epsilon -4"),
        (r#""epsilon":1.5"#, r#""epsilon":0.5"#, "nothing may be sent"),
        (r#""times":1"#, r#""times":0"#, "checksum"),
        ("af63dc4c8601ec8c", "af63dc4c8601ec8d", "checksum"),
        ("af63dc4c8601ec8c", "no hash", "expected 16 lower-case hexadecimal digits, not `no hash`"),
        (r#""news""#, r#""olds""#, "checksum"),
        (r#""version""#, r#""extra":1,"version""#, "unknown field `extra`"),
    ] {
        assert!(text.contains(from), "{from} is not in {text}");
        let error = read(&text.replacen(from, to, 1)).expect_err(to);
        assert!(error.contains(reason), "{to}: {error}");
    }
    // Edited together with a new checksum: still noticed, if costs do not fit.
    let edits: [fn(&mut Ledger); 7] = [
        |ledger| ledger.spent.clear(),
        |ledger| ledger.spent[1].1 = 2,
        |ledger| ledger.coins.clear(),
        |ledger| *ledger.coins.entry("shop".into()).or_default().entry(9).or_default() = 0,
        |ledger| *ledger.coins.entry("shop".into()).or_default().entry(9).or_default() = 7,
        |ledger| ledger.spent[1].0 = pure(0.1),
        |ledger| ledger.messages.clear(),
    ];
    ledger.book_coin("shop", 9, COIN).expect("within the budget");
    assert_eq!(read(&json(&ledger)), Ok(ledger.clone()));
    assert_each_refused(&ledger, &edits);
}

/// Every one of these edits makes a ledger that does not add up, whatever its checksum.
fn assert_each_refused(ledger: &Ledger, edits: &[fn(&mut Ledger)]) {
    for (i, edit) in edits.iter().enumerate() {
        let mut edited = ledger.clone();
        edit(&mut edited);
        let error = read(&json(&edited)).expect_err("it does not fit");
        assert!(error.contains("do not fit its coins and messages"), "{i}: {error}");
    }
}

fn any_cost() -> impl Strategy<Value = PrivacyCost> {
    prop_oneof![
        (0.0..1.0_f64).prop_map(pure),
        (0.0..0.1_f64).prop_map(|rho| PrivacyCost::DiscreteGaussian { rho, mu: (2.0 * rho).sqrt(), slack: 1e-9 }),
        (1.0 / 11.0..0.3_f64, 1..4_u32).prop_map(|(probability, n_answers)| PrivacyCost::Response {
            probability,
            n_outcomes: 11,
            n_answers
        }),
        (0.0..0.5_f64).prop_map(gaussian),
        (0.1..9.0_f64, 0.0..2.0_f64, 0..5_usize).prop_map(|(scale, shift, n_params)| PrivacyCost::Laplace {
            scale,
            shift,
            n_params
        }),
        Just(PrivacyCost::Subsampled { probability: 0.1, noise_multiplier: 2.0 }),
        Just(PrivacyCost::Unbounded),
        Just(gaussian(f64::NAN)),
        Just(pure(-2.0)),
    ]
}

/// Task, round, what is done, its cost, its message.
type Operation = (u8, u32, u8, PrivacyCost, u8);

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    proptest::collection::vec((0..2_u8, 0..12_u32, 0..12_u8, any_cost(), 0..2_u8), 0..24)
}

/// Settles in one of twelve cases, and in one of twelve books without a promise if that is allowed. Else a coin is tossed if
/// it was not before, or a message sent. Returns none for what books nothing.
fn apply(ledger: &mut Ledger, operation: &Operation, may_be_unprotected: bool) -> Option<Result<Receipt, Refused>> {
    let (task, round, what, cost, message) = operation;
    let (task, is_coin) = (task.to_string(), is_of_coin(cost));
    match what {
        0 => {
            ledger.settle(&task, *round);
            None
        }
        1 if may_be_unprotected => Some(ledger.book_unprotected(&task, *round, &[*message])),
        _ if is_coin && ledger.coin(&task, *round).is_none() => Some(ledger.book_coin(&task, *round, *cost)),
        _ => Some(ledger.reserve(&task, *round, *cost, &[*message])),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_order_of_operations_exceeds_the_budget(operations in operations(), epsilon in 0.1..6.0_f64) {
        let mut ledger = Ledger::new(Guarantee { epsilon, ..BUDGET }).expect("a sound budget");
        let mut sent: Vec<(PrivacyCost, u32)> = Vec::new();
        for operation in operations {
            let before = ledger.clone();
            let (task, round, _, cost, _) = operation;
            let has_coin = ledger.coin(&task.to_string(), round).is_some();
            match apply(&mut ledger, &operation, false) {
                Some(Ok(Receipt { is_repeat: true, .. }) | Err(_)) => prop_assert_eq!(&ledger, &before),
                Some(Ok(Receipt { is_repeat: false, .. })) if !has_coin => sent.push((cost, 1)),
                // A message that its coin has paid for, or settled rounds.
                Some(Ok(Receipt { is_repeat: false, .. })) | None => prop_assert_eq!(&ledger.spent, &before.spent),
            }
            prop_assert!(ledger.spent().epsilon <= epsilon);
            // An account of its own, kept message by message.
            let own = accountant::total(&sent, BUDGET.delta).epsilon;
            prop_assert!((own - ledger.spent().epsilon).abs() <= 1e-6 * own);
            prop_assert_eq!(read(&json(&ledger)), Ok(ledger.clone()));
        }
    }

    #[test]
    fn no_changed_byte_goes_unnoticed(operations in operations(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut ledger = ledger();
        for operation in &operations {
            apply(&mut ledger, operation, true);
        }
        let mut bytes = json(&ledger).into_bytes();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        // Nothing panics; what is still read is the same ledger (another spelling of the same number, say).
        if let Ok(read) = serde_json::from_slice::<Ledger>(&bytes) {
            prop_assert_eq!(read, ledger);
        }
    }

    #[test]
    fn settling_changes_no_account(operations in operations(), before in 0..13_u32) {
        let mut ledger = ledger();
        let (mut n_messages, mut n_unprotected) = (0, 0);
        for operation in &operations {
            let (n_coins, was_unprotected) = (n_live_coins(&ledger), ledger.n_unprotected());
            if let Some(Ok(Receipt { is_repeat: false, .. })) = apply(&mut ledger, operation, true) {
                n_messages += u64::from(n_live_coins(&ledger) == n_coins);
                n_unprotected += ledger.n_unprotected() - was_unprotected;
            }
            prop_assert_eq!((ledger.n_messages(), ledger.n_unprotected()), (n_messages, n_unprotected));
            prop_assert_eq!(ledger.spent().epsilon.is_infinite(), n_unprotected > 0);
        }
        let was = ledger.clone();
        for task in ["0", "1"] {
            ledger.settle(task, before);
        }
        prop_assert_eq!((ledger.spent(), ledger.n_messages()), (was.spent(), was.n_messages()));
        prop_assert_eq!(ledger.n_unprotected(), was.n_unprotected());
        for (round, message) in (0..before).flat_map(|round| [(round, [0]), (round, [1])]) {
            prop_assert!(!ledger.has_message("0", round, &message));
            prop_assert!(ledger.reserve("0", round, pure(0.0), &message).is_err());
        }
        prop_assert_eq!(read(&json(&ledger)), Ok(ledger));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\{\\}\\[\\]\":,a-z0-9.-]{0,60}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        prop_assert!(serde_json::from_str::<Ledger>(&text).is_err());
        prop_assert!(serde_json::from_slice::<Ledger>(&bytes).is_err());
    }
}

fn n_live_coins(ledger: &Ledger) -> usize {
    ledger.coins.values().map(BTreeMap::len).sum()
}
