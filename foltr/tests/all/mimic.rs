//! Mimic learning on the command line: from private queries to a student that can be shared and searched with.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use foltr_mimic::accountant::data_independent;
use foltr_mimic::aggregation::VoteNoise;

use crate::binary::{assert_contains, foltr, stderr, stdout};
use crate::golden::write_texts;

/// Four teachers on a few generated queries.
pub const FEATURES: &str = r#"
seeds = [1]
aggregation = [
    { name = "clear", method = { kind = "scores", scale = 0.0 } },
    { name = "voted", method = { kind = "votes", gamma = 0.5, pairs = 200 } },
]

[data]
kind = "synthetic"
shape = "tiny"
queries = 60
seed = 1

[supervision]
kind = "full"
teachers = 4

[teacher]
hidden = [16]
batch = 32
steps = 40
validate_every = 20

[student]
hidden = [16]
batch = 32
steps = 40
validate_every = 20
"#;

/// A file with an experiment, and a folder for its results.
pub struct Workspace(tempfile::TempDir);

impl Workspace {
    pub fn new(spec: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("spec.toml"), spec).expect("written");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn mimic(&self, step: &str) -> Command {
        let mut command = foltr();
        command.args(["mimic", step]).arg(self.path("spec.toml")).arg("--out").arg(self.path("out"));
        command
    }

    /// With labels of trained teachers, and what the command printed.
    fn labelled(spec: &str) -> (Self, String) {
        let workspace = Self::new(spec);
        workspace.mimic("train-teacher").assert().success();
        let printed = stdout(&workspace.mimic("label").assert().success());
        (workspace, printed)
    }

    /// The folder of the only run, finished or not.
    pub fn run(&self) -> PathBuf {
        let mut runs = fs::read_dir(self.path("out/runs")).expect("runs");
        let run = runs.next().expect("one run").expect("an entry").path();
        assert!(runs.next().is_none(), "one run");
        run
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.run().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&self.bytes(name)).expect("JSON")
    }
}

const NETWORKS: [&str; 4] =
    ["teacher-1.safetensors", "teacher-4.safetensors", "clear/student.safetensors", "voted/student.safetensors"];

/// The same with a feature in place of labels.
fn weak() -> String {
    FEATURES.replace("kind = \"full\"", "kind = \"weak\"\nfeature = 2")
}

#[test]
fn steps_one_by_one_make_what_all_at_once_makes_with_any_number_of_threads() {
    steps_make_what_all_at_once_makes(FEATURES);
}

#[test]
fn steps_with_chosen_columns_make_what_all_at_once_makes() {
    steps_make_what_all_at_once_makes(&weak());
}

fn steps_make_what_all_at_once_makes(spec: &str) {
    let spec = spec.replace("seeds = [1]", "seeds = [987654321]");
    let (steps, whole) = (Workspace::new(&spec), Workspace::new(&spec));
    for step in ["train-teacher", "label", "train-student", "evaluate"] {
        steps.mimic(step).args(["--threads", "1"]).assert().success();
    }
    let done = whole.mimic("run").args(["--threads", "3"]).assert().success();
    for name in NETWORKS.into_iter().chain(["voted/labels.jsonl", "queries.csv", "rows.csv"]) {
        assert!(steps.bytes(name) == whole.bytes(name), "{name} differs");
    }
    let [guarantee, again] = [&steps, &whole].map(|workspace| workspace.json("voted/guarantee.json"));
    assert_eq!(guarantee, again);
    assert_contains(&stdout(&done), &["teachers", "aggregate-voted", "student-clear", "nDCG@20", "Privacy unit"]);
    for file in ["queries.csv", "summary.json", "mimic.json", "rows.csv", "ndcg.png"] {
        assert!(whole.path("out").join(file).exists(), "{file}");
    }
    let student = whole.bytes("voted/student.safetensors");
    assert!(!String::from_utf8_lossy(&student).contains("987654321"), "the seed gives the noise away");
}

/// Columns 21 and 37 are BM25 of the body and of the whole document.
#[test]
fn near_copies_of_the_weak_label_leave_the_inputs_of_real_files() {
    let Some(folder) = foltr_test::data("MQ2008") else { return };
    let data = format!("kind = \"folder\"\npath = \"{}\"\nfolds = [1]\n", folder.display());
    let spec = FEATURES
        .replace("kind = \"synthetic\"\nshape = \"tiny\"\nqueries = 60\nseed = 1\n", &data)
        .replace("kind = \"full\"", "kind = \"weak\"\nfeature = 37");
    let text = stdout(&Workspace::new(&spec).mimic("train-teacher").assert().success());
    assert!(text.contains("44 of 46 features are inputs (not 21, 37)"), "{text}");
}

