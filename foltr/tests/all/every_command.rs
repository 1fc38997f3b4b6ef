//! What holds for every command: a full disk and a closed pipe lose no work, `--json` is one document, and help, manual
//! pages and the README name the same commands.

use std::collections::BTreeSet;
use std::io::pipe;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use foltr_test::{ExperimentFile, workspace};
use serde_json::Value;

use crate::binary::{self, assert_contains, foltr, read, stdout, temporary};
use crate::golden::write_texts;

/// Arguments that are done in a moment in a copy of [`prepared`].
struct Case {
    /// As its manual page is called; `foltr` is the main job.
    command: &'static str,
    arguments: &'static str,
    /// A file that must be complete whatever happens to standard output.
    file: Option<&'static str>,
    /// One that takes seconds is run only once.
    is_slow: bool,
    has_json: bool,
}

const fn case(command: &'static str, arguments: &'static str) -> Case {
    Case { command, arguments, file: None, is_slow: false, has_json: true }
}

const fn writes(command: &'static str, arguments: &'static str, file: &'static str) -> Case {
    Case { file: Some(file), ..case(command, arguments) }
}

/// A new command fails the first test below until it has a line here.
fn cases() -> Vec<Case> {
    vec![
        Case { is_slow: true, ..writes("foltr", "--seeds 1 --out new", "new/summary.json") },
        case("foltr-audit", "audit --only norm"),
        Case { is_slow: true, ..case("foltr-bench", "bench --rules --only norm-clipping") },
        case("foltr-cache-clear", "cache clear"),
        case("foltr-cache-info", "cache info"),
        Case { has_json: false, ..case("foltr-completions", "completions bash") },
        case("foltr-data-check", "data check letor/train.txt letor/test.txt"),
        writes("foltr-data-generate", "data generate --shape tiny --queries 3 --out new", "new/test.txt"),
        case("foltr-data-info", "data info letor/train.txt letor/test.txt"),
        case("foltr-demo", "demo"),
        case("foltr-evaluate", "evaluate model.safetensors letor/test.txt"),
        case("foltr-interleave", "interleave model.safetensors model.safetensors letor/test.txt --lists 100"),
        writes("foltr-index", "index texts --out new.index", "new.index"),
        case("foltr-list", "list"),
        Case { has_json: false, ..case("foltr-man", "man") },
        writes("foltr-merge", "merge out --out new", "new/summary.json"),
        writes("foltr-mimic-evaluate", "mimic evaluate mimic.toml --out student", "student/mimic.json"),
        case("foltr-mimic-label", "mimic label mimic.toml --out student"),
        writes("foltr-mimic-queries", "mimic queries texts.toml --out new", "new/candidates.run"),
        writes("foltr-mimic-run", "mimic run mimic.toml --out new", "new/mimic.json"),
        case("foltr-mimic-train-student", "mimic train-student mimic.toml --out student"),
        case("foltr-mimic-train-teacher", "mimic train-teacher mimic.toml --out new"),
        case("foltr-models", "models out"),
        case("foltr-privacy-explain", "privacy explain study.toml"),
        writes("foltr-qrels", "qrels letor/test.txt --out new.qrels", "new.qrels"),
        writes("foltr-rank", "rank model.safetensors letor/test.txt --out new.run", "new.run"),
        case("foltr-receipt-verify", "receipt verify receipt.json --key receipt.pub"),
        writes("foltr-report", "report out", "out/report.html"),
        writes("foltr-reproduce", "reproduce foltr-es-table-2 --out new", "new/foltr-es-table-2/verdict.json"),
        writes("foltr-run", "run study.toml --out new", "new/summary.json"),
        case("foltr-schema", "schema"),
        Case {
            is_slow: true,
            ..writes(
                "foltr-scorecard",
                "scorecard --quick --setting foltr-es --set federation.rounds=2 --set metrics.online.every=1 --out new",
                "new/scorecard-foltr-es/verdict.json",
            )
        },
        case("foltr-search", "search texts.index shock wave"),
        writes("foltr-tune", "tune study.toml --set learner.learning_rate=[0.1,0.2] --out new", "new/summary.json"),
        writes("foltr-unlearn", "unlearn out --client 1 --method retrain", "out/requests.json"),
    ]
}

