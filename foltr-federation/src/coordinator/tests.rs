//! What a coordinator takes, refuses and closes.

mod check;
mod rehearsal;
mod saved;
mod stand_ins;

use super::*;
use crate::aggregate::Bulyan;
use crate::message::{Kind, Message, Payload, PayloadError};
use crate::noise::seeded::{SeededNoise, seeded};
use crate::privacy::{
    AdaptiveClip, CentralDiscreteGaussian, CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace,
    Gaussian,
};
use crate::{Aggregation, CHUNK};
use foltr_rank::rng::{Purpose, Streams};

fn noise() -> SeededNoise {
    seeded(1, Purpose::Noise, 0, 0)
}

fn coordinator(n_clients: u32) -> Coordinator {
    Coordinator::new(Setup::averaging(vec![1.0, -1.0], n_clients, 5)).expect("a good setup")
}

fn step(round: u32, client: u32, n_interactions: u32, delta: [f32; 2]) -> Message {
    Message { round, start: round, client, payload: Payload::Step { n_interactions, delta: delta.to_vec() } }
}

#[test]
fn a_round_moves_the_model_by_the_weighted_mean() {
    let mut coordinator = coordinator(3);
    for message in [step(0, 2, 5, [0.0, 4.0]), step(0, 0, 1, [1.0, 2.0]), step(0, 1, 3, [3.0, -2.0])] {
        coordinator.receive(message).expect("a good message");
    }
    let report = coordinator.close(&mut noise()).expect("three clients");
    assert_eq!((report.round, report.n_contributions), (0, Some(3)));
    assert!((report.step_norm - (356_f64).sqrt() / 9.0).abs() < 1e-12);
    assert_eq!(coordinator.master(), [1.0 + 10.0 / 9.0, -1.0 + 16.0 / 9.0]);
    assert_eq!((coordinator.task().round, coordinator.task().global[1]), (1, (7.0 / 9.0) as f32));
    assert_eq!(coordinator.receive(step(1, 2, 5, [0.0, 4.0])), Ok(()));
}

#[test]
fn every_reason_to_refuse_has_a_name_and_changes_nothing() {
    let mut coordinator = coordinator(2);
    coordinator.receive(step(0, 0, 1, [1.0, 0.0])).expect("a good message");
    for (message, refusal) in [
        (step(1, 1, 1, [9.0, 9.0]), Rejected::Round { expected: 0, got: 1 }),
        (step(0, 2, 1, [9.0, 9.0]), Rejected::UnknownClient { client: 2, n_clients: 2 }),
        (step(0, 0, 1, [9.0, 9.0]), Rejected::Duplicate { client: 0 }),
        (step(0, 0, 1, [1.0, 0.0]), Rejected::Duplicate { client: 0 }),
        (step(0, 1, 0, [9.0, 9.0]), PayloadError::Interactions { max: 5, got: 0 }.into()),
        (step(0, 1, 6, [9.0, 9.0]), PayloadError::Interactions { max: 5, got: 6 }.into()),
        (step(0, 1, 1, [9.0, f32::NAN]), PayloadError::NotFinite { index: 1 }.into()),
        (
            Message { round: 0, start: 0, client: 1, payload: Payload::Step { n_interactions: 1, delta: vec![9.0] } },
            PayloadError::Params { expected: 2, got: 1 }.into(),
        ),
        (
            Message { round: 0, start: 0, client: 1, payload: Payload::default() },
            PayloadError::Kind { expected: Kind::Step, got: Kind::Evolution }.into(),
        ),
    ] {
        assert_eq!(coordinator.receive(message), Err(refusal));
    }
    assert_eq!(coordinator.close(&mut noise()).map(|report| report.n_contributions), Ok(Some(1)));
    assert_eq!(coordinator.task().global, [2.0, -1.0]);
}

