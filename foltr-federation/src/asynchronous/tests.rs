//! Buffers and mixtures worked by hand, and everything that is refused.

use super::*;
use crate::aggregate::CHUNK;
use crate::assert_close;
use crate::coordinator::Coordinator;
use crate::message::{Kind, Payload};
use crate::noise::seeded::seeded;
use crate::privacy::{CentralMode, Clip, ClipRadius, DistributedLaplace, Gaussian};
use crate::server_optimiser::ServerOptimiser;
use foltr_rank::rng::Purpose;
use std::sync::Arc;

const BUFFERED: Buffered = Buffered { buffer: 2, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 3 };

fn setup() -> Setup {
    Setup::averaging(vec![1.0, -1.0], 4, 5)
}

fn coordinator(asynchrony: Asynchrony) -> AsynchronousCoordinator {
    AsynchronousCoordinator::new(setup(), asynchrony).expect("a good setup")
}

fn buffered(settings: Buffered) -> AsynchronousCoordinator {
    coordinator(Asynchrony::Buffered(settings))
}

fn naive(updates_per_round: u32, max_staleness: u32) -> AsynchronousCoordinator {
    coordinator(Asynchrony::Naive(Naive { updates_per_round, max_staleness }))
}

fn step(round: u32, client: u32, n_interactions: u32, delta: [f32; 2]) -> Message {
    Message { round, start: round, client, payload: Payload::Step { n_interactions, delta: delta.to_vec() } }
}

#[test]
fn a_buffer_with_two_stalenesses_by_hand() {
    let mut coordinator = buffered(BUFFERED);
    assert_eq!(coordinator.receive(&step(0, 0, 1, [1.0, 0.0])), Ok(Received::Buffered));
    assert_eq!(coordinator.task().round, 0);
    assert_eq!(coordinator.receive(&step(0, 1, 3, [0.0, 4.0])), Ok(Received::NewVersion));
    // Equal staleness: (1, 12) / 4.
    assert_close(coordinator.master(), &[1.25, 2.0], 1e-12);
    for (version, client) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
        coordinator.receive(&step(version, client, 1, [0.0, 0.0])).expect("fresh");
    }
    assert_eq!(coordinator.task().round, 3);
    // Staleness 0 with 2 interactions weighs 2; staleness 3 with 2 interactions weighs 2 / sqrt(4) = 1.
    coordinator.receive(&step(3, 0, 2, [3.0, 0.0])).expect("fresh");
    coordinator.receive(&step(0, 2, 2, [0.0, 6.0])).expect("just not too stale");
    assert_close(coordinator.master(), &[1.25 + 6.0 / 3.0, 2.0 + 6.0 / 3.0], 1e-12);
    assert_eq!((coordinator.task().round, coordinator.task().global.as_slice()), (4, [3.25, 4.0].as_slice()));
    // Exponent 0: both weigh their 2 interactions.
    let mut coordinator = buffered(Buffered { staleness_exponent: 0.0, ..BUFFERED });
    for (version, client) in [(0, 0), (0, 1), (1, 0), (0, 2)] {
        let delta = if client == 2 { [0.0, 6.0] } else { [f32::from(version == 1) * 3.0, 0.0] };
        coordinator.receive(&step(version, client, 2, delta)).expect("not too stale");
    }
    assert_close(coordinator.master(), &[1.0 + 1.5, -1.0 + 3.0], 1e-12);
}

