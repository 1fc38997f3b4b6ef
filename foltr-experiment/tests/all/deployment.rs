//! From an experiment file to the plan that devices obey.

use std::collections::BTreeSet;

use foltr_experiment::run::RunSetup;
use foltr_experiment::spec::{Experiment, KEYS, Treatment};
use foltr_federation::protocol::{Document, FeatureSchema, LAB_ONLY_MECHANISMS, Normalisation, Plan};
use foltr_federation::{FederationPlan, PlanProblem, Setup};
use foltr_test::ExperimentFile;

use super::{experiment, fold};

fn features(experiment: &Experiment) -> FeatureSchema {
    FeatureSchema::numbered(experiment.data.n_features().expect("synthetic data"), experiment.data.normalise())
}

fn plan(file: &ExperimentFile) -> Result<Plan, Vec<PlanProblem>> {
    let experiment = experiment(file);
    experiment.deployable_plan(&features(&experiment), false)
}

#[test]
fn what_was_simulated_is_what_is_deployed() {
    let file = ExperimentFile::fpdgd();
    let deployed = plan(&file).expect("deployable");
    assert_eq!(deployed.federation(), &experiment(&file).plan());
    assert_eq!(Plan::decode(&deployed.encode().expect("exact")), Ok(deployed.clone()));
    // Another seed, or other users, is the same plan; other rounds are another one.
    let same = file.clone().set("seeds", "[7]").set("metrics.evaluate", "\"first-and-last\"");
    assert_eq!(plan(&same).map(|plan| plan.hash()), Ok(deployed.hash()));
    let other = file.clone().set("federation.rounds", "7");
    assert_ne!(plan(&other).map(|plan| plan.hash()), Ok(deployed.hash()));
    // What only simulated devices have is left out.
    let lossy = file.section("clients", "n_clients = 10\ninteractions = 4\ndropout = 0.2\nabsent = [3]");
    let kept = plan(&lossy).expect("deployable");
    assert_eq!((kept.federation().dropout, kept.federation().n_absent), (0.0, 0));
}

/// The coordinator of a server is that of the simulation, to the last bit of its parameters.
#[test]
fn a_server_is_set_up_as_the_simulation_is() {
    let central = "kind = \"central-discrete-gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0";
    let evolution = "kind = \"evolution\"\nsigma = 0.01\nantithetic = true\nreward = \"max-rr\"\nstream = \"separate\"";
    let files = [
        ExperimentFile::fpdgd().set("federation.average_last", "0.3"),
        ExperimentFile::fpdgd().section("privacy", central),
        ExperimentFile::fpdgd().section("learner", evolution),
        ExperimentFile::fpdgd().set("federation.optimiser", "{ kind = \"momentum\", rate = 0.1, momentum = 0.9 }"),
    ];
    for file in files {
        let experiment = experiment(&file);
        let run = RunSetup::new(&experiment, &fold(&experiment), 1).expect("a sound experiment");
        let settings = run.settings(&experiment, 1).expect("federated");
        let simulated = settings.setup(&run.data.clients);
        let plan = experiment.deployable_plan(&features(&experiment), false).expect("deployable");
        let deployed = plan.federation().setup(run.initial.clone(), true).expect("its own model");
        let both = Setup { noise_shares: deployed.noise_shares, ..simulated };
        assert_eq!(format!("{both:?}"), format!("{deployed:?}"));
        assert_eq!((plan.learning(), plan.shape()), (Ok(settings.learning), settings.shape));
        assert!(plan.coordinator(run.initial.clone()).is_ok() && plan.coordinator(Vec::new()).is_err());
    }
}

