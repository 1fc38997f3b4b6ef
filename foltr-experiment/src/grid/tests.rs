//! Lists become settings, and what is wrong with them is reported where it stands: `tests/wrong` has more of it.

use foltr_test::ExperimentFile;

use super::*;

fn fpdgd() -> ExperimentFile {
    ExperimentFile::fpdgd()
}

fn read(file: &ExperimentFile) -> Grid {
    Grid::from_toml(&file.to_string(), &[]).unwrap_or_else(|problems| panic!("{file}\n{problems:#?}"))
}

fn names(grid: &Grid) -> Vec<String> {
    grid.settings.iter().map(Setting::name).collect()
}

fn problems(grid: Result<Grid, Vec<Problem>>) -> Vec<String> {
    let problems = grid.expect_err("a wrong file");
    problems.iter().map(|problem| format!("{}: {problem}", problem.line.unwrap_or(0))).collect()
}

#[test]
fn lists_are_crossed_in_the_order_of_the_file() {
    let few = fpdgd().set("clients.interactions", "[2, 4]");
    let both = few.clone().set("users.preset", "[\"perfect\", \"navigational\"]");
    let optimisers =
        "[{ kind = \"learning-rate\", rate = 1.0 }, { kind = \"momentum\", rate = [1.0, 10.0], momentum = 0.9 }]";
    let excluded =
        both.clone().and("[grid]\nexclude = [{ \"clients.interactions\" = 2, \"users.preset\" = [\"perfect\"] }]\n");
    let axis = r#"
[grid.axis.method.FPDGD]
[grid.axis.method.many]
"clients.interactions" = [4, 8]
[grid.axis.method.PDGD]
remove = ["clients", "federation"]
learner = { kind = "centralised-pdgd", learning_rate = 0.1, batch = 1, budget = 100, interactions_per_round = 20 }
"#;
    let zip = "[grid]\nzip.size = [\"clients.n_clients\", \"clients.interactions\"]\n";
    let cases: [(ExperimentFile, &[&str]); 8] = [
        (fpdgd(), &[""]),
        (
            both,
            &[
                "clients.interactions = 2, users.preset = perfect",
                "clients.interactions = 2, users.preset = navigational",
                "clients.interactions = 4, users.preset = perfect",
                "clients.interactions = 4, users.preset = navigational",
            ],
        ),
        (
            excluded,
            &[
                "clients.interactions = 2, users.preset = navigational",
                "clients.interactions = 4, users.preset = perfect",
                "clients.interactions = 4, users.preset = navigational",
            ],
        ),
        // Lists inside a swept table belong to it.
        (
            fpdgd().set("federation.optimiser", optimisers),
            &[
                "federation.optimiser = learning-rate",
                "federation.optimiser = momentum, federation.optimiser.rate = 1.0",
                "federation.optimiser = momentum, federation.optimiser.rate = 10.0",
            ],
        ),
        // What is a list by nature is swept by a list of lists.
        (fpdgd().set("metrics.offline", "[\"ndcg@10\", \"map\"]"), &[""]),
        (
            fpdgd().set("metrics.offline", "[[\"ndcg@10\"], [\"ndcg@5\", \"map\"]]"),
            &["metrics.offline = ndcg@10", "metrics.offline = ndcg@5 + map"],
        ),
        (
            few.set("clients.interactions", "[20, 2]").set("clients.n_clients", "[10, 100]").and(zip),
            &["size = 10 / 20", "size = 100 / 2"],
        ),
        (
            fpdgd().and(axis),
            &[
                "method = FPDGD",
                "method = many, clients.interactions = 4",
                "method = many, clients.interactions = 8",
                "method = PDGD",
            ],
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(names(&read(&file)), expected, "{file}");
    }
}

#[test]
fn settings_have_the_values_of_their_labels() {
    let axis = "[grid.axis.a.b]\n[grid.axis.a.c]\nremove = [\"partition\"]\n\"clients.n_clients\" = 12\n";
    let file = fpdgd().set("clients.absent", "[1]").section("partition", "kind = \"iid\"").and(axis);
    let file = file.section("unlearning", "clients = [0]\nmethod = { kind = \"retrain\" }");
    let grid = read(&file);
    let [first, second] = &grid.settings[..] else { panic!("two settings, not {}", grid.settings.len()) };
    let [first, second] = [first, second].map(|setting| setting.training().expect("training"));
    let clients = |experiment: &Experiment| experiment.clients.as_ref().map(|it| (it.n_clients, it.absent.clone()));
    assert_eq!([clients(first), clients(second)], [Some((10, Some(vec![1]))), Some((12, Some(vec![1])))]);
    assert_eq!((first.partition.is_some(), second.partition.is_some()), (true, false));
    assert_eq!(first.unlearning.as_ref().map(|it| it.clients.clone()), Some(vec![0]));
    let text = file.to_string();
    let without_grid = Experiment::from_toml(text.split("[grid").next().expect("text")).expect("a sound file");
    assert_eq!(*first, Experiment { partition: first.partition, ..without_grid });
}

#[test]
fn overrides_replace_values_and_may_sweep() {
    let set = |overrides: &[&str]| {
        Grid::from_toml(&fpdgd().to_string(), &overrides.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    };
    let grid = set(&["users.preset=[\"perfect\", \"informational\"]", "seeds=[7]", "federation.rounds = 3"]);
    let grid = grid.expect("sound");
    assert_eq!(names(&grid), ["users.preset = perfect", "users.preset = informational"]);
    assert_eq!(grid.settings[0].experiment.seeds(), [7]);
    // Text needs no quotes.
    assert_eq!(names(&set(&["users.preset=informational"]).expect("sound")), [""]);
    for (text, message) in [
        (
            "users.preset=drunk",
            "0: `users.preset` = drunk: unknown value; expected one of: perfect, navigational, informational, poison",
        ),
        ("users", "0: `--set users`: expected key=value, such as users.preset=perfect or clients.interactions=[2,4,8]"),
        (
            "seeds.first=3",
            "0: `--set seeds.first=3`: `seeds` is no table in this file; replace it as a whole: --set 'seeds=...'",
        ),
    ] {
        assert_eq!(problems(set(&[text])), [message]);
    }
}

#[test]
fn wrong_grids_are_refused_with_the_reason() {
    let sections = "seeds, data, clients, partition, users, ranker, learner, federation, personalisation, asynchrony, \
                    adoption, attack, defence, history, unlearning, privacy, budget, metrics, remove";
    let cases = [
        (
            "[grid]\nzips.a = []\n",
            "30: `grid.zips`: unknown key; did you mean `zip`? Expected one of: zip, axis, set, only, exclude"
                .to_owned(),
        ),
        (
            "[grid]\nzip.a = [\"clients.interactions\"]\n",
            "30: `grid.zip.a` = [\"clients.interactions\"]: expected at least two keys, such as [\"privacy.epsilon\", \
             \"privacy.sensitivity\"]"
                .into(),
        ),
        (
            "[grid]\nexclude = [{ \"clients.interactions\" = [2, 4] }]\n",
            "30: `grid.exclude` = [{ \"clients.interactions\" = [2, 4] }]: leaves out every setting".into(),
        ),
        (
            "[grid.axis.m.a]\nlearnr = 1\n",
            format!(
                "30: `grid.axis.m.a.learnr` = 1: unknown section; did you mean `learner`? Expected one of: {sections}"
            ),
        ),
        (
            "[grid.axis]\nm = 3\n",
            "30: `grid.axis.m` = 3: an axis has labels, each with its replacements: [grid.axis.m.some-label]".into(),
        ),
        (
            "[grid.axis.m.a]\nremove = \"clients\"\n",
            "30: `grid.axis.m.a.remove` = \"clients\": expected a list of section names, such as [\"federation\", \
             \"clients\"]"
                .into(),
        ),
        // A wrong value is reported where it stands, and once.
        (
            "[grid.axis.m.a]\n[grid.axis.m.b]\nlearner = { kind = \"pdgd\", learning_rate = -1.0, updates = \
             \"immediate\" }\n",
            "31: `learner.learning_rate` = -1.0: must be a positive number (in 2 of 4 settings, first m = b, \
             clients.interactions = 2)"
                .into(),
        ),
    ];
    let file = fpdgd().set("clients.interactions", "[2, 4]");
    for (section, message) in cases {
        let text = file.clone().and(section).to_string();
        assert_eq!(problems(Grid::from_toml(&text, &[])), [message], "{section}");
    }
    let twice = file.set("clients.interactions", "[2, 2]").to_string();
    assert_eq!(
        problems(Grid::from_toml(&twice, &[])),
        ["0: `grid`: the setting clients.interactions = 2 is there twice"]
    );
}

#[test]
fn a_resolved_grid_is_the_same_grid() {
    // The table `optimiser` stands before a plain key, which TOML must write the other way round.
    let rates = fpdgd().set("federation.optimiser", "{ kind = \"learning-rate\", rate = [1.0, 2.0] }");
    let axis = "[grid.axis.m.a]\n[grid.axis.m.b]\nusers = { kind = \"position-based\", eta = 1.0 }\n";
    for file in
        [rates.set("federation.average_last", "[0.5, 1.0]"), fpdgd().set("clients.interactions", "[2, 4]").and(axis)]
    {
        let grid = read(&file);
        let text = grid.to_toml().expect("numbers of a sensible size");
        let again = Grid::from_toml(&text, &[]).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
        assert_eq!(again.settings, grid.settings);
        assert!(text.contains("list_length = 10") && text.contains("test_queries"), "{text}");
        assert_eq!(again.to_toml().expect("the same numbers"), text);
    }
}
