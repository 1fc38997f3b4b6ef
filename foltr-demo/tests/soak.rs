//! Ten thousand devices learn by a real server what the simulator learns by the same plan.
//!
//! Nearly all devices are cores with their records in memory, and call the service without a network; a hundred are whole
//! devices with SQLite and HTTP. Time is virtual: a round takes six hours. More devices work for a round than it wants, in
//! a random order: who comes late has worked in vain. One in ten is restarted from its records before it works.
//!
//! ```sh
//! FOLTR_CAMPAIGN=full FOLTR_DATA=~/letor cargo test --release -p foltr-demo --test soak -- --nocapture
//! ```

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foltr_client::core::{Action, Answer, Event, Method, Outcome, Request};
use foltr_client::item::{Record, Records, Write};
use foltr_client::{Consent, Core, Device, Options, OsRandomness, Shown, Synced};
use foltr_demo::queries::{features, ndcg};
use foltr_demo::server::DemoServer;
use foltr_federation::protocol::Invitation;
use foltr_federation::{FederationPlan, Participation};
use foltr_rank::learn::PdgdParameters;
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_rank::{Initialisation, Learner, Learning, RankerShape};
use foltr_server::call::{self, Call};
use foltr_server::service::Service;
use foltr_simulation::cache::Cache;
use foltr_simulation::click::{ClickModel, Preset, SimulatedUser as _, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::{Fold, LoadOptions, Source, Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings};
use foltr_test::campaign_size;
use rand::seq::{SliceRandom as _, index};
use rand::{RngExt as _, SeedableRng as _};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

const START: u64 = 1_800_000_000;
const ROUND_SECONDS: u64 = 6 * 60 * 60;
const N_INTERACTIONS: usize = 4;
const LEARNING_RATE: f64 = 0.1;
/// Differences of nDCG@10 that would not matter.
const MARGIN: f64 = 0.003;

/// How large the federation is.
#[derive(Clone, Copy)]
struct Size {
    n_devices: u32,
    n_shells: u32,
    n_wanted: u32,
    n_late: u32,
    n_rounds: u32,
    n_folds: usize,
    seeds: u64,
    /// Of the simulator, for each fold: they cost little.
    simulator_seeds: u64,
}

const SMALL: Size =
    Size { n_devices: 60, n_shells: 3, n_wanted: 20, n_late: 3, n_rounds: 5, n_folds: 1, seeds: 1, simulator_seeds: 5 };
const FULL: Size = Size {
    n_devices: 10_000,
    n_shells: 100,
    n_wanted: 200,
    n_late: 10,
    n_rounds: 60,
    n_folds: 5,
    seeds: 3,
    simulator_seeds: 30,
};

impl Size {
    fn plan(&self) -> FederationPlan {
        let pdgd = PdgdParameters {
            learning_rate: LEARNING_RATE,
            updates: Updates::Immediate,
            proximal: None,
            max_displacement: None,
        };
        let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
        let (n_clients, n_rounds) = (self.n_devices as usize, self.n_rounds as usize);
        let everyone = FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, n_clients, N_INTERACTIONS, n_rounds);
        FederationPlan { participation: Participation::Sample(self.n_wanted), ..everyone }
    }

    /// What the simulator makes of the plan: nDCG@10 on the test queries.
    fn simulate(&self, fold: &Fold, users: &Users, server: &DemoServer, seed: u64) -> f64 {
        let learning = Learning::Pdgd(PdgdSettings {
            learning_rate: LEARNING_RATE as f32,
            updates: Updates::Immediate,
            n_shown: 10,
            clip_radius: None,
            proximal: 0.0,
            max_displacement: None,
        });
        let data = ClientData::iid(TrainingSet::new(fold.train.clone(), 10), users.clone(), N_INTERACTIONS as u32);
        let everyone = FederationSettings::averaging(seed, server.shape, learning, self.n_devices);
        let settings = FederationSettings { participation: Participation::Sample(self.n_wanted), ..everyone };
        let mut run = FederationRun::new(settings, &data).expect("a sound federation");
        for _ in 0..self.n_rounds {
            run.round().expect("a round");
        }
        ndcg(&fold.test, server.shape, &run.ranker()).expect("a model")
    }
}

