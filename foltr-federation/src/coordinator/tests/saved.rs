//! A coordinator that is saved and loaded goes on with the same bits, whatever its rule, mechanism and optimiser.

use super::*;
use crate::aggregate::{CentredClipping, FlDetector, Radius};
use crate::server_optimiser::ServerOptimiser;
use foltr_rank::bytes::BytesError;
use rand::RngExt;

fn setups() -> Vec<Setup> {
    let adaptive = AdaptiveClip { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 1.0 };
    let central = CentralDiscreteGaussian::new(Clip::Adaptive(adaptive), 1.0).expect("sound");
    let adam = ServerOptimiser::Adam { rate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
    let base = || Setup::averaging(vec![0.5, -0.5], 7, 5);
    let mut setups = vec![
        base(),
        Setup { optimiser: adam, average_from: Some(2), ..base() },
        Setup { privacy: Arc::new(central), ..base() },
        Setup { clusters: vec![vec![0.0, 1.0]; 2], ..base() },
    ];
    for rule in Aggregation::examples() {
        setups.push(Setup { defence: Defence { stand_ins: 2, ..Defence::of_rule(rule) }, ..base() });
    }
    let centred = Aggregation::CentredClipping(CentredClipping { radius: Radius::Median, iterations: 2 });
    let detector = Aggregation::FlDetector(FlDetector { window: 2 });
    for rule in [centred, detector] {
        let defence = Defence { bound: Some(Radius::Median), mixing: Some(1), ..Defence::of_rule(rule) };
        setups.push(Setup { defence, ..base() });
    }
    setups
}

/// A round of which some clients are away.
fn play(coordinator: &mut Coordinator, n_clusters: usize, is_clipped: bool) {
    let round = coordinator.task().round;
    let mut stream = Streams::new(9).open(Purpose::Data, 0, round);
    let mut partial = PartialSum::new(2);
    partial.add_step(&[stream.random(), 0.25], 1.0);
    for cluster in 0..n_clusters {
        coordinator.receive_cluster_partial(cluster, 0, &partial).expect("a sum");
    }
    for client in (0..7).filter(|client| !(client + round).is_multiple_of(4)) {
        let delta = vec![stream.random::<f32>() - 0.5, 0.1 * client as f32];
        let payload = match is_clipped {
            true => Payload::Clipped { within: client % 2 == 0, delta },
            false => Payload::Step { n_interactions: 1 + client % 5, delta },
        };
        // Longer than the bound is refused, in both runs.
        let _ = coordinator.receive(Message { round, start: round, client, payload });
    }
    coordinator.close(&mut seeded(2, Purpose::Noise, 0, round)).expect("somebody came");
}

#[test]
fn a_saved_coordinator_goes_on_with_the_same_bits() {
    for setup in setups() {
        let (n_clusters, is_clipped) = (setup.clusters.len(), setup.privacy.accepts(Kind::Clipped));
        let start = || Coordinator::new(setup.clone()).expect("a good setup");
        let mut whole = start();
        (0..4).for_each(|_| play(&mut whole, n_clusters, is_clipped));
        let bytes = whole.save();
        let mut loaded = start();
        loaded.load(&bytes).expect("its own bytes");
        for _ in 0..4 {
            play(&mut whole, n_clusters, is_clipped);
            play(&mut loaded, n_clusters, is_clipped);
            assert_eq!(loaded.save(), whole.save(), "{:?}", setup.defence);
        }
        assert_eq!((loaded.ranker(), loaded.master()), (whole.ranker(), whole.master()));
    }
}

#[test]
fn damaged_bytes_are_refused_and_change_nothing() {
    let setups = setups();
    for (idx, setup) in setups.iter().enumerate() {
        let mut coordinator = Coordinator::new(setup.clone()).expect("a good setup");
        let is_clipped = setup.privacy.accepts(Kind::Clipped);
        (0..3).for_each(|_| play(&mut coordinator, setup.clusters.len(), is_clipped));
        let bytes = coordinator.save();
        for len in 0..bytes.len() {
            assert!(coordinator.load(&bytes[..len]).is_err(), "{len} bytes of setup {idx}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(coordinator.load(&longer), Err(BytesError::TrailingBytes { at: bytes.len(), left: 1 }));
        assert_eq!(coordinator.save(), bytes);
    }
    // Those of another setup.
    let saved = |setup: &Setup| Coordinator::new(setup.clone()).expect("a good setup").save();
    let mut plain = Coordinator::new(setups[0].clone()).expect("a good setup");
    for other in [&setups[1], &setups[3], &setups[5]] {
        assert!(plain.load(&saved(other)).is_err());
    }
}