#[test]
fn a_reward_that_would_make_an_infinite_update_is_refused_where_updates_are_compared() {
    let mut coordinator = Coordinator::new(Setup {
        rule: PayloadSemantics::Evolution { sigma: 0.01, antithetic: false },
        defence: Defence { rule: Aggregation::Bulyan(Bulyan { attackers: 1 }), ..Defence::NONE },
        ..Setup::averaging(vec![1.0, -1.0], 7, 5)
    })
    .expect("a good setup");
    let reward = |client: u32, plus: f32| {
        let payload = Payload::Evolution { seed: client + 1, plus, minus: None };
        Message { round: 0, start: 0, client, payload }
    };
    let refusal = coordinator.receive(reward(3, f32::MAX));
    assert!(matches!(refusal, Err(Rejected::Payload(PayloadError::NotFinite { .. }))), "{refusal:?}");
    // It may still send something sound, and the round goes on with whoever did.
    for client in [0, 1, 2, 3, 5] {
        coordinator.receive(reward(client, 0.5)).expect("a sound reward");
    }
    assert_eq!(coordinator.close(&mut noise()).map(|report| report.n_contributions), Ok(Some(5)));
    assert!(coordinator.task().global.iter().all(|value| value.is_finite()));
}

#[test]
fn chunks_come_in_their_order_and_never_beside_messages() {
    let mut coordinator = coordinator(CHUNK as u32 + 1);
    let mut partial = PartialSum::new(2);
    partial.add_step(&[1.0, 1.0], 1.0);
    assert_eq!(coordinator.receive_partial(1, &partial), Err(Rejected::ChunkOrder { expected: 0, got: 1 }));
    assert_eq!(coordinator.receive_partial(0, &partial), Ok(()));
    assert_eq!(coordinator.receive(step(0, 7, 1, [1.0, 1.0])), Err(Rejected::SumsAndMessages));
    assert_eq!(coordinator.receive_partial(0, &partial), Err(Rejected::ChunkOrder { expected: 1, got: 0 }));
    (0..CHUNK).for_each(|_| partial.add_step(&[1.0, 1.0], 1.0));
    assert_eq!(coordinator.receive_partial(1, &partial), Err(Rejected::ChunkSize { got: CHUNK as u32 + 1 }));
    let short = Rejected::Payload(PayloadError::Params { expected: 2, got: 3 });
    assert_eq!(coordinator.receive_partial(1, &PartialSum::new(3)), Err(short));
    assert_eq!(
        coordinator.receive_cluster_partial(0, 0, &PartialSum::new(2)),
        Err(Rejected::UnknownCluster { cluster: 0, n_clusters: 0 })
    );
    coordinator.skip();
    coordinator.receive(step(1, 7, 1, [1.0, 1.0])).expect("a good message");
    assert_eq!(coordinator.receive_partial(0, &PartialSum::new(2)), Err(Rejected::SumsAndMessages));
}

#[test]
fn messages_are_folded_in_chunks_of_those_present() {
    // Numbers whose sum depends on the order of additions; every third client is away.
    let n_clients = 3 * CHUNK as u32;
    let delta = |client: u32| [((client * 37 % 41) as f32).exp() * 1e-10, 1.0 / (1.0 + client as f32)];
    let present: Vec<u32> = (0..n_clients).filter(|client| client % 3 != 1).collect();
    let mut sums = coordinator(n_clients);
    for (chunk_idx, chunk) in present.chunks(CHUNK).enumerate() {
        let mut partial = PartialSum::new(2);
        chunk.iter().for_each(|&client| partial.add_step(&delta(client), 1.0));
        sums.receive_partial(chunk_idx, &partial).expect("the next chunk");
    }
    let mut messages = coordinator(n_clients);
    for &client in present.iter().rev() {
        messages.receive(step(0, client, 1, delta(client))).expect("a good message");
    }
    for server in [&mut sums, &mut messages] {
        server.close(&mut noise()).expect("clients came");
    }
    assert_eq!(messages.master(), sums.master());
}

