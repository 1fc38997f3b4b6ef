//! The demonstration from its first line to its last.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use foltr_client::{Consent, FeatureSchema, Normalisation};
use foltr_simulation::click::{ClickModel, Preset};
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{Fold, Synthetic, SyntheticShape};

use crate::arguments::Arguments;
use crate::people::{People, Sent, Surroundings};
use crate::plan::{consent, plan};
use crate::queries::ndcg;
use crate::screen::Screen;
use crate::server::DemoServer;

const SEED: u64 = 1;
/// How often it looks for a round that has closed.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the demonstration until its rounds are over or it is told to stop, and leaves nothing behind.
pub fn run(arguments: &Arguments, stop: &AtomicBool) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("foltr-demo-").tempdir().context("a temporary folder")?;
    let mut screen = Screen::new();
    let ended = match &arguments.join {
        None => demonstrate(arguments, folder.path(), &mut screen, stop),
        Some(invitation) => join(arguments, invitation, folder.path(), &mut screen, stop),
    };
    if arguments.keep {
        let kept = folder.keep();
        ended?;
        screen.say(&format!("Kept: {}", kept.display()))?;
    } else {
        ended?;
        folder.close().context("the temporary folder could not be deleted")?;
    }
    Ok(())
}

fn demonstrate(arguments: &Arguments, folder: &Path, screen: &mut Screen, stop: &AtomicBool) -> Result<()> {
    let Fold { train, test, .. } = queries()?;
    let server = DemoServer::start(&folder.join("server"), &plan(arguments), train.n_features())?;
    greet(arguments, &server, folder, screen)?;
    let invitation = server.invite(arguments.devices)?;
    let (surroundings, _) = surroundings(invitation, consent(arguments.privacy), server.features.clone(), train)?;
    let people = People::start(folder, arguments.devices, &surroundings)?;
    let watched = watch(arguments, &server, &people, &test, screen, stop);
    let stopped = people.stop();
    let ended = server.stop();
    watched.and(stopped).and(ended)
}

/// People for a federation that is served already.
fn join(arguments: &Arguments, invitation: &str, folder: &Path, screen: &mut Screen, stop: &AtomicBool) -> Result<()> {
    let Fold { train, .. } = queries()?;
    let features = FeatureSchema::numbered(train.n_features(), Normalisation::Query);
    // Nobody here has anything to hide.
    let (surroundings, sent) = surroundings(invitation.to_owned(), Consent::NoPromise, features, train)?;
    screen.say(&format!("{} devices join, search and learn. Ctrl-C stops them.", arguments.devices))?;
    screen
        .say("Who finds no open round asks again when the server says, within a minute if it was set up by `init`.")?;
    let people = People::start(folder, arguments.devices, &surroundings)?;
    let mut said = Ok(());
    while said.is_ok() && !stop.load(Ordering::Relaxed) && !people.has_failed() {
        std::thread::sleep(LOOK);
        let mut lines = sent.try_iter();
        said = lines.try_for_each(|Sent { device, round }| {
            screen.say(&format!("device {device}: the server has taken the message of round {round}"))
        });
    }
    people.stop().and(Ok(said?))
}

/// Generated, and the same every time.
fn queries() -> Result<Fold> {
    Ok(Synthetic::new(SyntheticShape::Mq2007).generate(SEED)?)
}

fn surroundings(
    invitation: String,
    consent: Consent,
    features: FeatureSchema,
    queries: Dataset,
) -> Result<(Surroundings, Receiver<Sent>)> {
    let clicks = ClickModel::from(Preset::Navigational).build(queries.max_label())?.remove(0);
    let (messages, sent) = channel();
    Ok((Surroundings { invitation, consent, features, queries, clicks, seed: SEED, messages }, sent))
}

fn greet(arguments: &Arguments, server: &DemoServer, folder: &Path, screen: &mut Screen) -> Result<()> {
    let Arguments { devices, rounds, keep, .. } = arguments;
    let fate = if *keep { "kept" } else { "deleted at the end" };
    screen.say(&format!(
        "A federation on this machine: a server and {devices} devices learn to rank, {rounds} rounds long."
    ))?;
    screen.say(&format!("\n  dashboard  http://{}/", server.address))?;
    screen.say(&format!("  token      {}", server.token))?;
    screen.say(&format!("  folder     {} ({fate})", folder.display()))?;
    let label = server.overview()?.privacy.into_iter().next().unwrap_or_default();
    screen.say(&format!("  privacy    {label} (--privacy none, central or local)"))?;
    Ok(screen.say("\nCtrl-C stops it.")?)
}

fn watch(
    arguments: &Arguments,
    server: &DemoServer,
    people: &People,
    test: &Dataset,
    screen: &mut Screen,
    stop: &AtomicBool,
) -> Result<()> {
    let quality = |version: u32| -> Result<f64> {
        let (shape, params) = server.ranker(version)?;
        Ok(ndcg(test, shape, &params)?)
    };
    screen.heading()?;
    let first = server.overview()?.releases.last().map_or(0, |it| it.version);
    screen.round(None, quality(first)?)?;
    let mut n_shown = 0;
    while n_shown < arguments.rounds && !stop.load(Ordering::Relaxed) && !people.has_failed() {
        std::thread::sleep(LOOK);
        let overview = server.overview()?;
        for round in overview.rounds.iter().filter(|it| it.round >= n_shown) {
            let cause = format!("round {}", round.round);
            let release = overview.releases.iter().find(|it| it.cause == cause);
            let release = release.with_context(|| format!("{cause} has no release"))?;
            screen.round(Some(round), quality(release.version)?)?;
        }
        n_shown = overview.rounds.last().map_or(0, |it| it.round + 1);
    }
    if stop.load(Ordering::Relaxed) {
        screen.say("\nStopping.")?;
    } else if screen.is_terminal && !people.has_failed() {
        screen.say("\nAll rounds are over. The dashboard stays until Ctrl-C.")?;
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}
