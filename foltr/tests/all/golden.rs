//! Golden numbers: every experiment file, with a small budget on generated data, computes what it always did.
//!
//! `golden/golden.csv` has a line for every setting of every file of `specs/`, `golden/budgets.toml` what is replaced to
//! make the files small. A change that is meant to change numbers writes the table anew:
//!
//! ```sh
//! FOLTR_GOLDEN_WRITE=1 cargo test --release -p foltr --test all golden
//! ```
//!
//! `FOLTR_GOLDEN_EXACT=1` lets no line differ, also those that depend on the processor: for a comparison on the machine
//! that wrote the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::iter::Either;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// What the head of the table says about its columns.
const EXPLANATION: &str = "\
# One line a setting of an experiment file that was run as budgets.toml says. Hashes are the first 16 hex digits of
# SHA-256; runs come by fold, then seed; integers are 64 bits wide, everything is little-endian.
# rows: fold, seed, round and bits of the value of all rows in the order of the file, then fold, seed, client and bits of
#   the value of what rankers are worth to clients. Names of metrics are not in it.
#   Mimic learning: fold, seed, place of the query from 0 and bits of the value, for MAP, P@20 and nDCG@20 of each query.
# params: the tensors of the trained rankers, without header and metadata; - where none is saved.
#   Mimic learning: all teachers, or the student.
# kind: exact, or tolerant where products of matrices or dense solvers depend on the processor. Tolerant lines may have
#   other hashes as long as no value differs by more than the tolerance, relative to the larger one.
# values: metrics of the last round, means over runs. Mimic learning: MAP, P@20 and nDCG@20.
";

/// One run, or one ranker of mimic learning in one run.
struct Run {
    /// `axis=label; axis=label`; empty if there is one setting only.
    setting: String,
    fold: u64,
    seed: u64,
    /// Round (or client, or query) and value, in the order of the files.
    rows: Vec<(u64, f64)>,
    /// Bytes of all tensors.
    params: Option<Vec<u8>>,
    /// What a tolerant comparison is about.
    values: Vec<f64>,
}

/// One line of the table, without its name.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    rows: String,
    params: String,
    /// Empty unless the line is tolerant.
    values: Vec<f64>,
    tolerance: Option<f64>,
}

type Lines = BTreeMap<(String, String), Line>;

#[test]
fn every_experiment_computes_what_it_always_did() {
    let budgets = Budgets::read();
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_collections(folder.path());
    let (computed, mut problems) = compute_all(&spec_files(&budgets.skip), &budgets, folder.path());
    if std::env::var_os("FOLTR_GOLDEN_WRITE").is_some() {
        assert!(problems.is_empty(), "nothing was written:\n{}", problems.join("\n"));
        fs::write(golden("golden.csv"), table(&computed)).expect("the table can be written");
        return;
    }
    problems.extend(differences(&read_table(), &computed));
    assert!(problems.is_empty(), "{} lines differ:\n{}", problems.len(), problems.join("\n"));
}

// ---- the layout of result folders: all that this file knows about it

struct Job {
    setting: String,
    fold: u64,
    seed: u64,
    folder: PathBuf,
}

fn read_jobs(dir: &Path) -> Vec<Job> {
    let mut reader = csv::Reader::from_path(dir.join("jobs.csv")).expect("jobs.csv");
    let header = reader.headers().expect("a header").clone();
    let job = |record: csv::StringRecord| {
        // key, setting, fold, seed, then the axes
        let labels = header.iter().zip(&record).skip(4).filter(|(_, label)| !label.is_empty());
        Job {
            setting: labels.map(|(axis, label)| format!("{axis}={label}")).collect::<Vec<_>>().join("; "),
            fold: record[2].parse().expect("a fold"),
            seed: record[3].parse().expect("a seed"),
            folder: dir.join("runs").join(&record[0]),
        }
    };
    reader.records().map(|record| job(record.expect("a line"))).collect()
}