#[test]
fn a_message_may_start_from_an_old_release_as_far_as_the_setup_says() {
    let staleness = Staleness { most: 2, exponent: 1.0 };
    let mut coordinator =
        Coordinator::new(Setup { staleness, ..Setup::averaging(vec![0.0, 0.0], 3, 5) }).expect("a good setup");
    (0..3).for_each(|_| coordinator.skip());
    let from = |start: u32| Message { start, ..step(3, 0, 1, [1.0, 0.0]) };
    assert_eq!(coordinator.receive(from(0)), Err(Rejected::TooStale { staleness: 3, most: 2 }));
    assert_eq!(coordinator.receive(from(4)), Err(Rejected::UnknownRelease { newest: 3, got: 4 }));
    coordinator.receive(from(1)).expect("two releases old");
    coordinator.close(&mut noise()).expect("one came");
    // A device has scaled its step itself.
    assert_eq!(coordinator.master(), [1.0, 0.0]);
}

#[test]
fn the_server_scales_stale_rewards_whatever_the_rule() {
    let rule = PayloadSemantics::Evolution { sigma: 1.0, antithetic: false };
    for defence in [Defence::NONE, Defence::of_rule(Aggregation::Median(crate::aggregate::Median {}))] {
        let moved = |start: u32| {
            let setup = Setup { rule, defence, staleness: Staleness { most: 3, exponent: 1.0 }, ..three_clients() };
            let mut coordinator = Coordinator::new(setup).expect("a good setup");
            (0..3).for_each(|_| coordinator.skip());
            for client in 0..3 {
                let payload = Payload::Evolution { seed: 7, plus: 0.5, minus: None };
                coordinator.receive(Message { round: 3, start, client, payload }).expect("a good message");
            }
            coordinator.close(&mut noise()).expect("three came");
            coordinator.master().to_vec()
        };
        let (fresh, stale) = (moved(3), moved(0));
        let quarter: Vec<f64> = fresh.iter().map(|value| value / 4.0).collect();
        crate::assert_close(&stale, &quarter, 1e-7);
    }
}

fn three_clients() -> Setup {
    Setup::averaging(vec![0.0, 0.0], 3, 5)
}

#[test]
fn the_mean_of_the_last_models_is_the_coordinators() {
    let mut coordinator = Coordinator::new(Setup { average_from: Some(2), ..three_clients() }).expect("a good setup");
    for round in 0..3 {
        coordinator.receive(step(round, 0, 1, [1.0, 0.0])).expect("a good message");
        coordinator.close(&mut noise()).expect("one came");
    }
    assert_eq!(coordinator.task().global, [3.0, 0.0]);
    assert_eq!(coordinator.ranker(), [2.5, 0.0]);
    let state = coordinator.checkpoint();
    let mut again = Coordinator::new(Setup { average_from: Some(2), ..three_clients() }).expect("a good setup");
    again.restore(&state).expect("its own state");
    assert_eq!((again.ranker(), again.checkpoint()), (vec![2.5, 0.0], state));
}

#[test]
fn clusters_move_by_their_own_sums() {
    let clusters = vec![vec![0.0, 0.0], vec![1.0, 0.0]];
    let mut coordinator = Coordinator::new(Setup { clusters, ..three_clients() }).expect("a good setup");
    let mut partial = PartialSum::new(2);
    partial.add_step(&[0.5, 2.0], 1.0);
    coordinator.receive_cluster_partial(1, 0, &partial).expect("a sum");
    let report = coordinator.close(&mut noise()).expect("a cluster was helped");
    assert_eq!((report.round, report.step_norm, coordinator.task().round), (0, 0.0, 1));
    assert_eq!(coordinator.cluster_models().collect::<Vec<_>>(), [[0.0, 0.0], [1.5, 2.0]]);
    let private = gaussian(Clip::Fixed(1.0), CentralMode::Clear);
    let refused = Coordinator::new(Setup { clusters: vec![vec![0.0, 0.0]], ..private }).expect_err("no noise");
    assert_eq!(refused, SetupError::Clusters);
}

