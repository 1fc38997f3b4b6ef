//! Clients that do not wait for each other: beside the synchronous federation, on any number of threads, and refused.

use foltr_federation::asynchronous::{Buffered, Naive};
use foltr_federation::privacy::{ClipRadius, DistributedLaplace, Unprotected};
use foltr_federation::{Asynchrony, Defence, Mechanism, Part, Participation, ServerOptimiser};
use foltr_rank::learn::evolution::{EvolutionSettings, Reward};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::personal::{LocalOnly, Personalisation};
use foltr_rank::rng::Streams;
use foltr_rank::{Params, Shape};
use foltr_simulation::asynchronous_run::{AsynchronousRun, AsynchronousRunError};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::{RoundStats, TrainingSet};
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationError, FederationRun, FederationSettings, Learning};
use foltr_simulation::pace::{Speeds, Stragglers};

const PDGD: Learning = Learning::Pdgd(PdgdSettings {
    learning_rate: 0.1,
    updates: Updates::Immediate,
    n_shown: 10,
    clip_radius: None,
    proximal: 0.0,
});
const EVOLUTION: EvolutionSettings =
    EvolutionSettings { sigma: 0.01, antithetic: true, reward: Reward::MaxRr, n_interactions: 4, n_shown: 10 };
const BUFFERED: Buffered = Buffered { buffer: 10, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 1000 };
const STRAGGLERS: Stragglers = Stragglers { share: 0.3, slowdown: 10.0, jitter: 0.0 };

fn partition() -> ClientData {
    let synthetic = Synthetic { n_train: 60, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Tiny) };
    let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
    let users = Users::Cascade(Cascade::preset(Preset::Navigational, 2).expect("three grades"));
    ClientData::iid(training, users, 4)
}

fn settings(n_clients: u32, learning: Learning) -> FederationSettings {
    let shape = Shape::Linear { n_features: 12 };
    FederationSettings {
        seed: 5,
        shape,
        initial: vec![0.01; shape.n_params()],
        learning,
        n_clients,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        absent: Vec::new(),
        personalisation: None,
        privacy: Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
        defence: Defence::NONE,
        attackers: None,
        optimiser: ServerOptimiser::Momentum { rate: 2.0, momentum: 0.9 },
    }
}

fn started(
    settings: FederationSettings,
    asynchrony: Asynchrony,
    pace: Stragglers,
    partition: &ClientData,
) -> AsynchronousRun<'_> {
    AsynchronousRun::new(settings, asynchrony, pace, partition).expect("sound settings")
}

