//! What the workspace promises about itself: which crate may know what, and that documents and lists are complete.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use foltr_federation::{Aggregation, Asynchrony, Privacy, ServerOptimiser, Unlearning};
use foltr_rank::personal::Personalisation;
use foltr_simulation::adversary::Attack;
use foltr_simulation::click::Users;

/// What each library crate may depend on, tests apart.
const ALLOWED: [(&str, &[&str]); 4] = [
    ("foltr-rank", &["bytemuck", "rand", "schemars", "serde", "thiserror"]),
    (
        "foltr-federation",
        &[
            "ed25519-dalek",
            "foltr-rank",
            "prio",
            "rand",
            "rand_distr",
            "schemars",
            "serde",
            "sha2",
            "statrs",
            "thiserror",
        ],
    ),
    (
        "foltr-simulation",
        &[
            "bytemuck",
            "csv",
            "dirs",
            "flate2",
            "foltr-federation",
            "foltr-rank",
            "memchr",
            "memmap2",
            "rand",
            "rand_distr",
            "rand_mt",
            "rayon",
            "schemars",
            "serde",
            "tempfile",
            "thiserror",
            "xxhash-rust",
            "zstd",
        ],
    ),
    (
        "foltr-mimic",
        &[
            "bytemuck",
            "flate2",
            "foltr-federation",
            "foltr-rank",
            "gemm",
            "pulp",
            "rand",
            "rand_distr",
            "rayon",
            "safetensors",
            "serde",
            "serde_json",
            "statrs",
            "tantivy",
            "thiserror",
        ],
    ),
];

/// From the bottom up: a crate may know those before it, in tests too.
const CRATES: [&str; 5] = ["foltr-rank", "foltr-federation", "foltr-simulation", "foltr-mimic", "foltr-lab"];

const PURE: [&str; 2] = ["foltr-rank", "foltr-federation"];
const LIBRARIES: [&str; 4] = ["foltr-rank", "foltr-federation", "foltr-simulation", "foltr-mimic"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

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

/// Source files of a crate with their text.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let files = files_below(&root().join(name).join("src"));
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rs");
    let sources: Vec<_> = files.into_iter().filter(is_rust).map(|path| (path.clone(), read(&path))).collect();
    assert!(!sources.is_empty(), "{name} has no source");
    sources
}

/// What git tracks; everything in the folder where there is no git.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    match listed {
        Ok(listed) if listed.status.success() && !listed.stdout.is_empty() => {
            let names = String::from_utf8(listed.stdout).expect("names are UTF-8");
            // A file that was deleted but not committed is still listed.
            names.split_terminator('\0').map(|name| root().join(name)).filter(|path| path.is_file()).collect()
        }
        _ => files_below(&root()),
    }
}

/// Lines of code with a forbidden word, as `file:line: word`. Comments may say what they like.
fn uses(name: &str, forbidden: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources(name) {
        for (line, code) in (1..).zip(text.lines().map(|line| line.split("//").next().unwrap_or_default())) {
            let words = forbidden.iter().filter(|word| code.contains(*word));
            found.extend(words.map(|word| format!("{}:{line}: {word}", path.display())));
        }
    }
    found
}

fn assert_none(found: &[String], promise: &str) {
    assert!(found.is_empty(), "{promise}\n{}", found.join("\n"));
}

/// Dependencies of each crate: without those of its tests, and all.
fn dependencies() -> BTreeMap<String, [BTreeSet<String>; 2]> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let told = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().expect("cargo runs");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&told.stdout).expect("JSON");
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

#[test]
fn libraries_depend_on_nothing_that_is_not_allowed() {
    let dependencies = dependencies();
    for (name, allowed) in ALLOWED {
        let [needed, _] = &dependencies[name];
        let extra: Vec<&String> = needed.iter().filter(|dependency| !allowed.contains(&dependency.as_str())).collect();
        assert!(extra.is_empty(), "{name} may depend on {allowed:?} only, not on {extra:?}");
    }
}