#[test]
fn a_clipped_step_beyond_its_bound_is_refused() {
    let privacy = CentralDiscreteGaussian::new(Clip::Fixed(0.5), 1.0).expect("sound");
    let mut coordinator = Coordinator::new(Setup { privacy: Arc::new(privacy), ..three_clients() }).expect("good");
    let message = |delta: [f32; 2]| {
        let payload = Payload::Clipped { within: true, delta: delta.to_vec() };
        Message { round: 0, start: 0, client: 1, payload }
    };
    let refused = coordinator.receive(message([0.3, 0.41]));
    assert!(matches!(refused, Err(Rejected::BeyondClipNorm { client: 1, length }) if length > 1.0), "{refused:?}");
    assert_eq!(coordinator.receive(message([0.3, 0.4])), Ok(()));
}

#[test]
fn a_population_grows_and_never_shrinks() {
    let mut coordinator = coordinator(1);
    let unknown = Rejected::UnknownClient { client: 5, n_clients: 1 };
    assert_eq!(coordinator.receive(step(0, 5, 1, [1.0, 1.0])), Err(unknown));
    coordinator.enrol(6);
    coordinator.enrol(2);
    assert_eq!(coordinator.receive(step(0, 5, 1, [1.0, 1.0])), Ok(()));
}

#[test]
fn an_empty_round_stays_open() {
    let mut coordinator = coordinator(2);
    assert_eq!(coordinator.close(&mut noise()), Err(CloseError::Empty { round: 0 }));
    assert_eq!(coordinator.receive(step(0, 1, 1, [1.0, 1.0])), Ok(()));
    assert!(coordinator.close(&mut noise()).is_ok());
}

#[test]
fn a_model_beyond_f32_is_never_published() {
    let mut coordinator = coordinator(1);
    for round in 0..2 {
        coordinator.receive(step(round, 0, 1, [0.0, f32::MAX])).expect("finite");
        // The first one just fits.
        let closed = coordinator.close(&mut noise()).map(|report| report.round);
        assert_eq!(closed, if round == 0 { Ok(0) } else { Err(CloseError::Overflow { round, index: 1 }) });
    }
    assert_eq!((coordinator.task().round, coordinator.task().global[1]), (2, f32::MAX));
}

/// The model after a round of one message of (0.3, 0.4), with noise from this stream.
fn closed_with(setup: &Setup, stream: u32) -> Vec<f64> {
    let mut coordinator = Coordinator::new(setup.clone()).expect("a good setup");
    let (mut partial, mut payload) = (PartialSum::new(2), Payload::default());
    let update = foltr_rank::Update::Step { delta: &[0.3, 0.4], n_interactions: 1 };
    setup.privacy.protect_without_share(update, coordinator.task(), &mut noise(), &mut payload);
    partial.add_payload(&payload, &setup.privacy.rule(setup.rule, setup.divisor, None), 1.0, &mut []);
    coordinator.receive_partial(0, &partial).expect("a sum");
    let report = coordinator.close(&mut seeded(1, Purpose::Noise, stream, 0)).expect("enough clients");
    let step = coordinator.master();
    assert!((report.step_norm - step[0].hypot(step[1])).abs() < 1e-12, "it is that of the noisy step");
    step.to_vec()
}

fn gaussian(clip: Clip, mode: CentralMode) -> Setup {
    let privacy = Gaussian::new(clip, 2.0, mode).expect("positive");
    Setup { privacy: Arc::new(privacy), ..Setup::averaging(vec![0.0; 2], 4, 5) }
}

