//! Shards: what one of them forgets is, bit by bit, what it never had, and costs no more than its part.

use foltr_federation::Participation;
use foltr_federation::history::UnknownClient;
use foltr_federation::unlearn::ShardIsolation;
use foltr_federation::{HistoryPolicy, ServerOptimiser, UnlearnError};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::federation_run::{FederationError, FederationSettings};
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::UnlearningError;

use crate::scene::*;

const ISOLATION: ShardIsolation = ShardIsolation { shards: 3 };
const STATES: HistoryPolicy =
    HistoryPolicy { updates_every: None, checkpoints_every: Some(4), ledger: false, retention: None };

fn sharded<'a>(settings: &FederationSettings, partition: &'a ClientData, n_rounds: u32) -> ShardedRun<'a> {
    let run = ShardedRun::new(settings.clone(), ISOLATION, partition, STATES, fingerprint());
    let mut run = run.expect("sound settings");
    for _ in 0..n_rounds {
        run.round().expect("a round");
    }
    run
}

fn federations(partition: &ClientData) -> Vec<FederationSettings> {
    let plain = settings(partition);
    let momentum = ServerOptimiser::Momentum { rate: 0.7, momentum: 0.9 };
    let devices = variants(partition).into_iter().find(|(name, _)| *name == "device momentum").expect("listed").1;
    vec![
        plain.clone(),
        FederationSettings { participation: Participation::PoissonSampling(0.2), ..plain.clone() },
        FederationSettings { participation: Participation::Sample(3), optimiser: momentum, ..plain.clone() },
        FederationSettings {
            participation: Participation::PoissonSampling(0.3),
            dropout: 0.3,
            optimiser: momentum,
            ..plain.clone()
        },
        FederationSettings { dropout: 0.5, average_from: Some(5), ..plain },
        FederationSettings { participation: Participation::PoissonSampling(0.2), ..devices },
    ]
}

#[test]
fn a_shard_forgets_as_if_it_had_never_had_the_client() {
    let partition = partition();
    for settings in federations(&partition) {
        let mut run = sharded(&settings, &partition, 30);
        let published = run.ranker();
        for (nth, leaver) in [4, 0, 7].into_iter().enumerate() {
            run.forget(&[leaver]).expect("a client");
            let gone: Vec<u32> = [0, 4, 7].into_iter().filter(|it| [4, 0, 7][..=nth].contains(it)).collect();
            let never = sharded(&FederationSettings { absent: gone, ..settings.clone() }, &partition, 30);
            assert_eq!(run.ranker(), never.ranker(), "{:?}", settings.participation);
            for (own, other) in run.shards().iter().zip(never.shards()) {
                assert_eq!(own.checkpoint(), other.checkpoint(), "{:?}", settings.participation);
                assert_eq!(own.history().expect("kept").verify(), Ok(()));
            }
        }
        assert_ne!(run.ranker(), published);
        // The federation goes on.
        run.round().expect("a round");
        assert_eq!(run.n_rounds(), 31);
    }
}

#[test]
fn other_shards_are_not_touched() {
    let partition = partition();
    let mut run = sharded(&settings(&partition), &partition, 10);
    let before: Vec<_> = run.shards().iter().map(|shard| shard.ranker()).collect();
    run.forget(&[1, 4]).expect("clients of shard 1");
    let after: Vec<_> = run.shards().iter().map(|shard| shard.ranker()).collect();
    assert_eq!((&before[0], &before[2]), (&after[0], &after[2]));
    assert_ne!(before[1], after[1]);
    let absent = vec![1, 4];
    let never = sharded(&FederationSettings { absent, ..settings(&partition) }, &partition, 10);
    assert_eq!(run.ranker(), never.ranker());
}

