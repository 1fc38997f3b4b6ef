//! What a study file makes of an experiment.

use foltr_test::ExperimentFile;

use super::{Asked, Choose, Study, StudyFile};
use crate::grid::{Grid, Setting};
use crate::spec::Split;

const ENTRIES: &str = r#"
[[entry]]
id = "one"
paper = "foltr"
item = "Table 1"
collection = "synthetic-mslr"
set = { "clients.interactions" = 3 }
[[entry]]
id = "two"
paper = "foltr"
item = "Table 2"
collection = ["synthetic-mslr", "intent-change"]
only = { "users.preset" = "perfect" }
[collection.synthetic-mslr]
"clients.interactions" = 4
"clients.n_clients" = 6
[quick]
"clients.interactions" = 5
"federation.rounds" = 2
[quick.collection.synthetic-mslr]
"federation.rounds" = 3
"#;

const QUICK: Asked<'_> = Asked { entry: None, is_quick: true, overrides: &[] };

/// Ten clients, two kinds of users, two interactions, five rounds.
fn experiment() -> ExperimentFile {
    ExperimentFile::fpdgd().set("users.preset", "[\"perfect\", \"informational\"]")
}

fn study(file: &ExperimentFile, asked: &Asked<'_>) -> Study {
    let study = StudyFile::from_toml(&file.to_string()).and_then(|file| file.study(asked));
    study.unwrap_or_else(|problems| panic!("{file}\n{problems:#?}"))
}

/// Labels, clients, interactions and rounds of every setting.
fn settings(grid: &Grid) -> Vec<(String, usize, usize, usize)> {
    let of = |setting: &Setting| {
        let schedule = setting.experiment.schedule().expect("rounds");
        (setting.name(), schedule.n_clients, schedule.interactions, schedule.n_rounds)
    };
    grid.settings.iter().map(of).collect()
}

fn assert_resolved(grid: &Grid) {
    let text = grid.to_toml().expect("TOML");
    let again = Grid::from_toml(&text, &[]).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
    assert_eq!(again.settings, grid.settings, "{text}");
}

#[test]
fn values_are_set_in_the_documented_order() {
    let file = experiment().and(ENTRIES);
    let set = ["federation.rounds=1".to_owned()];
    let one = Asked { entry: Some("one"), ..Asked::default() };
    let quick = Asked { is_quick: true, ..one };
    for (asked, numbers, reason) in [
        (Asked::default(), (10, 2, 5), "without an entry the file as it is"),
        (one, (6, 3, 5), "the entry wins over the collection"),
        (quick, (6, 5, 3), "quick wins, its collection over all"),
        (Asked { overrides: &set, ..quick }, (6, 5, 1), "the command line wins"),
        (QUICK, (10, 5, 2), "quick without an entry"),
    ] {
        let study = study(&file, &asked);
        let (name, n_clients, interactions, rounds) = settings(&study.grid).remove(0);
        assert_eq!(
            (name.as_str(), n_clients, interactions, rounds),
            ("users.preset = perfect", numbers.0, numbers.1, numbers.2),
            "{reason}"
        );
        assert_resolved(&study.grid);
    }
}

#[test]
fn several_collections_are_an_axis_and_only_some_settings_are_run() {
    let two = Asked { entry: Some("two"), ..Asked::default() };
    let file = experiment().and(ENTRIES);
    let full = study(&file, &two).grid;
    assert_eq!(
        settings(&full),
        [
            ("collection = synthetic-mslr, users.preset = perfect".into(), 6, 4, 5),
            ("collection = intent-change, users.preset = perfect".into(), 10, 2, 5),
        ]
    );
    assert_resolved(&full);
    let quick = settings(&study(&file, &Asked { is_quick: true, ..two }).grid);
    assert_eq!((quick[0].3, quick[1].3), (3, 2));
}