#[test]
fn no_central_mechanism_is_closed_without_its_noise() {
    // A server that closed with no noise, or whose caller forgot to add it, would publish the sum itself: the model less
    // the one before it is the mean of the updates. Every mechanism must move the model elsewhere, by its own noise only.
    let laplace = DistributedLaplace::new(3.0, 1.0, ClipRadius::Paper).expect("positive");
    let discrete = DiscreteGaussian::new(1.0, 2.0, 1, 0).expect("wide enough");
    let central = |clip| {
        let privacy = CentralDiscreteGaussian::new(clip, 2.0).expect("wide enough");
        Setup { privacy: Arc::new(privacy), ..Setup::averaging(vec![0.0; 2], 4, 5) }
    };
    let at_closing = |privacy: Arc<dyn LocalPrivacy>| Setup {
        privacy,
        noise_shares: NoiseShares::DrawnAtClosing,
        ..Setup::averaging(vec![0.0; 2], 4, 5)
    };
    let adaptive = AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 1.0 };
    for setup in [
        gaussian(Clip::Fixed(1.0), CentralMode::Clear),
        gaussian(Clip::Fixed(1.0), CentralMode::Sealed),
        gaussian(Clip::Adaptive(adaptive), CentralMode::Sealed),
        at_closing(Arc::new(laplace)),
        at_closing(Arc::new(discrete)),
        central(Clip::Fixed(1.0)),
        central(Clip::Adaptive(adaptive)),
    ] {
        let (one, other) = (closed_with(&setup, 0), closed_with(&setup, 1));
        let sum = match setup.privacy.rule(setup.rule, setup.divisor, None) {
            PayloadSemantics::Averaging => [0.3, 0.4],
            _ => [0.3 / 4.0, 0.4 / 4.0],
        };
        for step in [&one, &other] {
            assert!(step.iter().zip(sum).all(|(value, sum)| (value - sum).abs() > 1e-3), "{setup:?}: {step:?}");
        }
        assert_ne!(one, other, "{setup:?}");
        assert_eq!(one, closed_with(&setup, 0), "the same noise, the same model");
    }
}

#[test]
fn a_sum_without_its_noise_is_not_opened_reported_or_printed() {
    // A clipped update can be read from a sum that has no noise, and so can the number of clients, where taking part is
    // what is hidden: with and without its one client, everything that a round says must differ by nothing but the step.
    let setup = gaussian(Clip::Fixed(1.0), CentralMode::Sealed);
    let reports = [true, false].map(|comes| {
        let mut coordinator = Coordinator::new(setup.clone()).expect("a good setup");
        let mut partial = PartialSum::new(2);
        if comes {
            let clipped = Payload::Clipped { within: true, delta: vec![0.3125, 0.4375] };
            partial.add_payload(&clipped, &PayloadSemantics::Summing { divisor: 4.0 }, 1.0, &mut []);
        }
        assert_eq!(partial.mean(), None);
        assert!(!format!("{partial:?}").contains("0.3125"));
        coordinator.receive_partial(0, &partial).expect("a sum");
        assert!(!format!("{coordinator:?}").contains("0.3125"));
        let report = coordinator.close(&mut noise()).expect("a round");
        (report.n_contributions, coordinator.task().clip_norm, coordinator.task().round)
    });
    assert_eq!(reports, [(None, None, 1); 2]);
}

#[test]
fn the_clip_norm_moves_with_the_round_and_is_in_the_checkpoint() {
    let adaptive = AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 1.0, count_noise: 1e-9 };
    let mut coordinator = Coordinator::new(gaussian(Clip::Adaptive(adaptive), CentralMode::Clear)).expect("sound");
    let before = coordinator.checkpoint();
    let payload = |within| Payload::Clipped { within, delta: vec![0.0, 0.0] };
    for (client, within) in [(0, true), (1, true), (2, true), (3, false)] {
        coordinator.receive(Message { round: 0, start: 0, client, payload: payload(within) }).expect("a good message");
    }
    coordinator.close(&mut noise()).expect("a round");
    // Three of four are within: e^-(3/4 - 1/2).
    let norm = coordinator.task().clip_norm.expect("it moved");
    assert!((norm - (-0.25_f32).exp()).abs() < 1e-6, "{norm}");
    let after = coordinator.checkpoint();
    coordinator.restore(&before).expect("its own state");
    assert_eq!((coordinator.task().clip_norm, coordinator.task().round), (None, 0));
    coordinator.restore(&after).expect("its own state");
    assert_eq!((coordinator.task().clip_norm, coordinator.checkpoint()), (Some(norm), after));
    coordinator.skip();
    assert_eq!(coordinator.task().clip_norm, Some(norm));
}

