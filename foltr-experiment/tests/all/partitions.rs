//! Clients that differ, from the experiment file on: their data, and the numbers that must come out.

use std::fmt::Write as _;

use foltr_experiment::partition::{AssignedData, assign_data};
use foltr_experiment::rows::{MetricName, Row};
use foltr_experiment::spec::Experiment;
use foltr_rank::metric::ONLINE_DISCOUNT;
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_test::ExperimentFile;

use super::{fold, run};

const SYNTHETIC: &str =
    "kind = \"synthetic\"\nshape = \"tiny\"\nqueries = 60\nvalidation_queries = 0\ntest_queries = 20\nseed = 3";

/// A small FPDGD experiment with this data, these clients and this partition.
fn experiment(data: &str, clients: &str, rounds: usize, partition: &str) -> Experiment {
    let file = ExperimentFile::fpdgd()
        .set("seeds", "[1]")
        .section("data", data)
        .section("clients", clients)
        .section("partition", partition)
        .set("federation.rounds", &rounds.to_string())
        .set("metrics.evaluate", "\"first-and-last\"");
    super::experiment(&file)
}

fn clicks(max_label: u8) -> Vec<Users> {
    vec![Users::Cascade(Cascade::preset(Preset::Perfect, max_label).expect("grades"))]
}

fn assigned_data(experiment: &Experiment, seed: u64) -> AssignedData {
    let fold = fold(experiment);
    assign_data(experiment, &fold, clicks(fold.max_label()), seed).expect("a sound partition")
}

/// Sum of the online values, discounted by round (spec section 3).
fn discounted(rows: &[Row]) -> f64 {
    let online = rows.iter().filter(|row| row.metric == MetricName::OnlineNdcg(10));
    online.map(|row| row.value * ONLINE_DISCOUNT.powi(row.round as i32 - 1)).sum()
}

#[test]
fn one_label_a_client_gives_a_known_online_value() {
    // The client with label 0 sees nothing relevant, every list of the others is the best one.
    for (shape, n_labels, printed) in [("mslr", 5, 1589.23), ("mq2007", 3, 1324.36)] {
        let data = format!(
            "kind = \"synthetic\"\nshape = \"{shape}\"\nqueries = 8\nvalidation_queries = 0\ntest_queries = 2\nseed = 3\n\
             normalise = \"query\""
        );
        let clients = format!("n_clients = {n_labels}\ninteractions = 1");
        let rounds = 10_000;
        let experiment = experiment(&data, &clients, rounds, "kind = \"labels\"\nlabels_per_client = 1");
        let (rows, outcome) = run(&experiment).expect("a run");
        assert_eq!(outcome.n_interactions, rounds as u64 * n_labels);
        let all: f64 = (0..rounds as i32).map(|round| ONLINE_DISCOUNT.powi(round)).sum();
        let expected = (n_labels - 1) as f64 / n_labels as f64 * all;
        let value = discounted(&rows);
        assert!((value - expected).abs() < 1e-6 && (value - printed).abs() < 0.005, "{shape}: {value}");
    }
}

#[test]
fn clients_with_two_labels_have_those_of_their_pair() {
    let section = "kind = \"labels\"\nlabels_per_client = 2\nsplit = \"disjoint\"";
    let experiment = experiment(SYNTHETIC, "n_clients = 3\ninteractions = 2", 1, section);
    let assigned = assigned_data(&experiment, 1);
    let docs: usize = assigned.clients.sets().iter().map(|set| set.data().n_docs()).sum();
    assert_eq!(docs, fold(&experiment).train.n_docs());
    for (set, pair) in assigned.clients.sets().iter().zip([[0, 1], [0, 2], [1, 2]]) {
        let labels = set.data().all_labels();
        assert!(pair.iter().all(|label| labels.contains(label)), "{pair:?} both occur");
        assert!(labels.iter().all(|label| pair.contains(label)));
    }
    let wrong = with_clients(&experiment, 4);
    let error = format!("{:#}", run(&wrong).expect_err("four clients, three pairs"));
    assert_eq!(error, "partition: 3 labels have 3 pairs, which need 3 clients; there are 4");
}

fn with_clients(experiment: &Experiment, n_clients: usize) -> Experiment {
    let mut other = experiment.clone();
    other.clients.as_mut().expect("clients").n_clients = n_clients;
    other
}