#[test]
fn a_key_with_a_question_mark_is_set_where_it_is_known() {
    let axes = r#"
[grid.axis.method.FPDGD]
[grid.axis.method.PDGD]
remove = ["clients", "federation"]
learner = { kind = "centralised-pdgd", learning_rate = 0.1, batch = 1, budget = 100, interactions_per_round = 20 }
[quick]
"learner.budget?" = 40
"federation.rounds?" = 7
"clients.dropout?" = 0.5
"#;
    let file = experiment().and(axes);
    let rounds = |grid: &Grid| -> Vec<usize> { settings(grid).iter().map(|it| it.3).collect() };
    assert_eq!(rounds(&study(&file, &Asked::default()).grid), [5, 5, 5, 5]);
    let quick = study(&file, &QUICK).grid;
    assert_eq!(rounds(&quick), [7, 7, 2, 2]);
    let dropout = |i: usize| quick.settings[i].training().expect("training").clients.as_ref().map(|it| it.dropout);
    assert_eq!((dropout(0), dropout(2)), (Some(Some(0.5)), None));
    assert_resolved(&quick);
}

#[test]
fn a_question_mark_in_an_axis_waits_for_the_other_axes() {
    let axes = r#"
[grid.axis.attackers.none]
[grid.axis.attackers.two]
attack = { attackers = 2, method = { kind = "click-poisoning" } }
"defence.rule.attackers?" = 2
[grid.axis.rule.mean]
[grid.axis.rule.Krum]
defence = { rule = { kind = "krum", attackers = 1 } }
[quick]
only = { "users.preset" = "perfect" }
"#;
    let grid = study(&experiment().and(axes), &QUICK).grid;
    let tolerated = |setting: &Setting| {
        let text = toml::to_string(&setting.experiment).expect("TOML");
        text.split("[defence.rule]").nth(1).map(|rule| rule.contains("attackers = 2"))
    };
    let tolerated: Vec<Option<bool>> = grid.settings.iter().map(tolerated).collect();
    assert_eq!(tolerated, [None, Some(false), None, Some(true)]);
}

#[test]
fn wrong_sections_of_a_study_are_refused_with_their_lines() {
    let first = experiment().to_string().lines().count() + 1;
    let cases: [(&str, &[(usize, &str)]); 7] = [
        (
            "[[entry]]\nid = \"a\"\npaper = \"P\"\nitem = \"x\"\ncollection = \"mq2009\"\n",
            &[(4, "`entry[0].collection` = \"mq2009\": unknown collection; did you mean `mq2008`?")],
        ),
        (
            "[[entry]]\nid = \"a\"\npapers = \"P\"\nitem = \"x\"\n",
            &[(2, "`entry[0].papers` = \"P\": unknown key; did you mean `paper`?")],
        ),
        ("[quick]\ncollections = \"mq2009\"\n", &[(1, "`quick.collections` = \"mq2009\": unknown collection")]),
        (
            "[quick]\n\"federation.rounds\" = -3\n",
            &[(1, "`federation.rounds` = -3: wrong value: integer `-3`, expected a whole number, 0 or more")],
        ),
        (
            "[quick]\nonly = { \"users.preset\" = \"drunk\" }\n",
            &[(1, "`grid.only.users.preset` = \"drunk\": no setting has the label \"drunk\" on this axis")],
        ),
        (
            "[choose]\naxes = [\"users.prest\"]\nmetric = \"test-ndcg@10\"\nseeds = [1]\n",
            &[
                (
                    1,
                    "`choose.axes[0]` = \"users.prest\": unknown axis; did you mean `users.preset`? Expected one of: \
                     users.preset",
                ),
                (2, "`choose.metric` = \"test-ndcg@10\": values are chosen on validation queries: validation-..."),
                (3, "`choose.seeds` = [1]: what is chosen must run with other seeds than the choice: see `seeds`"),
            ],
        ),
        ("[[expects]]\nsays = \"x\"\n", &[(0, "`expects`: unknown section; did you mean `expect`?")]),
    ];
    for (sections, expected) in cases {
        let text = experiment().and(sections).to_string();
        let problems = StudyFile::from_toml(&text).and_then(|file| file.study(&QUICK)).expect_err("a wrong file");
        assert_eq!(problems.len(), expected.len(), "{sections}: {problems:#?}");
        for (problem, (line, message)) in problems.iter().zip(expected) {
            let printed = format!("{}: {problem}", problem.line.unwrap_or(0));
            assert!(printed.starts_with(&format!("{}: {message}", first + line)), "{printed}");
        }
    }
}