#[test]
fn what_cannot_be_deployed_is_refused_with_its_key_and_reason() {
    let file = ExperimentFile::fpdgd();
    let clients = "n_clients = 10\nquantities = [2, 4]";
    let attack = "attackers = 1\nknowledge = \"full\"\nmethod = { kind = \"sign-flip\", scale = 2.0 }";
    let gaussian = "kind = \"gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0\nmode = \"clear\"";
    for (file, key, why) in [
        (file.clone().section("clients", clients), "clients.quantities", "same number of interactions"),
        (file.clone().section("attack", attack), "attack", "simulated"),
        (file.clone().section("privacy", gaussian), "privacy.kind", "floating point"),
        (
            file.clone().section("personalisation", "kind = \"clusters\"\nn_clusters = 2\nmemory = 0.9"),
            "personalisation.kind",
            "public",
        ),
        (
            file.clone().section("unlearning", "clients = [1]\nmethod = { kind = \"retrain\" }"),
            "unlearning.method",
            "cannot run again",
        ),
    ] {
        let problems = plan(&file).expect_err(key);
        assert!(problems.iter().any(|it| it.key == key && it.message.contains(why)), "{key}: {problems:?}");
    }
    let experiment = experiment(&file);
    let (own, other) = (features(&experiment), experiment.data.normalise() == Normalisation::None);
    let mut scaled = own.clone();
    scaled.normalise = if other { Normalisation::Query } else { Normalisation::None };
    let problems = experiment.deployable_plan(&scaled, false).expect_err("another scaling");
    assert_eq!(problems[0].key, "data.normalise");
    let fewer = FeatureSchema::numbered(3, own.normalise);
    assert_eq!(experiment.deployable_plan(&fewer, false).expect_err("fewer features")[0].key, "data.n_features");
}

/// A new section, or a new key of a divided one, must get its line.
#[test]
fn every_key_of_an_experiment_file_has_its_treatment() {
    let definitions = foltr_experiment::schema::definitions();
    let keys = |of: &str| -> Vec<String> {
        let properties = definitions[of]["properties"].as_object().unwrap_or_else(|| panic!("{of} has keys"));
        properties.keys().cloned().collect()
    };
    let divided = [("clients", "Clients"), ("unlearning", "UnlearningRequest")];
    let mut expected: BTreeSet<String> = keys("Experiment").into_iter().collect();
    for (section, definition) in divided {
        expected.remove(section);
        expected.extend(keys(definition).into_iter().map(|key| format!("{section}.{key}")));
    }
    expected.extend(["data.normalise".to_owned(), "metrics.list_length".to_owned()]);
    let listed: BTreeSet<String> = KEYS.iter().map(|(key, _)| (*key).to_owned()).collect();
    assert_eq!(listed, expected);
}

#[test]
fn the_documentation_has_the_tables() {
    let row = |(key, treatment): &(&str, Treatment)| match treatment {
        Treatment::InPlan => format!("| `{key}` | in the plan | |\n"),
        Treatment::LeftOut(why) => format!("| `{key}` | left out | {why} |\n"),
        Treatment::Refused(_, why) => format!("| `{key}` | refused | {why} |\n"),
    };
    let keys: String = KEYS.iter().map(row).collect();
    let parts: String = FederationPlan::refusals().map(|(key, why)| format!("| `{key}` | {why} |\n")).collect();
    let mechanisms: String = LAB_ONLY_MECHANISMS.iter().map(|(name, why)| format!("| `{name}` | {why} |\n")).collect();
    let text = format!(
        "# What can be deployed\n\nAn experiment file has what a simulation needs; a plan (`docs/protocol.md`) has what devices \
         agree on. `Experiment::deployable_plan` makes the one from the other.\n\n\
         ## Keys of an experiment file\n\n| key | becomes | because |\n|---|---|---|\n{keys}\n\
         ## What no plan may have\n\n| key | because |\n|---|---|\n{parts}\n\
         ## Mechanisms for simulations only\n\n| `privacy.kind` | because |\n|---|---|\n{mechanisms}"
    );
    let path = foltr_test::workspace().join("docs/deployable.md");
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).expect("docs/deployable.md");
    assert!(written == text, "docs/deployable.md is out of date: run this test with FOLTR_WRITE_DOCS=1");
}