#[test]
fn a_return_to_an_earlier_model_is_a_new_version() {
    for mut coordinator in [buffered(BUFFERED), naive(1, 3)] {
        for client in 0..3 {
            coordinator.receive(&step(0, client, 1, [1.0, 1.0])).expect("not too stale");
        }
        let version = coordinator.task().round;
        let before = coordinator.save();
        assert_eq!(coordinator.roll_back(&[1.0]), Err(PayloadError::Params { expected: 2, got: 1 }));
        assert_eq!(coordinator.roll_back(&[1.0, f32::NAN]), Err(PayloadError::NotFinite { index: 1 }));
        assert_eq!(coordinator.save(), before);
        assert_eq!(coordinator.roll_back(&[1.0, -1.0]), Ok(()));
        assert_eq!(
            (coordinator.task().round, coordinator.task().global.as_slice()),
            (version + 1, [1.0, -1.0].as_slice())
        );
        let mut loaded = coordinator.clone();
        loaded.load(&coordinator.save()).expect("its own bytes");
        // Client 2 was in the buffer that was dropped.
        for client in [2, 3] {
            loaded.receive(&step(version + 1, client, 1, [0.0, 0.5])).expect("fresh");
        }
        assert!(loaded.task().round > version + 1);
        assert_eq!(loaded.task().global[0], 1.0);
    }
}

#[test]
fn the_optimiser_sees_the_mean_of_the_buffer() {
    let optimiser = ServerOptimiser::Momentum { rate: 2.0, momentum: 0.5 };
    let made = AsynchronousCoordinator::new(Setup { optimiser, ..setup() }, Asynchrony::Buffered(BUFFERED));
    let mut coordinator = made.expect("a good setup");
    for version in 0..2 {
        for client in 0..2 {
            coordinator.receive(&step(version, client, 1, [1.0, 0.0])).expect("fresh");
        }
    }
    // Velocities 1 and 1.5.
    assert_close(coordinator.master(), &[1.0 + 2.0 + 3.0, -1.0], 1e-12);
}

#[test]
fn a_buffer_is_summed_like_a_round() {
    let n_clients = 2 * CHUNK as u32 + 9;
    let delta = |client: u32| [0.1_f32 * client as f32, 1.0 / (1.0 + client as f32)];
    let settings = Buffered { buffer: n_clients, ..BUFFERED };
    let setup = Setup { n_clients, ..setup() };
    let mut round = Coordinator::new(setup.clone()).expect("a good setup");
    let mut own = AsynchronousCoordinator::new(setup, Asynchrony::Buffered(settings)).expect("a good setup");
    for client in 0..n_clients {
        own.receive(&step(0, client, 1 + client % 5, delta(client))).expect("a good message");
        round.receive(step(0, client, 1 + client % 5, delta(client))).expect("a good message");
    }
    round.close(&mut seeded(1, Purpose::Noise, 0, 0)).expect("everyone came");
    assert_eq!(own.master(), round.master(), "the same bits");
}

#[test]
fn rewards_of_perturbed_models_can_be_buffered() {
    let rule = PayloadSemantics::Evolution { sigma: 0.5, antithetic: false };
    let made = AsynchronousCoordinator::new(Setup { rule, ..setup() }, Asynchrony::Buffered(BUFFERED));
    let mut coordinator = made.expect("a good setup");
    let message = |round, client| Message {
        round,
        start: round,
        client,
        payload: Payload::Evolution { seed: 7, plus: 1.0, minus: None },
    };
    let mut direction = [0.0_f32; 2];
    foltr_rank::learn::evolution::fill_direction(7, &mut direction);
    coordinator.receive(&message(0, 0)).expect("a good message");
    coordinator.receive(&message(0, 1)).expect("a good message");
    let moved = [1.0 + 2.0 * f64::from(direction[0]), -1.0 + 2.0 * f64::from(direction[1])];
    assert_close(coordinator.master(), &moved, 1e-12);
}

