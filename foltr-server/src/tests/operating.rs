//! What operators do, and what follows for devices.

use foltr_federation::aggregate::Median;
use foltr_federation::protocol::ReleaseChain;
use foltr_federation::{Aggregation, Defence, FederationPlan, Participation};

use super::world::{BASE, START, TestDevice, TestStore, World, averaging, hash_of, plan_of, problem, settings, text};
use crate::call::Method;
use crate::operator::{Action, Done, Operator};
use crate::settings::FederationSettings;

fn world(plan: FederationPlan, settings: FederationSettings, n_devices: usize) -> World {
    let mut world = World::new(TestStore::sqlite(), &plan_of(plan, false), settings);
    world.enrol(n_devices);
    world
}

fn waits_for(world: &World) -> String {
    world.service.overview().expect("a store").federations[0].waits_for.clone()
}

#[test]
fn an_invitation_lets_so_many_in_until_it_expires_or_is_revoked() {
    let world = World::new(TestStore::sqlite(), &plan_of(averaging(10), false), settings());
    let join = |seed: u64, invitation: &_| world.service.answer(&TestDevice::new(seed).enrolment(invitation));
    let invitation = world.invitation(2);
    assert_eq!([join(1, &invitation).status, join(2, &invitation).status], [201, 201]);
    assert_eq!(problem(&join(3, &invitation)), "invitation-refused");
    assert_eq!(join(1, &invitation).status, 200, "who has joined gets the same answer");
    assert_eq!(join(1, &invitation).body, join(1, &invitation).body);
    let invitation = world.invitation(1);
    world.advance(86_400);
    assert_eq!(problem(&join(3, &invitation)), "invitation-refused");
    let invitation = world.invitation(1);
    let id = world.service.overview().expect("a store").federations[0].invitations[0].id;
    world.act(Action::RevokeInvitation { id });
    assert_eq!(problem(&join(3, &invitation)), "invitation-refused");
    assert!(world.service.act("test", &Action::RevokeInvitation { id: 99 }).is_err());
}

#[test]
fn a_federation_is_full_when_all_clients_of_the_plan_have_joined() {
    let world = world(averaging(2), settings(), 2);
    let answer = world.service.answer(&TestDevice::new(9).enrolment(&world.invitation(1)));
    assert_eq!(problem(&answer), "federation-full");
}

#[test]
fn no_round_opens_before_enough_devices_have_joined() {
    let mut world = world(averaging(10), FederationSettings { minimum_devices: 3, ..settings() }, 2);
    assert_eq!(world.task(0, 0), None);
    assert!(waits_for(&world).contains("when 3 devices are enrolled"), "{}", waits_for(&world));
    world.enrol(1);
    assert!(world.task(0, 0).is_some());
    assert!(waits_for(&world).contains("Nobody has contributed"), "{}", waits_for(&world));
}

#[test]
fn a_round_without_contributions_is_extended() {
    let world = world(averaging(10), settings(), 1);
    let first = world.task(0, 0).expect("open").deadline;
    world.advance(world.settings.round_seconds + 5);
    world.tick();
    let task = world.task(0, 0).expect("still open");
    assert_eq!((task.round, task.deadline), (0, first + world.settings.round_seconds + 5));
}

#[test]
fn a_revoked_device_is_not_known_any_more_and_rounds_do_not_wait_for_it() {
    let world = world(averaging(10), settings(), 2);
    world.contribute(0, [1.0, 0.0]);
    world.act(Action::RevokeDevice { device: world.devices[1].id.to_string() });
    let call = world.devices[1].call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new());
    assert_eq!(problem(&world.service.answer(&call)), "revoked");
    world.tick();
    assert_eq!(world.row().round, 1);
    // Its message counts if it came before.
    world.contribute(0, [1.0, 0.0]);
    world.act(Action::RevokeDevice { device: world.devices[0].id.to_string() });
    world.advance(world.settings.round_seconds);
    world.tick();
    assert_eq!(world.row().round, 2);
}