fn read_run(Job { setting, fold, seed, folder }: Job) -> Run {
    let measured = numbers(&folder.join("rows.csv"), "round");
    let clients = folder.join("clients.csv");
    let by_client = if clients.exists() { numbers(&clients, "client") } else { Vec::new() };
    let last = measured.iter().map(|(round, _)| *round).max();
    Run {
        setting,
        fold,
        seed,
        values: measured.iter().filter(|(round, _)| Some(*round) == last).map(|(_, value)| *value).collect(),
        rows: measured.into_iter().chain(by_client).collect(),
        params: tensors(&folder.join("model.safetensors")),
    }
}

/// All rankers of a folder of mimic learning, each as a setting of its own.
fn read_rankers(dir: &Path) -> Vec<Run> {
    let jobs = read_jobs(dir);
    let mut runs: Vec<Run> = Vec::new();
    let mut reader = csv::Reader::from_path(dir.join("queries.csv")).expect("queries.csv");
    // seed, fold, ranker, query, then the measures
    for record in reader.records() {
        let record = record.expect("a line");
        let (seed, fold) = (record[0].parse().expect("a seed"), record[1].parse().expect("a fold"));
        let setting = format!("ranker={}", name_in_table(&record[2]));
        if runs.last().is_none_or(|run| (run.seed, run.fold, &run.setting) != (seed, fold, &setting)) {
            let job = jobs.iter().find(|job| (job.seed, job.fold) == (seed, fold)).expect("a run");
            let params = params_of(&job.folder, &record[2]);
            runs.push(Run { setting, fold, seed, rows: Vec::new(), params, values: Vec::new() });
        }
        let run = runs.last_mut().expect("a ranker");
        let measures: Vec<f64> = record.iter().skip(4).map(|text| text.parse().expect("a number")).collect();
        let place = (run.rows.len() / measures.len()) as u64;
        run.rows.extend(measures.into_iter().map(|value| (place, value)));
    }
    for run in &mut runs {
        run.values = (0..3).map(|measure| mean(run.rows.iter().skip(measure).step_by(3))).collect();
    }
    runs
}

/// The table was written when rankers had other names.
fn name_in_table(ranker: &str) -> String {
    let (ranker, with) = ranker.strip_suffix("+bm25").map_or((ranker, ""), |ranker| (ranker, " + BM25"));
    let name = match ranker {
        "bm25" => "BM25".into(),
        "teachers" => "teachers (mean)".into(),
        _ => ranker.replacen("student-", "student, ", 1).replacen("aggregate-", "aggregate, ", 1),
    };
    name + with
}

/// The networks that a line is about; those of `... + BM25` have a line of their own.
fn params_of(folder: &Path, ranker: &str) -> Option<Vec<u8>> {
    if ranker == "teacher" || ranker == "teachers" {
        let teachers = (1..).map_while(|number| tensors(&folder.join(format!("teacher-{number}.safetensors"))));
        return Some(teachers.flatten().collect());
    }
    let student = ranker.strip_prefix("student-")?;
    tensors(&folder.join(student).join("student.safetensors"))
}

// ---- files

/// A column of whole numbers and the column `value` of a table.
fn numbers(path: &Path, column: &str) -> Vec<(u64, f64)> {
    let mut reader = csv::Reader::from_path(path).expect("a table");
    let header = reader.headers().expect("a header").clone();
    let place = |name: &str| header.iter().position(|known| known == name).expect("the column");
    let (number, value) = (place(column), place("value"));
    let read = |record: csv::StringRecord| {
        (record[number].parse().expect("a whole number"), record[value].parse().expect("a number"))
    };
    reader.records().map(|record| read(record.expect("a line"))).collect()
}

/// The tensors of a model file, if there is one: what follows a header, whose length comes first.
fn tensors(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let (length, rest) = bytes.split_first_chunk().expect("a length");
    Some(rest[u64::from_le_bytes(*length) as usize..].to_vec())
}