#[test]
fn naive_mixing_by_hand() {
    let mut coordinator = naive(1, 1);
    // Nothing came before: w = 1/2 of (1, -1) + (1, 2) - (1, -1).
    assert_eq!(coordinator.receive(&step(0, 0, 1, [1.0, 2.0])), Ok(Received::NewVersion));
    assert_eq!(coordinator.master(), [1.5, 0.0]);
    // A version old: w = 1/3 of (1, -1) + (2, 4) - (1.5, 0).
    coordinator.receive(&step(0, 1, 1, [2.0, 4.0])).expect("a version old");
    assert_close(coordinator.master(), &[2.0, 1.0], 1e-12);
    // An empty step from an old model pulls back: w = 1/3 of (1.5, 0) - (2, 1).
    coordinator.receive(&step(1, 2, 1, [0.0, 0.0])).expect("a version old");
    assert_close(coordinator.master(), &[2.0 - 0.5 / 3.0, 1.0 - 1.0 / 3.0], 1e-12);
    let too_stale = Refused::TooStale { staleness: 2, most: 1 };
    assert_eq!(coordinator.receive(&step(1, 2, 1, [0.0, 0.0])), Err(too_stale));
}

#[test]
fn naive_staleness_may_be_counted_in_longer_rounds() {
    let mut coordinator = naive(2, 9);
    coordinator.receive(&step(0, 0, 1, [0.0, 0.0])).expect("fresh");
    // One version old is still the first round: w = 1/2.
    coordinator.receive(&step(0, 1, 1, [4.0, 0.0])).expect("a version old");
    assert_close(coordinator.master(), &[3.0, -1.0], 1e-12);
    // Two versions old is the second: w = 1/3 of (1, -1) + (5, 0) - (3, -1).
    coordinator.receive(&step(0, 2, 1, [5.0, 0.0])).expect("two versions old");
    assert_close(coordinator.master(), &[4.0, -1.0], 1e-12);
}

#[test]
fn old_models_are_stored_as_long_as_messages_may_start_from_them_and_no_longer() {
    let mut coordinator = naive(1, 2);
    for version in 0..10 {
        coordinator.receive(&step(version, 0, 1, [1.0, 1.0])).expect("fresh");
        let Memory::Versions(versions) = &coordinator.memory else { panic!("versions") };
        assert_eq!(versions.published.len(), 3.min(version as usize + 2));
    }
}

#[test]
fn every_reason_to_refuse_has_a_name_and_changes_nothing() {
    let mut coordinator = buffered(Buffered { max_staleness: 0, ..BUFFERED });
    for client in 0..2 {
        coordinator.receive(&step(0, client, 1, [0.0, 0.0])).expect("fresh");
    }
    coordinator.receive(&step(1, 0, 1, [1.0, 0.0])).expect("fresh");
    for (message, refusal) in [
        (step(2, 1, 1, [9.0, 9.0]), Refused::UnknownVersion { newest: 1, got: 2 }),
        (step(0, 1, 1, [9.0, 9.0]), Refused::TooStale { staleness: 1, most: 0 }),
        (step(1, 4, 1, [9.0, 9.0]), Refused::UnknownClient { client: 4, n_clients: 4 }),
        (step(1, 0, 1, [9.0, 9.0]), Refused::RateLimit { client: 0, limit: 1 }),
        (step(1, 1, 6, [9.0, 9.0]), PayloadError::Interactions { max: 5, got: 6 }.into()),
        (step(1, 1, 1, [9.0, f32::NAN]), PayloadError::NotFinite { index: 1 }.into()),
        (
            Message { round: 1, start: 1, client: 1, payload: Payload::default() },
            PayloadError::Kind { expected: Kind::Step, got: Kind::Evolution }.into(),
        ),
    ] {
        assert_eq!(coordinator.receive(&message), Err(refusal));
    }
    assert_eq!(coordinator.receive(&step(1, 1, 1, [0.0, 1.0])), Ok(Received::NewVersion));
    assert_eq!(coordinator.task().global, [1.5, -0.5]);
    assert_eq!(coordinator.receive(&step(2, 0, 1, [0.0, 0.0])), Ok(Received::Buffered), "a new buffer, a new limit");
}

