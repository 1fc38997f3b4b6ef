//! What a plan guarantees is what its run did: every mechanism with every participation and every way to forget.
//!
//! Files are made of the fragments below. What the checks accept is run, and the participation, the noise and the
//! replays that [`FederationPlan::guarantee`] states are compared with those of the run. `documented` writes the tables
//! of `docs/privacy.md` from the same fragments.

mod documented;
mod sections;

use foltr_experiment::run::RunSetup;
use foltr_experiment::spec::Experiment;
use foltr_federation::privacy::Noise;
use foltr_federation::unlearn::ShardIsolation;
use foltr_federation::{FederationPlan, History, Participation, PlanGuarantee, Privacy, Unlearning};
use foltr_simulation::federation_run::FederationRun;
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::{Request, UnlearningRun};
use foltr_test::ExperimentFile;

use super::{experiment, fold};

const N_CLIENTS: usize = 20;
const N_ROUNDS: usize = 12;
const LEAVER: u32 = 2;
const DELTA: f64 = 1e-5;

/// Mechanism, mode, and the section of a file.
const MECHANISMS: &[(&str, &str, &str)] = &[
    ("none", "clear", "kind = \"none\""),
    ("randomised-response", "local", "kind = \"randomised-response\"\nprobability = 0.9"),
    ("sampled-response", "local", "kind = \"sampled-response\"\nprobability = 0.9"),
    ("reward-laplace", "local", "kind = \"reward-laplace\"\nepsilon = 1.0"),
    ("duchi", "local", "kind = \"duchi\"\nepsilon = 1.0\nbound = 0.1"),
    ("priv-unit", "local", "kind = \"priv-unit\"\nepsilon = 1.0\nnorm = 0.1"),
    (
        "distributed-laplace",
        "clear",
        "kind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"",
    ),
    ("gaussian", "clear", "kind = \"gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0\nmode = \"clear\""),
    ("gaussian", "sealed", "kind = \"gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0\nmode = \"sealed\""),
    (
        "gaussian, adaptive norm",
        "sealed",
        "kind = \"gaussian\"\nnoise_multiplier = 2.0\nmode = \"sealed\"\n\
         clip = { initial = 0.3, quantile = 0.5, rate = 1e-9, count_noise = 5.0 }",
    ),
    ("central-discrete-gaussian", "clear", "kind = \"central-discrete-gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0"),
    (
        "central-discrete-gaussian, adaptive norm",
        "clear",
        "kind = \"central-discrete-gaussian\"\nnoise_multiplier = 2.0\n\
         clip = { initial = 0.3, quantile = 0.5, rate = 1e-9, count_noise = 5.0 }",
    ),
    (
        "discrete-gaussian",
        "sealed",
        "kind = \"discrete-gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0\nmin_survivors = 4",
    ),
];

/// Who takes part, and whose message is missing: a key of `[clients]` and its value.
const PARTICIPATIONS: &[(&str, Option<(&str, &str)>)] = &[
    ("everyone", None),
    ("a cohort of fixed size", Some(("clients.cohort", "8"))),
    ("coins", Some(("clients.participation", "0.5"))),
    ("messages are lost", Some(("clients.dropout", "0.2"))),
    ("clients are absent", Some(("clients.absent", "[5]"))),
];

/// Keys of a file, and their values.
type Keys = &'static [(&'static str, &'static str)];

/// Ways to forget, with what each needs beside its section.
const UNLEARNINGS: &[(&str, &str, Keys)] = &[
    ("retrain", "{ kind = \"retrain\" }", &[]),
    ("fed-eraser", "{ kind = \"fed-eraser\", interval = 3, steps = 2 }", &[]),
    ("ledger-subtraction", "{ kind = \"ledger-subtraction\" }", &[]),
    ("shard-isolation", "{ kind = \"shard-isolation\", shards = 2 }", &[("federation.shards", "2")]),
    (
        "noisy-rollback",
        "{ kind = \"noisy-rollback\", clip_norm = 0.5, epsilon = 2.0, delta = 1e-6, max_noise = 0.0 }",
        &[("defence.rule", "{ kind = \"norm-clipping\", radius = { fixed = 0.5 } }")],
    ),
    ("certificate", "{ kind = \"certificate\", epsilon = 1000.0, delta = 1e-5 }", &[]),
];