const MIMIC: &str = r#"
seeds = [1]
data = { kind = "synthetic", shape = "tiny", queries = 40, seed = 1 }
supervision = { kind = "full", teachers = 2 }
teacher = { hidden = [4], batch = 8, steps = 4, validate_every = 2 }
student = { hidden = [4], batch = 8, steps = 4, validate_every = 2 }
"#;

const OF_TEXTS: &str = r#"
data = { kind = "text", path = "texts" }
supervision = { kind = "scores", runs = ["teacher.run"] }
public = { n_queries = 20 }
"#;

fn succeed(folder: &Path, arguments: &str) {
    foltr().current_dir(folder).args(arguments.split(' ')).assert().success();
}

/// A folder with a small result of everything that a command reads.
fn prepared() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let make = || {
        let temporary = temporary();
        let folder = temporary.path();
        let study = ExperimentFile::fpdgd()
            .set("seeds", "[1]")
            .set("data.queries", "30")
            .set("data.test_queries", "10")
            .set("federation.rounds", "4")
            .section("history", "updates_every = 1\ncheckpoints_every = 2\nledger = true");
        binary::run(folder, &study, &[]).success();
        std::fs::write(folder.join("mimic.toml"), MIMIC).expect("written");
        std::fs::write(folder.join("texts.toml"), OF_TEXTS).expect("written");
        write_texts(&folder.join("texts"));
        for arguments in [
            "run study.toml --out left",
            "unlearn left --client 1 --method retrain",
            "data generate --shape tiny --queries 5 --out letor",
            "index texts --out texts.index",
            "mimic train-teacher mimic.toml --out student",
            "mimic label mimic.toml --out student",
            "mimic train-student mimic.toml --out student",
        ] {
            succeed(folder, arguments);
        }
        let of_run = |name: &str| {
            let runs = std::fs::read_dir(folder.join("left/runs")).expect("runs").map(|run| run.expect("one").path());
            runs.map(|run| run.join(name)).find(|path| path.exists()).unwrap_or_else(|| panic!("no {name}"))
        };
        for (from, to) in [
            (of_run("model.safetensors"), "model.safetensors"),
            (of_run("receipt-0001.json"), "receipt.json"),
            (folder.join("left/receipt.pub"), "receipt.pub"),
        ] {
            std::fs::copy(from, folder.join(to)).expect("copied");
        }
        temporary
    };
    FOLDER.get_or_init(make).path()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let target = to.join(entry.file_name().expect("a name"));
        match entry.is_dir() {
            true => copy(&entry, &target),
            false => assert!(std::fs::copy(&entry, &target).is_ok(), "{}", entry.display()),
        }
    }
}

/// Runs a case in a new copy of the folder; its code, and what it wrote to standard output, standard error and its file.
fn run(case: &Case, more: &[&str], stdout: Stdio) -> (Option<i32>, Output, u64) {
    let temporary = temporary();
    copy(prepared(), temporary.path());
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("foltr"));
    command.current_dir(temporary.path()).args(case.arguments.split(' ')).args(more);
    // Not the cache of whoever runs the tests.
    command.env("XDG_CACHE_HOME", temporary.path().join("cache")).env_remove("FOLTR_CACHE");
    let output = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).output().expect("started");
    let n_bytes = case.file.map_or(0, |name| size(&temporary.path().join(name)));
    (output.status.code(), output, n_bytes)
}

fn size(path: &Path) -> u64 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Names of the manual pages: every command of the command line that does something by itself.
fn commands() -> BTreeSet<String> {
    let pages = temporary();
    succeed(pages.path(), "man --out pages --quiet");
    let pages = std::fs::read_dir(pages.path().join("pages")).expect("pages");
    let names: BTreeSet<String> = pages
        .map(|page| page.expect("a page").file_name().to_string_lossy().trim_end_matches(".1").to_owned())
        .collect();
    let has_own = |name: &String| name != "foltr" && names.iter().any(|it| it.starts_with(&format!("{name}-")));
    names.iter().filter(|name| !has_own(name)).cloned().collect()
}

