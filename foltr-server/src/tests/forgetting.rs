//! Devices are forgotten by a real service: models, receipts, histories and keys.

use foltr_federation::aggregate::{NormClipping, Radius};
use foltr_federation::protocol::{Contribution, ForgetRequest};
use foltr_federation::unlearn::{Certificate, LedgerSubtraction, NoisyRollback, Sensitivity, ShardIsolation};
use foltr_federation::{
    Aggregation, Assurance, Defence, FederationPlan, History, HistoryPolicy, Payload, Privacy, Receipt, Unlearning,
};

use super::world::{BASE, TestStore, World, averaging, hash_of, plan_of, problem, settings, text};
use crate::call::{Answer, Method};
use crate::database::{DatabaseError, Pool};
use crate::history;
use crate::operator::{Action, Operator};
use crate::store::forgetting;

fn with(unlearning: Unlearning, policy: HistoryPolicy) -> FederationPlan {
    FederationPlan { unlearning: Some(unlearning), history: Some(policy), ..averaging(8) }
}

fn every(checkpoints: u32) -> HistoryPolicy {
    HistoryPolicy { checkpoints_every: Some(checkpoints), ..HistoryPolicy::default() }
}

fn private(epsilon: f64) -> FederationPlan {
    let parameters = serde_json::from_str(r#"{"clip": 0.5, "noise_multiplier": 20.0}"#).expect("parameters");
    let certificate = Certificate { epsilon, delta: 1e-6 };
    let privacy = Privacy::CentralDiscreteGaussian(parameters);
    FederationPlan { privacy, ..with(Unlearning::Certificate(certificate), every(3)) }
}

fn sharded() -> FederationPlan {
    let isolation = Unlearning::ShardIsolation(ShardIsolation { shards: 2 });
    FederationPlan { shards: Some(2), ..with(isolation, every(1)) }
}

fn noisy() -> FederationPlan {
    let sensitivity = Sensitivity::WorstCase;
    let rollback = NoisyRollback { clip_norm: 5.0, epsilon: 2.0, delta: 1e-6, max_noise: 0.0, sensitivity };
    let defence = Defence::of_rule(Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(5.0) }));
    FederationPlan { defence: Some(defence), ..with(Unlearning::NoisyRollback(rollback), every(1)) }
}

/// A round of some devices; every one of them moves the first coordinate by its number and one.
fn round(world: &World, devices: &[usize]) {
    let expected = world.row().round + 1;
    for &device in devices {
        let number = world.devices[device].number;
        let n_shards = world.service.federations["test"].snapshot(&world.service.pool).expect("sound").shards.len();
        let task = world.task(device, number % n_shards as u32).expect("an open round");
        let delta = vec![0.1 * (number + 1) as f32, 0.0];
        let is_clipped = task_is_clipped(world);
        let payload = match is_clipped {
            true => Payload::Clipped { within: true, delta: vec![0.1, 0.0] },
            false => Payload::Step { n_interactions: 4, delta },
        };
        let device_id = world.devices[device].id;
        let sent = Contribution { plan: task.plan, round: task.round, start: task.start, device: device_id, payload };
        let answer = world.send(device, &sent);
        assert_eq!(answer.status, 201, "{}", text(&answer));
    }
    world.advance(world.settings.round_seconds);
    world.tick();
    assert_eq!(world.row().round, expected);
}

fn task_is_clipped(world: &World) -> bool {
    let snapshot = world.service.federations["test"].snapshot(&world.service.pool).expect("sound");
    !snapshot.parts.plan.federation().privacy.is_none()
}

fn ask(world: &World, device: usize) -> Answer {
    let snapshot = world.service.federations["test"].snapshot(&world.service.pool).expect("sound");
    let (plan, id) = (hash_of(&snapshot.parts.plan), world.devices[device].id);
    let body = ForgetRequest { device: id, plan }.encode();
    world.service.answer(&world.devices[device].call(Method::Post, &format!("{BASE}/forget"), body))
}

fn receipt(answer: &Answer) -> Receipt {
    assert_eq!(answer.status, 200, "{}", text(answer));
    serde_json::from_slice(&answer.body).expect("a receipt")
}