fn mean<'a>(rows: impl ExactSizeIterator<Item = &'a (u64, f64)>) -> f64 {
    let n = rows.len() as f64;
    rows.map(|(_, value)| value).sum::<f64>() / n
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// All experiment files, by the names that the table has for them.
fn spec_files(skip: &[String]) -> BTreeMap<String, PathBuf> {
    let name = |path: &Path| {
        path.strip_prefix(foltr_test::workspace()).expect("below it").to_string_lossy().replace('\\', "/")
    };
    let named = foltr_test::spec_files().into_iter().map(|path| (name(&path), path));
    named.filter(|(name, _)| !skip.contains(name)).collect()
}

/// Writes a file without what makes it a study: all settings are run, nothing is chosen or judged.
fn write_experiment(study: &Path, experiment: &Path) {
    let mut table: toml::Table = fs::read_to_string(study).expect("a file").parse().expect("TOML");
    for section in ["entry", "collection", "quick", "choose", "expect", "figure"] {
        table.remove(section);
    }
    fs::create_dir_all(experiment.parent().expect("a folder")).expect("a folder");
    fs::write(experiment, toml::to_string(&table).expect("TOML")).expect("written");
}

/// What makes experiments small, and which of them may differ a little.
struct Budgets {
    sets: BTreeMap<String, Vec<String>>,
    tolerances: BTreeMap<String, f64>,
    skip: Vec<String>,
}

impl Budgets {
    fn read() -> Self {
        let text = fs::read_to_string(golden("budgets.toml")).expect("budgets.toml");
        let mut sets: toml::Table = toml::from_str(&text).expect("TOML");
        let tolerances = sets.remove("tolerance").expect("tolerances");
        let skip = sets.remove("skip").expect("a list of files");
        Self {
            skip: skip.try_into().expect("names of files"),
            sets: sets.try_into().expect("lists of texts"),
            tolerances: tolerances.try_into().expect("numbers by file"),
        }
    }

    /// The replacements for one file: those of all files first. A file without a list would run for hours.
    fn of(&self, spec: &str) -> Result<impl Iterator<Item = &String>, String> {
        let own = self.sets.get(spec).ok_or_else(|| format!("{spec}: budgets.toml has no list for it"))?;
        Ok(self.sets["default"].iter().chain(own))
    }
}

// ---- running

/// Runs all files: their lines, and what went wrong.
fn compute_all(specs: &BTreeMap<String, PathBuf>, budgets: &Budgets, folder: &Path) -> (Lines, Vec<String>) {
    // One thread each: small experiments have little to divide.
    let outcomes = specs.par_iter().map(|(spec, path)| compute(spec, path, budgets, folder));
    let (computed, problems): (Vec<Lines>, Vec<String>) =
        outcomes.partition_map(|outcome| outcome.map_or_else(Either::Right, Either::Left));
    (computed.into_iter().flatten().collect(), problems)
}

fn compute(spec: &str, path: &Path, budgets: &Budgets, folder: &Path) -> Result<Lines, String> {
    let (experiment, out) = (folder.join(spec), folder.join("out").join(spec));
    write_experiment(path, &experiment);
    let is_mimic = spec.starts_with("specs/mimic/");
    let mut command = Command::new(env!("CARGO_BIN_EXE_foltr"));
    // Data is found in the folder where the program is started, and nowhere else.
    command.current_dir(folder).env_remove("FOLTR_DATA").args(is_mimic.then_some("mimic"));
    command.arg("run").arg(experiment).arg("--out").arg(&out).args(["--threads", "1"]);
    for set in budgets.of(spec)? {
        command.args(["--set", set]);
    }
    let ended = command.output().map_err(|error| format!("{spec}: {error}"))?;
    if !ended.status.success() {
        return Err(format!("{spec}: failed\n{}", String::from_utf8_lossy(&ended.stderr)));
    }
    let runs = if is_mimic { read_rankers(&out) } else { read_jobs(&out).into_iter().map(read_run).collect() };
    // Histories and networks of all files together would fill a small disk.
    let _ = fs::remove_dir_all(&out);
    Ok(lines(spec, runs, budgets.tolerances.get(spec).copied()))
}

/// One line for all runs of a setting.
fn lines(spec: &str, runs: Vec<Run>, tolerance: Option<f64>) -> Lines {
    let mut settings: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for run in runs {
        settings.entry(run.setting.clone()).or_default().push(run);
    }
    let line = |(setting, mut runs): (String, Vec<Run>)| {
        runs.sort_by_key(|run| (run.fold, run.seed));
        let values = tolerance.map(|_| mean_values(&runs)).unwrap_or_default();
        let line = Line { rows: hash_rows(&runs), params: hash_params(&runs), values, tolerance };
        ((spec.to_owned(), setting), line)
    };
    settings.into_iter().map(line).collect()
}

/// Means over runs: one document that changes its place moves a measure of a few queries too much.
fn mean_values(runs: &[Run]) -> Vec<f64> {
    let mean = |i: usize| runs.iter().map(|run| run.values[i]).sum::<f64>() / runs.len() as f64;
    (0..runs[0].values.len()).map(mean).collect()
}

fn hash_rows(runs: &[Run]) -> String {
    let mut hash = Sha256::new();
    for run in runs {
        for (number, value) in &run.rows {
            for part in [run.fold, run.seed, *number, value.to_bits()] {
                hash.update(part.to_le_bytes());
            }
        }
    }
    short(hash)
}

fn hash_params(runs: &[Run]) -> String {
    if runs.iter().all(|run| run.params.is_none()) {
        return "-".into();
    }
    let mut hash = Sha256::new();
    runs.iter().for_each(|run| hash.update(run.params.as_deref().unwrap_or_default()));
    short(hash)
}

fn short(hash: Sha256) -> String {
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

// ---- the table

fn table(lines: &Lines) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["spec", "setting", "kind", "rows", "params", "tolerance", "values"]).expect("in memory");
    for ((spec, setting), line) in lines {
        let kind = if line.tolerance.is_some() { "tolerant" } else { "exact" };
        let tolerance = line.tolerance.map_or_else(String::new, |tolerance| format!("{tolerance:e}"));
        // `{}` of a float is the shortest text that reads back as the same float.
        let values = line.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        csv.write_record([spec, setting, kind, &line.rows, &line.params, &tolerance, &values]).expect("in memory");
    }
    EXPLANATION.to_owned() + &String::from_utf8(csv.into_inner().expect("in memory")).expect("text")
}