#[test]
fn every_command_is_tried() {
    let tried: BTreeSet<String> = cases().iter().map(|case| case.command.to_owned()).collect();
    assert_eq!(tried, commands(), "a command without a case, or a case without a command");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_reported_and_loses_no_file() {
    for case in cases() {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
        let (code, output, n_bytes) = run(&case, &[], full.into());
        assert_eq!(code, Some(1), "{}: {}", case.arguments, errors(&output));
        let words = ["error: standard output cannot be written: No space left on device"];
        assert_contains(&errors(&output), &words);
        assert!(!errors(&output).contains("panicked"), "{}: {}", case.arguments, errors(&output));
        assert!(case.file.is_none() || n_bytes > 0, "{}: an empty file", case.arguments);
    }
}

#[test]
fn a_closed_pipe_is_quiet_and_loses_no_file() {
    for case in cases().iter().filter(|case| !case.is_slow) {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let (code, output, n_bytes) = run(case, &["--quiet"], writer.into());
        assert_eq!(code, Some(0), "{}: {}", case.arguments, errors(&output));
        let is_quiet = errors(&output).lines().all(|line| line.starts_with("warning: "));
        assert!(is_quiet, "{}: {}", case.arguments, errors(&output));
        assert!(case.file.is_none() || n_bytes > 0, "{}: an empty file", case.arguments);
    }
}

#[test]
fn json_is_one_document() {
    for case in cases().iter().filter(|case| !case.is_slow) {
        let (code, output, _) = run(case, &["--json", "--quiet"], Stdio::piped());
        if !case.has_json {
            assert_eq!(code, Some(2), "{}: {}", case.arguments, errors(&output));
            continue;
        }
        assert_eq!(code, Some(0), "{}: {}", case.arguments, errors(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{}: {error} in\n{}", case.arguments, String::from_utf8_lossy(&output.stdout))
        });
        let size = document.as_object().map(|it| it.len()).or_else(|| document.as_array().map(Vec::len));
        assert!(size.is_some_and(|size| size > 0), "{}: {document}", case.arguments);
    }
}

#[test]
fn quiet_leaves_out_where_files_are_and_no_result() {
    let study = |more: &[&str]| {
        let case = writes("foltr-run", "run study.toml --out new", "new/summary.json");
        let (_, output, _) = run(&case, more, Stdio::piped());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_contains(&study(&[]), &["nDCG@10 on test queries", "rows:    new/rows.csv"]);
    let quiet = study(&["--quiet"]);
    assert_contains(&quiet, &["nDCG@10 on test queries"]);
    assert!(!quiet.contains("new/"), "{quiet}");
}

#[test]
fn the_demonstration_is_named() {
    let said = stdout(&foltr().arg("demo").assert().success());
    assert_contains(&said, &["cargo run --release -p foltr-demo"]);
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(&foltr().args(["completions", shell]).assert().success());
        assert_contains(&script, &["scorecard", "quiet", "retrain-forgotten"]);
    }
    foltr().args(["completions", "sh"]).assert().code(2);
}

/// Options of a text, such as `--only`.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words.filter(|word| word.len() > 2 && word.starts_with("--")).map(str::to_owned).collect()
}

#[test]
fn help_and_manual_pages_have_the_same_options() {
    let folder = temporary();
    succeed(folder.path(), "man --out pages");
    for name in commands() {
        let cases = cases();
        let case = cases.iter().find(|case| case.command == name).expect("tried above");
        let words = case.arguments.split(' ').take(name.matches('-').count().min(2));
        let help = stdout(&foltr().args(words).arg("--help").assert().success());
        let page =
            read(folder.path(), &format!("pages/{name}.1")).replace("\\-", "-").replace("\\fB", "").replace("\\fI", "");
        assert_eq!(options(&help), options(&page), "{name}");
    }
}

/// Words of commands in a name or in a quoted command of the README, such as `data` and `check`.
fn words(command: &str) -> Vec<String> {
    let is_command = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
    command.split_whitespace().filter(|word| *word != "foltr").take_while(is_command).map(str::to_owned).collect()
}

#[test]
fn the_readme_has_the_same_commands() {
    let readme = read(workspace(), "README.md");
    let rows = readme.lines().filter(|line| line.starts_with("| `foltr"));
    let quoted = rows.flat_map(|row| row.split(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2));
    let named: BTreeSet<String> = quoted.flat_map(words).collect();
    let known: BTreeSet<String> = commands()
        .iter()
        .flat_map(|name| words(&name.replacen('-', " ", 2)))
        // Steps of `mimic`, which its own row is about.
        .filter(|word| !["queries", "train-teacher", "label", "train-student"].contains(&word.as_str()))
        .collect();
    assert_eq!(named, known, "the table of commands, and the command line");
}