fn complete_history(world: &World, shard: u32) -> History {
    let federation = &world.service.federations["test"];
    let snapshot = federation.refresh(&world.service.pool).expect("sound");
    let read = world.service.pool.read(|tables| history::complete(tables, federation.id, &snapshot));
    let histories: Result<_, DatabaseError> = read;
    histories.expect("histories").remove(&shard).expect("a shard")
}

fn assert_sound(world: &World) {
    let report = crate::verifying::everything(&world.service).expect("a store");
    assert_eq!(report.problems, Vec::<String>::new());
}

/// Three rounds, of which device 2 joins for the last; it asks to be forgotten and gets a receipt that the history confirms.
fn forget_the_third(plan: FederationPlan, shard: u32) -> (World, Receipt, [Vec<f32>; 3]) {
    let mut world = World::new(TestStore::sqlite(), &plan_of(plan, false), settings());
    world.enrol(2);
    round(&world, &[0, 1]);
    round(&world, &[0, 1]);
    let without = world.newest(shard).params().to_vec();
    world.enrol(1);
    round(&world, &[0, 1, 2]);
    let with = world.newest(shard).params().to_vec();
    assert_eq!(ask(&world, 2).status, 202);
    world.tick();
    world.restart();
    let answer = ask(&world, 2);
    let receipt = receipt(&answer);
    receipt.verify(world.key.public_key().as_bytes()).expect("signed by the federation");
    assert_eq!(receipt.claim.leavers, [2]);
    let after = world.newest(shard).params().to_vec();
    round(&world, &[0, 1]);
    receipt.matches(&complete_history(&world, shard)).expect("the history says the same");
    assert_sound(&world);
    let refused =
        world.send(2, &world.devices[2].step(&world.task(0, 0).expect("open"), world.newest(0).id(), [1.0, 0.0]));
    assert_eq!(problem(&refused), "revoked");
    assert_eq!(ask(&world, 2).body, answer.body, "the same receipt for ever");
    (world, receipt, [without, with, after])
}

#[test]
fn a_certificate_changes_no_model() {
    let (_, receipt, [_, with, after]) = forget_the_third(private(8.0), 0);
    assert!(matches!(receipt.claim.guarantee, Assurance::Certified { .. }), "{:?}", receipt.claim.guarantee);
    assert_eq!(with, after);
}

#[test]
fn subtraction_takes_the_steps_of_the_device_out() {
    let policy = HistoryPolicy { ledger: true, ..every(1) };
    let plan = with(Unlearning::LedgerSubtraction(LedgerSubtraction {}), policy);
    let (world, receipt, [without, with, after]) = forget_the_third(plan, 0);
    assert!(matches!(receipt.claim.guarantee, Assurance::Heuristic { .. }));
    // The round had (.1 + .2 + .3) / 3; without the third (.1 + .2) / 3 is left of it.
    assert!((with[0] - without[0] - 0.2).abs() < 1e-6 && (after[0] - without[0] - 0.1).abs() < 1e-6, "{after:?}");
    let keys = world.service.pool.read(|tables| forgetting::keys(tables, 1));
    let keys: std::collections::BTreeMap<u32, [u8; 32]> = keys.map_err(|error: DatabaseError| error).expect("keys");
    assert_eq!(keys.keys().copied().collect::<Vec<_>>(), [0, 1], "the key of the leaver is gone");
}

#[test]
fn a_shard_returns_to_its_state_before_the_device() {
    let (world, receipt, [without, with, after]) = forget_the_third(sharded(), 0);
    assert_eq!(receipt.claim.guarantee, Assurance::Exact);
    assert_ne!(with, after);
    assert_eq!(without, after, "devices 0 and 2 are of this shard");
    assert!(world.newest(1).header().version < world.newest(0).header().version, "the other shard goes on");
}

#[test]
fn a_rollback_without_noise_returns_to_before_the_device() {
    let (_, receipt, [without, with, after]) = forget_the_third(noisy(), 0);
    assert_eq!(receipt.claim.guarantee, Assurance::Exact);
    assert_ne!(with, after);
    assert_eq!(without, after);
}