fn read_table() -> Lines {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(golden("golden.csv")).expect("golden.csv");
    let line = |record: csv::StringRecord| {
        let line = Line {
            rows: record[3].into(),
            params: record[4].into(),
            tolerance: record[5].parse().ok(),
            values: record[6].split_whitespace().map(|text| text.parse().expect("a number")).collect(),
        };
        ((record[0].to_owned(), record[1].to_owned()), line)
    };
    reader.records().map(|record| line(record.expect("a line"))).collect()
}

/// Everything that is not as the table has it.
fn differences(expected: &Lines, computed: &Lines) -> Vec<String> {
    let names: BTreeSet<_> = expected.keys().chain(computed.keys()).collect();
    let difference = |name: &&(String, String)| match (expected.get(*name), computed.get(*name)) {
        (Some(expected), Some(computed)) => difference(expected, computed),
        (Some(_), None) => Some("was not run".into()),
        _ => Some("is not in the table".into()),
    };
    let named = |name| difference(&name).map(|how| format!("{} [{}]: {how}", name.0, name.1));
    names.into_iter().filter_map(named).collect()
}

fn difference(expected: &Line, computed: &Line) -> Option<String> {
    if (&expected.rows, &expected.params) == (&computed.rows, &computed.params) {
        return None;
    }
    let tolerance = expected.tolerance.filter(|_| std::env::var_os("FOLTR_GOLDEN_EXACT").is_none());
    let near = |(a, b): (&f64, &f64)| tolerance.is_some_and(|t| (a - b).abs() <= t * a.abs().max(b.abs()));
    let is_same_length = tolerance.is_some() && expected.values.len() == computed.values.len();
    let is_near = is_same_length && expected.values.iter().zip(&computed.values).all(near);
    (!is_near).then(|| format!("{computed:?}, expected {expected:?}"))
}

// ---- collections that the files of budgets.toml name

/// Numbers that are the same on every machine.
pub struct Random(pub u64);

impl Random {
    /// SplitMix64.
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % below
    }
}