#[test]
fn a_sealed_federation_takes_sums_and_nothing_else() {
    let sealed = |rule, privacy: Arc<dyn LocalPrivacy>| Setup {
        rule,
        privacy,
        divisor: 4.0,
        ..Setup::averaging(vec![0.0; 2], 3, 5)
    };
    let discrete: Arc<dyn LocalPrivacy> = Arc::new(DiscreteGaussian::new(32_768.0, 1.0, 2, 0).expect("wide enough"));
    let known =
        "secure aggregation hides single updates, and FOLtR-ES, whose server reads the seed and reward of every";
    let needed = PayloadSemantics::Evolution { sigma: 0.1, antithetic: true }.needs_single_updates();
    let message = Mode::Sealed.admit(needed).expect_err("needs seeds and rewards").to_string();
    assert!(message.starts_with(known), "{message}");
    assert!([Mode::Clear, Mode::Local].iter().all(|mode| mode.admit(Some("a median")).is_ok()));
    // A unit of 1/2.
    let rule = discrete.rule(PayloadSemantics::Averaging, 4.0, None);
    let mut coordinator =
        Coordinator::new(sealed(PayloadSemantics::Averaging, discrete)).expect("a sum needs no single update");
    let share = |values: [i64; 2]| Payload::Share(crate::message::Share::new(values.to_vec()));
    let message = Message { round: 0, start: 0, client: 0, payload: share([8, 0]) };
    assert_eq!(coordinator.receive(message), Err(Rejected::Sealed));
    let sum = |n: i64| {
        let mut partial = PartialSum::new(2);
        (0..n).for_each(|_| partial.add_payload(&share([8, -16]), &rule, 1.0, &mut []));
        partial
    };
    coordinator.receive_partial(0, &sum(1)).expect("a sum");
    let few = coordinator.close(&mut noise());
    assert_eq!(few, Err(CloseError::TooFewSurvivors { round: 0, got: 1, needed: 2 }));
    assert_eq!((coordinator.task().round, coordinator.master()), (1, [0.0; 2].as_slice()));
    coordinator.receive_partial(0, &sum(2)).expect("a sum");
    coordinator.close(&mut noise()).expect("two survivors");
    assert_eq!(coordinator.master(), [2.0, -4.0]);
}

#[test]
fn a_bad_setup_is_refused() {
    let refused = |rule, initial| Coordinator::new(Setup { rule, ..Setup::averaging(initial, 1, 1) }).expect_err("bad");
    let sigma = refused(PayloadSemantics::Evolution { sigma: 0.0, antithetic: true }, vec![0.0]);
    assert_eq!(sigma.to_string(), "sigma = 0 must be positive and finite");
    let infinite = refused(PayloadSemantics::Averaging, vec![0.0, f32::INFINITY]);
    assert_eq!(infinite, SetupError::Initial { index: 1, value: f32::INFINITY });
    // A sum that nobody adds noise to.
    for rule in [
        PayloadSemantics::Summing { divisor: 1.0 },
        PayloadSemantics::Shares { unit: 1.0, divisor: 1.0, min_survivors: 1 },
    ] {
        assert!(refused(rule, vec![0.0]).to_string().contains("which adds their noise"));
    }
    let evolution = PayloadSemantics::Evolution { sigma: 0.1, antithetic: true };
    let wrong = Setup { rule: evolution, ..gaussian(Clip::Fixed(1.0), CentralMode::Clear) };
    let error = Coordinator::new(wrong).expect_err("rewards are not clipped").to_string();
    assert!(error.contains("not defined for them"), "{error}");
}
