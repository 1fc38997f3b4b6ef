//! How fast an agent is with many documents, beside bare tantivy in the same run.
//!
//! `cargo run --release -p foltr-agent --example speed -- [DOCUMENTS]` writes a table as Markdown (`docs/campaigns/agent-speed.md`).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use foltr_agent::agent::{Agent, Settings};
use foltr_agent::answer::Request;
use foltr_agent::extract::{self, Extractor, Limits, Program};
use foltr_agent::home::Home;
use foltr_agent::scan::{Scanner, Surroundings};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

const WORKER: &str = "read-files";
/// Words of a document, as in a page of notes.
const WORDS: std::ops::Range<usize> = 50..600;
const VOCABULARY: usize = 60_000;
const N_QUERIES: usize = 200;

struct Undisturbed;

impl Surroundings for Undisturbed {
    fn is_on_battery(&self) -> bool {
        false
    }

    fn load(&self) -> f32 {
        0.0
    }
}

fn main() -> Result<()> {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some(WORKER) {
        extract::run_child();
    }
    let n_documents = argument.map_or(Ok(100_000), |it| it.parse())?;
    let folder = tempfile::tempdir()?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let words: Vec<String> = (0..VOCABULARY).map(|_| word(&mut random)).collect();
    let n_bytes = write_files(&folder.path().join("files"), n_documents, &words, &mut random)?;
    eprintln!("{n_documents} files, {} MB", n_bytes >> 20);

    let bare = bare_tantivy(folder.path())?;
    eprintln!("bare tantivy: {bare:.1?}");
    let agent = Agent::open(Home::open(Some(&folder.path().join("home")))?, Settings::default())?;
    let ours = index(&agent, &folder.path().join("files"))?;
    eprintln!("the agent: {ours:.1?}");
    let again = index(&agent, &folder.path().join("files"))?;
    let mut keys = key_presses(&agent, &words, &mut random)?;
    keys.sort_unstable();
    let at = |share: f64| keys[((keys.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    let mut table = String::from("| what | measured |\n|---|---|\n");
    writeln!(table, "| documents | {n_documents} ({} MB of text) |", n_bytes >> 20)?;
    writeln!(table, "| indexing by bare tantivy, one thread | {:.1} s |", bare.as_secs_f64())?;
    writeln!(table, "| indexing by the agent | {:.1} s |", ours.as_secs_f64())?;
    writeln!(
        table,
        "| the agent's speed as a share of bare tantivy's | {:.0} % |",
        100.0 * bare.as_secs_f64() / ours.as_secs_f64()
    )?;
    writeln!(table, "| looking at all files again, nothing changed | {:.2} s |", again.as_secs_f64())?;
    writeln!(table, "| from key press to answer, {} key presses: median | {:.1} ms |", keys.len(), at(0.5))?;
    writeln!(table, "| the slowest of a hundred | {:.1} ms |", at(0.99))?;
    writeln!(table, "| private memory (`RssAnon`) after that | {} MB |", private_memory()? >> 10)?;
    println!("{table}");
    Ok(())
}

/// Pronounceable, and all different enough.
fn word(random: &mut ChaCha8Rng) -> String {
    let syllables =
        ["ba", "co", "du", "fi", "ge", "ha", "jo", "ku", "li", "me", "no", "pu", "ra", "so", "ti", "ve", "wo", "zu"];
    (0..random.random_range(2..5_usize)).map(|_| syllables[random.random_range(0..syllables.len())]).collect()
}

/// As frequent as words are: the r-th most frequent one about 1/r as often as the first.
fn draw<'a>(words: &'a [String], random: &mut ChaCha8Rng) -> &'a str {
    let rank = (words.len() as f64).powf(random.random_range(0.0..1.0)) as usize;
    &words[rank.min(words.len()) - usize::from(rank == words.len())]
}

fn write_files(folder: &Path, n: usize, words: &[String], random: &mut ChaCha8Rng) -> Result<usize> {
    let mut n_bytes = 0;
    for number in 0..n {
        let below = folder.join(format!("{:03}", number / 500));
        fs::create_dir_all(&below)?;
        let length = random.random_range(WORDS);
        let mut text = String::new();
        for at in 0..length {
            text += draw(words, random);
            text += if at % 12 == 11 { ".\n" } else { " " };
        }
        n_bytes += text.len();
        fs::write(below.join(format!("{} {number}.txt", draw(words, random))), text)?;
    }
    Ok(n_bytes)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for below in fs::read_dir(folder)? {
        for file in fs::read_dir(below?.path())? {
            found.push(file?.path());
        }
    }
    Ok(found)
}

/// The same files, one field with positions, stored, its own analyser with English endings; commits as often as the agent.
fn bare_tantivy(folder: &Path) -> Result<Duration> {
    use tantivy::schema::{IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("en_stem")
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing) | STORED);
    let path = folder.join("bare");
    fs::create_dir_all(&path)?;
    let index = tantivy::Index::create_in_dir(&path, schema.build())?;
    let begun = Instant::now();
    let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 40 << 20)?;
    for (at, file) in files(&folder.join("files"))?.into_iter().enumerate() {
        let mut document = tantivy::TantivyDocument::default();
        document.add_text(body, fs::read_to_string(file)?);
        writer.add_document(document)?;
        if at % 1_000 == 999 {
            writer.commit()?;
        }
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(begun.elapsed())
}

fn index(agent: &Agent, files: &Path) -> Result<Duration> {
    agent.add_folder(files)?;
    let extractor = Extractor::new(Program::itself(WORKER)?, Limits::default());
    let stop = AtomicBool::new(false);
    let scanner = Scanner { extractor: &extractor, surroundings: &Undisturbed, share: 1.0, stop: &stop };
    let begun = Instant::now();
    scanner.scan(agent, &mut |_| {})?;
    agent.rest()?;
    Ok(begun.elapsed())
}

/// Queries of two words, typed letter by letter.
fn key_presses(agent: &Agent, words: &[String], random: &mut ChaCha8Rng) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..N_QUERIES {
        let query = format!("{} {}", draw(words, random), draw(words, random));
        let mut instead_of = None;
        for length in 1..=query.len() {
            let request = Request { words: query[..length].into(), instead_of, ..Request::default() };
            let begun = Instant::now();
            instead_of = agent.search(&request)?.list.or(instead_of);
            times.push(begun.elapsed());
        }
    }
    Ok(times)
}

fn private_memory() -> Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon in /proc/self/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
