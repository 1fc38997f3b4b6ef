//! Makes the faults of `mutations/catalogue.toml` in a copy of the sources, one by one, and runs the tests that must find them.
//!
//! `cargo run --release -p foltr-server --example mutations [NAME]` makes those whose name contains NAME; all without.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// A test that hangs has found its fault, too.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Deserialize)]
struct Catalogue {
    mutation: Vec<Mutation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutation {
    name: String,
    /// Below `foltr-server`.
    file: PathBuf,
    search: String,
    replacement: String,
    /// A filter of tests.
    test: String,
}

fn main() -> Result<ExitCode> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?.to_owned();
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let text = std::fs::read_to_string(sources.join("foltr-server/mutations/catalogue.toml"))?;
    let catalogue: Catalogue = toml::from_str(&text)?;
    let copy = Copy { target: sources.join("target"), folder: sources.join("target/mutations") };
    copy.refresh(&sources)?;
    let chosen: Vec<&Mutation> = catalogue.mutation.iter().filter(|it| it.name.contains(&wanted)).collect();
    copy.check_healthy(&chosen)?;
    println!("| fault | file | found by | seconds |\n|---|---|---|---|");
    let mut n_missed = 0;
    for mutation in &chosen {
        let began = Instant::now();
        let found = copy.find(mutation)?;
        n_missed += usize::from(!found);
        let verdict = if found { mutation.test.as_str() } else { "**nothing**" };
        println!("| {} | {} | {verdict} | {} |", mutation.name, mutation.file.display(), began.elapsed().as_secs());
    }
    println!("\n{} faults, {} found", chosen.len(), chosen.len() - n_missed);
    Ok(if n_missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The sources once more, where they can be changed.
struct Copy {
    folder: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// Copies what has changed, so that little is compiled again.
    fn refresh(&self, sources: &Path) -> Result<()> {
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(sources).output()?;
        ensure!(listed.status.success(), "the sources are in a git repository");
        for name in String::from_utf8(listed.stdout)?.split('\0').filter(|name| !name.is_empty()) {
            let (from, to) = (sources.join(name), self.folder.join(name));
            let Ok(bytes) = std::fs::read(&from) else { continue };
            if std::fs::read(&to).ok().as_ref() != Some(&bytes) {
                std::fs::create_dir_all(to.parent().context("a folder")?)?;
                std::fs::write(&to, bytes)?;
            }
        }
        Ok(())
    }

    /// Without a fault all of these tests pass.
    fn check_healthy(&self, mutations: &[&Mutation]) -> Result<()> {
        let tests = self.build()?;
        let mut filters: Vec<&str> = mutations.iter().map(|it| it.test.as_str()).collect();
        filters.sort_unstable();
        filters.dedup();
        filters.iter().try_for_each(|filter| {
            ensure!(passes(&tests, filter)?, "{filter} fails without a fault");
            Ok(())
        })
    }

    /// Whether the tests fail with this fault.
    fn find(&self, mutation: &Mutation) -> Result<bool> {
        let file = self.folder.join("foltr-server").join(&mutation.file);
        let healthy = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let n = healthy.matches(&mutation.search).count();
        ensure!(n == 1, "{}: {:?} is there {n} times", mutation.name, mutation.search);
        std::fs::write(&file, healthy.replace(&mutation.search, &mutation.replacement))?;
        let found = self.build().and_then(|tests| Ok(!passes(&tests, &mutation.test)?));
        std::fs::write(&file, healthy)?;
        found.with_context(|| mutation.name.clone())
    }

    /// The program with the tests.
    fn build(&self) -> Result<PathBuf> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--release", "-p", "foltr-server", "--lib", "--no-run", "--message-format=json"]);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.target).env("CARGO_INCREMENTAL", "1");
        let output = cargo.stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            bail!("it does not compile: {}", String::from_utf8_lossy(&output.stderr));
        }
        let artifact = |line: &str| {
            let json: serde_json::Value = serde_json::from_str(line).ok()?;
            json["executable"].as_str().map(PathBuf::from)
        };
        String::from_utf8(output.stdout)?.lines().rev().find_map(artifact).context("a program with tests")
    }
}

fn passes(tests: &Path, filter: &str) -> Result<bool> {
    let mut run = Command::new(tests);
    let mut run = run.arg(filter).env("RUST_BACKTRACE", "0").stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = run.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    run.kill()?;
    run.wait()?;
    Ok(false)
}
