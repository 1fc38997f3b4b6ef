//! Clients that do not wait for each other: beside the synchronous federation, on any number of threads, and refused.

use foltr_federation::asynchronous::{Buffered, Naive};
use foltr_federation::privacy::{ClipRadius, DistributedLaplace};
use foltr_federation::{Asynchrony, Mechanism, Part, Participation};
use foltr_rank::personal::{LocalOnly, Personalisation};
use foltr_rank::rng::Streams;
use foltr_simulation::asynchronous_run::AsynchronousRun;
use foltr_simulation::federation_run::{FederationError, FederationRun, FederationSettings, Learning};
use foltr_simulation::pace::{Speeds, Stragglers};

use crate::scene::{MOMENTUM, even_partition, evolution, on_threads};

const PDGD: Learning = Learning::Pdgd(crate::scene::PDGD);
const BUFFERED: Buffered = Buffered { buffer: 10, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 1000 };
const STRAGGLERS: Stragglers = Stragglers { share: 0.3, slowdown: 10.0, jitter: 0.0 };

fn settings(n_clients: u32, learning: Learning) -> FederationSettings {
    FederationSettings { n_clients, learning, optimiser: MOMENTUM, ..crate::scene::settings() }
}

fn buffered(settings: FederationSettings, buffered: Buffered, pace: Stragglers) -> AsynchronousRun<'static> {
    AsynchronousRun::new(settings, Asynchrony::Buffered(buffered), pace, even_partition()).expect("sound settings")
}

#[test]
fn equal_speeds_and_a_buffer_for_everyone_are_the_synchronous_federation() {
    // More than two chunks, the last one not full.
    let n_clients = 150;
    for learning in [PDGD, evolution(false)] {
        let everyone = Buffered { buffer: n_clients, staleness_exponent: 0.0, ..BUFFERED };
        let settings = settings(n_clients, learning);
        let mut own = buffered(settings.clone(), everyone, Stragglers::default());
        let mut synchronous = FederationRun::new(settings, even_partition()).expect("sound settings");
        for round in 1..=4 {
            let (stats, expected) = (own.round().expect("a round"), synchronous.round().expect("a round"));
            assert_eq!(own.task().global, synchronous.task().global, "the same bits");
            assert_eq!(own.task().round, round);
            assert_eq!(own.time(), f64::from(round));
            assert_eq!((stats.n_clients, stats.n_interactions), (expected.n_clients, expected.n_interactions));
            // Added in another order.
            assert!((stats.ndcg - expected.ndcg).abs() < 1e-9, "{} is not {}", stats.ndcg, expected.ndcg);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let naive = Asynchrony::Naive(Naive { updates_per_round: 1, max_staleness: 1000 });
    let pace = Stragglers { jitter: 0.5, ..STRAGGLERS };
    for (learning, asynchrony, dropout) in [
        (PDGD, Asynchrony::Buffered(BUFFERED), 0.1),
        (evolution(false), Asynchrony::Buffered(BUFFERED), 0.0),
        (PDGD, naive, 0.0),
    ] {
        let run = || {
            let settings = FederationSettings { dropout, average_from: Some(4), ..settings(40, learning) };
            let mut run = AsynchronousRun::new(settings, asynchrony, pace, even_partition()).expect("sound settings");
            let stats: Vec<_> = (0..5).map(|_| run.round().expect("a round")).collect();
            (run.ranker(), stats, run.time())
        };
        let single = on_threads(1, run);
        assert!(single.0.iter().any(|&p| p != 0.01), "something was learnt");
        for n_threads in [2, 8] {
            assert_eq!(single, on_threads(n_threads, run), "{n_threads} threads, {asynchrony:?}");
        }
    }
}

#[test]
fn stragglers_deliver_in_proportion_to_their_speed() {
    let mut run = buffered(settings(10, PDGD), BUFFERED, STRAGGLERS);
    // Until time 100 seven clients deliver 100 times, three deliver 10 times: 73 rounds of ten.
    let n_messages: u64 = (0..73).map(|_| run.round().expect("a round").n_clients).sum();
    assert_eq!((run.time(), n_messages), (100.0, 730));
    // Every ten messages make a version; with three slow clients some come twice into a buffer and are refused.
    assert_eq!(u64::from(run.task().round), (730 - run.n_refused()) / 10);
    let synchronous = FederationRun::new(settings(10, PDGD), even_partition()).expect("sound settings");
    let mut synchronous = synchronous.with_pace(STRAGGLERS);
    for _ in 0..73 {
        synchronous.round().expect("a round");
    }
    assert_eq!(synchronous.time(), Some(730.0));
}

#[test]
fn fast_clients_cannot_fill_a_buffer_alone() {
    let pace = Stragglers { share: 0.5, slowdown: 3.0, jitter: 0.0 };
    let mut run = buffered(settings(8, PDGD), Buffered { buffer: 8, ..BUFFERED }, pace);
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
    let mut run = buffered(settings(10, PDGD), Buffered { buffer: 1, max_staleness: 20, ..BUFFERED }, STRAGGLERS);
    for _ in 0..73 {
        run.round().expect("a round");
    }
    // The others are at most 9 versions late; three slow clients came ten times each, 60 versions late or more.
    assert_eq!((run.n_refused(), run.task().round), (30, 700));
}

#[test]
fn lost_messages_have_their_probability_and_change_nothing() {
    let lossy = FederationSettings { dropout: 0.25, ..settings(100, PDGD) };
    let mut run = buffered(lossy, BUFFERED, Stragglers::default());
    let n_messages: u64 = (0..20).map(|_| run.round().expect("a round").n_clients).sum();
    // Binomial(2000, 3/4): five standard deviations are 97.
    assert!(n_messages.abs_diff(1500) < 97, "{n_messages}");
    assert_eq!(u64::from(run.task().round), n_messages / 10);
}

#[test]
fn what_needs_rounds_is_refused() {
    let refused = |settings| {
        let run =
            AsynchronousRun::new(settings, Asynchrony::Buffered(BUFFERED), Stragglers::default(), even_partition());
        match run.err() {
            Some(FederationError::Combination(pair)) => (pair.part, pair.with),
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
    assert_eq!(refused(settings(10, evolution(true))), (Part::PublishedStream, Part::Asynchrony));
}