/// The smallest file with this mechanism. FOLtR-ES is what randomised answers are for. Clients hardly move their models, so
/// that what moves the global one is noise.
fn base(mechanism: &str, privacy: &str) -> ExperimentFile {
    let file = if mechanism.ends_with("-response") || mechanism.starts_with("reward-") {
        ExperimentFile::evolution()
    } else {
        ExperimentFile::fpdgd().set("learner.learning_rate", "1e-12")
    };
    file.set("seeds", "[1]")
        .set("data.queries", "20")
        .set("data.test_queries", "2")
        .set("clients.n_clients", &N_CLIENTS.to_string())
        .set("federation.rounds", &N_ROUNDS.to_string())
        .section("privacy", privacy)
}

fn with(file: ExperimentFile, keys: &[(&str, &str)]) -> ExperimentFile {
    keys.iter().fold(file, |file, (key, value)| file.set(key, value))
}

fn forgetting(file: ExperimentFile, (_, method, needs): (&str, &str, Keys)) -> ExperimentFile {
    with(file, needs).section("unlearning", &format!("clients = [{LEAVER}]\nmethod = {method}"))
}

/// The experiment, if the checks accept it.
fn accepted(file: &ExperimentFile) -> Option<Experiment> {
    Experiment::from_toml(&file.to_string()).ok()
}

fn guarantee(plan: &FederationPlan, setup: &RunSetup) -> PlanGuarantee {
    plan.guarantee(setup.initial.len(), DELTA).expect("an accepted plan")
}

/// What happened in some rounds of a run.
#[derive(Default)]
struct Observed {
    /// Clients that were drawn for each round, whether or not their message arrived.
    messages: Vec<u64>,
    /// How far each parameter moved in each round.
    steps: Vec<Vec<f64>>,
}

impl Observed {
    fn deviation(&self) -> f64 {
        let steps = || self.steps.iter().flatten();
        (steps().map(|step| step * step).sum::<f64>() / steps().count() as f64).sqrt()
    }

    fn watch(&mut self, before: &[f32], after: &[f32], messages: u64) {
        let step = after.iter().zip(before).map(|(after, before)| f64::from(*after) - f64::from(*before));
        self.steps.push(step.collect());
        self.messages.push(messages);
    }
}

fn train(run: &mut FederationRun<'_>, n_rounds: usize) -> Observed {
    let mut observed = Observed::default();
    for _ in 0..n_rounds {
        let (before, sent) = (run.ranker(), run.cost().messages);
        run.round().expect("a round");
        observed.watch(&before, &run.ranker(), run.cost().messages - sent);
    }
    observed
}

fn new_run<'a>(experiment: &Experiment, setup: &'a RunSetup) -> FederationRun<'a> {
    let policy = experiment.history_policy().unwrap_or_default();
    let run = FederationRun::new(setup.settings(experiment, 1).expect("settings"), &setup.data.clients);
    run.and_then(|run| run.with_history(policy, setup.fingerprint)).expect("an accepted federation")
}

/// Deviation of each parameter's step that the statement of a plan names, for the mean of so many messages.
fn stated_deviation(noise: Noise, divisor: f64) -> Option<f64> {
    match noise {
        Noise::None | Noise::Answer { .. } | Noise::Reward { .. } => None,
        Noise::Sum { deviation, .. } => Some(deviation / divisor),
        Noise::Message { deviation } => Some(deviation / divisor.sqrt()),
    }
}

fn check_participation(plan: &FederationPlan, observed: &Observed, name: &str) {
    let expected = plan.participation.expected(N_CLIENTS as u32 - plan.n_absent as u32) * (1.0 - plan.dropout);
    let is_certain = plan.dropout == 0.0 && !matches!(plan.participation, Participation::PoissonSampling(_));
    for &messages in &observed.messages {
        // Five deviations of Binomial(20, 1/2).
        let (messages, slack) = (messages as f64, if is_certain { 0.0 } else { 11.2 });
        assert!((messages - expected).abs() <= slack, "{name}: {messages} messages, not {expected}");
    }
}

