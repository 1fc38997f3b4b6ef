//! Shards: what one of them forgets is, bit by bit, what it never had, and costs no more than its part.

use foltr_federation::Participation;
use foltr_federation::history::UnknownClient;
use foltr_federation::unlearn::{MessageCost, ShardIsolation};
use foltr_federation::{HistoryPolicy, Message, ServerOptimiser, ShardedCoordinator, UnlearnError};
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::SimulatedNoise;
use foltr_simulation::client_round::Worker;
use foltr_simulation::client_states::StateStretch;
use foltr_simulation::federation_run::{FederationError, FederationSettings};
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::{Cost, UnlearningError};

use crate::scene::*;

const ISOLATION: ShardIsolation = ShardIsolation { shards: 3 };
const STATES: HistoryPolicy =
    HistoryPolicy { updates_every: None, checkpoints_every: Some(4), ledger: false, retention: None };

fn sharded(settings: &FederationSettings, n_rounds: u32) -> ShardedRun<'static> {
    let run = ShardedRun::new(settings.clone(), ISOLATION, partition(), STATES, fingerprint());
    let mut run = run.expect("sound settings");
    for _ in 0..n_rounds {
        run.round().expect("a round");
    }
    run
}

fn federations() -> Vec<FederationSettings> {
    let plain = settings();
    let momentum = ServerOptimiser::Momentum { rate: 0.7, momentum: 0.9 };
    let devices = variant("device momentum");
    let coins = Participation::PoissonSampling;
    vec![
        plain.clone(),
        FederationSettings { participation: coins(0.2), ..plain.clone() },
        FederationSettings { participation: Participation::Sample(3), optimiser: momentum, ..plain.clone() },
        FederationSettings { participation: coins(0.3), dropout: 0.3, optimiser: momentum, ..plain.clone() },
        FederationSettings { dropout: 0.5, average_from: Some(5), ..plain },
        FederationSettings { participation: coins(0.2), ..devices },
        // A client whose first messages are lost has a part in those rounds: the zero vector stands in for it.
        FederationSettings { participation: coins(0.3), dropout: 0.6, defence: trimmed(1), ..settings() },
    ]
}

#[test]
fn a_shard_forgets_as_if_it_had_never_had_the_client() {
    for settings in federations() {
        let mut run = sharded(&settings, 30);
        let published = run.ranker();
        let mut gone = Vec::new();
        for leavers in [&[4][..], &[0], &[7, 1]] {
            let rankers = |run: &ShardedRun<'_>| run.shards().iter().map(|shard| shard.ranker()).collect::<Vec<_>>();
            let before = rankers(&run);
            run.forget(leavers, MessageCost::UNPROTECTED).expect("clients of one shard");
            gone.extend(leavers);
            gone.sort_unstable();
            let never = sharded(&FederationSettings { absent: gone.clone(), ..settings.clone() }, 30);
            assert_eq!(run.ranker(), never.ranker(), "{:?}", settings.participation);
            for (shard, (own, other)) in run.shards().iter().zip(never.shards()).enumerate() {
                assert_eq!(own.checkpoint(), other.checkpoint(), "{:?}", settings.participation);
                assert_eq!(own.history().expect("recorded").verify(), Ok(()));
                let is_touched = shard as u32 == ISOLATION.shard_of(leavers[0]);
                assert!(is_touched || own.ranker() == before[shard], "another shard");
            }
        }
        assert_ne!(run.ranker(), published);
        // The federation goes on.
        run.round().expect("a round");
        assert_eq!(run.n_rounds(), 31);
    }
}

#[test]
fn forgetting_costs_at_most_the_part_of_a_shard() {
    for n_clients in [10, 12, 31] {
        let settings = FederationSettings { n_clients, ..settings() };
        for leaver in [0, 1, 8] {
            let mut run = sharded(&settings, 8);
            let cost = run.forget(&[leaver], MessageCost::UNPROTECTED).expect("a client");
            let retrained = sharded(&FederationSettings { absent: vec![leaver], ..settings.clone() }, 8);
            let whole = |of: fn(Cost) -> u64| retrained.shards().iter().map(|shard| of(shard.cost())).sum::<u64>();
            assert!(cost.local_steps * 3 <= whole(|cost| cost.local_steps), "{cost:?}");
            assert!(cost.bytes * 3 <= whole(|cost| cost.bytes), "{cost:?}");
        }
    }
    // Who came late is forgotten sooner.
    let settings = FederationSettings { participation: Participation::PoissonSampling(0.05), ..settings() };
    let run = sharded(&settings, 30);
    let first = |client: u32| {
        let shard = &run.shards()[ISOLATION.shard_of(client) as usize];
        shard.history().expect("recorded").first_round(client).unwrap_or(30)
    };
    let latest = (0..10).max_by_key(|&client| first(client)).expect("a client");
    let from = first(latest) / 4 * 4;
    let cost = sharded(&settings, 30).forget(&[latest], MessageCost::UNPROTECTED).expect("a client");
    assert!(from > 0 && cost.rounds <= 30 - from, "{cost:?}, from {from}");
}

