//! What the workspace promises about itself: which crate may know what, and that documents are short and right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use foltr_test::{spec_files, workspace};

/// What devices and servers may link beside the workspace.
const ALLOWED: [(&str, &[&str]); 5] = [
    ("foltr-rank", &["bytemuck", "rand", "schemars", "serde", "thiserror"]),
    (
        "foltr-federation",
        &[
            "ed25519-dalek",
            "prio",
            "rand",
            "rand_distr",
            "rustfft",
            "schemars",
            "serde",
            "serde_json",
            "serde_json_canonicalizer",
            "sha2",
            "statrs",
            "thiserror",
            "zeroize",
        ],
    ),
    ("foltr-client", &["rand", "rusqlite", "serde", "serde_json", "thiserror", "ureq", "xxhash-rust"]),
    ("foltr-client-c", &[]),
    (
        "foltr-server",
        &[
            "anyhow",
            "askama",
            "chacha20poly1305",
            "clap",
            "hyper",
            "hyper-util",
            "prometheus-client",
            "rand",
            "rusqlite",
            "rustls",
            "safetensors",
            "serde",
            "serde_json",
            "subtle",
            "thiserror",
            "tokio",
            "tokio-postgres",
            "tokio-rustls",
            "toml",
            "tracing",
            "tracing-subscriber",
            "utoipa",
            "zeroize",
        ],
    ),
];

/// What tests of a crate know beside what it depends on: those of devices and servers compare their releases with the
/// simulator's, bit by bit. No other crate may.
const KNOWN_BY_TESTS: [(&str, &str); 3] =
    [("foltr-client", "foltr-simulation"), ("foltr-server", "foltr-simulation"), ("foltr-server", "foltr-client")];

/// The most that a document may have to say, in bytes.
const LENGTHS: [(&str, u64); 2] = [("ARCHITECTURE.md", 11 << 10), ("REPRODUCTION.md", 15 << 10)];

const PURE: [&str; 2] = ["foltr-rank", "foltr-federation"];
const LIBRARIES: [&str; 9] = [
    "foltr-rank",
    "foltr-federation",
    "foltr-client",
    "foltr-client-c",
    "foltr-server",
    "foltr-simulation",
    "foltr-mimic",
    "foltr-experiment",
    "foltr-audit",
];

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below a folder, apart from hidden ones and what builds and runs leave behind.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let left_behind = |name: &str| name.starts_with('.') || name.starts_with("target") || name == "out";
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match path.is_dir() {
            true if left_behind(name) => {}
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let files = files_below(&workspace().join(name).join("src"));
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rs");
    let sources: Vec<_> = files.into_iter().filter(is_rust).map(|path| (path.clone(), read(&path))).collect();
    assert!(!sources.is_empty(), "{name} has no source");
    sources
}

/// What git tracks; everything in the folder where there is no git.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace()).output();
    match listed {
        Ok(listed) if listed.status.success() && !listed.stdout.is_empty() => {
            let names = String::from_utf8(listed.stdout).expect("names are UTF-8");
            // A file that was deleted but not committed is still listed.
            names.split_terminator('\0').map(|name| workspace().join(name)).filter(|path| path.is_file()).collect()
        }
        _ => files_below(workspace()),
    }
}

/// Lines of code with a forbidden word, as `file:line: word`. Comments may say what they like.
fn uses(name: &str, forbidden: &[&str]) -> Vec<String> {
    let mut uses = Vec::new();
    for (path, text) in sources(name) {
        for (line, code) in (1..).zip(text.lines().map(|line| line.split("//").next().unwrap_or_default())) {
            let words = forbidden.iter().filter(|word| code.contains(*word));
            uses.extend(words.map(|word| format!("{}:{line}: {word}", path.display())));
        }
    }
    uses
}

/// Dependencies of each crate: without those of its tests, and all.
fn dependencies() -> BTreeMap<String, [BTreeSet<String>; 2]> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(workspace()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let of = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().expect("a list");
        let needed = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
        let names =
            [needed.map(|it| text(&it["name"])).collect(), dependencies.iter().map(|it| text(&it["name"])).collect()];
        (text(&package["name"]), names)
    };
    metadata["packages"].as_array().expect("a list").iter().map(of).collect()
}

/// Those of these names that are crates of the workspace.
fn of_workspace(names: &BTreeSet<String>) -> BTreeSet<&str> {
    names.iter().map(String::as_str).filter(|name| name.starts_with("foltr") && *name != "foltr-test").collect()
}

