//! People with a device each, who search, click and leave, until they are told to stop.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use foltr_client::{Consent, Device, DeviceError, FeatureSchema, Network, Options, Synced};
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_simulation::click::{SimulatedUser as _, Users};
use foltr_simulation::dataset::Dataset;
use rand::RngExt as _;

use crate::queries::features;

/// How long people look at a list, on average; longer where many share one machine.
const LOOK: Duration = Duration::from_millis(250);
const LOOK_BY_DEVICE: Duration = Duration::from_millis(10);
/// How soon somebody who waits notices that it is over.
const NOTICE: Duration = Duration::from_millis(20);
/// A server on this machine answers at once or never.
const TIMEOUT: u64 = 10;

/// What all people have in common.
#[derive(Clone)]
pub struct Surroundings {
    pub invitation: String,
    pub consent: Consent,
    pub features: FeatureSchema,
    pub queries: Dataset,
    pub clicks: Users,
    pub seed: u64,
    /// Is told of every message that a server has taken.
    pub messages: Sender<Sent>,
}

/// The server has taken the message of a device.
pub struct Sent {
    pub device: u32,
    pub round: u32,
}

pub struct People {
    threads: Vec<JoinHandle<Result<()>>>,
    stop: Arc<AtomicBool>,
}

impl People {
    /// So many, each with a folder below this one.
    pub fn start(folder: &Path, count: u32, surroundings: &Surroundings) -> Result<Self> {
        let mut people = Self { threads: Vec::new(), stop: Arc::default() };
        let look = LOOK.max(LOOK_BY_DEVICE * count);
        for number in 0..count {
            let (stop, surroundings) = (Arc::clone(&people.stop), surroundings.clone());
            let folder = folder.join(format!("device-{}", number + 1));
            let live = move || {
                let stream = Streams::new(surroundings.seed).open(Purpose::Interaction, number, 0);
                let mut person = Person { number: number + 1, surroundings, stream, look, stop };
                person.live(&folder).with_context(|| format!("device {}", number + 1))
            };
            people.threads.push(std::thread::Builder::new().name(format!("device {}", number + 1)).spawn(live)?);
        }
        Ok(people)
    }

    /// Whether somebody has stopped without being told to.
    pub fn has_failed(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until everybody has put their device away.
    pub fn stop(mut self) -> Result<()> {
        self.join()
    }

    fn join(&mut self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ended.into_iter().try_for_each(|it| it.unwrap_or_else(|_| Err(anyhow!("a device panicked"))))
    }
}

impl Drop for People {
    fn drop(&mut self) {
        // `stop` reports how it ended.
        drop(self.join());
    }
}

struct Person {
    number: u32,
    surroundings: Surroundings,
    stream: Stream,
    look: Duration,
    stop: Arc<AtomicBool>,
}

impl Person {
    fn live(&mut self, folder: &Path) -> Result<()> {
        let mut options = Options::new(self.surroundings.features.clone());
        // Rounds are short, and a person has too few clicks to judge releases by.
        (options.upload_delay, options.adoption) = (0, None);
        options.network = Network { timeout: TIMEOUT, ..Network::default() };
        let device = Device::open(folder, options)?;
        device.join_with(&self.surroundings.invitation, self.surroundings.consent)?;
        while !self.stop.load(Ordering::Relaxed) {
            self.search(&device)?;
            match device.sync() {
                Ok(Synced::Contributed { round }) => {
                    // Who does not listen need not know.
                    drop(self.surroundings.messages.send(Sent { device: self.number, round }));
                }
                // It tries again by itself.
                Ok(_) | Err(DeviceError::NotReached(..) | DeviceError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn search(&mut self, device: &Device) -> Result<(), DeviceError> {
        let Surroundings { queries, clicks, .. } = &self.surroundings;
        let query = self.stream.random_range(0..queries.n_queries());
        let labels = queries.labels(query);
        let shown = device.rank(&features(queries, query))?;
        let seen: Vec<u8> = shown.order[..shown.n_ranked].iter().map(|&document| labels[document]).collect();
        let clicks = clicks.click(&seen, &mut self.stream);
        self.wait();
        for position in (0..seen.len()).filter(|&position| clicks.at(position)) {
            device.clicked(shown.impression, position)?;
        }
        device.dismiss(shown.impression)
    }

    /// Looks at the list: between half and one and a half times as long as on average.
    fn wait(&mut self) {
        let mut left = self.look.mul_f64(self.stream.random_range(0.5..1.5));
        while !left.is_zero() && !self.stop.load(Ordering::Relaxed) {
            let nap = left.min(NOTICE);
            std::thread::sleep(nap);
            left -= nap;
        }
    }
}