/// The noise of the run is the one that the plan states; there is at least as much where more shares come than needed.
fn check_noise(plan: &FederationPlan, guarantee: &PlanGuarantee, observed: &Observed, name: &str) {
    let divisor = plan.participation.expected(N_CLIENTS as u32);
    let Some(stated) = stated_deviation(guarantee.noise, divisor) else { return };
    let ratio = observed.deviation() / stated;
    let most = match plan.privacy {
        Privacy::DiscreteGaussian(shares) => (N_CLIENTS as f64 / f64::from(shares.min_survivors)).sqrt(),
        _ => 1.0,
    };
    // Laplace noise without some of its shares is smaller, and nothing is promised about it. A mean over fewer messages
    // than were counted on has larger steps.
    let is_complete = guarantee.adjacency.is_some() && plan.dropout == 0.0 && plan.n_absent == 0;
    // A relative error of .5/sqrt(120) a deviation: five of them, and a little for clipped updates that are not zero.
    let (least, most) = if is_complete { (0.75, most * 1.25) } else { (0.3, most * 1.6) };
    assert!((least..=most).contains(&ratio), "{name}: {ratio} times the deviation {stated} that is stated");
}

#[test]
fn every_mechanism_is_in_the_list() {
    for (name, _) in Privacy::LIST {
        assert!(MECHANISMS.iter().any(|(known, ..)| known.starts_with(name)), "{name}");
    }
    let methods: Vec<&str> = UNLEARNINGS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(methods.len(), Unlearning::LIST.len());
    assert!(Unlearning::LIST.iter().all(|(name, _)| methods.contains(name)));
}

#[test]
fn a_plan_states_the_participation_and_the_noise_of_its_run() {
    let mut n_run = 0;
    for (mechanism, mode, privacy) in MECHANISMS {
        for (participation, key) in PARTICIPATIONS {
            let name = format!("{mechanism}, {mode}, {participation}");
            let file = with(base(mechanism, privacy), key.as_slice());
            let Some(experiment) = accepted(&file) else {
                assert!(*participation == "coins" && !mechanism.starts_with("gaussian"), "{name} is refused");
                continue;
            };
            let (plan, setup) =
                (experiment.plan(), RunSetup::new(&experiment, &fold(&experiment), 1).expect("a setup"));
            let (stated, mut run) = (guarantee(&plan, &setup), new_run(&experiment, &setup));
            let observed = train(&mut run, setup.n_rounds);
            assert_eq!((setup.n_rounds, observed.messages.len()), (stated.rounds, N_ROUNDS), "{name}");
            check_participation(&plan, &observed, &name);
            check_noise(&plan, &stated, &observed, &name);
            n_run += 1;
        }
    }
    assert!(n_run >= 40, "{n_run}");
}

/// Runs the method of a plan on the history of its training, and says how many rounds it replayed, by client, and what
/// moved the model.
fn replay(experiment: &Experiment, setup: &RunSetup, history: &History) -> (Vec<u32>, Observed) {
    let request = experiment.unlearning.as_ref().expect("a request");
    let settings = setup.settings(experiment, 1).expect("settings");
    let method = &request.method;
    let before: Vec<u32> = (0..N_CLIENTS as u32).map(|client| history.messages(client).total()).collect();
    let of_request = Request {
        method,
        settings: &settings,
        partition: &setup.data.clients,
        history,
        leavers: &request.clients,
        cost: experiment.plan().message_cost(setup.initial.len()).expect("an accepted plan"),
    };
    let mut run = UnlearningRun::new(&of_request).unwrap_or_else(|error| panic!("{}: {error}", method.name()));
    let (mut observed, mut last) = (Observed::default(), run.ranker());
    while run.round().expect("a round").is_some() {
        observed.watch(&last, &run.ranker(), 0);
        last = run.ranker();
    }
    let after = run.finish().history;
    let stays = |client: &u32| *client != LEAVER;
    let again =
        (0..N_CLIENTS as u32).filter(stays).map(|client| after.messages(client).total() - before[client as usize]);
    (again.collect(), observed)
}

