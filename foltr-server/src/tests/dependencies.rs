//! Every crate that is linked into the server is listed in docs/dependencies.md, with a licence that is allowed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const LICENCES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

const HEAD: &str = "# Dependencies of the server

Every crate of others that is linked into `foltr-server` on Linux, or runs while it is built. A test (`foltr-server/src/tests/dependencies.rs`)
compares the list with what cargo resolves, and refuses licences that are not allowed there. After a change that is wanted, run it with
`FOLTR_WRITE_DOCS=1`. It does not know of security advisories: where the RustSec database can be reached, run `cargo audit`.

| crate | version | licence |
|---|---|---|
";

/// Name, version and licence of each.
fn linked() -> BTreeSet<(String, String, String)> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "-p", "foltr-server", "-e", "normal,build", "--prefix", "none", "--format", "{p}|{l}"]);
    cargo.args(["--target", "x86_64-unknown-linux-gnu", "--offline", "--locked"]);
    let done = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).expect("names and licences");
    text.lines().filter_map(read).collect()
}

/// Nothing for what is in this repository, whose lines name a folder.
fn read(line: &str) -> Option<(String, String, String)> {
    let (package, licence) = line.trim_end_matches(" (*)").split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.trim_start_matches('v'));
    let is_own = words.any(|word| word.starts_with("(/"));
    (!is_own).then(|| (name.to_owned(), version.to_owned(), licence.to_owned()))
}

/// Whether everything that a licence demands can be met by one that is allowed.
fn is_allowed(licence: &str) -> bool {
    let is_known = |one: &str| LICENCES.contains(&one.trim_matches(['(', ')', ' ']));
    licence.split(" AND ").all(|all| all.replace('/', " OR ").split(" OR ").any(is_known))
}

#[test]
fn every_dependency_is_listed_with_an_allowed_licence() {
    let linked = linked();
    assert!(linked.len() > 50, "{linked:?}");
    let refused: Vec<_> = linked.iter().filter(|(_, _, licence)| !is_allowed(licence)).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let lines = linked.iter().map(|(name, version, licence)| format!("| {name} | {version} | {licence} |\n"));
    let expected = format!("{HEAD}{}", lines.collect::<String>());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/dependencies.md");
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        std::fs::write(&path, &expected).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<&str> = expected.lines().filter(|line| !written.lines().any(|own| own == *line)).collect();
    assert!(written == expected, "docs/dependencies.md is out of date (FOLTR_WRITE_DOCS=1 writes it): {changed:#?}");
}

#[test]
fn licences_are_understood() {
    let allowed = ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"];
    assert!(allowed.into_iter().all(is_allowed));
    assert!(!["", "GPL-3.0", "MIT AND GPL-3.0", "AGPL-3.0-only OR GPL-3.0"].into_iter().any(is_allowed));
}