#[test]
fn shared_queries_belong_to_all_and_may_be_learned_first() {
    let section = |more: &str| format!("kind = \"labels\"\nlabels_per_client = 1\nshared = {{ queries = 12{more} }}");
    let plain = experiment(SYNTHETIC, "n_clients = 3\ninteractions = 2", 1, &section(""));
    let assigned = assigned_data(&plain, 1);
    let shared = assigned.shared.expect("shared queries");
    let ids = |data: &foltr_simulation::dataset::Dataset| -> Vec<String> {
        (0..data.n_queries()).map(|query| data.query_id(query).to_owned()).collect()
    };
    assert!((8..=12).contains(&shared.data().n_queries()), "{}", shared.data().n_queries());
    for set in assigned.clients.sets() {
        let all = ids(set.data());
        for (query, id) in ids(shared.data()).iter().enumerate() {
            let here = all.iter().position(|other| other == id).expect("every client has it");
            assert_eq!(set.data().labels(here), shared.data().labels(query), "with all documents");
        }
    }
    let warm = experiment(SYNTHETIC, "n_clients = 3\ninteractions = 2", 1, &section(", warm_up = 500"));
    let start = |experiment: &Experiment| {
        let (rows, outcome) = run(experiment).expect("a run");
        let is_start = |row: &&Row| row.round == 0 && matches!(row.metric, MetricName::Offline(..));
        (rows.iter().find(is_start).expect("round 0").value, outcome.n_interactions)
    };
    let ((cold, n_cold), (warmed, n_warm)) = (start(&plain), start(&warm));
    assert!(warmed > cold + 0.05, "500 interactions on shared queries: from {cold} to {warmed}");
    assert_eq!((n_cold, n_warm), (6, 6), "a warm-up is no part of the rounds");
}

#[test]
fn intents_are_stable_shuffled_or_merged() {
    let data = format!("{SYNTHETIC}\nintents = 3\nconflict = \"strong\"");
    let with = |section: &str| experiment(&data, "n_clients = 6\ninteractions = 2", 1, section);
    let fold = fold(&with("kind = \"iid\""));

    let stable = assigned_data(&with("kind = \"intents\"\nshuffled = false"), 1);
    assert_eq!(stable.groups.len(), 3);
    for client in 0..6 {
        let (holding, share) = (stable.clients.holding(client), stable.clients.share(client));
        assert_eq!((holding.group, holding.set), (client % 3, client % 3));
        assert_eq!(*share.training.data().all_labels(), *fold.intents[client as usize % 3].train);
        assert_eq!(
            share.training.data().rows().as_ptr(),
            stable.groups[0].train.rows().as_ptr(),
            "features are shared"
        );
        assert_eq!(*stable.groups[holding.group as usize].test.all_labels(), *fold.intents[client as usize % 3].test);
    }
    let shuffled = "kind = \"intents\"\nshuffled = true";
    let labels = |seed: u64, section: &str| -> Vec<Vec<u8>> {
        let sets = assigned_data(&with(section), seed);
        sets.clients.sets().iter().map(|set| set.data().all_labels().to_vec()).collect()
    };
    assert_eq!(labels(1, shuffled), labels(1, shuffled));
    assert_ne!(labels(1, shuffled), labels(2, shuffled), "another seed, another order");
    let counts = |all: Vec<Vec<u8>>| all.concat().iter().map(|&label| u32::from(label)).sum::<u32>();
    assert_eq!(counts(labels(1, shuffled)), counts(labels(1, "kind = \"intents\"\nshuffled = false")));

    let merged = assigned_data(&with("kind = \"merged-intents\""), 1);
    let highest: Vec<u8> = (0..fold.train.n_docs())
        .map(|doc| fold.intents.iter().map(|intent| intent.train[doc]).max().expect("three intents"))
        .collect();
    assert_eq!((merged.groups.len(), merged.clients.sets()[0].data().all_labels()), (1, highest.as_slice()));
    let few = with_clients(&with("kind = \"intents\"\nshuffled = true"), 2);
    let error = format!("{:#}", run(&few).expect_err("two clients"));
    assert_eq!(error, "partition: 2 clients cannot have 3 intents");
}

