//! Lists become settings, and what is wrong with them is told where it stands.

use super::*;

const PLAIN: &str = r#"seeds = [1, 2]

[data]
kind = "synthetic"
shape = "tiny"
queries = 100
seed = 1

[clients]
n_clients = 10
interactions = 2

[users]
kind = "cascade"
preset = "perfect"

[ranker]
kind = "linear"
initialisation = { kind = "zero" }

[learner]
kind = "pdgd"
learning_rate = 0.1
updates = "immediate"

[federation]
rounds = 5
optimiser = { kind = "learning-rate", rate = 1.0 }
"#;

fn with(replacements: &[(&str, &str)], appended: &str) -> Result<Grid, Vec<Problem>> {
    let mut text = PLAIN.to_owned();
    for (from, to) in replacements {
        assert!(text.contains(from), "nothing to replace: {from}");
        text = text.replacen(from, to, 1);
    }
    Grid::from_toml(&(text + appended), &[])
}

fn names(grid: &Grid) -> Vec<String> {
    grid.settings.iter().map(Setting::name).collect()
}

fn told(grid: Result<Grid, Vec<Problem>>) -> Vec<String> {
    let problems = grid.expect_err("a wrong file");
    problems.iter().map(|problem| format!("{}: {problem}", problem.line.unwrap_or(0))).collect()
}

#[test]
fn a_plain_file_is_one_setting_without_labels() {
    let grid = with(&[], "").expect("sound");
    assert_eq!(names(&grid), [""]);
    assert_eq!(*grid.settings[0].training().expect("training"), Experiment::from_toml(PLAIN).expect("sound"));
}

#[test]
fn lists_are_crossed_in_the_order_of_the_file() {
    let grid = with(
        &[
            ("interactions = 2", "interactions = [2, 4]"),
            ("preset = \"perfect\"", "preset = [\"perfect\", \"navigational\"]"),
        ],
        "",
    );
    assert_eq!(
        names(&grid.expect("sound")),
        [
            "clients.interactions = 2, users.preset = perfect",
            "clients.interactions = 2, users.preset = navigational",
            "clients.interactions = 4, users.preset = perfect",
            "clients.interactions = 4, users.preset = navigational",
        ]
    );
}

#[test]
fn tables_are_swept_too_and_lists_inside_them_belong_to_them() {
    let optimisers = "optimiser = [{ kind = \"learning-rate\", rate = 1.0 }, { kind = \"momentum\", rate = [1.0, 10.0], \
                      momentum = 0.9 }]";
    let grid = with(&[("optimiser = { kind = \"learning-rate\", rate = 1.0 }", optimisers)], "").expect("sound");
    assert_eq!(
        names(&grid),
        [
            "federation.optimiser = learning-rate",
            "federation.optimiser = momentum, federation.optimiser.rate = 1.0",
            "federation.optimiser = momentum, federation.optimiser.rate = 10.0",
        ]
    );
}

#[test]
fn a_list_by_nature_is_swept_by_a_list_of_lists() {
    let metrics = "[metrics]\noffline = [[\"ndcg@10\"], [\"ndcg@5\", \"map\"]]\n";
    assert_eq!(
        names(&with(&[], metrics).expect("sound")),
        ["metrics.offline = ndcg@10", "metrics.offline = ndcg@5 + map"]
    );
    assert_eq!(with(&[], "[metrics]\noffline = [\"ndcg@10\", \"map\"]\n").expect("sound").settings.len(), 1);
}

#[test]
fn clients_that_are_absent_or_leave_are_lists_by_nature() {
    let leaving = "[unlearning]\nclients = [0]\nmethod = { kind = \"retrain\" }\n";
    let grid = with(&[("interactions = 2", "interactions = 2\nabsent = [1]")], leaving).expect("sound");
    let [setting] = &grid.settings[..] else { panic!("one setting, not {}", grid.settings.len()) };
    assert_eq!(
        setting.training().expect("training").clients.as_ref().and_then(|clients| clients.absent.clone()),
        Some(vec![1])
    );
    assert_eq!(
        setting.training().expect("training").unlearning.as_ref().map(|leaving| leaving.clients.clone()),
        Some(vec![0])
    );
}

