//! Simulated people look for their own documents again, and the agent learns from them (`docs/campaigns/refinding-users.md`).
//!
//! ```sh
//! FOLTR_DATA=~/letor cargo run --release -p foltr-agent --example refinding -- campaign
//! cargo run --release -p foltr-agent --example refinding -- learn     # the prior, foltr-agent/prior/model.json
//! cargo run --release -p foltr-agent --example refinding -- choose    # rates, on people who are not judged
//! cargo run --release -p foltr-agent --example refinding -- frecency  # the baseline with other weights
//! ```
//!
//! `FOLTR_MANUAL` names a folder with manual pages (`man1`, `man2`, ...), /usr/share/man when absent; `FOLTR_RUST_DOC` one with
//! Rust's documentation (`rustc --print sysroot`, then share/doc/rust/html). What is absent is left out, and said.

pub mod campaign;
pub mod chance;
pub mod choosing;
pub mod collection;
pub mod fit;
pub mod learning;
pub mod looking;
pub mod measure;
pub mod query;
pub mod source;
pub mod wish;
pub mod world;

use std::env;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};
use foltr_agent::command::WORKER;
use foltr_agent::extract::{Program, run_child};

use collection::Collection;
use source::Half;
use world::World;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(WORKER) => run_child(),
        Some("campaign") => campaign::run(number(&arguments, 1, 5)?),
        Some("learn") => learning::run(number(&arguments, 1, 24)?),
        Some("choose") => choosing::run(number(&arguments, 1, 4)?),
        Some("frecency") => campaign::frecency(number(&arguments, 1, 4)?),
        _ => bail!("say `campaign`, `learn`, `choose` or `frecency`, and how many people"),
    }
}

fn number(arguments: &[String], at: usize, usual: u64) -> Result<u64> {
    arguments.get(at).map_or(Ok(usual), |it| it.parse().with_context(|| format!("{it} is not a number of people")))
}

fn folder(variable: &str, usual: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| usual.into(), PathBuf::from)
}

/// Those that are there.
fn worlds(collections: impl IntoIterator<Item = (&'static str, std::io::Result<Collection>)>) -> Result<Vec<World>> {
    let mut worlds = Vec::new();
    for (what, collection) in collections {
        match collection {
            Ok(collection) if collection.documents.len() >= 200 => {
                worlds.push(World::new(collection, Program::itself(WORKER)?)?);
            }
            Ok(_) => eprintln!("{what}: left out, as there is next to nothing of it"),
            Err(error) => eprintln!("{what}: left out ({error})"),
        }
    }
    Ok(worlds)
}

pub fn judged() -> Result<Vec<World>> {
    let data = folder("FOLTR_DATA", "");
    let manual = folder("FOLTR_MANUAL", "/usr/share/man");
    worlds([
        ("Cranfield", source::cranfield(&data)),
        ("NFCorpus", source::nfcorpus(&data)),
        ("manual pages", source::manual(&manual, Half::Judged)),
    ])
}

/// Freely licensed text, and none of what is judged.
pub fn learnt_from() -> Result<Vec<World>> {
    let manual = folder("FOLTR_MANUAL", "/usr/share/man");
    let rust = folder("FOLTR_RUST_DOC", "/usr/share/doc/rust/html");
    worlds([
        ("manual pages", source::manual(&manual, Half::Learnt)),
        ("Rust's documentation", source::rust_documentation(&rust)),
    ])
}

/// Does the jobs on two threads; results are in the order of the jobs.
pub fn in_parallel<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = Mutex::new(0);
    let results: Mutex<Vec<Option<Result<R>>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let take = || {
        let mut next = next.lock().expect("no thread panics with it");
        *next += 1;
        (*next <= jobs.len()).then_some(*next - 1)
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(at) = take() {
                    let result = work(&jobs[at]);
                    results.lock().expect("no thread panics with it")[at] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no thread panics with it");
    results.into_iter().map(|it| it.expect("each job was done")).collect()
}