#[test]
fn a_model_beyond_f32_is_never_published() {
    let mut coordinator = buffered(Buffered { buffer: 1, ..BUFFERED });
    assert_eq!(coordinator.receive(&step(0, 0, 1, [f32::MAX, 0.0])), Ok(Received::NewVersion));
    let overflow = Refused::Overflow { version: 2, index: 0 };
    assert_eq!(coordinator.receive(&step(1, 0, 1, [f32::MAX, 0.0])), Err(overflow));
    assert_eq!((coordinator.task().round, coordinator.task().global[0]), (1, f32::MAX));
    assert_eq!(coordinator.receive(&step(1, 0, 1, [0.0, 1.0])), Ok(Received::NewVersion), "the buffer is empty again");
}

#[test]
fn a_bad_setup_is_refused() {
    let refused = |asynchrony, rule| {
        AsynchronousCoordinator::new(Setup { rule, ..setup() }, asynchrony).expect_err("a bad setup").to_string()
    };
    let averaging = PayloadSemantics::Averaging;
    for (settings, message) in [
        (Buffered { buffer: 0, ..BUFFERED }, "buffer = 0 must be at least 1"),
        (Buffered { buffer: 5, ..BUFFERED }, "buffer = 5 must be at most rate_limit times the number of clients"),
        (Buffered { rate_limit: 0, ..BUFFERED }, "rate_limit = 0 must be at least 1"),
        (Buffered { staleness_exponent: -0.5, ..BUFFERED }, "staleness_exponent = -0.5 must be 0 to 10"),
    ] {
        assert_eq!(refused(Asynchrony::Buffered(settings), averaging), message);
    }
    let naive = |updates_per_round| Asynchrony::Naive(Naive { updates_per_round, max_staleness: 9 });
    assert!(refused(naive(1), PayloadSemantics::Evolution { sigma: 0.1, antithetic: true }).contains("needs steps"));
    assert_eq!(refused(naive(0), averaging), "updates_per_round = 0 must be at least 1");
    // Without rounds nobody adds the noise of a sum.
    let laplace = DistributedLaplace::new(3.0, 1.0, ClipRadius::Paper).expect("positive");
    let at_closing = Setup { privacy: Arc::new(laplace), noise_shares: NoiseShares::DrawnAtClosing, ..setup() };
    let gaussian = |mode| {
        let gaussian = Gaussian::new(Clip::Fixed(1.0), 1.0, mode).expect("positive");
        Setup { privacy: Arc::new(gaussian), ..setup() }
    };
    for (setup, message) in [
        (gaussian(CentralMode::Clear), "needs rounds"),
        (gaussian(CentralMode::Sealed), "no sealed sum"),
        (at_closing, "no sealed sum"),
    ] {
        let refused = AsynchronousCoordinator::new(setup, Asynchrony::Buffered(BUFFERED)).expect_err("no rounds");
        assert!(refused.to_string().contains(message), "{refused}");
    }
}

#[test]
fn a_saved_coordinator_goes_on_with_the_same_bits() {
    let naive = Asynchrony::Naive(Naive { updates_per_round: 2, max_staleness: 2 });
    for asynchrony in [Asynchrony::Buffered(Buffered { buffer: 3, max_staleness: 2, ..BUFFERED }), naive] {
        let start = || AsynchronousCoordinator::new(setup(), asynchrony).expect("a good setup");
        let message = |n: u32, version: u32| step(version, n % 4, 1 + n % 5, [0.1 * n as f32, 1.0 / (1.0 + n as f32)]);
        let mut whole = start();
        for n in 0..20 {
            // At every moment, also with a buffer that is half full.
            let bytes = whole.save();
            let mut loaded = start();
            loaded.load(&bytes).expect("its own bytes");
            assert_eq!(loaded.save(), bytes);
            let sent = message(n, whole.task().round.saturating_sub(n % 3));
            assert_eq!(loaded.receive(&sent), whole.receive(&sent));
            assert_eq!((loaded.save(), loaded.master()), (whole.save(), whole.master()));
            for len in 0..bytes.len() {
                assert!(whole.clone().load(&bytes[..len]).is_err());
            }
        }
        assert!(whole.task().round > 2, "there were several versions");
    }
}
