//! What was simulated is what is deployed: device cores and a coordinator that speak in encoded bytes publish the releases of
//! the simulator, bit for bit, when the same people click.

mod deployed;
mod harness;
mod laws;
mod modes;
mod server;

use foltr_federation::FederationPlan;
use foltr_federation::asynchronous::Buffered;
use foltr_simulation::pace::Stragglers;

use deployed::Deployed;
use harness::{Fault, WORLD, World, assert_equal, assert_equal_without_rounds, first_difference};
use modes::{BUFFERED, SLOW, asynchronous_plans, evolution, modes, pdgd, stale, stale_modes, trimmed};

#[test]
fn three_devices_in_every_mode() {
    for (name, plan) in modes(3) {
        assert_equal::<Deployed>(name, &plan, &WORLD);
    }
}

#[test]
fn three_devices_that_are_interrupted_after_every_event() {
    let world = World { n_rounds: 6, is_interrupted: true, ..WORLD };
    for (name, plan) in modes(3) {
        assert_equal::<Deployed>(name, &plan, &world);
    }
}

#[test]
fn two_hundred_devices_of_which_a_fifth_fails() {
    let world = World { n_rounds: 10, dropout: 0.2, ..WORLD };
    for (name, plan) in modes(200) {
        assert_equal::<Deployed>(name, &plan, &world);
    }
}

#[test]
fn stale_contributions() {
    for (n, is_interrupted) in [(3, false), (3, true), (70, false)] {
        let world = World { pace: Some(SLOW), dropout: 0.1, is_interrupted, ..WORLD };
        for (name, plan) in stale_modes(n) {
            assert_equal::<Deployed>(name, &plan, &world);
        }
    }
}

#[test]
fn buffered_asynchrony() {
    let many = Buffered { buffer: 70, rate_limit: 2, ..BUFFERED };
    let small = World { n_rounds: 20, ..WORLD };
    for (n, buffered, world) in [
        (3, BUFFERED, small),
        (3, BUFFERED, World { is_interrupted: true, ..small }),
        (200, many, World { n_rounds: 10, dropout: 0.2, ..WORLD }),
    ] {
        for plan in asynchronous_plans(n, buffered) {
            assert_equal_without_rounds::<Deployed>(&plan, Stragglers { slowdown: 2.5, ..SLOW }, &world);
        }
    }
}

/// A test of equality that nothing can fail proves nothing.
#[test]
fn every_fault_of_a_deployment_is_seen() {
    let lossy = World { dropout: 0.3, ..WORLD };
    let cases = [
        // Sums of similar single numbers are exact in double precision; those of rewards are not.
        (Fault::FoldOrder, evolution(200), WORLD),
        (Fault::StalenessScale, stale(pdgd(9)), World { pace: Some(SLOW), ..WORLD }),
        (Fault::ServerScale, stale(evolution(9)), World { pace: Some(SLOW), ..WORLD }),
        (Fault::Sign, evolution(3), WORLD),
        (Fault::Momentum, FederationPlan { defence: Some(trimmed()), ..pdgd(9) }, lossy),
    ];
    for (fault, plan, world) in cases {
        assert_equal::<Deployed>("without the fault", &plan, &World { n_rounds: 10, ..world });
        let seen = first_difference::<Deployed>(&plan, &World { fault, n_rounds: 10, ..world });
        assert!(seen.is_some(), "{fault:?} was not seen");
    }
}