#[test]
fn what_started_before_a_return_is_refused_and_the_open_round_is_given_up() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(noisy(), false), settings());
    world.enrol(3);
    round(&world, &[0, 1]);
    round(&world, &[0, 2]);
    let early = world.contribution(0, [1.0, 0.0]);
    assert_eq!(world.send(0, &early).status, 201);
    ask(&world, 2);
    world.tick();
    assert_eq!(world.send(0, &early).status, 200, "its receipt is still given out");
    let late = world.devices[1].step(&world.task(1, 0).expect("open"), early.start, [1.0, 0.0]);
    assert_eq!(problem(&world.send(1, &late)), "unknown-start");
    round(&world, &[0, 1]);
    assert_sound(&world);
}

#[test]
fn a_request_that_cannot_be_met_says_why_and_others_are_met() {
    // One message is within epsilon .5, and nothing more.
    let mut world = World::new(TestStore::sqlite(), &plan_of(private(0.2), false), settings());
    world.enrol(4);
    round(&world, &[0, 1]);
    (0..3).for_each(|_| round(&world, &[0, 2]));
    ask(&world, 0);
    ask(&world, 3);
    world.tick();
    assert_eq!(problem(&ask(&world, 0)), "cannot-forget");
    receipt(&ask(&world, 3));
    let overview = world.service.overview().expect("a store");
    let states: Vec<&str> = overview.federations[0].forget_requests.iter().map(|line| line.state.as_str()).collect();
    assert!(states.contains(&"done") && states.iter().any(|state| state.starts_with("refused: ")));
    assert_sound(&world);
}

#[test]
fn a_plan_without_unlearning_refuses_and_takes_nothing_more() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(averaging(4), false), settings());
    world.enrol(2);
    let sent = world.contribution(0, [1.0, 0.0]);
    assert_eq!(world.send(0, &sent).status, 201);
    assert_eq!(ask(&world, 0).status, 202);
    assert_eq!(world.row().n_contributions, 0, "what is in no model yet is taken out");
    world.tick();
    assert_eq!(problem(&ask(&world, 0)), "cannot-forget");
    assert_eq!(problem(&world.send(0, &sent)), "revoked");
    let stranger = super::world::TestDevice::new(99);
    let body = ForgetRequest { device: stranger.id, plan: hash_of(&plan_of(averaging(4), false)) }.encode();
    let answer = world.service.answer(&stranger.call(Method::Post, &format!("{BASE}/forget"), body));
    assert_eq!((answer.status, problem(&answer).as_str()), (404, "unknown-device"));
}

#[test]
fn parts_of_a_history_open_only_with_their_key_and_in_their_place() {
    let (world, ..) = forget_the_third(
        with(Unlearning::LedgerSubtraction(LedgerSubtraction {}), HistoryPolicy { ledger: true, ..every(1) }),
        0,
    );
    let pool = Pool::new(std::sync::Arc::clone(&world.store.database), 2);
    // Two rows cannot change places in one statement.
    let apart = "UPDATE history_parts SET number = number + 10";
    let back = "UPDATE history_parts SET number = 11 - number";
    let swapped: Result<(), DatabaseError> = pool.write(|tables| {
        tables.script(apart)?;
        tables.script(back)
    });
    swapped.expect("swapped");
    let report = crate::verifying::everything(&world.service).expect("a store");
    assert!(report.problems.iter().any(|problem| problem.contains("was altered")), "{:?}", report.problems);
}

#[test]
fn operators_can_ask_for_a_device() {
    let mut world = World::new(TestStore::sqlite(), &plan_of(sharded(), false), settings());
    world.enrol(3);
    round(&world, &[0, 1]);
    round(&world, &[0, 1, 2]);
    world.act(Action::Forget { device: world.devices[2].id.to_string() });
    receipt(&ask(&world, 2));
    let unknown = world.service.act("test", &Action::Forget { device: "ab".repeat(32) });
    assert!(unknown.expect_err("unknown").to_string().contains("no device"));
    assert_sound(&world);
}