/// Crates from the bottom up, each with those that it depends on, as `ARCHITECTURE.md` says.
fn architecture() -> Vec<(String, BTreeSet<String>)> {
    let line = |line: String| {
        let (name, needed) = line.split_once(':').expect("crate: dependencies");
        (name.to_owned(), needed.split_whitespace().map(str::to_owned).collect())
    };
    architecture_block("foltr-rank:").into_iter().map(line).collect()
}

#[test]
fn the_crates_depend_on_each_other_as_the_architecture_says() {
    let dependencies = dependencies();
    let written = architecture();
    let names: BTreeSet<&str> = written.iter().map(|(name, _)| name.as_str()).chain(["foltr-test"]).collect();
    assert_eq!(names, dependencies.keys().map(String::as_str).collect(), "a new crate needs its line");
    // What a crate may know in its tests: what it depends on, directly or not.
    let mut may_know: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, needed) in &written {
        let [linked, all] = &dependencies[name];
        assert_eq!(of_workspace(linked), needed.iter().map(String::as_str).collect(), "{name} in ARCHITECTURE.md");
        let below: BTreeSet<&str> =
            needed.iter().flat_map(|it| may_know[it.as_str()].iter().copied().chain([it.as_str()])).collect();
        let is_extra = |it: &&str| !below.contains(it) && !KNOWN_BY_TESTS.contains(&(name.as_str(), *it));
        let extra: Vec<&str> = of_workspace(all).into_iter().filter(is_extra).collect();
        assert!(extra.is_empty(), "tests of {name} may know {below:?} only, not {extra:?}");
        may_know.insert(name, below);
    }
    assert!(of_workspace(&dependencies["foltr-test"][1]).is_empty(), "foltr-test is below all others");
}

#[test]
fn what_devices_and_servers_link_is_little() {
    let dependencies = dependencies();
    for (name, allowed) in ALLOWED {
        let [needed, _] = &dependencies[name];
        let workspace = of_workspace(needed);
        let is_extra = |it: &&String| !allowed.contains(&it.as_str()) && !workspace.contains(it.as_str());
        let extra: Vec<&String> = needed.iter().filter(is_extra).collect();
        assert!(extra.is_empty(), "{name} may depend on {allowed:?} only, not on {extra:?}");
    }
}

/// The lines of the first block of `ARCHITECTURE.md` whose first line starts like this.
fn architecture_block(start: &str) -> Vec<String> {
    let text = read(&workspace().join("ARCHITECTURE.md"));
    let mut blocks = text.split("```").skip(1).step_by(2).map(|block| block.trim_start_matches('\n'));
    let block = blocks.find(|block| block.starts_with(start)).unwrap_or_else(|| panic!("no block {start} ..."));
    block.lines().map(str::to_owned).collect()
}

fn defines(text: &str, function: &str) -> bool {
    ["(", "<"].iter().any(|open| text.contains(&format!("fn {function}{open}")))
}

#[test]
fn the_hops_from_the_command_line_to_the_hot_loop_are_those_of_the_architecture() {
    let line = architecture_block("main ->").join(" ");
    let hops: Vec<&str> = line.split("->").map(str::trim).collect();
    assert!(hops.len() <= 8, "{} hops", hops.len());
    let all: Vec<(PathBuf, String)> = architecture().iter().flat_map(|(name, _)| sources(name)).collect();
    for pair in hops.windows(2) {
        // `module::function` or `Type::function`: the file that defines the first calls the second.
        let [caller, called] = [pair[0], pair[1]].map(|hop| hop.rsplit("::").next().expect("a name"));
        assert!(all.iter().any(|(_, text)| defines(text, called)), "no function {called}");
        let calls = |text: &str| text.lines().any(|line| line.contains(&format!("{called}(")) && !line.contains("fn "));
        let callers = all.iter().filter(|(_, text)| defines(text, caller));
        assert!(callers.into_iter().any(|(_, text)| calls(text)), "{} does not call {}", pair[0], pair[1]);
    }
}

#[test]
fn documents_are_short() {
    for (name, most) in LENGTHS {
        let length = workspace().join(name).metadata().unwrap_or_else(|error| panic!("{name}: {error}")).len();
        assert!(length <= most, "{name} has {length} bytes, more than {most}");
    }
}