const N_FEATURES: usize = 12;

fn write_collections(folder: &Path) {
    for (number, split) in (1..=2).flat_map(|fold| ["train", "vali", "test"].map(|split| (fold, split))) {
        let n_queries = if split == "train" { 60 } else { 20 };
        let seed = 10 * number + split.len() as u64;
        put(folder, &format!("letor/Fold{number}/{split}.txt"), &letor(n_queries, 3, &mut Random(seed)));
    }
    write_intents(&folder.join("intents"));
    write_log(&folder.join("log"));
    write_texts(&folder.join("texts"));
}

pub fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Labelled queries with 5 to 14 documents; the first features say most about the label.
pub fn letor(n_queries: u64, n_grades: u64, random: &mut Random) -> String {
    let mut text = String::new();
    for query in 1..=n_queries {
        for document in 0..5 + random.next(10) {
            let features: Vec<u64> = (0..N_FEATURES).map(|_| random.next(1000)).collect();
            let signal = (2 * features[0] + features[1] + random.next(1000)) / 4;
            let label = (signal * n_grades / 1000).min(n_grades - 1);
            let _ = write!(text, "{label} qid:{query}");
            for (i, feature) in features.iter().enumerate() {
                let _ = write!(text, " {}:0.{feature:03}", i + 1);
            }
            let _ = writeln!(text, " #docid = q{query}d{document}");
        }
    }
    text
}

/// Four wishes behind the same queries.
pub fn write_intents(folder: &Path) {
    let mut random = Random(3);
    let features = letor(40, 2, &mut random);
    for intent in 1..=4 {
        let mut judgements = String::new();
        for line in features.lines() {
            let (query, document) = line.split_once(" #docid = q").expect("a name").1.split_once('d').expect("a place");
            let _ = writeln!(judgements, "{query} {intent} q{query}d{document} {}", random.next(2));
        }
        put(folder, &format!("intents/{intent}.txt"), &judgements);
    }
    put(folder, "features.txt", &features);
}

/// A search log of thirty users, of whom the first search most.
fn write_log(folder: &Path) {
    let mut random = Random(4);
    let n_queries = 400;
    let mut users = String::from("qid,user_id,timestamp\n");
    for query in 1..=n_queries {
        let user = random.next(30).min(random.next(30));
        let (hour, minute) = (random.next(24), random.next(60));
        let day = 1 + random.next(28);
        let _ = writeln!(users, "{query},{user},2006-03-{day:02} {hour:02}:{minute:02}:{:02}", query % 60);
    }
    put(folder, "metadata.csv", &users);
    put(folder, "letor.txt", &letor(n_queries, 2, &mut random));
}

/// Documents about one of a few subjects each, and queries by the subjects' names, as BEIR writes them.
pub fn write_texts(folder: &Path) {
    const SUBJECTS: [&str; 5] = ["wing lift", "boundary layer", "heat transfer", "shock wave", "plate flutter"];
    const OTHERS: [&str; 8] = ["measured", "theory", "edge", "flow", "speed", "solution", "pressure", "nose"];
    let mut random = Random(5);
    let mut word = || OTHERS[random.next(8) as usize];
    let (mut corpus, mut queries) = (String::new(), String::new());
    let mut judgements = String::from("query-id\tcorpus-id\tscore\n");
    for number in 0..120 {
        let subject = SUBJECTS[number % 5];
        let [a, b, c, d] = [word(), word(), word(), word()];
        let text = format!("On {subject} by {b}. The {a} of {subject} was {b} here. A {c} {d} follows.");
        let _ = writeln!(corpus, r#"{{"_id": "d{number}", "title": "{subject} {a}", "text": "{text}"}}"#);
        let _ = writeln!(judgements, "q{}\td{number}\t1", number % 20);
    }
    for number in 0..20 {
        let _ = writeln!(queries, r#"{{"_id": "q{number}", "text": "{} {}"}}"#, SUBJECTS[number % 5], word());
    }
    put(folder, "corpus.jsonl", &corpus);
    put(folder, "queries.jsonl", &queries);
    put(folder, "qrels/test.tsv", &judgements);
}
