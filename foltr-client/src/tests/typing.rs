//! Lists of a query that is being typed.

use super::device::{TestDevice, averaging, documents, options, simulated};
use super::modes;
use crate::core::Synced;

#[test]
fn a_list_that_nobody_saw_teaches_nothing_and_does_not_count() {
    let device = TestDevice::member(averaging(), options(), 1);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    let before = device.shell.ranker().expect("a ranker");
    for _ in 0..20 {
        let shown = device.shell.rank(&documents(1, 5)).expect("sound");
        device.shell.clicked(shown.impression, 0).expect("open");
        device.shell.withdraw(shown.impression).expect("open");
        device.shell.withdraw(shown.impression).expect_err("it is closed");
    }
    let status = device.status();
    assert_eq!((status.n_open, status.federation.expect("a membership").n_interactions), (0, 0));
    let device = device.reopen(2).expect("sound");
    assert_eq!(device.status().n_open, 0, "nor is it stored");
    assert_eq!(device.shell.ranker().expect("a ranker"), before);
    device.interact_times(4);
    assert_eq!(device.sync(), Ok(Synced::Contributed { round: 0 }));
}

/// The chance stays, also over a list in between that was dismissed; without the list before it is another one.
#[test]
fn the_next_list_of_the_same_documents_is_the_same() {
    let device = TestDevice::new(averaging(), options(), 1);
    let documents = documents(0, 30);
    let first = device.shell.rank_next(&documents, None).expect("sound");
    let mut previous = first.impression;
    for _ in 0..5 {
        let next = device.shell.rank_next(&documents, Some(previous)).expect("sound");
        device.shell.withdraw(previous).expect("open");
        assert_eq!(next.order, first.order);
        previous = next.impression;
    }
    let other = device.shell.rank_next(&documents, None).expect("sound");
    let another = device.shell.rank_next(&documents, Some(previous)).expect("sound");
    assert!(other.order != first.order && another.order != other.order, "new chances");
}

/// FOLtR-ES has counted the list when it was made: it ends as one without a click.
#[test]
fn with_rewards_a_list_that_is_withdrawn_counts() {
    let plan = modes::evolution(1);
    let device = TestDevice::member(simulated(plan), options(), 1);
    assert_eq!(device.sync(), Ok(Synced::UpToDate));
    let shown = device.shell.rank(&documents(1, 5)).expect("sound");
    device.shell.withdraw(shown.impression).expect("open");
    assert_eq!(device.status().federation.expect("a membership").n_interactions, 1);
}