#[test]
fn no_crate_knows_a_crate_above_it() {
    let dependencies = dependencies();
    assert_eq!(dependencies.len(), CRATES.len(), "a new crate needs its place in CRATES");
    for (level, name) in CRATES.iter().enumerate() {
        let [_, all] = &dependencies[*name];
        for above in &CRATES[level..] {
            assert!(!all.contains(*above), "{name} depends on {above}");
        }
    }
}

#[test]
fn libraries_do_not_print() {
    for name in LIBRARIES {
        // By their ends, `eprint!` and `eprintln!` are found as well.
        let found = uses(name, &["print!", "println!", "dbg!"]);
        assert_none(&found, "libraries return what they have to say:");
    }
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
        assert_none(&uses(name, &forbidden), "no I/O, clock, threads or global randomness:");
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
    let text = read(&root().join("PAPERS.md"));
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
fn keys_are_letters_and_a_year() {
    for key in ["KO19", "OdR18", "Y77", "MMRHA17"] {
        assert!(is_key(key), "{key}");
    }
    for word in ["MQ2007", "S1", "19", "f32", "Fold1", "K", "", "ÄÖ19"] {
        assert!(!is_key(word), "{word}");
    }
    assert_eq!(keys("let x = 1; // Eq. 4 of `KO19`, not `MQ2007`\n", '`', '`'), BTreeSet::from(["KO19".to_owned()]));
}

#[test]
fn every_citation_is_in_papers_and_every_paper_is_cited() {
    let papers = papers();
    let mut n_cited = 0;
    for (path, text) in CRATES.iter().flat_map(|name| sources(name)) {
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
            assert!(keys(&read(&root().join(&file)), '`', '`').contains(&key), "{file} does not cite `{key}`");
        }
    }
}

#[test]
fn every_source_file_is_on_the_map() {
    let map = read(&root().join("ARCHITECTURE.md"));
    for name in CRATES {
        let (_, section) = map.split_once(&format!("\n### {name}\n")).unwrap_or_else(|| panic!("no section {name}"));
        let section = section.split("\n#").next().unwrap_or_default();
        let folder = root().join(name).join("src");
        let relative = |path: &Path| path.strip_prefix(&folder).expect("a source").to_string_lossy().replace('\\', "/");
        let all: BTreeSet<String> = sources(name).iter().map(|(path, _)| relative(path)).collect();
        let lines = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let mapped: BTreeSet<String> = lines.map(str::to_owned).collect();
        let is_test = |file: &&String| file.ends_with("/tests.rs");
        let missing: Vec<&String> = all.difference(&mapped).filter(|file| !is_test(file)).collect();
        let gone: Vec<&String> = mapped.difference(&all).collect();
        assert!(missing.is_empty(), "{name}: ARCHITECTURE.md does not say what these are for: {missing:?}");
        assert!(gone.is_empty(), "{name}: ARCHITECTURE.md has files that do not exist: {gone:?}");
    }
}

#[test]
fn every_list_is_printed() {
    let told = assert_cmd::Command::cargo_bin("foltr").expect("built").arg("list").assert().success();
    let text = String::from_utf8_lossy(&told.get_output().stdout).into_owned();
    let lists = [
        ServerOptimiser::LIST,
        Personalisation::LIST,
        Asynchrony::LIST,
        Privacy::LIST,
        Aggregation::LIST,
        Attack::LIST,
        Users::LIST,
        Unlearning::LIST,
    ];
    for (name, about) in lists.into_iter().flatten() {
        let is_line = |line: &str| line.trim_start().strip_prefix(name).is_some_and(|rest| rest.trim() == *about);
        assert!(text.lines().any(is_line), "`{name}`: {about}\nis not in\n{text}");
    }
    let n_lists: usize =
        CRATES.iter().flat_map(|name| sources(name)).map(|(_, source)| source.matches("pub const LIST:").count()).sum();
    assert_eq!(n_lists, lists.len(), "a list is missing in this test");
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
    let readme = read(&root().join("README.md"));
    for command in ["\ncargo run --release", "\n./check"] {
        assert!(readme.contains(command), "{command:?} is not in README.md");
    }
    assert!(root().join("check").is_file());
}