/// A core, with its records in memory in place of a disk.
struct Alone {
    core: Core,
    records: Records,
}

impl Alone {
    fn load(options: &Options, records: Records, random: &mut OsRandomness) -> Self {
        let (core, actions) = Core::load(options.clone(), records.clone(), random).expect("sound records");
        let mut device = Self { core, records };
        device.perform(actions, START);
        device
    }

    /// Does what is to be done; says what is to be sent, or what came of it.
    fn perform(&mut self, actions: Vec<Action>, now: u64) -> Option<Result<Outcome, Request>> {
        let mut end = None;
        for action in actions {
            match action {
                Action::Store { writes, .. } => {
                    for Write { item, bytes } in writes {
                        match bytes {
                            Some(bytes) => drop(self.records.insert(item, Record { bytes, written: now })),
                            None => drop(self.records.remove(&item)),
                        }
                    }
                }
                Action::Erase { .. } => panic!("nobody asks to be forgotten"),
                Action::Send(request) => end = Some(Err(request)),
                Action::Answer(outcome) => end = Some(Ok(outcome.expect("nothing is refused"))),
            }
        }
        end
    }

    fn event(&mut self, event: Event<'_>, world: &mut World) -> Outcome {
        let now = world.now();
        let mut actions = self.core.poll(now, event, &mut world.random);
        loop {
            match self.perform(actions, now).expect("an end") {
                Ok(outcome) => return outcome,
                Err(request) => {
                    let answer = call(&world.server.service, request);
                    actions = self.core.poll(now, Event::Answered(answer), &mut world.random);
                }
            }
        }
    }
}

/// A request without a network.
fn call(service: &Service, request: Request) -> Answer {
    let method = match request.method {
        Method::Get => call::Method::Get,
        Method::Post => call::Method::Post,
        Method::Put => call::Method::Put,
    };
    let Request { path, body, device, signature, .. } = request;
    let answer = service.answer(&Call { method, path, body, device, signature, ..Call::default() });
    Answer { status: answer.status, body: answer.body, retry_after: answer.retry_after.map(u64::from) }
}

enum Participant {
    Core(Box<Alone>),
    Shell(Box<Device>),
}

impl Participant {
    fn join(&mut self, invitation: &str, world: &mut World) {
        match self {
            Self::Core(device) => {
                let invitation: Invitation = invitation.parse().expect("an invitation");
                device.event(Event::Join { invitation: &invitation, consent: Consent::NoPromise }, world);
            }
            Self::Shell(device) => drop(device.join_with(invitation, Consent::NoPromise).expect("a server")),
        }
    }

    fn sync(&mut self, world: &mut World) -> Synced {
        match self {
            Self::Core(device) => match device.event(Event::Sync, world) {
                Outcome::Synced(synced) => synced,
                other => panic!("{other:?}"),
            },
            Self::Shell(device) => device.sync().expect("a server"),
        }
    }

    fn search(&mut self, query: usize, stream: &mut Stream, world: &mut World) {
        let data = &world.fold.train;
        let (features, labels) = (features(data, query), data.labels(query).to_vec());
        let shown: Shown = match self {
            Self::Core(device) => match device.event(Event::Rank(&features), world) {
                Outcome::Shown(shown) => shown,
                other => panic!("{other:?}"),
            },
            Self::Shell(device) => device.rank(&features).expect("a list"),
        };
        let seen: Vec<u8> = shown.order[..shown.n_ranked].iter().map(|&document| labels[document]).collect();
        let clicks = world.users.click(&seen, stream);
        let impression = shown.impression;
        for position in (0..seen.len()).filter(|&position| clicks.at(position)) {
            match self {
                Self::Core(device) => drop(device.event(Event::Clicked { impression, position }, world)),
                Self::Shell(device) => drop(device.clicked(impression, position).expect("a click")),
            }
        }
        match self {
            Self::Core(device) => drop(device.event(Event::Dismissed(impression), world)),
            Self::Shell(device) => device.dismiss(impression).expect("a list"),
        }
    }
}