#[test]
fn zipped_lists_advance_together() {
    let grid = with(
        &[("n_clients = 10", "n_clients = [10, 100]"), ("interactions = 2", "interactions = [20, 2]")],
        "[grid]\nzip.federation_size = [\"clients.n_clients\", \"clients.interactions\"]\n",
    );
    let grid = grid.expect("sound");
    assert_eq!(names(&grid), ["federation_size = 10 / 20", "federation_size = 100 / 2"]);
    assert_eq!(
        grid.settings[1].training().expect("training").clients.as_ref().map(|clients| clients.n_clients),
        Some(100)
    );
}

#[test]
fn a_named_axis_replaces_and_removes_sections() {
    let grid = with(
        &[],
        r#"
[grid.axis.method.FPDGD]
[grid.axis.method.many]
"clients.interactions" = [4, 8]
[grid.axis.method.PDGD]
remove = ["clients", "federation"]
learner = { kind = "centralised-pdgd", learning_rate = 0.1, batch = 1, budget = 100, interactions_per_round = 20 }
"#,
    )
    .expect("sound");
    assert_eq!(
        names(&grid),
        [
            "method = FPDGD",
            "method = many, clients.interactions = 4",
            "method = many, clients.interactions = 8",
            "method = PDGD",
        ]
    );
    assert_eq!(grid.settings[3].training().expect("training").clients, None);
    assert_eq!(grid.axes(), ["method", "clients.interactions"]);
}

#[test]
fn exclusions_leave_points_out_by_label_or_value() {
    let lists = [
        ("interactions = 2", "interactions = [2, 4]"),
        ("preset = \"perfect\"", "preset = [\"perfect\", \"navigational\", \"informational\"]"),
    ];
    let exclude = "[grid]\nexclude = [{ \"clients.interactions\" = 2, \"users.preset\" = [\"perfect\", \
                   \"navigational\"] }]\n";
    assert_eq!(
        names(&with(&lists, exclude).expect("sound")),
        [
            "clients.interactions = 2, users.preset = informational",
            "clients.interactions = 4, users.preset = perfect",
            "clients.interactions = 4, users.preset = navigational",
            "clients.interactions = 4, users.preset = informational",
        ]
    );
}