#[test]
fn networks_are_listed_with_what_they_are_worth() {
    let workspace = Workspace::new(FEATURES);
    workspace.mimic("run").assert().success();
    let out = workspace.path("out");
    let out = out.to_str().expect("UTF-8");
    let listed = stdout(&foltr().args(["models", out, "--json"]).assert().success());
    let listed: Vec<serde_json::Value> = serde_json::from_str(&listed).expect("a list");
    let names: Vec<&str> = listed.iter().filter_map(|it| it["ranker"]["name"].as_str()).collect();
    let teachers = ["teacher-1", "teacher-2", "teacher-3", "teacher-4"];
    assert_eq!(names, [&["student-clear"], &teachers[..], &["student-voted"]].concat());
    assert_eq!((&listed[0]["fold"], &listed[0]["data"]), (&1.into(), &"synthetic-tiny".into()));
    let rows = fs::read_to_string(workspace.path("out/rows.csv")).expect("rows");
    let value = listed[0]["values"]["student-clear/ndcg@20"].to_string();
    assert!(rows.lines().any(|line| line.ends_with(&format!("student-clear/ndcg@20,{value}"))), "{value} in {rows}");
    let refused = stderr(&foltr().args(["evaluate", out]).assert().code(1));
    assert_contains(&refused, &["networks of mimic learning", "foltr mimic evaluate"]);
}

#[test]
fn a_step_says_which_one_is_missing_before_it() {
    let workspace = Workspace::new(FEATURES);
    for (step, needed) in [("label", "train-teacher"), ("train-student", "label"), ("evaluate", "train-teacher")] {
        let text = stderr(&workspace.mimic(step).assert().failure());
        assert!(text.contains(&format!("foltr mimic {needed}")), "{step}: {text}");
    }
}

#[test]
fn the_guarantee_reveals_nothing_that_depends_on_votes() {
    let (workspace, printed) = Workspace::labelled(FEATURES);
    let guarantee = workspace.json("voted/guarantee.json");
    let expected = data_independent(VoteNoise::Laplace { gamma: 0.5 }, 4, 200, 1e-5);
    assert_eq!(guarantee["epsilon"].as_f64(), Some(expected));
    let figure = workspace.json("voted/accounting-private.json")["data_dependent"].as_f64().expect("a number");
    assert!(figure < expected, "{figure}");
    let shown = printed + &guarantee.to_string();
    for digits in [format!("{figure:.3}"), "Private, not".into()] {
        assert!(!shown.contains(&digits), "{digits} is for the owner only\n{shown}");
    }
    assert!(workspace.json("clear/guarantee.json")["epsilon"].is_null(), "scores without noise have no guarantee");
}

/// Whoever gets labels is told what they rest on: which queries chose the columns, what counts as public, that labellings
/// add up, and that the seed is the secret.
#[test]
fn the_guarantee_says_what_it_rests_on() {
    let said = |spec: &str| {
        let (workspace, printed) = Workspace::labelled(spec);
        let guarantee = workspace.json("voted/guarantee.json")["sentences"].to_string();
        assert_contains(&printed, &["Taken as public", "find the seed out"]);
        guarantee
    };
    let everywhere = [
        "Taken as public: documents and names of 30 queries, the number and the order of all training queries",
        "may be public in another",
        "adds up their epsilons",
        "find the seed out: one that can be tried, such as 1, protects against nobody",
        "a simulation",
        "that a run failed",
    ];
    let full = said(FEATURES);
    assert_contains(&full, &everywhere);
    assert_contains(&full, &["Networks see all 12 features; none was chosen by means of data."]);
    let weak = said(&weak());
    assert_contains(&weak, &everywhere);
    assert_contains(&weak, &["of 12 features: feature 2 is the label", "was found on the public queries alone"]);
}

