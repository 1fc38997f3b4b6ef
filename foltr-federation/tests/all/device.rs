//! What a device refuses, and that nothing has changed then.

use foltr_federation::privacy::{AdaptiveClip, CentralDiscreteGaussianParameters, Clip, DuchiParameters};
use foltr_federation::protocol::{
    Contribution, Document, FeatureSchema, Lottery, Normalisation, Plan, PlanError, Release, ReleaseId, SecretKey, Task,
};
use foltr_federation::{
    Asynchrony, CloseError, Device, DeviceError, FederationPlan, Fingerprint, Payload, Privacy, Staleness,
};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::learn::{EvolutionParameters, PdgdParameters};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Candidates, EvolutionStream, Initialisation, Learner, RankerShape};
use rand::Rng;

use crate::noise::{as_if_real, seeded};

const EVOLUTION: EvolutionParameters =
    EvolutionParameters { sigma: 0.01, antithetic: false, reward: Reward::MaxRr, stream: EvolutionStream::Separate };

fn federation() -> FederationPlan {
    let pdgd =
        PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
    let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
    FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, 10, 2, 5)
}

fn features() -> FeatureSchema {
    FeatureSchema::numbered(2, Normalisation::None)
}

fn plan_of(federation: FederationPlan) -> Plan {
    Plan::new(federation, &features(), false).expect("deployable")
}

fn central(clip: Clip) -> Privacy {
    let (noise_multiplier, epsilon, delta) = (Some(1.0), None, None);
    Privacy::CentralDiscreteGaussian(CentralDiscreteGaussianParameters { clip, noise_multiplier, epsilon, delta })
}

fn random() -> impl Rng {
    Streams::new(1).open(Purpose::Interaction, 0, 0)
}

fn key() -> SecretKey {
    SecretKey::from_bytes(&[7; 32])
}

/// A device of a federation, with releases 0 to 2 and a task that starts from the newest of them.
struct Scene {
    plan: Plan,
    device: Device,
    releases: Vec<Release>,
    task: Task,
}

impl Scene {
    fn new(federation: FederationPlan) -> Self {
        let plan = plan_of(federation);
        let hash = plan.hash().expect("sound");
        let mut releases = vec![Release::first(hash, 0, vec![0.0, 0.0], &key()).expect("finite")];
        for version in 0..2 {
            releases.push(releases[version].next(hash, vec![version as f32, 1.0], &key()).expect("finite"));
        }
        let device = Device::new(&plan, 0, &[0.0, 0.0], &mut random()).expect("a sound plan");
        let start = releases[2].id();
        let task =
            Task { plan: hash, round: 2, shard: 0, start, clip_norm: None, deadline: 0, n_wanted: 10, lottery: None };
        Self { plan, device, releases, task }
    }

    fn learn(&mut self, version: usize, n_interactions: u64) {
        self.device.begin(&self.releases[version], &mut random()).expect("a release of the plan");
        for now in 0..n_interactions {
            let query = Candidates::new(&[1.0, 0.0, 0.0, 1.0], 2).expect("two documents");
            let shown = self.device.rank(query.view(), now, &mut random()).expect("a list");
            self.device.clicked(shown.impression, 1, now).expect("an open list");
            self.device.dismiss(shown.impression).expect("an open list");
        }
    }

    fn contribute(&mut self, task: &Task) -> Result<Contribution, DeviceError> {
        self.device.contribution(task, key().public_key().device_id(), &mut as_if_real())
    }
}