#[test]
fn a_choice_is_by_the_mean_and_leaves_its_axes_out() {
    let choose = "[choose]\naxes = [\"clients.interactions\"]\nmetric = \"validation-ndcg@10\"\nseeds = [101]\n";
    let file = experiment().set("clients.interactions", "[2, 4]").set("metrics.evaluate_on", "[\"validation\"]");
    let study = study(&file.and(choose), &Asked::default());
    let choose = study.choose.expect("a choice");
    let candidates = choose.candidates(&study.grid);
    assert_eq!(candidates.settings.len(), 4);
    assert!(candidates.settings.iter().all(|setting| setting.experiment.seeds() == [101]));
    // Settings: 2 perfect, 2 informational, 4 perfect, 4 informational.
    let scores = [Some(0.5), Some(f64::NAN), Some(0.4), Some(0.1)];
    let place = |setting: &Setting| study.grid.settings.iter().position(|known| known == setting).expect("a setting");
    let (grid, chosen) = choose.chosen(&study.grid, |setting| scores[place(setting)]);
    let named: Vec<(String, usize)> = settings(&grid).into_iter().map(|it| (it.0, it.2)).collect();
    assert_eq!(named, [("users.preset = perfect".into(), 2), ("users.preset = informational".into(), 4)]);
    assert!(grid.settings.iter().all(|setting| setting.experiment.seeds() == [1, 2]));
    let csv = String::from_utf8(super::chosen_csv(&chosen).expect("CSV")).expect("text");
    assert_eq!(csv, "users.preset,clients.interactions,score\nperfect,2,0.5\ninformational,4,0.1\n");
    assert_resolved(&grid);
}

#[test]
fn what_tune_chooses_by_itself_are_numbers_of_the_method() {
    let file = experiment()
        .set("learner.learning_rate", "[0.1, 0.01]")
        .set("learner.updates", "[\"immediate\", \"accumulated\"]")
        .set("clients.interactions", "[2, 4]")
        .set("seeds", "[7, 1001]");
    let grid = study(&file, &Asked::default()).grid;
    let choose = Choose::of_grid(&grid);
    assert_eq!(choose.axes, ["learner.learning_rate"]);
    assert_eq!((choose.metric.as_str(), choose.seeds.as_slice()), ("validation-ndcg@10", &[1002, 1003][..]));
    assert_eq!(choose.check(&grid), []);
    let candidates = choose.candidates(&grid);
    let splits = |setting: &Setting| setting.training().expect("a learner").metrics.evaluate_on.clone();
    assert!(candidates.settings.iter().all(|setting| splits(setting) == [Split::Validation]), "no test query is seen");
    let wrong = Choose { metric: "validation-mrr@5".into(), ..choose };
    assert_eq!(wrong.check(&grid)[0].message, "`metrics.offline` has no mrr@5, only ndcg@10");
}

#[test]
fn what_has_no_rivals_is_chosen_without_being_run() {
    let axis = "[grid.axis.method.tuned]\n\"learner.learning_rate\" = [0.1, 0.01]\n[grid.axis.method.fixed]\n\
                \"learner.updates\" = \"accumulated\"\n";
    let grid = study(&experiment().set("users.preset", "\"perfect\"").and(axis), &Asked::default()).grid;
    let choose = Choose::of_grid(&grid);
    let candidates = choose.candidates(&grid);
    assert!(candidates.settings.iter().all(|setting| setting.label("method") == Some("tuned")));
    assert_eq!(candidates.settings.len(), 2);
    let rate = |setting: &Setting| setting.label("learner.learning_rate")?.parse().ok();
    let (_, chosen) = choose.chosen(&grid, rate);
    let mut scores: Vec<(&str, Option<f64>)> = chosen.iter().map(|one| (one.labels[0].1.as_str(), one.score)).collect();
    scores.sort_by_key(|(label, _)| *label);
    assert_eq!(scores, [("fixed", None), ("tuned", Some(0.1))]);
}