#[test]
fn libraries_do_not_print() {
    // The command prints by `output`, which survives a closed pipe and a full disk.
    for name in LIBRARIES.into_iter().chain(["foltr-report", "foltr"]) {
        // By their ends, `eprint!` and `eprintln!` are found as well.
        assert_eq!(
            uses_beside_tests(name, &["print!", "println!", "dbg!"]),
            [""; 0],
            "libraries return what they have to say, the command says it by `output`"
        );
    }
}

/// Sources of noise outside of tests, as `file: type`.
fn noise_sources(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources(name) {
        let file = path.file_name().expect("a file").to_string_lossy();
        let types = text.split("\nimpl NoiseSource for ").skip(1).filter_map(|rest| rest.split([' ', '<']).next());
        found.extend(types.map(|source| format!("{file}: {source}")));
    }
    found
}

/// Noise from a seed protects nobody: what makes it is where no device and no server links it, or in tests.
#[test]
fn seeded_noise_is_for_simulations_and_tests() {
    for (name, _) in architecture() {
        let expected: &[&str] = match name.as_str() {
            "foltr-simulation" => &["simulated_noise.rs: SimulatedNoise"],
            "foltr-client" | "foltr-server" => &["randomness.rs: OsNoise"],
            _ => &[],
        };
        assert_eq!(noise_sources(&name), expected, "{name}: a source of noise outside of tests");
    }
}

/// Uses outside of the folder and the file `tests` of a crate's source.
fn uses_beside_tests(name: &str, words: &[&str]) -> Vec<String> {
    let tests = workspace().join(name).join("src/tests").display().to_string();
    uses(name, words).into_iter().filter(|it| !it.starts_with(&tests)).collect()
}

/// The shell is generic over where random numbers come from, so that tests can compare it with the simulator. Whoever is
/// given a device gets those of the operating system.
#[test]
fn devices_draw_from_the_operating_system() {
    let file = |name: &str| read(&workspace().join("foltr-client/src").join(name));
    let simulated = ["SimulatedNoise", "is_simulated: true", "foltr_simulation"];
    assert_eq!(uses_beside_tests("foltr-client", &simulated), [""; 0], "simulated noise outside of tests");
    let only_in = |words: &[&str], name: &str| {
        let found = uses_beside_tests("foltr-client", words);
        let place = workspace().join("foltr-client/src").join(name).display().to_string();
        assert!(
            !found.is_empty() && found.iter().all(|it| it.starts_with(&place)),
            "{words:?} not only in {name}: {found:?}"
        );
    };
    only_in(&["fn is_simulated", "impl Randomness for"], "randomness.rs");
    only_in(&["Shell::", "Shell<OsRandomness"], "device.rs");
    let says = file("randomness.rs");
    let answers: Vec<&str> = says.split("fn is_simulated(&self) -> bool {").skip(1).map(str::trim_start).collect();
    assert!(
        !answers.is_empty() && answers.iter().all(|it| it.starts_with("false\n")),
        "noise that says it is simulated"
    );
    let device = file("device.rs");
    let opened: Vec<&str> = device.lines().filter(|line| line.contains("Shell::")).collect();
    assert!(opened.iter().all(|line| line.contains("OsRandomness::new()")), "{opened:?}");
    // Who embeds a device by C gets `Device`, and nothing that could be given other numbers.
    assert_eq!(
        uses("foltr-client-c", &["Randomness", "Noise", "Shell", "Core"]),
        [""; 0],
        "the C interface is of `Device`"
    );
}

/// The same of a server: only its tests close rounds with other random numbers.
#[test]
fn servers_draw_from_the_operating_system() {
    let words = ["SimulatedNoise::", "is_simulated: true", "foltr_simulation", "foltr_client"];
    assert_eq!(uses_beside_tests("foltr-server", &words), [""; 0], "simulated noise outside of tests");
    let says = read(&workspace().join("foltr-server/src/randomness.rs"));
    let answers: Vec<&str> = says.split("fn is_simulated(&self) -> bool {").skip(1).map(str::trim_start).collect();
    assert!(!answers.is_empty() && answers.iter().all(|it| it.starts_with("false\n")), "{answers:?}");
    let public = uses_beside_tests("foltr-server", &["pub fn with_randomness"]);
    assert_eq!(public, [""; 0], "whoever is given a service gets the numbers of the operating system");
}