#[test]
fn a_task_beyond_the_plan_is_refused_and_nothing_has_changed() {
    let mut scene = Scene::new(federation());
    scene.learn(2, 2);
    let (task, plan) = (scene.task, scene.task.plan);
    let other = Fingerprint::of(b"another plan");
    let fork = ReleaseId { hash: Fingerprint::of(b"another model"), ..task.start };
    let nobody = Lottery { value: [1; 32], threshold: 0 };
    let before = scene.device.save();
    for (task, error) in [
        (Task { plan: other, ..task }, DeviceError::OtherPlan { expected: plan, got: other }),
        (Task { shard: 1, ..task }, DeviceError::OtherShard { expected: 0, got: 1 }),
        // Noise is calibrated for the rounds of the plan: one more, and its promise is broken.
        (Task { round: 5, ..task }, DeviceError::BeyondPlan { round: 5, n_rounds: 5 }),
        // A server that may choose the norm reads updates as long as they are.
        (Task { clip_norm: Some(1e30), ..task }, DeviceError::ClipNorm),
        (Task { lottery: Some(nobody), ..task }, DeviceError::NotInvited),
        // Two models under one number: somebody is shown another one than everybody else.
        (Task { start: fork, ..task }, DeviceError::Fork { version: 2 }),
        (Task { start: scene.releases[1].id(), ..task }, DeviceError::Ahead { start: 2, newest: 1 }),
    ] {
        assert_eq!(scene.contribute(&task), Err(error));
        assert_eq!(scene.device.save(), before);
    }
    assert!(scene.contribute(&task).is_ok());
    assert!(matches!(scene.contribute(&task), Err(DeviceError::Finish(_))), "one message a round");
}

#[test]
fn a_round_that_is_too_short_or_too_old_is_not_sent() {
    let mut scene =
        Scene::new(FederationPlan { staleness: Some(Staleness { most: 1, exponent: 0.0 }), ..federation() });
    let task = scene.task;
    scene.learn(1, 1);
    assert_eq!(scene.contribute(&task), Err(DeviceError::Interactions { needed: 2, got: 1 }));
    scene.learn(0, 2);
    assert_eq!(scene.contribute(&task), Err(DeviceError::TooStale { staleness: 2, most: 1 }));
    scene.learn(1, 2);
    assert_eq!(scene.contribute(&task).map(|sent| sent.start), Ok(scene.releases[1].id()));
}

/// No task was open for a while: what the server takes is what the plan says, not what the device has.
#[test]
fn a_device_that_searched_more_than_the_plan_asks_for_is_still_taken() {
    let mut scene = Scene::new(federation());
    let task = scene.task;
    scene.learn(2, 7);
    let sent = scene.contribute(&task).expect("a full round");
    assert!(matches!(sent.payload, Payload::Step { n_interactions: 2, .. }));
    let expected = scene.plan.expected().expect("steps");
    assert_eq!(Contribution::decode(&sent.encode(), &task.plan, &expected), Ok(sent));
}

/// Who knows the seed takes the noise away, from a message and from a sum.
#[test]
fn noise_that_follows_from_a_seed_protects_no_people() {
    let duchi = DuchiParameters { epsilon: Some(1.0), bound: 0.1, whole_run: None };
    let mut scene = Scene::new(FederationPlan { privacy: Privacy::Duchi(duchi), ..federation() });
    scene.learn(2, 2);
    let (task, before) = (scene.task, scene.device.save());
    let device = key().public_key().device_id();
    let refused = scene.device.contribution(&task, device, &mut seeded(1, Purpose::Noise, 0, 0));
    assert_eq!((refused, scene.device.save()), (Err(DeviceError::SimulatedNoise), before));

    let plan = plan_of(FederationPlan { privacy: central(Clip::Fixed(0.5)), ..federation() });
    let mut coordinator = plan.coordinator(vec![0.0; 2]).expect("a sound plan");
    let refused = coordinator.close(&mut seeded(1, Purpose::Noise, 0, 0));
    assert_eq!((refused, coordinator.task().round), (Err(CloseError::SimulatedNoise { round: 0 }), 0));
    assert!(coordinator.close(&mut as_if_real()).is_ok());
    assert_eq!(coordinator.task().round, 1);
}