/// The noise of two labellings with one seed, taken out by subtraction: other teachers, or other private data, under the
/// same noise would show the difference of their scores as it is.
#[test]
fn labellings_of_other_teachers_or_data_have_other_noise() {
    let noisy = FEATURES.replace(
        "{ name = \"voted\", method = { kind = \"votes\", gamma = 0.5, pairs = 200 } }",
        "{ name = \"noisy\", method = { kind = \"scores\", scale = 0.05 } }",
    );
    let noise = |spec: &str| {
        let (workspace, _) = Workspace::labelled(spec);
        let [clear, noisy] = ["clear", "noisy"].map(|name| scores(&workspace, &format!("{name}/labels.jsonl")));
        clear.into_iter().zip(noisy).map(|(clear, noisy)| noisy - clear).collect::<Vec<f64>>()
    };
    let differs = |a: &[f64], b: &[f64]| {
        let n_equal = a.iter().zip(b).filter(|(a, b)| (*a - *b).abs() < 1e-6).count();
        a.len() > 100 && n_equal < a.len() / 100
    };
    let ours = noise(&noisy);
    assert!(differs(&ours, &noise(&noisy.replacen("steps = 40", "steps = 60", 1))), "other teachers");
    assert!(differs(&ours, &noise(&noisy.replace("seed = 1", "seed = 2"))), "other data");
    let students = noisy.replace("[student]\nhidden = [16]", "[student]\nhidden = [8]");
    assert_ne!(students, noisy);
    assert!(!differs(&ours, &noise(&students)), "the same labels for other students");
}

fn scores(workspace: &Workspace, name: &str) -> Vec<f64> {
    let text = String::from_utf8(workspace.bytes(name)).expect("text");
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    lines.flat_map(|line| line["scores"].as_array().expect("scores").clone()).filter_map(|it| it.as_f64()).collect()
}

#[test]
fn noise_of_one_labelling_cannot_be_taken_out_with_another() {
    let two = FEATURES.replace(
        "{ name = \"voted\", method = { kind = \"votes\", gamma = 0.5, pairs = 200 } }",
        "{ name = \"a\", method = { kind = \"scores\", scale = 0.05 } }, \
         { name = \"b\", method = { kind = \"scores\", scale = 0.1 } }",
    );
    let (workspace, _) = Workspace::labelled(&two);
    let [clear, a, b] = ["clear", "a", "b"].map(|name| scores(&workspace, &format!("{name}/labels.jsonl")));
    let apart = |of: &dyn Fn(usize) -> f64| (0..clear.len()).map(|i| (of(i) - clear[i]).abs()).sum::<f64>();
    let (noise, left) = (apart(&|i| a[i]), apart(&|i| 2.0 * a[i] - b[i]));
    assert!(left > noise, "{left} of {noise} is left");
}

#[test]
fn a_teacher_without_anything_to_learn_does_not_stop_the_others() {
    // One query each: some have equal labels only.
    let workspace = Workspace::new(&FEATURES.replace("teachers = 4", "teachers = 30"));
    workspace.mimic("run").assert().success();
}

#[test]
fn a_student_without_a_pair_to_learn_from_is_refused() {
    let (workspace, _) = Workspace::labelled(FEATURES);
    let equal = r#"{"query":0,"name":"a","documents":[0,1],"scores":[0.5,0.5]}"#;
    fs::write(workspace.run().join("clear/labels.jsonl"), equal).expect("written");
    let text = stderr(&workspace.mimic("train-student").assert().failure());
    assert!(text.contains("clear/student cannot learn"), "{text}");
}

#[test]
fn problems_of_a_file_are_named_by_line() {
    let wrong = FEATURES
        .replace("gamma = 0.5", "gamma = -1.0")
        .replace("hidden = [16]\nbatch = 32\nsteps = 40", "hiden = [16]\nsteps = 0");
    let workspace = Workspace::new(&wrong);
    let text = stderr(&workspace.mimic("run").assert().code(2));
    assert_contains(&text, &["spec.toml:", "did you mean `hidden`?", "teacher.steps", "gamma", "above 0"]);
    assert!(!workspace.path("out").exists(), "nothing was begun");
}

pub fn text_spec(collection: &Path) -> String {
    format!(
        r#"
seeds = [1]
[data]
kind = "text"
path = "{}"
folds = 4
min_documents = 1
[supervision]
kind = "weak"
n_queries = 60
candidates = 20
[public]
n_queries = 40
candidates = 20
[teacher]
hidden = [16]
dimensions = 8
batch = 32
steps = 40
validate_every = 20
[student]
hidden = [8]
dimensions = 8
embeddings = {{ kind = "random" }}
batch = 32
steps = 40
validate_every = 20
"#,
        collection.display()
    )
}