#[test]
fn quantities_and_users_take_turns() {
    let clients = "n_clients = 7\nquantities = [1, 3, 5]";
    let text = "kind = \"iid\"";
    let quantities = experiment(SYNTHETIC, clients, 4, text);
    let assigned = assigned_data(&quantities, 1);
    let of = |client| assigned.clients.share(client).n_interactions;
    assert_eq!((0..7).map(of).collect::<Vec<_>>(), [1, 3, 5, 1, 3, 5, 1]);
    let schedule = quantities.schedule().expect("a federation");
    assert_eq!((schedule.interactions, schedule.interactions_per_round(), schedule.n_interactions()), (5, 19, 76));
    assert_eq!(run(&quantities).expect("a run").1.n_interactions, 76);

    let mut several = quantities.clone();
    let users = |each: &str| {
        let models = "[{ kind = \"cascade\", preset = \"perfect\" }, { kind = \"position-based\", eta = 1.0 }]";
        toml::from_str(&format!("kind = \"several\"\neach = \"{each}\"\nmodels = {models}")).expect("users")
    };
    several.users = Some(users("client"));
    assert_eq!(several.check(), []);
    let both = several.users.as_ref().expect("users").build(2).expect("grades");
    let by_turns = assign_data(&several, &fold(&several), both.clone(), 1).expect("a partition").clients;
    assert_eq!((0..4).map(|client| by_turns.holding(client).users).collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert_eq!((by_turns.share(0).users, by_turns.share(3).users), (&both[0], &both[1]));
    let (by_client, _) = run(&several).expect("a run");
    several.users = Some(users("interaction"));
    let (by_interaction, _) = run(&several).expect("a run");
    assert_ne!(discounted(&by_client), discounted(&by_interaction));
    assert_eq!(several.users.expect("users").name(), "perfect+position-based-1-by-interaction");
}

#[test]
fn clusters_and_proportions_divide_the_training_set() {
    let clients = "n_clients = 4\ninteractions = 2";
    let clusters = experiment(SYNTHETIC, clients, 2, "kind = \"feature-clusters\"");
    let assigned = assigned_data(&clusters, 1);
    let queries: u32 = (0..4).map(|client| assigned.clients.share(client).n_queries()).sum();
    assert_eq!((queries, assigned.clients.sets().len()), (60, 1));
    run(&clusters).expect("a run");
    let dirichlet = experiment(SYNTHETIC, clients, 2, "kind = \"dirichlet\"\nalpha = 0.5");
    let docs: usize = assigned_data(&dirichlet, 1).clients.sets().iter().map(|set| set.data().n_docs()).sum();
    assert_eq!(docs, fold(&dirichlet).train.n_docs());
    run(&dirichlet).expect("a run");
}

#[test]
fn the_users_of_a_log_are_the_clients() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut letor, mut metadata) = (String::new(), String::from("qid,user_id,timestamp,query\n"));
    for query in 0..30 {
        for doc in 0..4 {
            writeln!(letor, "{} qid:{query} 1:{doc} 2:{}", u8::from(doc == 3), doc * query % 3).expect("a text grows");
        }
        // Users with 15, 10 and 5 queries.
        let user = [0, 0, 0, 1, 1, 2][query % 6];
        writeln!(metadata, "{query},u{user},2006-03-01 00:00:{query:02},words").expect("a text grows");
    }
    std::fs::write(folder.path().join("letor.txt"), letor).expect("a file");
    std::fs::write(folder.path().join("metadata.csv"), metadata).expect("a file");
    let data = format!(
        "kind = \"user-log\"\nletor = '{0}/letor.txt'\nmetadata = '{0}/metadata.csv'\ntest_share = 0.2\nnormalise = \"query\"",
        folder.path().display()
    );
    let log = experiment(&data, "n_clients = 3\ninteractions = 2", 50, "kind = \"user-log\"");
    let assigned = assigned_data(&log, 1);
    assert_eq!((0..3).map(|client| assigned.clients.share(client).n_queries()).collect::<Vec<_>>(), [12, 8, 4]);
    assert_eq!(fold(&log).test.n_queries(), 6);
    let (rows, _) = run(&log).expect("a run");
    let last = rows.iter().rfind(|row| matches!(row.metric, MetricName::Offline(..))).expect("a value");
    assert!(last.value > 0.99, "feature 1 tells which document is clicked: {last:?}");
    let wrong = with_clients(&log, 2);
    let error = format!("{:#}", run(&wrong).expect_err("three users"));
    assert!(error.starts_with("partition: the log has 3 users for 2 clients; every user is a client"), "{error}");
}

#[test]
fn a_folder_of_judgements_is_tested_on_its_training_queries() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("intents")).expect("a folder");
    let mut letor = String::new();
    let mut judgements = [String::new(), String::new()];
    for query in 1..=6 {
        for doc in 0..5 {
            writeln!(letor, "0 qid:{query} 1:{} 2:{} #d{doc}", doc, 4 - doc).expect("a text grows");
            for (intent, text) in judgements.iter_mut().enumerate() {
                let relevant = u8::from(doc == 4 * intent);
                writeln!(text, "{query} {} d{doc} {relevant}", intent + 1).expect("a text grows");
            }
        }
    }
    std::fs::write(folder.path().join("features.txt"), letor).expect("a file");
    for (number, text) in (1..).zip(&judgements) {
        std::fs::write(folder.path().join(format!("intents/{number}.txt")), text).expect("a file");
    }
    let data = format!("kind = \"intents\"\npath = '{}'\nnormalise = \"query\"", folder.path().display());
    let section = "kind = \"intents\"\nshuffled = false";
    let experiment = experiment(&data, "n_clients = 2\ninteractions = 3", 20, section);
    let assigned = assigned_data(&experiment, 1);
    assert_eq!((assigned.groups.len(), assigned.groups[1].test.labels(0)), (2, &[0, 0, 0, 0, 1][..]));
    assert_eq!(assigned.groups[1].train, assigned.groups[1].test);
    run(&experiment).expect("a run");
}