/// Whether a device sends anything must not tell whether it liked a release.
#[test]
fn who_has_nothing_to_say_sends_a_protected_zero() {
    let mut scene = Scene::new(FederationPlan { privacy: central(Clip::Fixed(0.5)), ..federation() });
    scene.learn(2, 1);
    let (task, device) = (scene.task, key().public_key().device_id());
    let sent = scene.device.zero_contribution(&task, task.start, device, &mut as_if_real()).expect("a zero");
    assert_eq!(sent.payload, Payload::Clipped { within: true, delta: vec![0.0, 0.0] });
    assert_eq!(scene.device.session().n_interactions(), 1, "the round goes on");
    let mut rewards = Scene::new(FederationPlan { learner: Learner::Evolution(EVOLUTION), ..federation() });
    let refused = rewards.device.zero_contribution(&rewards.task, rewards.task.start, device, &mut as_if_real());
    assert_eq!(refused, Err(DeviceError::NoZeroUpdate));
}

#[test]
fn without_rounds_every_contribution_has_a_number_of_its_own() {
    let buffered = foltr_federation::asynchronous::Buffered {
        buffer: 2,
        staleness_exponent: 0.0,
        rate_limit: 2,
        max_staleness: 3,
    };
    let asynchrony = Some(Asynchrony::Buffered(buffered));
    let mut scene = Scene::new(FederationPlan { asynchrony, ..federation() });
    let task = scene.task;
    let mut rounds = Vec::new();
    for _ in 0..3 {
        scene.learn(2, 2);
        rounds.push(scene.contribute(&task).expect("a full round").round);
        scene.device = Device::load(&scene.plan, &scene.device.save()).expect("its own bytes");
    }
    assert_eq!(rounds, [0, 1, 2]);
}

#[test]
fn the_norm_of_a_task_counts_where_the_plan_lets_it_move() {
    let adaptive = AdaptiveClip { initial: 0.5, quantile: 0.5, rate: 0.2, count_noise: 10.0 };
    let mut scene = Scene::new(FederationPlan { privacy: central(Clip::Adaptive(adaptive)), ..federation() });
    let task = Task { clip_norm: Some(1e-3), ..scene.task };
    scene.learn(2, 2);
    let Ok(Contribution { payload: Payload::Clipped { within, delta }, .. }) = scene.contribute(&task) else {
        panic!("a clipped step")
    };
    assert!(!within && delta[0].hypot(delta[1]) <= 1e-3, "{delta:?}");
}

/// A server may sign anything. A plan whose parts do not fit each other must not stop a device that obeys it.
#[test]
fn a_signed_plan_that_cannot_work_is_an_error_not_a_panic() {
    let text = |federation| String::from_utf8(plan_of(federation).encode().expect("exact")).expect("JSON");
    let rewards = FederationPlan { learner: Learner::Evolution(EVOLUTION), ..federation() };
    let learner = |text: &str| {
        let from = text.find("\"learner\":").expect("a learner");
        text[from..from + text[from..].find('}').expect("its end") + 1].to_owned()
    };
    // The learner of one plan with the mechanism of another.
    let steps = text(FederationPlan { privacy: central(Clip::Fixed(0.5)), ..federation() });
    let mixed = steps.replace(&learner(&steps), &learner(&text(rewards)));
    let plan = Plan::decode(mixed.as_bytes()).expect("its form is right");
    assert!(matches!(Device::new(&plan, 0, &[0.0, 0.0], &mut random()), Err(DeviceError::Plan(_))));
    assert!(matches!(plan.admit(&features()), Err(PlanError::Problems(_))));
    // The device's own features, and a model of others.
    let wide = text(federation()).replace("\"n_features\":2", "\"n_features\":4");
    let plan = Plan::decode(wide.as_bytes()).expect("its form is right");
    assert_eq!(plan.admit(&features()), Err(PlanError::FeatureCount { plan: 4, own: 2 }));
}

#[test]
fn saved_bytes_of_another_plan_or_none_are_refused() {
    let scene = Scene::new(federation());
    let other = plan_of(FederationPlan { n_rounds: 6, ..federation() });
    let bytes = scene.device.save();
    assert!(matches!(Device::load(&other, &bytes), Err(DeviceError::OtherPlan { .. })));
    for len in 0..bytes.len() {
        assert!(Device::load(&scene.plan, &bytes[..len]).is_err(), "{len} bytes");
    }
    assert_eq!(Device::load(&scene.plan, &bytes).expect("its own bytes").save(), bytes);
}