#[test]
fn one_shard_is_one_federation() {
    let settings = FederationSettings { participation: Participation::Sample(4), ..settings() };
    let one = ShardIsolation { shards: 1 };
    let mut run = ShardedRun::new(settings.clone(), one, partition(), STATES, fingerprint()).expect("sound");
    for _ in 0..5 {
        run.round().expect("a round");
    }
    assert_eq!(run.ranker(), crate::scene::run(&settings, 5).ranker());
}

#[test]
fn shards_go_on_from_their_histories() {
    let settings = federations().remove(3);
    let mut whole = sharded(&settings, 10);
    whole.forget(&[5], MessageCost::UNPROTECTED).expect("a client");
    let mut stopped = sharded(&settings, 10);
    stopped.forget(&[5], MessageCost::UNPROTECTED).expect("a client");
    let histories = stopped.into_histories();
    let mut resumed = ShardedRun::resume(settings.clone(), ISOLATION, partition(), histories).expect("all histories");
    for run in [&mut whole, &mut resumed] {
        run.round().expect("a round");
        run.forget(&[3], MessageCost::UNPROTECTED).expect("a client");
    }
    assert_eq!((resumed.ranker(), resumed.n_rounds()), (whole.ranker(), 11));
    let few = ShardedRun::resume(settings, ISOLATION, partition(), Vec::new()).err();
    assert!(matches!(few, Some(UnlearningError::Request(UnlearnError::Premise { .. }))), "{few:?}");
}

#[test]
fn bad_requests_change_nothing() {
    let mut run = sharded(&settings(), 6);
    run.forget(&[2], MessageCost::UNPROTECTED).expect("a client");
    let before: Vec<_> = run.shards().iter().map(|shard| shard.history().cloned()).collect();
    let ranker = run.ranker();
    // Client 0 is known, and in another shard: it must not be forgotten either.
    let unknown = UnlearnError::Client(UnknownClient::Nobody { client: 10, n_clients: 10 });
    assert_eq!(run.forget(&[0, 10], MessageCost::UNPROTECTED), Err(unknown.into()));
    let forgotten = UnlearnError::Client(UnknownClient::Forgotten { client: 2 });
    assert_eq!(run.forget(&[0, 2], MessageCost::UNPROTECTED), Err(forgotten.into()));
    assert_eq!(run.forget(&[], MessageCost::UNPROTECTED), Err(UnlearnError::Nobody.into()));
    assert_eq!(run.shards().iter().map(|shard| shard.history().cloned()).collect::<Vec<_>>(), before);
    assert_eq!(run.ranker(), ranker);
    let never = HistoryPolicy { checkpoints_every: None, ..STATES };
    let mut run = ShardedRun::new(settings(), ISOLATION, partition(), never, fingerprint()).expect("sound");
    run.round().expect("a round");
    assert!(matches!(
        run.forget(&[1], MessageCost::UNPROTECTED),
        Err(UnlearningError::Request(UnlearnError::Need { .. }))
    ));
    let none = ShardIsolation { shards: 0 };
    let refused = ShardedRun::new(settings(), none, partition(), STATES, fingerprint()).err();
    assert!(matches!(refused, Some(FederationError::Setup(_))), "{refused:?}");
}

#[test]
fn the_coordinators_of_shards_publish_what_the_simulator_does() {
    let settings = FederationSettings { n_clients: 200, optimiser: MOMENTUM, ..settings() };
    let mut simulated = sharded(&settings, 0);
    let mut server = ShardedCoordinator::new(&settings.setup(partition()), ISOLATION).expect("a sound setup");
    let streams = Streams::new(settings.seed);
    let mut worker = Worker::new(settings.client_learner(), &streams);
    for number in 0..5 {
        let mut messages = Vec::new();
        for (shard, coordinator) in (0..).zip(server.shards()) {
            let round = settings.round(coordinator.task(), partition(), &streams);
            let clients = (0..settings.n_clients).filter(|&client| ISOLATION.shard_of(client) == shard);
            worker.run_clients(&round, clients, &mut StateStretch::none(), |sent| {
                let payload = sent.payload.clone();
                messages.push(Message { round: number, start: number, client: sent.client, payload });
            });
        }
        for message in messages.into_iter().rev() {
            server.receive(message).expect("a sound message");
        }
        let closed = server.close(&mut SimulatedNoise::open(&streams, Purpose::Noise, 0, number));
        assert!(closed.iter().all(Result::is_ok));
        simulated.round().expect("a round");
        assert_eq!(server.ranker(), simulated.ranker(), "after round {number}");
    }
}