/// What is around the devices.
struct World {
    server: DemoServer,
    fold: Fold,
    users: Users,
    /// In milliseconds.
    time: Arc<AtomicU64>,
    random: OsRandomness,
    streams: Streams,
}

impl World {
    fn new(size: &Size, folder: &Path, fold: Fold, seed: u64) -> Self {
        let time = Arc::new(AtomicU64::new(START * 1_000));
        let clock = Arc::clone(&time);
        let clock = Arc::new(move || clock.load(Ordering::Relaxed));
        let (plan, n_features) = (size.plan(), fold.train.n_features());
        let server = DemoServer::with_clock(&folder.join("server"), &plan, n_features, 4 * ROUND_SECONDS, clock);
        let users = ClickModel::from(Preset::Navigational).build(fold.train.max_label()).expect("grades").remove(0);
        let server = server.expect("a server");
        Self { server, fold, users, time, random: OsRandomness::new(), streams: Streams::new(seed) }
    }

    fn now(&self) -> u64 {
        self.time.load(Ordering::Relaxed) / 1_000
    }

    fn advance(&self, milliseconds: u64) {
        self.time.fetch_add(milliseconds, Ordering::Relaxed);
    }

    fn options(&self) -> Options {
        Options { upload_delay: 0, adoption: None, ..Options::new(self.server.features.clone()) }
    }

