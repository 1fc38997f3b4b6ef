//! What is sent without privacy is counted, and no budget is enough for anything after it.

use super::*;

#[test]
fn a_message_without_privacy_costs_everything() {
    let mut ledger = ledger();
    ledger.reserve("news", 0, pure(1.0), b"a").expect("within the budget");
    let nothing_left = Guarantee { epsilon: f64::INFINITY, delta: 1e-5 };
    let first = ledger.book_unprotected("open", 0, b"b").expect("a plan that promises nothing");
    assert_eq!(first, Receipt { is_repeat: false, spent: nothing_left });
    assert_eq!((ledger.spent(), ledger.n_messages(), ledger.n_unprotected()), (nothing_left, 2, 1));
    // What costs something is refused from now on, and what was paid for is resent.
    let refused = ledger.reserve("news", 1, pure(0.0), b"c").expect_err("nothing is left");
    let exceeded = Refused::Exceeded { task: "news".into(), round: 1, would_be: f64::INFINITY, budget: BUDGET };
    assert_eq!(refused, exceeded);
    assert!(refused.to_string().contains("to inf, above its budget of 4"), "{refused}");
    assert!(matches!(ledger.book_coin("news", 1, COIN), Err(Refused::Exceeded { .. })));
    assert!(ledger.reserve("news", 0, pure(1.0), b"a").expect("the same bytes").is_repeat);
    assert_eq!(read(&json(&ledger)), Ok(ledger));
}

#[test]
fn a_round_has_one_message_and_one_price() {
    let mut ledger = ledger();
    let other_cost = |round| Refused::OtherCost { task: "news".into(), round };
    ledger.book_coin("news", 0, COIN).expect("within the budget");
    ledger.reserve("news", 1, pure(0.5), b"a").expect("within the budget");
    let before = ledger.clone();
    assert_eq!(ledger.book_unprotected("news", 0, b"a"), Err(other_cost(0)));
    assert_eq!(ledger.book_unprotected("news", 1, b"a"), Err(other_cost(1)));
    assert_eq!(ledger, before);
    ledger.book_unprotected("news", 2, b"a").expect("a free round");
    assert!(ledger.book_unprotected("news", 2, b"a").expect("the same bytes").is_repeat);
    let before = ledger.clone();
    let other_bytes = Refused::OtherBytes { task: "news".into(), round: 2 };
    assert_eq!(ledger.book_unprotected("news", 2, b"b"), Err(other_bytes.clone()));
    assert_eq!(ledger.reserve("news", 2, pure(0.1), b"b"), Err(other_bytes));
    assert_eq!(ledger.reserve("news", 2, pure(0.1), b"a"), Err(other_cost(2)));
    assert_eq!(ledger.book_coin("news", 2, COIN), Err(other_cost(2)));
    assert_eq!(ledger, before);
    let known = [(1, b"a"), (2, b"a"), (2, b"b"), (0, b"a"), (3, b"a")];
    let known = known.map(|(round, message)| ledger.has_message("news", round, message));
    assert_eq!(known, [true, true, false, false, false]);
    assert!(!ledger.has_message("shop", 1, b"a"));
}

#[test]
fn a_budget_is_lowered_and_never_raised() {
    let mut ledger = ledger();
    ledger.reserve("news", 0, pure(2.0), b"a").expect("within the budget");
    let stricter = Guarantee { epsilon: 2.5, delta: 1e-6 };
    ledger.lower_budget(stricter).expect("stricter");
    ledger.lower_budget(stricter).expect("the same");
    for (epsilon, delta) in [(2.6, 1e-6), (2.5, 1e-5), (1.0, 1e-5)] {
        let error = ledger.lower_budget(Guarantee { epsilon, delta }).expect_err("raised");
        assert_eq!(error, LedgerError::Raised { epsilon, delta, present: stricter });
        assert!(error.to_string().starts_with("a budget is never raised"), "{error}");
    }
    for (epsilon, delta) in [(f64::NAN, 0.0), (-1.0, 0.0), (1.0, -1.0), (1.0, f64::NAN)] {
        let error = ledger.lower_budget(Guarantee { epsilon, delta }).expect_err("unsound");
        assert!(matches!(error, LedgerError::Budget { .. }), "{error}");
    }
    assert_eq!(ledger.budget(), stricter);
    let refused = ledger.reserve("news", 1, pure(1.0), b"b").expect_err("3 is above 2.5");
    assert_eq!(refused, Refused::Exceeded { task: "news".into(), round: 1, would_be: 3.0, budget: stricter });
    // Below what is spent: nothing more is possible, and nothing is forgotten.
    ledger.lower_budget(Guarantee { epsilon: 1.0, delta: 0.0 }).expect("stricter");
    assert_eq!(ledger.spent(), Guarantee { epsilon: 2.0, delta: 0.0 });
    assert!(ledger.reserve("news", 1, pure(0.0), b"b").is_err());
    assert_eq!(read(&json(&ledger)), Ok(ledger));
}