#[test]
fn a_round_waits_for_every_active_device_whoever_else_came() {
    let world = world(averaging(10), settings(), 3);
    world.contribute(0, [1.0, 0.0]);
    world.contribute(1, [1.0, 0.0]);
    world.act(Action::RevokeDevice { device: world.devices[1].id.to_string() });
    world.tick();
    assert_eq!(world.row().round, 0, "two have come and two are active, and one of them has not come");
    world.contribute(2, [4.0, 0.0]);
    world.tick();
    assert_eq!((world.row().round, world.newest(0).params()), (1, [2.0, 0.0].as_slice()));
}

#[test]
fn a_held_federation_gives_out_no_task_and_closes_no_round() {
    let world = world(averaging(10), settings(), 2);
    world.contribute(0, [1.0, 0.0]);
    world.act(Action::Hold);
    assert_eq!(world.task(0, 0), None);
    world.advance(2 * world.settings.round_seconds);
    world.tick();
    assert_eq!(world.row().round, 0);
    assert!(waits_for(&world).contains("holds"), "{}", waits_for(&world));
    assert!(world.service.act("test", &Action::CloseRound).is_err());
    world.act(Action::Resume);
    world.tick();
    assert_eq!(world.row().round, 0, "devices have time again");
    assert!(world.task(1, 0).expect("open").deadline > START + 2 * world.settings.round_seconds);
    world.act(Action::CloseRound);
    assert_eq!((world.row().round, world.newest(0).params()), (1, [1.0, 0.0].as_slice()));
}

#[test]
fn a_release_is_shown_to_a_share_of_the_devices_first() {
    let staged = FederationSettings { stage_share: 0.5, stage_seconds: 1_000, ..settings() };
    let world = world(averaging(40), staged, 40);
    let n_shown = |world: &World| (0..40).filter(|&device| world.task(device, 0).is_some()).count();
    let n = n_shown(&world);
    // Binomial(40, 1/2): five standard deviations are 16.
    assert!((5..36).contains(&n), "{n}");
    let first = (0..40).find(|&device| world.task(device, 0).is_some()).expect("a device of the first share");
    world.contribute(first, [1.0, 0.0]);
    world.advance(999);
    assert_eq!(n_shown(&world), n, "the same devices all the time");
    world.advance(1);
    assert_eq!(n_shown(&world), 40);
    world.advance(world.settings.round_seconds);
    world.tick();
    assert_eq!(world.row().round, 1);
    // Those of the second share still get the release before.
    let newest = |device: usize| {
        let call = world.devices[device].call(Method::Get, &format!("{BASE}/releases/newest?shard=0"), Vec::new());
        let answer = world.service.answer(&call);
        foltr_federation::protocol::Release::decode(&answer.body, 2).expect("a release").header().version
    };
    let versions: Vec<u32> = (0..40).map(newest).collect();
    assert!(versions.contains(&0) && versions.contains(&1), "{versions:?}");
}

#[test]
fn a_stage_does_not_go_on_while_the_federation_is_held() {
    let staged = FederationSettings { stage_share: 0.5, stage_seconds: 1_000, ..settings() };
    let world = world(averaging(40), staged, 40);
    let n_shown = || (0..40).filter(|&device| world.task(device, 0).is_some()).count();
    let n = n_shown();
    world.act(Action::Hold);
    world.advance(5_000);
    assert_eq!(n_shown(), 0);
    world.act(Action::Resume);
    assert_eq!(n_shown(), n, "the stage begins anew");
    world.advance(1_000);
    assert_eq!(n_shown(), 40);
    assert!(world.task(0, 0).expect("open").deadline >= START + 6_000 + world.settings.round_seconds);
}