    /// Until this round is open, or all are over; the server's own thread may be about to open it.
    fn wait_for(&self, round: u32) {
        loop {
            let problems = self.server.service.tick();
            assert!(problems.is_empty(), "{problems:?}");
            let overview = self.server.overview().expect("an overview");
            if overview.round == round && (overview.opened_at.is_some() || round == overview.n_rounds) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn enrol(&mut self, size: &Size, folder: &Path) -> Vec<Participant> {
        let invitation = self.server.invite(size.n_devices).expect("an invitation");
        let options = self.options();
        let mut devices = Vec::new();
        for number in 0..size.n_devices {
            let mut device = if number < size.n_shells {
                let folder = folder.join(format!("device-{number}"));
                Participant::Shell(Box::new(Device::open(folder, options.clone()).expect("a new folder")))
            } else {
                Participant::Core(Box::new(Alone::load(&options, Records::new(), &mut self.random)))
            };
            device.join(&invitation, self);
            // Twenty a second: many strangers at once are refused.
            self.advance(50);
            devices.push(device);
        }
        self.wait_for(0);
        devices
    }

    /// One round from its first search to its release.
    fn round(&mut self, size: &Size, round: u32, devices: &mut [Participant], order: &mut Stream) {
        let n_working = (size.n_wanted + size.n_late) as usize;
        let mut working = index::sample(order, devices.len(), n_working).into_vec();
        for &number in &working {
            let device = &mut devices[number];
            if let Participant::Core(alone) = device
                && order.random_range(0..10) == 0
            {
                let records = std::mem::take(&mut alone.records);
                **alone = Alone::load(&self.options(), records, &mut self.random);
            }
            device.sync(self);
            let mut stream = self.streams.open(Purpose::Interaction, number as u32, round);
            for _ in 0..N_INTERACTIONS {
                let query = stream.random_range(0..self.fold.train.n_queries());
                device.search(query, &mut stream, self);
            }
        }
        working.shuffle(order);
        let mut n_taken = 0;
        for number in working {
            n_taken += u32::from(devices[number].sync(self) == Synced::Contributed { round });
            self.advance(1_000);
            if n_taken == size.n_wanted {
                self.wait_for(round + 1);
            }
        }
        assert_eq!(n_taken, size.n_wanted, "round {round}: who comes late is not counted");
        self.advance(ROUND_SECONDS * 1_000);
    }
}

/// Memory of this process now, in MiB; 0 where the system does not say.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn load(fold: usize) -> Fold {
    match std::env::var_os("FOLTR_DATA").map(|folder| Path::new(&folder).join("MQ2008")).filter(|it| it.is_dir()) {
        Some(folder) => {
            let source = Source::open(&folder).expect("MQ2008");
            source.load_fold(fold, &LoadOptions::new(true, &Cache::Off)).expect("a fold")
        }
        None => Synthetic::new(SyntheticShape::Mq2007).generate(fold as u64).expect("a shape"),
    }
}

/// On a disk in memory, if there is one: it is not the disk that is tested.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// nDCG@10 of what the devices learnt, and memory after a sixth of the rounds and after all.
fn learn(size: &Size, fold: Fold, seed: u64) -> (f64, f64, [u64; 2]) {
    let folder = folder();
    let mut world = World::new(size, folder.path(), fold, seed);
    let mut devices = world.enrol(size, folder.path());
    let mut order = Stream::seed_from_u64(seed);
    let mut warm = 0;
    for round in 0..size.n_rounds {
        world.round(size, round, &mut devices, &mut order);
        if round == size.n_rounds / 6 {
            warm = memory();
        }
    }
    let end = memory();
    let (shape, params) = world.server.ranker(size.n_rounds).expect("the last release");
    let learnt = ndcg(&world.fold.test, shape, &params).expect("a model");
    let simulate = |seed| size.simulate(&world.fold, &world.users, &world.server, 1_000 + seed);
    let simulated = (0..size.simulator_seeds).map(simulate).sum::<f64>() / size.simulator_seeds as f64;
    world.server.stop().expect("a clean end");
    (learnt, simulated, [warm, end])
}

#[test]
fn devices_learn_what_the_simulator_learns() {
    let size = campaign_size(SMALL, FULL);
    let Size { n_devices, n_shells, n_wanted, n_rounds, .. } = size;
    println!(
        "{n_devices} devices, {n_shells} of them with SQLite and HTTP; {n_wanted} messages a round, {n_rounds} rounds"
    );
    println!("fold  seed  devices  simulator  difference  MiB warm  MiB end  seconds");
    let (mut differences, mut first_end) = (Vec::new(), None);
    for seed in 0..size.seeds {
        for fold in 0..size.n_folds {
            let started = Instant::now();
            let (learnt, simulated, [warm, end]) = learn(&size, load(fold), seed);
            let (difference, seconds) = (learnt - simulated, started.elapsed().as_secs());
            let fold = fold + 1;
            println!(
                "{fold:>4}  {seed:>4}  {learnt:>7.4}  {simulated:>9.4}  {difference:>+10.4}  {warm:>8}  {end:>7}  {seconds:>7}"
            );
            // In the first one devices work for the first time, and have their records in this memory from then on.
            let first = *first_end.get_or_insert(end);
            assert!(end <= first + first / 10 + 16, "memory grows from {first} to {end} MiB");
            differences.push(difference);
        }
    }
    judge(&differences);
}

/// Two one-sided tests at 5 % are the interval at 90 %.
fn judge(differences: &[f64]) {
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let Some(t) = StudentsT::new(0.0, 1.0, n - 1.0).ok() else {
        assert!(mean.abs() < 0.1, "{mean}");
        return;
    };
    let variance = differences.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t.inverse_cdf(0.95) * (variance / n).sqrt();
    println!("difference {mean:+.5}, 90 % interval {:+.5} to {:+.5}, margin {MARGIN}", mean - half, mean + half);
    assert!(mean.abs() + half < MARGIN, "not shown to be equal");
}
