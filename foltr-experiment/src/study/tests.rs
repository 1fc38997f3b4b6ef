use super::{Asked, StudyFile};

const FILE: &str = r#"
seeds = [1, 2]
[data]
kind = "synthetic"
shape = "tiny"
queries = 30
seed = 1
[clients]
n_clients = 5
interactions = 2
[users]
kind = "cascade"
preset = ["perfect", "informational"]
[ranker]
kind = "linear"
initialisation = { kind = "zero" }
[learner]
kind = "pdgd"
learning_rate = 0.1
updates = "immediate"
[federation]
rounds = 10
optimiser = { kind = "learning-rate", rate = 1.0 }
"#;

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

fn file(more: &str) -> StudyFile {
    StudyFile::from_toml(&format!("{FILE}{more}")).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// Labels, clients, interactions and rounds of every setting.
fn settings(file: &StudyFile, asked: &Asked<'_>) -> Vec<(String, usize, usize, usize)> {
    let study = file.study(asked).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let of = |setting: &crate::grid::Setting| {
        let schedule = setting.experiment.schedule().expect("rounds");
        (setting.name(), schedule.n_clients, schedule.interactions, schedule.n_rounds)
    };
    study.grid.settings.iter().map(of).collect()
}

fn told(more: &str, asked: &Asked<'_>) -> Vec<String> {
    let study = StudyFile::from_toml(&format!("{FILE}{more}")).and_then(|file| file.study(asked).map(|_| ()));
    let problems = study.err().unwrap_or_default();
    problems.iter().map(|problem| format!("{}: {problem}", problem.line.unwrap_or(0))).collect()
}

#[test]
fn values_are_set_in_the_documented_order() {
    let file = file(ENTRIES);
    let perfect = |asked: &Asked<'_>| settings(&file, asked).remove(0);
    let name = || "users.preset = perfect".to_owned();
    assert_eq!(perfect(&Asked::default()), (name(), 5, 2, 10), "without an entry the file as it is");
    let one = Asked { entry: Some("one"), ..Asked::default() };
    assert_eq!(perfect(&one), (name(), 6, 3, 10), "the entry wins over the collection");
    let quick = Asked { is_quick: true, ..one };
    assert_eq!(perfect(&quick), (name(), 6, 5, 3), "quick wins, its collection over all");
    let set = ["federation.rounds=1".to_owned()];
    assert_eq!(perfect(&Asked { overrides: &set, ..quick }), (name(), 6, 5, 1), "the command line wins");
    let plain = Asked { is_quick: true, ..Asked::default() };
    assert_eq!(perfect(&plain), (name(), 5, 5, 2), "quick without an entry");
}

#[test]
fn several_collections_are_an_axis_and_only_some_settings_are_run() {
    let two = Asked { entry: Some("two"), ..Asked::default() };
    assert_eq!(
        settings(&file(ENTRIES), &two),
        [
            ("collection = synthetic-mslr, users.preset = perfect".into(), 6, 4, 10),
            ("collection = intent-change, users.preset = perfect".into(), 5, 2, 10),
        ]
    );
    let quick = settings(&file(ENTRIES), &Asked { is_quick: true, ..two });
    assert_eq!((quick[0].3, quick[1].3), (3, 2));
}

#[test]
fn the_resolved_file_of_an_entry_is_the_same_grid() {
    for asked in [Asked { entry: Some("two"), ..Asked::default() }, Asked { is_quick: true, ..Asked::default() }] {
        let study = file(ENTRIES).study(&asked).expect("sound");
        let text = study.grid.to_toml().expect("TOML");
        let again = crate::grid::Grid::from_toml(&text, &[]).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
        assert_eq!(again.settings, study.grid.settings, "{text}");
    }
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
    let file = file(axes);
    let rounds = |asked: &Asked<'_>| -> Vec<usize> { settings(&file, asked).iter().map(|it| it.3).collect() };
    assert_eq!(rounds(&Asked::default()), [10, 10, 5, 5]);
    let quick = Asked { is_quick: true, ..Asked::default() };
    assert_eq!(rounds(&quick), [7, 7, 2, 2]);
    let study = file.study(&quick).expect("sound");
    let dropout = |i: usize| study.grid.settings[i].training().expect("training").clients.as_ref().map(|it| it.dropout);
    assert_eq!((dropout(0), dropout(2)), (Some(Some(0.5)), None));
    let text = study.grid.to_toml().expect("TOML");
    let again = crate::grid::Grid::from_toml(&text, &[]).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
    assert_eq!(again.settings, study.grid.settings);
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
    let text = format!("{}{axes}", FILE.replace("n_clients = 5", "n_clients = 9"));
    let file = StudyFile::from_toml(&text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let study = file.study(&Asked { is_quick: true, ..Asked::default() }).unwrap_or_else(|it| panic!("{it:#?}"));
    let names: Vec<String> = study.grid.settings.iter().map(crate::grid::Setting::name).collect();
    let tolerated = |i: usize| {
        let text = toml::to_string(&study.grid.settings[i].experiment).expect("TOML");
        text.split("[defence.rule]").nth(1).map(|rule| rule.contains("attackers = 2"))
    };
    let found: Vec<Option<bool>> = (0..names.len()).map(tolerated).collect();
    assert_eq!(found, [None, Some(false), None, Some(true)], "{names:?}");
}

#[test]
fn wrong_sections_of_a_study_are_refused_with_their_lines() {
    let first = FILE.lines().count() + 1;
    let at = |line: usize, message: &str| vec![format!("{}: {message}", first + line)];
    let asked = Asked::default();
    assert_eq!(
        told("[[entry]]\nid = \"a\"\npaper = \"P\"\nitem = \"x\"\ncollection = \"mq2009\"\n", &asked)[0]
            .split(" (allowed")
            .next(),
        Some(at(4, "`entry[0].collection` = \"mq2009\": no such collection; did you mean `mq2008`?")[0].as_str())
    );
    assert_eq!(
        told("[[entry]]\nid = \"a\"\npapers = \"P\"\nitem = \"x\"\n", &asked)[0].split(" (allowed").next(),
        Some(at(2, "`entry[0].papers` = \"P\": no such key; did you mean `paper`?")[0].as_str())
    );
    let quick = Asked { is_quick: true, ..asked };
    assert_eq!(
        told("[quick]\n\"federation.rounds\" = -3\n", &quick),
        at(1, "`federation.rounds` = -3: wrong value: integer `-3`, expected a whole number, 0 or more")
    );
    assert_eq!(
        told("[quick]\nonly = { \"users.preset\" = \"drunk\" }\n", &quick),
        at(1, "`grid.only.users.preset` = \"drunk\": no setting has the label \"drunk\" on this axis")
    );
    assert_eq!(
        told("[choose]\naxes = [\"users.prest\"]\nmetric = \"test-ndcg@10\"\nseeds = [1]\n", &asked),
        [
            at(
                1,
                "`choose.axes[0]` = \"users.prest\": no such axis; did you mean `users.preset`? (allowed: users.preset)"
            ),
            at(2, "`choose.metric` = \"test-ndcg@10\": values are chosen on validation queries: validation-..."),
            at(3, "`choose.seeds` = [1]: what is chosen must run with other seeds than the choice: see `seeds`"),
        ]
        .concat()
    );
    assert_eq!(
        told("[[expects]]\nsays = \"x\"\n", &asked)[0].split(" (allowed").next(),
        Some(at(0, "`expects`: no such section; did you mean `expect`?")[0].as_str())
    );
}

#[test]
fn a_choice_is_by_the_mean_and_leaves_its_axes_out() {
    let choose = "[choose]\naxes = [\"clients.interactions\"]\nmetric = \"validation-ndcg@10\"\nseeds = [101]\n";
    let text = format!(
        "{}{choose}[metrics]\nevaluate_on = [\"validation\"]\n",
        FILE.replace("interactions = 2", "interactions = [2, 4]")
    );
    let study =
        StudyFile::from_toml(&text).expect("sound").study(&Asked::default()).unwrap_or_else(|it| panic!("{it:#?}"));
    let choose = study.choose.expect("a choice");
    let candidates = choose.candidates(&study.grid);
    assert_eq!(candidates.settings.len(), 4);
    assert!(candidates.settings.iter().all(|setting| setting.experiment.seeds() == [101]));
    // Settings: 2 perfect, 2 informational, 4 perfect, 4 informational.
    let scores = [Some(0.5), Some(f64::NAN), Some(0.4), Some(0.1)];
    let (grid, chosen) = choose.chosen(&study.grid, |setting| scores[setting]);
    let of =
        |setting: &crate::grid::Setting| (setting.name(), setting.experiment.schedule().expect("rounds").interactions);
    let found: Vec<(String, usize)> = grid.settings.iter().map(of).collect();
    assert_eq!(found, [("users.preset = perfect".into(), 2), ("users.preset = informational".into(), 4)]);
    assert!(grid.settings.iter().all(|setting| setting.experiment.seeds() == [1, 2]));
    let csv = String::from_utf8(super::chosen_csv(&chosen).expect("CSV")).expect("text");
    assert_eq!(csv, "users.preset,clients.interactions,score\nperfect,2,0.5\ninformational,4,0.1\n");
    let text = grid.to_toml().expect("TOML");
    let again = crate::grid::Grid::from_toml(&text, &[]).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
    assert_eq!(again.settings, grid.settings);
}