/// Judgements may be read in another way than their file says; then both are measured. Vectors of too little training are
/// nearly alike, which is said.
#[test]
fn what_is_read_in_another_way_or_says_little_is_noted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let collection = folder.path().join("collection");
    write_texts(&collection);
    let judgements = collection.join("qrels/test.tsv");
    let filed = std::fs::read_to_string(&judgements).expect("judgements").replace("q3\td3\t1", "q3\td3\t0");
    std::fs::write(&judgements, filed).expect("judgements");
    let spec = text_spec(&collection).replace("folds = 4", "folds = 4\nzero_grade = \"relevant\"").replace(
        "[teacher]",
        "[teacher]\nembeddings = { kind = \"trained\", n_epochs = 1, learning_rate = 0.5, frequent = 1.0 }",
    );
    let workspace = Workspace::new(&spec);
    let done = workspace.mimic("run").assert().success();
    let (text, notes) = (stdout(&done), stderr(&done));
    assert_contains(&text, &["bm25-as-filed", "teacher+bm25-as-filed", "student-mimic+bm25-as-filed"]);
    assert_contains(&notes, &["1 grades were read as 1 (`zero_grade = \"relevant\"`)", "are nearly alike"]);
    let line = |ranker: &str| text.lines().find(|line| line.split_whitespace().next() == Some(ranker));
    let n_columns = |ranker: &str| line(ranker).expect("a line").split_whitespace().count();
    assert_eq!(
        (n_columns("bm25"), n_columns("bm25-as-filed")),
        (4, 4),
        "each is what others are compared with: {text}"
    );
}

#[test]
fn a_student_of_texts_is_judged_beside_bm25_and_searched_with() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let collection = folder.path().join("collection");
    write_texts(&collection);
    let workspace = Workspace::new(&text_spec(&collection));
    let text = stdout(&workspace.mimic("run").assert().success());
    assert_contains(&text, &["120 documents", "bm25", "teacher+bm25", "student-mimic+bm25", "weight"]);
    let index = folder.path().join("index");
    foltr().arg("index").arg(&collection).arg("--out").arg(&index).assert().success();
    let twice = foltr().arg("index").arg(&collection).arg("--out").arg(&index).assert().failure();
    assert!(stderr(&twice).contains("exists already"));
    let model = workspace.run().join("mimic/student.safetensors");
    let search = |arguments: &[&str]| stdout(&foltr().arg("search").arg(&index).args(arguments).assert().success());
    let ranked = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().map(str::to_owned);
        words.filter(|word| word.starts_with('d') && word[1..].parse::<u32>().is_ok()).collect()
    };
    let alone = search(&["heat", "transfer"]);
    let best = ranked(&alone);
    assert_eq!(best.len(), 10, "{alone}");
    assert!(best.iter().all(|id| id[1..].parse::<u32>().expect("a number") % 5 == 2), "about heat transfer: {alone}");
    let model = model.to_str().expect("a name");
    let unchanged = search(&["--model", model, "--weight", "0", "heat transfer"]);
    assert!(unchanged.contains("BM25's"), "{unchanged}");
    assert_eq!(ranked(&unchanged), best);
    let mut again = ranked(&search(&["--model", model, "--depth", "10", "heat transfer"]));
    assert_eq!(again.len(), 10);
    again.sort();
    let mut all = best.clone();
    all.sort();
    assert_eq!(again, all, "the same documents in another order");
    assert!(search(&["zzz"]).contains("no document"));
    let mut wrong = foltr();
    wrong.arg("search").arg(&index).arg("--model").arg(workspace.path("spec.toml")).arg("wing");
    assert!(stderr(&wrong.assert().failure()).contains("spec.toml"));
}

#[test]
fn a_folder_of_texts_without_judgements_can_be_learnt_from() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for number in 0..30 {
        let text =
            format!("Letter {number} about {}\nDear all, the {} of {} is here.", number % 5, number % 3, number % 7);
        fs::write(folder.path().join(format!("{number}.txt")), text).expect("written");
    }
    let workspace = Workspace::new(&text_spec(folder.path()));
    let done = workspace.mimic("run").assert().success();
    assert!(stdout(&done).contains("nothing to evaluate"));
    assert!(!workspace.bytes("mimic/student.safetensors").is_empty());
}