#[test]
fn devices_follow_a_new_key_and_a_new_plan() {
    let world = world(averaging(10), settings(), 2);
    let mut chain = ReleaseChain::new(hash_of(&plan_of(averaging(10), false)), 0, world.key.public_key());
    let follow = |world: &World, chain: &mut ReleaseChain| {
        let after = chain.newest().map_or(0, |newest| newest.version);
        let path = format!("{BASE}/headers?shard=0&after={after}");
        let answer = world.service.answer(&world.devices[0].call(Method::Get, &path, Vec::new()));
        let headers = foltr_federation::protocol::decode_headers(&answer.body, 100).expect("headers");
        headers.iter().for_each(|header| {
            if header.unverified().plan != chain.plan() {
                chain.change_plan(header.unverified().plan);
            }
            chain.follow(header).expect("the next one");
        });
    };
    chain.accept(&world.newest(0)).expect("the first release");
    world.contribute(0, [1.0, 0.0]);
    world.contribute(1, [1.0, 0.0]);
    world.tick();
    let Done::Release { version } = world.act(Action::RotateKey) else { panic!("a release") };
    assert_eq!(version, 2);
    follow(&world, &mut chain);
    assert_ne!(chain.key(), world.key.public_key());
    let call = world.devices[0].call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new());
    let task = foltr_federation::protocol::Signed::<foltr_federation::protocol::Task>::decode(
        &world.service.answer(&call).body,
    );
    task.expect("a task").verify(&chain.key()).expect("signed by the new key");
    let plan = plan_of(FederationPlan { n_interactions: 8, ..averaging(20) }, false);
    let version = world.service.change_plan("test", &plan, None).expect("a plan for as many devices");
    assert_eq!((version, world.row().round), (3, 0), "rounds of a plan begin anew");
    follow(&world, &mut chain);
    assert_eq!(chain.plan(), hash_of(&plan));
    assert_eq!(world.newest(0).params(), [1.0, 0.0], "the model stays");
    let smaller = plan_of(averaging(1), false);
    assert!(world.service.change_plan("test", &smaller, None).is_err(), "two devices have joined");
    let report = crate::verifying::everything(&world.service).expect("a store");
    assert_eq!(report.problems, Vec::<String>::new());
}

#[test]
fn a_defence_draws_exactly_its_cohort_and_volunteers_are_refused() {
    let defence = Some(Defence::of_rule(Aggregation::Median(Median {})));
    let plan = FederationPlan { defence, participation: Participation::Sample(4), ..averaging(12) };
    let mut world = world(plan, settings(), 12);
    let mut drawn_ever = std::collections::BTreeSet::new();
    for round in 0..6 {
        let task = world.task(0, 0).expect("open");
        assert_eq!((task.round, task.n_wanted), (round, 4));
        let invited: Vec<usize> = (0..world.devices.len()).filter(|&i| task.invites(&world.devices[i].id)).collect();
        let invited: Vec<usize> = invited.into_iter().filter(|&i| i < 12).collect();
        assert_eq!(invited.len(), 4);
        let volunteer = (0..12).find(|i| !invited.contains(i)).expect("somebody");
        assert_eq!(problem(&world.send(volunteer, &world.contribution(volunteer, [9.0, 0.0]))), "not-invited");
        for &device in &invited[..3] {
            world.contribute(device, [1.0, 0.0]);
        }
        world.tick();
        assert_eq!(world.row().round, round, "a defence waits for all that it has drawn");
        world.contribute(invited[3], [1.0, 0.0]);
        world.tick();
        assert_eq!(world.row().round, round + 1);
        drawn_ever.extend(invited);
    }
    assert!(drawn_ever.len() > 6, "another cohort in every round: {drawn_ever:?}");
    world.devices.truncate(12);
}

#[test]
fn who_joins_after_the_drawing_cannot_choose_a_lucky_key() {
    let defence = Some(Defence::of_rule(Aggregation::Median(Median {})));
    let plan = FederationPlan { defence, participation: Participation::Sample(3), ..averaging(300) };
    let world = world(plan, settings(), 6);
    let task = world.task(0, 0).expect("open");
    let lucky = (1_000..).map(TestDevice::new).find(|device| task.invites(&device.id)).expect("a lucky key");
    let answer = world.service.answer(&lucky.enrolment(&world.invitation(1)));
    assert_eq!(answer.status, 201);
    let sent = lucky.step(&task, task.start, [9.0, 0.0]);
    assert_eq!(problem(&world.service.answer(&lucky.upload(&sent))), "not-invited");
}