#[test]
fn what_devices_and_servers_link_is_pure() {
    let modules = ["env", "fs", "io", "net", "process", "thread", "time"];
    let mut forbidden: Vec<String> = modules.iter().map(|module| format!("std::{module}")).collect();
    // A group would hide a module from the words above.
    forbidden
        .extend(["std::{", "rayon", "tokio", "SystemTime", "thread_rng", "rand::rng(", "OsRng"].map(str::to_owned));
    let forbidden: Vec<&str> = forbidden.iter().map(String::as_str).collect();
    for name in PURE {
        assert_eq!(uses(name, &forbidden), [""; 0], "no I/O, clock, threads or global randomness");
    }
}

/// Whether a word is a citation key: letters, of which the first is large, and the last two digits of a year.
fn is_key(word: &str) -> bool {
    let Some(letters) = word.len().checked_sub(2).and_then(|n| word.get(..n)) else { return false };
    let year = &word[letters.len()..];
    letters.starts_with(|letter: char| letter.is_ascii_uppercase())
        && letters.chars().all(|letter| letter.is_ascii_alphabetic())
        && year.chars().all(|digit| digit.is_ascii_digit())
}

/// Citation keys in the comments of a text, between these two marks.
fn keys(text: &str, open: char, close: char) -> BTreeSet<String> {
    let comments = text.lines().filter_map(|line| line.split_once("//").map(|(_, comment)| comment));
    let words = comments.flat_map(|comment| comment.split(open).skip(1).filter_map(|rest| rest.split(close).next()));
    words.filter(|word| is_key(word)).map(str::to_owned).collect()
}

/// Rows of `PAPERS.md`: key, and the files that are said to implement it.
fn papers() -> BTreeMap<String, Vec<String>> {
    let text = read(&workspace().join("PAPERS.md"));
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        assert_eq!(cells.len(), 6, "key, reference, files and deviations: {row}");
        (quoted(cells[1]).remove(0), quoted(cells[3]))
    })
    .collect()
}

#[test]
fn every_citation_is_in_papers_and_every_paper_is_cited() {
    let papers = papers();
    let mut n_cited = 0;
    for (path, text) in architecture().iter().flat_map(|(name, _)| sources(name)) {
        for key in keys(&text, '`', '`') {
            assert!(papers.contains_key(&key), "{}: `{key}` is not in PAPERS.md", path.display());
            n_cited += 1;
        }
        let bracketed = keys(&text, '[', ']');
        assert!(bracketed.is_empty(), "{}: write {bracketed:?} in backticks", path.display());
    }
    assert!(n_cited >= papers.len(), "{n_cited} citations of {} papers", papers.len());
    for (key, files) in papers {
        assert!(!files.is_empty(), "PAPERS.md names no file for `{key}`");
        for file in files {
            assert!(keys(&read(&workspace().join(&file)), '`', '`').contains(&key), "{file} does not cite `{key}`");
        }
    }
}

#[test]
fn every_paper_of_an_experiment_file_is_in_papers() {
    let papers = papers();
    let mut n_entries = 0;
    for path in spec_files() {
        let table: toml::Table = read(&path).parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for entry in table.get("entry").and_then(|it| it.as_array()).into_iter().flatten() {
            let paper = entry["paper"].as_str().expect("a key");
            // What goes beyond the papers, and a draft that was never published.
            let is_known = ["foltr", "draft"].contains(&paper) || papers.contains_key(paper);
            assert!(is_known, "{}: `{paper}` is not in PAPERS.md", path.display());
            n_entries += 1;
        }
    }
    assert!(n_entries > 0, "no entries");
}

#[test]
fn no_tracked_file_is_large() {
    for path in tracked() {
        let size = path.metadata().expect("a file").len();
        assert!(size <= 1 << 20, "{} has {size} bytes; data sets do not belong here", path.display());
    }
}

#[test]
fn no_tracked_file_names_a_place_on_one_machine() {
    // In parts, or this file would be found.
    let places = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat()];
    for path in tracked() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (line, words) in (1..).zip(text.lines()) {
            let found = places.iter().find(|place| words.contains(place.as_str()));
            assert_eq!(found, None, "{}:{line}", path.display());
        }
    }
}

#[test]
fn the_readme_has_the_two_commands() {
    let readme = read(&workspace().join("README.md"));
    for command in ["\ncargo run --release", "\n./check"] {
        assert!(readme.contains(command), "{command:?} is not in README.md");
    }
    assert!(workspace().join("check").is_file());
}