#[test]
fn overrides_replace_values_and_may_sweep() {
    let set =
        |overrides: &[&str]| Grid::from_toml(PLAIN, &overrides.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
    let grid = set(&["users.preset=[\"perfect\", \"informational\"]", "seeds=[7]", "federation.rounds = 3"]);
    let grid = grid.expect("sound");
    assert_eq!(names(&grid), ["users.preset = perfect", "users.preset = informational"]);
    assert_eq!(grid.settings[0].experiment.seeds(), [7]);
    // Text needs no quotes.
    assert_eq!(names(&set(&["users.preset=informational"]).expect("sound")), [""]);
    assert_eq!(
        told(set(&["users.preset=drunk"])),
        ["0: `users.preset` = drunk: no such choice (allowed: perfect, navigational, informational, poison)"]
    );
    assert_eq!(
        told(set(&["users"])),
        ["0: `--set users`: expected key=value, such as users.preset=perfect or clients.interactions=[2,4,8]"]
    );
    assert_eq!(
        told(set(&["seeds.first=3"])),
        ["0: `--set seeds.first=3`: `seeds` is no table in this file; replace it as a whole: --set 'seeds=...'"]
    );
}

#[test]
fn a_wrong_element_of_a_list_is_told_with_its_own_line() {
    let lists = "preset = [\n    \"perfect\",\n    \"drunk\",\n]";
    assert_eq!(
        told(with(&[("preset = \"perfect\"", lists)], "")),
        [
            "17: `users.preset` = \"drunk\": no such choice (allowed: perfect, navigational, informational, poison) (in 1 \
          of 2 settings, first users.preset = drunk)"
        ]
    );
}

#[test]
fn a_wrong_value_of_a_named_axis_is_told_where_it_stands() {
    let axis = "[grid.axis.method.a]\n[grid.axis.method.b]\nlearner = { kind = \"pdgd\", learning_rate = -1.0, updates = \
                \"immediate\" }\n";
    assert_eq!(
        told(with(&[], axis)),
        ["31: `learner.learning_rate` = -1.0: must be a positive number (in 1 of 2 settings, first method = b)"]
    );
}

#[test]
fn wrong_grids_are_refused_with_the_reason() {
    let list = ("interactions = 2", "interactions = [2, 4]");
    let cases: [(&str, &str); 9] = [
        (
            "[grid]\nzips.a = []\n",
            "30: `grid.zips`: no such key; did you mean `zip`? (allowed: zip, axis, set, only, exclude)",
        ),
        (
            "[grid]\nzip.a = [\"clients.interactions\", \"users.preset\"]\n",
            "30: `grid.zip.a` = [\"clients.interactions\", \"users.preset\"]: lists that advance together need the same \
             length: clients.interactions has 2, users.preset has 0",
        ),
        (
            "[grid]\nzip.a = [\"clients.interactions\"]\n",
            "30: `grid.zip.a` = [\"clients.interactions\"]: expected at least two keys, such as [\"privacy.epsilon\", \
             \"privacy.sensitivity\"]",
        ),
        (
            "[grid]\nexclude = [{ colour = 1 }]\n",
            "30: `grid.exclude[0].colour` = 1: no setting has an axis or key `colour`",
        ),
        (
            "[grid]\nexclude = [{ \"clients.interactions\" = 3 }]\n",
            "30: `grid.exclude[0]`: leaves out nothing: no setting meets all of these conditions",
        ),
        (
            "[grid]\nexclude = [{ \"clients.interactions\" = [2, 4] }]\n",
            "30: `grid.exclude` = [{ \"clients.interactions\" = [2, 4] }]: leaves out every setting",
        ),
        (
            "[grid.axis.m.a]\nlearnr = 1\n",
            "30: `grid.axis.m.a.learnr` = 1: no such section; did you mean `learner`? (allowed: seeds, data, clients, \
             partition, users, ranker, learner, federation, personalisation, asynchrony, attack, defence, \
             history, unlearning, privacy, budget, metrics, remove)",
        ),
        (
            "[grid.axis]\nm = 3\n",
            "30: `grid.axis.m` = 3: an axis has labels, each with its replacements: [grid.axis.m.some-label]",
        ),
        (
            "[grid.axis.m.a]\nremove = \"clients\"\n",
            "30: `grid.axis.m.a.remove` = \"clients\": expected a list of section names, such as [\"federation\", \
             \"clients\"]",
        ),
    ];
    for (section, message) in cases {
        assert_eq!(told(with(&[list], section)), [message], "{section}");
    }
}

#[test]
fn settings_with_equal_labels_are_refused() {
    let twice = told(with(&[("interactions = 2", "interactions = [2, 2]")], ""));
    assert_eq!(twice, ["0: `grid`: the setting clients.interactions = 2 is there twice"]);
}

#[test]
fn a_resolved_grid_is_the_same_grid() {
    let grid = with(
        &[("interactions = 2", "interactions = [2, 4]")],
        "[grid.axis.m.a]\n[grid.axis.m.b]\nusers = { kind \
                    = \"position-based\", eta = 1.0 }\n",
    )
    .expect("sound");
    let text = grid.to_toml().expect("numbers of a sensible size");
    let again = Grid::from_toml(&text, &[]).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
    assert_eq!(again.settings, grid.settings);
    assert!(text.contains("list_length = 10") && text.contains("test_queries"), "{text}");
    assert_eq!(again.to_toml().expect("the same numbers"), text);
}

#[test]
fn axes_of_the_resolved_file_have_the_order_of_the_file() {
    // The table `optimiser` stands before a plain key, which TOML must write the other way round.
    let text = PLAIN.replace("rate = 1.0 }", "rate = [1.0, 2.0] }\naverage_last = [0.5, 1.0]");
    assert_ne!(text, PLAIN);
    let grid = Grid::from_toml(&text, &[]).expect("a sound file");
    let again = Grid::from_toml(&grid.to_toml().expect("TOML"), &[]).expect("a sound file");
    let labels = |grid: &Grid| grid.settings.iter().map(|setting| setting.labels.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&grid), labels(&again));
}