#[test]
fn equal_speeds_and_a_buffer_for_everyone_are_the_synchronous_federation() {
    let partition = partition();
    // More than two chunks, the last one not full.
    let n_clients = 150;
    let evolution = Learning::Evolution { settings: EVOLUTION, published_stream: false };
    for learning in [PDGD, evolution] {
        let buffered = Buffered { buffer: n_clients, staleness_exponent: 0.0, ..BUFFERED };
        let mut own =
            started(settings(n_clients, learning), Asynchrony::Buffered(buffered), Stragglers::default(), &partition);
        let mut synchronous = FederationRun::new(settings(n_clients, learning), &partition).expect("sound settings");
        for round in 1..=4 {
            let (tally, expected) = (own.round().expect("a round"), synchronous.round().expect("a round"));
            assert_eq!(own.task().global, synchronous.task().global, "the same bits");
            assert_eq!(own.task().round, round);
            assert_eq!(own.time(), f64::from(round));
            assert_eq!((tally.n_clients, tally.n_interactions), (expected.n_clients, expected.n_interactions));
            // Added in another order.
            assert!((tally.ndcg - expected.ndcg).abs() < 1e-9, "{} is not {}", tally.ndcg, expected.ndcg);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let partition = partition();
    let evolution = Learning::Evolution { settings: EVOLUTION, published_stream: false };
    let naive = Asynchrony::Naive(Naive { updates_per_round: 1, max_staleness: 1000 });
    let pace = Stragglers { jitter: 0.5, ..STRAGGLERS };
    for (learning, asynchrony, dropout) in [
        (PDGD, Asynchrony::Buffered(BUFFERED), 0.1),
        (evolution, Asynchrony::Buffered(BUFFERED), 0.0),
        (PDGD, naive, 0.0),
    ] {
        let run = |n_threads: usize| -> (Params, Vec<RoundStats>, f64) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
            pool.install(|| {
                let settings = FederationSettings { dropout, average_from: Some(4), ..settings(40, learning) };
                let mut run = started(settings, asynchrony, pace, &partition);
                let tallies = (0..5).map(|_| run.round().expect("a round")).collect();
                (run.ranker(), tallies, run.time())
            })
        };
        let one = run(1);
        assert!(one.0.iter().any(|&p| p != 0.01), "something was learnt");
        for n_threads in [2, 8] {
            assert_eq!(one, run(n_threads), "{n_threads} threads, {asynchrony:?}");
        }
    }
}

#[test]
fn stragglers_deliver_in_proportion_to_their_speed() {
    let partition = partition();
    let mut run = started(settings(10, PDGD), Asynchrony::Buffered(BUFFERED), STRAGGLERS, &partition);
    // Until time 100 seven clients deliver 100 times, three deliver 10 times: 73 rounds of ten.
    let n_messages: u64 = (0..73).map(|_| run.round().expect("a round").n_clients).sum();
    assert_eq!((run.time(), n_messages), (100.0, 730));
    // Every ten messages make a version; with three slow clients some come twice into a buffer and are refused.
    assert_eq!(u64::from(run.task().round), (730 - run.n_refused()) / 10);
    let synchronous = FederationRun::new(settings(10, PDGD), &partition).expect("sound settings");
    let mut synchronous = synchronous.with_pace(STRAGGLERS);
    for _ in 0..73 {
        synchronous.round().expect("a round");
    }
    assert_eq!(synchronous.time(), Some(730.0));
}

#[test]
fn fast_clients_cannot_fill_a_buffer_alone() {
    let partition = partition();
    let pace = Stragglers { share: 0.5, slowdown: 3.0, jitter: 0.0 };
    let buffered = Buffered { buffer: 8, ..BUFFERED };
    let mut run = started(settings(8, PDGD), Asynchrony::Buffered(buffered), pace, &partition);
    run.round().expect("a round");
    assert_eq!((run.n_refused(), run.task().round), (4, 0), "the fast four came twice");
    run.round().expect("a round");
    // At time 3 all come; the buffer is full with the last slow one, and what follows is in the next buffer.
    let speeds = Speeds::new(pace, 8, &Streams::new(5));
    let last = (0..8).rfind(|&client| speeds.is_straggler(client)).expect("four of eight");
    assert_eq!((run.n_refused(), run.task().round), (4 + u64::from(last) - 3, 1));
}

#[test]
fn who_is_too_slow_is_refused() {
    let partition = partition();
    let buffered = Buffered { buffer: 1, max_staleness: 20, ..BUFFERED };
    let mut run = started(settings(10, PDGD), Asynchrony::Buffered(buffered), STRAGGLERS, &partition);
    for _ in 0..73 {
        run.round().expect("a round");
    }
    // The others are at most 9 versions late; three slow clients came ten times each, 60 versions late or more.
    assert_eq!((run.n_refused(), run.task().round), (30, 700));
}

#[test]
fn lost_messages_have_their_probability_and_change_nothing() {
    let partition = partition();
    let lossy = FederationSettings { dropout: 0.25, ..settings(100, PDGD) };
    let mut run = started(lossy, Asynchrony::Buffered(BUFFERED), Stragglers::default(), &partition);
    let n_messages: u64 = (0..20).map(|_| run.round().expect("a round").n_clients).sum();
    // Binomial(2000, 3/4): five standard deviations are 97.
    assert!(n_messages.abs_diff(1500) < 97, "{n_messages}");
    assert_eq!(u64::from(run.task().round), n_messages / 10);
}

#[test]
fn what_needs_rounds_is_refused() {
    let partition = partition();
    let refused = |settings| {
        let run = AsynchronousRun::new(settings, Asynchrony::Buffered(BUFFERED), Stragglers::default(), &partition);
        match run.err() {
            Some(AsynchronousRunError::Federation(FederationError::Combination(pair))) => (pair.part, pair.with),
            other => panic!("{other:?}"),
        }
    };
    let laplace = DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive");
    let private = FederationSettings { privacy: Mechanism::DistributedLaplace(laplace), ..settings(10, PDGD) };
    assert_eq!(refused(private), (Part::Privacy, Part::Asynchrony));
    let sampled = FederationSettings { participation: Participation::Sample(5), ..settings(10, PDGD) };
    assert_eq!(refused(sampled), (Part::Cohort, Part::Asynchrony));
    let personal =
        FederationSettings { personalisation: Some(Personalisation::LocalOnly(LocalOnly {})), ..settings(10, PDGD) };
    assert_eq!(refused(personal), (Part::Asynchrony, Part::Personalisation));
    let published = Learning::Evolution { settings: EVOLUTION, published_stream: true };
    assert_eq!(refused(settings(10, published)), (Part::PublishedStream, Part::Asynchrony));
}