#[test]
fn forgetting_costs_at_most_the_part_of_a_shard() {
    let partition = partition();
    for n_clients in [10, 12, 31] {
        let settings = FederationSettings { n_clients, ..settings(&partition) };
        for leaver in [0, 1, 8] {
            let mut run = sharded(&settings, &partition, 8);
            let cost = run.forget(&[leaver]).expect("a client");
            let retrained = sharded(&FederationSettings { absent: vec![leaver], ..settings.clone() }, &partition, 8);
            let whole = retrained.cost();
            assert!(cost.local_steps * u64::from(ISOLATION.shards) <= whole.local_steps, "{cost:?} of {whole:?}");
            assert!(cost.bytes * u64::from(ISOLATION.shards) <= whole.bytes, "{cost:?} of {whole:?}");
        }
    }
    // Who came late is forgotten sooner.
    let settings = FederationSettings { participation: Participation::PoissonSampling(0.05), ..settings(&partition) };
    let run = sharded(&settings, &partition, 30);
    let first = |client: u32| {
        let shard = &run.shards()[ISOLATION.shard_of(client) as usize];
        shard.history().expect("kept").contribution(client).map_or(30, |it| it.first)
    };
    let latest = (0..10).max_by_key(|&client| first(client)).expect("a client");
    let from = first(latest) / 4 * 4;
    let cost = sharded(&settings, &partition, 30).forget(&[latest]).expect("a client");
    assert!(from > 0 && cost.rounds <= 30 - from, "{cost:?}, from {from}");
}

#[test]
fn one_shard_is_one_federation() {
    let partition = partition();
    let settings = FederationSettings { participation: Participation::Sample(4), ..settings(&partition) };
    let one = ShardIsolation { shards: 1 };
    let mut run = ShardedRun::new(settings.clone(), one, &partition, STATES, fingerprint()).expect("sound");
    for _ in 0..5 {
        run.round().expect("a round");
    }
    assert_eq!(run.ranker(), crate::scene::run(&settings, &partition, 5).ranker());
}

#[test]
fn shards_go_on_from_their_histories() {
    let partition = partition();
    let settings = federations(&partition).remove(3);
    let mut whole = sharded(&settings, &partition, 10);
    whole.forget(&[5]).expect("a client");
    let mut stopped = sharded(&settings, &partition, 10);
    stopped.forget(&[5]).expect("a client");
    let histories = stopped.into_histories();
    let mut resumed = ShardedRun::resume(settings.clone(), ISOLATION, &partition, histories).expect("all histories");
    for run in [&mut whole, &mut resumed] {
        run.round().expect("a round");
        run.forget(&[3]).expect("a client");
    }
    assert_eq!((resumed.ranker(), resumed.n_rounds()), (whole.ranker(), 11));
    let few = ShardedRun::resume(settings, ISOLATION, &partition, Vec::new()).err();
    assert!(matches!(few, Some(UnlearningError::Cannot(UnlearnError::Premise { .. }))), "{few:?}");
}

#[test]
fn bad_requests_change_nothing() {
    let partition = partition();
    let mut run = sharded(&settings(&partition), &partition, 6);
    run.forget(&[2]).expect("a client");
    let before: Vec<_> = run.shards().iter().map(|shard| shard.history().cloned()).collect();
    let ranker = run.ranker();
    // Client 0 is known, and in another shard: it must not be forgotten either.
    let unknown = UnlearnError::Client(UnknownClient::Nobody { client: 10, n_clients: 10 });
    assert_eq!(run.forget(&[0, 10]), Err(unknown.into()));
    let forgotten = UnlearnError::Client(UnknownClient::Forgotten { client: 2 });
    assert_eq!(run.forget(&[0, 2]), Err(forgotten.into()));
    assert_eq!(run.forget(&[]), Err(UnlearnError::Nobody.into()));
    assert_eq!(run.shards().iter().map(|shard| shard.history().cloned()).collect::<Vec<_>>(), before);
    assert_eq!(run.ranker(), ranker);
    let never = HistoryPolicy { checkpoints_every: None, ..STATES };
    let mut run = ShardedRun::new(settings(&partition), ISOLATION, &partition, never, fingerprint()).expect("sound");
    run.round().expect("a round");
    assert!(matches!(run.forget(&[1]), Err(UnlearningError::Cannot(UnlearnError::Need { .. }))));
    let none = ShardIsolation { shards: 0 };
    let refused = ShardedRun::new(settings(&partition), none, &partition, STATES, fingerprint()).err();
    assert!(matches!(refused, Some(FederationError::Setup(_))), "{refused:?}");
}