#[test]
fn a_plan_states_what_is_replayed_with_fresh_noise() {
    let mut run = Vec::new();
    for (mechanism, mode, privacy) in MECHANISMS {
        for (participation, key) in PARTICIPATIONS {
            for &way in UNLEARNINGS.iter().filter(|(name, ..)| *name != "shard-isolation") {
                let name = format!("{mechanism}, {mode}, {participation}, {}", way.0);
                let Some(experiment) = accepted(&forgetting(with(base(mechanism, privacy), key.as_slice()), way))
                else {
                    continue;
                };
                check_replay(&experiment, &name);
                run.push((mechanism, way.0));
            }
        }
    }
    let accepts = |mechanism: &str, way: &str| run.iter().any(|(known, name)| **known == mechanism && *name == way);
    for (mechanism, ..) in MECHANISMS {
        assert!(accepts(mechanism, "retrain"), "{mechanism}");
        let has_fixed_divisor = mechanism.starts_with("gaussian") || mechanism.starts_with("central-");
        assert_eq!(accepts(mechanism, "certificate"), has_fixed_divisor, "{mechanism}");
        assert_eq!(accepts(mechanism, "noisy-rollback"), *mechanism == "none", "{mechanism}");
    }
}

/// Whether one step is the other one but for a client or two.
fn is_repeated(a: &[f64], b: &[f64]) -> bool {
    let moved = || a.iter().zip(b).filter(|(a, _)| **a != 0.0);
    let alike = moved().filter(|(a, b)| (**a - **b).abs() < 1e-9).count();
    5 * alike > 4 * moved().count()
}

fn check_replay(experiment: &Experiment, name: &str) {
    let setup = RunSetup::new(experiment, &fold(experiment), 1).expect("a setup");
    let (plan, stated) = (experiment.plan(), guarantee(&experiment.plan(), &setup));
    let mut training = new_run(experiment, &setup);
    let first = train(&mut training, setup.n_rounds);
    let history = training.into_history().expect("a history");
    let (again, replayed) = replay(experiment, &setup, &history);
    let most = again.iter().copied().max().unwrap_or(0) as usize;
    assert!(most <= stated.replayed_rounds, "{name}: {most} rounds again, {} stated", stated.replayed_rounds);
    if plan.unlearning.as_ref().is_some_and(|method| method.name() == "retrain") {
        let has_all = matches!(plan.participation, Participation::Everyone) && plan.dropout == 0.0;
        assert!(!has_all || most == stated.replayed_rounds, "{name}: {most}");
        check_noise(&plan, &stated, &replayed, name);
        if stated_deviation(stated.noise, 1.0).is_some() {
            let repeated = first.steps.iter().zip(&replayed.steps).filter(|(a, b)| is_repeated(a, b)).count();
            assert_eq!(repeated, 0, "{name}: the noise of training comes again");
        }
    }
    for observer in &stated.observers {
        let (stayers, leavers) = (observer.run.map(|it| it.epsilon), observer.run_of_leavers.map(|it| it.epsilon));
        assert!(stayers.is_none() || stayers >= leavers, "{name}: {observer:?}");
        assert_eq!(leavers.is_some(), observer.message.is_some(), "{name}");
    }
}

#[test]
fn shards_replay_no_more_than_is_stated() {
    for (mechanism, _, privacy) in MECHANISMS {
        let way = UNLEARNINGS[3];
        let Some(experiment) = accepted(&forgetting(base(mechanism, privacy), way)) else {
            assert!(!["none", "randomised-response"].contains(mechanism), "{mechanism}");
            continue;
        };
        let setup = RunSetup::new(&experiment, &fold(&experiment), 1).expect("a setup");
        let settings = setup.settings(&experiment, 1).expect("settings");
        let policy = experiment.history_policy().expect("what shards need");
        let isolation = ShardIsolation { shards: 2 };
        let run = ShardedRun::new(settings, isolation, &setup.data.clients, policy, setup.fingerprint);
        let mut run = run.expect("shards");
        for _ in 0..setup.n_rounds {
            run.round().expect("a round");
        }
        let cost = experiment.plan().message_cost(setup.initial.len()).expect("an accepted plan");
        let cost = run.forget(&[LEAVER], cost).expect("a request");
        assert!(cost.rounds as usize <= guarantee(&experiment.plan(), &setup).replayed_rounds, "{mechanism}");
    }
}
