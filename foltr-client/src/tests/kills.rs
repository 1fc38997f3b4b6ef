//! Real processes, killed at any moment: what `clicked` acknowledged is there, and no message went out unbooked.
//!
//! The test starts itself as another process, which works on a folder and says what was acknowledged; then it kills it, looks
//! at the folder, and starts the next one. What a kill cannot show, a sync that is missing, is in `crashes.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use foltr_rank::ImpressionId;
use foltr_test::campaign_size;
use rand::{Rng, RngExt};

use super::federation::lock;
use super::http::{HttpServer, features, federation};
use crate::core::Consent;
use crate::options::{Options, Retention};
use crate::randomness::OsNoise;
use crate::shell::FILE;
use crate::store::salvage;
use crate::{Device, Shown};

const FOLDER: &str = "FOLTR_KILLED_FOLDER";
const INVITATION: &str = "FOLTR_KILLED_INVITATION";

fn options() -> Options {
    // Every process leaves lists open, and none is to end because there are too many.
    let retention = Retention { open_lists: 100_000, ..Retention::default() };
    Options { upload_delay: 0, retention, ..Options::new(features()) }
}

/// What the other process has said.
#[derive(Default)]
struct Said {
    clicks: BTreeMap<u64, BTreeSet<usize>>,
    /// Lists whose end it was about to ask for.
    ended: BTreeSet<u64>,
    ids: BTreeSet<u64>,
    n_clicks: usize,
}

impl Said {
    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        match (words.first(), number(1), number(2)) {
            (Some(&"shown"), Some(id), _) => assert!(self.ids.insert(id), "id {id} was given twice"),
            (Some(&"clicked"), Some(id), Some(position)) => {
                self.n_clicks += 1;
                self.clicks.entry(id).or_default().insert(position as usize);
            }
            (Some(&"dismissing"), Some(id), _) => drop(self.ended.insert(id)),
            _ => {}
        }
    }
}

/// The process that is killed. Without a folder there is nothing to do.
#[test]
fn works_until_it_is_killed() {
    let (Ok(folder), Ok(invitation)) = (std::env::var(FOLDER), std::env::var(INVITATION)) else { return };
    let device = Device::open(folder, options()).expect("the folder of the one before");
    let _ = device.join_with(&invitation, Consent::NoPromise);
    let mut random = OsNoise::default();
    let mut open: Vec<Shown> = Vec::new();
    let say = |what: String| {
        let mut out = std::io::stdout().lock();
        // At once: what is in a buffer dies with the process.
        out.write_all(format!("{what}\n").as_bytes()).and_then(|()| out.flush()).expect("somebody listens");
    };
    say("ready".into());
    let started = Instant::now();
    for wanted in (0..5).cycle().take_while(|_| started.elapsed() < Duration::from_secs(20)) {
        let shown = device.rank(&super::device::documents(wanted, 5)).expect("sound");
        say(format!("shown {}", shown.impression.0));
        open.push(shown);
        let list = &open[random.random_range(0..open.len())];
        let position = random.random_range(0..4_usize);
        if device.clicked(list.impression, position).is_ok() {
            say(format!("clicked {} {position}", list.impression.0));
        }
        if open.len() > 3 {
            let list = open.swap_remove(random.random_range(0..open.len()));
            say(format!("dismissing {}", list.impression.0));
            device.dismiss(list.impression).expect("an open list");
        }
        let _ = device.sync();
    }
}

fn run_and_kill(folder: &Path, invitation: &str, said: &mut Said, after: Duration) {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "tests::kills::works_until_it_is_killed", "--nocapture", "--test-threads", "1"])
        .env(FOLDER, folder)
        .env(INVITATION, invitation)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while output.read_line(&mut line).expect("text") > 0 && !line.trim_end().ends_with("ready") {
        line.clear();
    }
    std::thread::sleep(after);
    child.kill().expect("it is running");
    child.wait().expect("it has ended");
    // What it had said before stays in the pipe.
    output.lines().map_while(Result::ok).for_each(|line| said.take(&line));
}

fn check(folder: &Path, server: &HttpServer, said: &mut Said) {
    let (core, _) = crate::core::Core::load(options(), salvage(&folder.join(FILE)), &mut crate::OsRandomness::new())
        .expect("sound");
    let open = core.open_clicks();
    for (id, positions) in &said.clicks {
        match open.get(id) {
            Some(clicks) => positions.iter().for_each(|&at| assert!(clicks.at(at), "a click on list {id} is lost")),
            None => assert!(said.ended.contains(id), "list {id} with clicks is gone"),
        }
    }
    let n_taught = said.clicks.keys().filter(|id| !open.contains_key(id)).count() as u64;
    assert!(core.n_observed() + core.status().n_learnt_alone >= n_taught, "an ended list has taught nothing");
    let federation = lock(&server.federation);
    assert!(!federation.has_other_bytes, "a second message for a round");
    let Some(ledger) = core.ledger() else { return };
    assert!(ledger.n_messages() >= federation.received.len() as u64, "the ledger is below what was sent");
    let newest = federation.received.last_key_value().map_or(0, |((round, _), _)| *round);
    for ((round, _), bytes) in federation.received.iter().filter(|((round, _), _)| round + 16 > newest) {
        assert!(ledger.has_message(&core.ledger_task(), *round, bytes), "round {round} is not booked");
    }
}

#[test]
fn kills_lose_nothing_that_was_acknowledged() {
    let n_kills = campaign_size(10, 500);
    let (started, folder) = (Instant::now(), tempfile::tempdir().expect("a folder"));
    let server = HttpServer::start(federation(), None);
    let (invitation, mut said, mut random) = (server.invitation(), Said::default(), OsNoise::default());
    for number in 0..n_kills {
        // The first one has time enough for a message on the slowest disk.
        let most = if number == 0 { 2_000_000 } else { u64::from(random.next_u32() % 60_000) };
        let after = Duration::from_micros(most);
        run_and_kill(folder.path(), &invitation, &mut said, after);
        check(folder.path(), &server, &mut said);
        if random.random() {
            lock(&server.federation).close(&[0], &[0], &mut OsNoise::default());
        }
    }
    // Whoever comes next goes on.
    let device = Device::open(folder.path(), options()).expect("sound");
    for id in said.clicks.keys().filter(|id| !said.ended.contains(id)) {
        device.dismiss(ImpressionId(*id)).expect("it is still open");
    }
    let n_messages = lock(&server.federation).received.len();
    assert!(said.n_clicks > n_kills && n_messages > 0, "{} clicks, {n_messages} messages", said.n_clicks);
    println!(
        "| kill -9 | {n_kills} kills, {} clicks acknowledged, {n_messages} messages | none lost | {:.0} s |",
        said.n_clicks,
        started.elapsed().as_secs_f64()
    );
}