#[test]
fn a_quorum_closes_a_round_before_its_deadline() {
    let plan = FederationPlan { participation: Participation::Sample(2), ..averaging(10) };
    let world = world(plan, settings(), 5);
    world.contribute(3, [1.0, 0.0]);
    world.tick();
    world.contribute(1, [0.0, 1.0]);
    world.tick();
    assert_eq!((world.row().round, world.newest(0).params()), (1, [0.5, 0.5].as_slice()));
}

#[test]
fn a_plan_ends_after_its_rounds() {
    let world = world(FederationPlan { n_rounds: 2, ..averaging(10) }, settings(), 1);
    for _ in 0..2 {
        world.contribute(0, [1.0, 0.0]);
        world.tick();
    }
    assert_eq!(world.task(0, 0), None);
    assert!(waits_for(&world).contains("2 rounds"), "{}", waits_for(&world));
}

#[test]
fn what_is_old_is_collected_by_its_rule() {
    let short = FederationSettings { receipt_days: 1, stored_releases: 2, idle_days: 5, ..settings() };
    let world = world(averaging(10), short, 2);
    let first = world.contribution(0, [1.0, 0.0]);
    for _ in 0..4 {
        world.contribute(0, [1.0, 0.0]);
        world.contribute(1, [1.0, 0.0]);
        world.tick();
    }
    world.advance(2 * 86_400);
    world.tick();
    assert_eq!(problem(&world.send(0, &first)), "round-closed", "its receipt is gone");
    let get = |version: u32| {
        let path = format!("{BASE}/releases/{version}?shard=0");
        world.service.answer(&world.devices[0].call(Method::Get, &path, Vec::new())).status
    };
    assert_eq!([get(1), get(2), get(3), get(4)], [404, 404, 200, 200]);
    world.advance(4 * 86_400);
    let call = world.devices[0].call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new());
    world.service.answer(&call);
    world.tick();
    world.advance(2 * 86_400);
    world.tick();
    let overview = world.service.overview().expect("a store");
    assert_eq!((overview.federations[0].n_devices, overview.federations[0].n_revoked), (1, 1), "one was seen");
    let report = crate::verifying::everything(&world.service).expect("a store");
    assert_eq!(report.problems, Vec::<String>::new(), "what was collected is no damage");
}

#[test]
fn a_model_is_exported_as_the_laboratory_reads_it() {
    let world = world(averaging(10), settings(), 1);
    world.contribute(0, [1.0, -2.0]);
    world.tick();
    let model = world.service.export("test", None).expect("a model");
    assert_eq!(model.file_name, "test-1.safetensors");
    let shape = foltr_rank::Shape::Linear { n_features: 2 };
    let read =
        |bytes: &[u8]| crate::model_file::params_of(bytes, shape, foltr_federation::protocol::Normalisation::None);
    assert_eq!(read(&model.bytes).expect("a model"), [1.0, -2.0]);
    let first = world.service.export("test", Some(0)).expect("a model");
    assert_eq!(read(&first.bytes).expect("a model"), [0.0, 0.0]);
    assert!(world.service.export("test", Some(7)).is_err());
    assert!(world.service.export("other", None).is_err());
}

#[test]
fn requests_are_limited_by_device() {
    let few = FederationSettings { device_burst: 5, device_per_minute: 60, ..settings() };
    let world = world(averaging(10), few, 2);
    let ask = |device: usize| {
        world.service.answer(&world.devices[device].call(Method::Get, &format!("{BASE}/task?shard=0"), Vec::new()))
    };
    let answers: Vec<_> = (0..6).map(|_| ask(0)).collect();
    assert!(answers[..5].iter().all(|answer| answer.status == 200), "{}", text(&answers[4]));
    assert_eq!((problem(&answers[5]).as_str(), answers[5].retry_after), ("too-many-requests", Some(1)));
    assert_eq!(ask(1).status, 200, "others are not concerned");
    world.advance(2);
    assert_eq!(ask(0).status, 200);
}
