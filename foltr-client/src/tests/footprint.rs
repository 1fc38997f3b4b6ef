//! What a device costs: time, memory and disk, also after a year.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use foltr_federation::FederationPlan;
use foltr_federation::privacy::{Budget, CentralDiscreteGaussianParameters, Clip, DuchiParameters, Privacy};
use foltr_federation::protocol::{FeatureSchema, Normalisation, Plan};
use foltr_rank::rng::{Purpose, Streams};
use foltr_test::campaign_size;
use rand::RngExt;

use super::device::TestDevice;
use super::federation::lock;
use super::modes;
use crate::options::Options;
use crate::{Device, DeviceError};

/// As MQ2007: 41 documents with 46 features.
const N_DOCS: usize = 41;
const N_FEATURES: usize = 46;
const SEARCHES_A_DAY: u64 = 200;

fn features() -> FeatureSchema {
    FeatureSchema::numbered(N_FEATURES, Normalisation::Query)
}

fn documents(random: &mut foltr_rank::rng::Stream) -> Vec<f32> {
    (0..N_DOCS * N_FEATURES).map(|_| random.random::<f32>()).collect()
}

/// The median of the time that `rank` takes, in microseconds.
fn rank_time(device: &Device, n: usize) -> f64 {
    let mut random = Streams::new(1).open(Purpose::Data, 0, 0);
    let queries: Vec<Vec<f32>> = (0..n).map(|_| documents(&mut random)).collect();
    median(queries.iter().map(|query| {
        let started = Instant::now();
        device.rank(query).expect("sound");
        started.elapsed()
    }))
}

/// The same of `clicked`, on lists that are open.
fn click_time(device: &Device) -> f64 {
    let mut random = Streams::new(1).open(Purpose::Data, 0, 0);
    let lists: Vec<_> = (0..100).map(|_| device.rank(&documents(&mut random)).expect("sound")).collect();
    median(lists.iter().map(|list| {
        let started = Instant::now();
        device.clicked(list.impression, 3).expect("open");
        started.elapsed()
    }))
}

/// What it costs to write a little to a file, and to wait until it is on the disk.
fn sync_time(folder: &Path) -> f64 {
    let mut file = std::fs::File::create(folder.join("probe")).expect("a file");
    median((0..100).map(|_| {
        let started = Instant::now();
        file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).expect("written");
        started.elapsed()
    }))
}

fn median(times: impl Iterator<Item = Duration>) -> f64 {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Heap and stack of this process, in bytes: what lies on the disk anyway, such as the program, is not in it.
fn own_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Days of a heavy user in a federation, on a disk in memory: what is on it at the end.
fn days(n_days: u64) -> (Vec<u8>, Vec<u8>, u32) {
    let plan = FederationPlan { n_rounds: 1_000_000, ..modes::pdgd(1) };
    let plan = Plan::new(plan, &features(), true).expect("deployable");
    let options = Options { upload_delay: 0, ..Options::new(features()) };
    let device = TestDevice::member(plan, options, 1);
    let mut random = Streams::new(2).open(Purpose::Data, 0, 0);
    let mut n_rounds = 0;
    for _ in 0..n_days {
        for search in 0..SEARCHES_A_DAY {
            device.pass(24 * 60 * 60 / SEARCHES_A_DAY);
            let shown = device.shell.rank(&documents(&mut random)).expect("sound");
            if random.random_bool(0.7) {
                device.shell.clicked(shown.impression, random.random_range(0..10)).expect("open");
            }
            // Most pages are closed; some stay open until their time is over.
            if random.random_bool(0.8) {
                device.shell.dismiss(shown.impression).expect("open");
            }
            if search % 20 == 0 && matches!(device.shell.sync(), Ok(crate::Synced::Contributed { .. })) {
                device.close_round();
                lock(&device.federation).received.clear();
                n_rounds += 1;
            }
        }
    }
    let read = |name: &str| device.disk.read(name).unwrap_or_default();
    (read("device.db"), read("device.db-wal"), n_rounds)
}

#[test]
fn a_year_stays_small_on_the_disk_and_in_memory_and_opens_quickly() {
    let n_days = campaign_size(8, 365);
    let (file, log, n_rounds) = days(n_days);
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("device.db"), &file).expect("written");
    std::fs::write(folder.path().join("device.db-wal"), &log).expect("written");
    let on_disk = file.len() + log.len();
    drop((file, log));
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        drop(open(folder.path()));
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let (opened, idle) = (times[2], idle_memory(folder.path()));
    println!(
        "| heavy use | {n_days} days x {SEARCHES_A_DAY} searches, {n_rounds} rounds | {:.1} MB on the disk, open {opened:.1} ms, \
         idle {:.2} MiB | |",
        on_disk as f64 / 1e6,
        idle as f64 / f64::from(1 << 20)
    );
    assert!(on_disk < 50_000_000, "{on_disk} bytes");
    assert!(n_rounds > 10, "{n_rounds} rounds");
    assert!(opened < 250.0, "{opened} ms; 50 on an idle machine");
    assert!(idle < 5 << 20, "{idle} bytes");
}

fn open(folder: &Path) -> crate::shell::Shell<super::device::Seeded, super::federation::Direct> {
    let options = Options { upload_delay: 0, ..Options::new(features()) };
    let plan = Plan::new(modes::pdgd(1), &features(), true).expect("deployable");
    let federation = super::federation::Federation::shared(plan);
    let (random, transport) = (super::device::Seeded::new(3), super::federation::Direct::to(&federation));
    crate::shell::Shell::open(folder, options, random, transport).expect("a year old")
}

const FOLDER: &str = "FOLTR_FOOTPRINT_FOLDER";

/// A process that does nothing else. Without a folder there is nothing to do.
#[test]
fn says_what_an_open_device_has_in_memory() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let before = own_memory().expect("Linux");
    let device = open(Path::new(&folder));
    println!("bytes in memory: {}", own_memory().expect("Linux") - before);
    drop(device);
}

/// What an open device has in memory, of its own, in a process that has done nothing before.
fn idle_memory(folder: &Path) -> u64 {
    let name = "tests::footprint::says_what_an_open_device_has_in_memory";
    let process = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(FOLDER, folder)
        .output();
    let text = String::from_utf8(process.expect("a process").stdout).expect("text");
    let said = text.split("bytes in memory: ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    said.unwrap_or_else(|| panic!("{text}"))
}

/// The limit is for an idle machine; tests share theirs with others.
#[test]
fn a_list_is_ranked_and_stored_in_less_than_a_millisecond() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = Device::open(folder.path(), Options::new(features())).expect("a new folder");
    let median = rank_time(&device, 400);
    println!("| rank, list stored | {N_DOCS} documents x {N_FEATURES} features | median {median:.0} us | |");
    assert!(median < 1_000.0, "{median} us");
    let (click, sync) = (click_time(&device), sync_time(folder.path()));
    println!("| click, durable | | median {click:.0} us, of which one sync of a file is {sync:.0} | |");
    let status = device.status().expect("a status");
    assert_eq!(status.n_open, 200, "no more lists are open than may be");
}

/// A call to the server does not hold up lists: the device is free while a request is under way.
#[test]
fn lists_are_ranked_while_a_request_is_under_way() {
    use std::sync::mpsc;
    let device = std::sync::Arc::new(TestDevice::member(super::device::averaging(), super::device::options(), 1));
    let (asked, hears) = mpsc::channel();
    let (answer, waits) = mpsc::channel::<()>();
    device.shell.transport().alter = Some(Box::new(move |_, given| {
        asked.send(()).expect("the test listens");
        waits.recv().expect("the test answers");
        given
    }));
    let (other, time) = (device.clone(), device.time.load(Ordering::Relaxed));
    let visit = std::thread::spawn(move || -> Result<_, DeviceError> { other.shell.sync() });
    hears.recv().expect("a request");
    device.interact(1, 5);
    assert_eq!(device.time.load(Ordering::Relaxed), time);
    answer.send(()).expect("it waits");
    visit.join().expect("no panic").expect("a task");
}

/// Noise that a plan leaves to be calibrated is computed whenever a device is opened.
#[test]
fn devices_of_private_plans_open_quickly_too() {
    let central = Privacy::CentralDiscreteGaussian(CentralDiscreteGaussianParameters {
        clip: Clip::Fixed(0.2),
        noise_multiplier: None,
        epsilon: Some(4.5),
        delta: Some(1e-5),
    });
    let whole_run = Some(Budget { epsilon: 50.0, delta: 1e-5 });
    let duchi = Privacy::Duchi(DuchiParameters { epsilon: None, bound: 0.05, whole_run });
    for privacy in [central, duchi] {
        let name = privacy.name();
        let plan = FederationPlan { n_rounds: 1_000, n_clients: 1_000, privacy, ..modes::pdgd(1) };
        let plan = Plan::new(plan, &features(), true).expect("deployable");
        let device = TestDevice::member(plan, Options::new(features()), 1);
        let started = Instant::now();
        device.reopen(1).expect("sound");
        let opened = started.elapsed().as_secs_f64() * 1e3;
        println!("| open, {name} | calibrated, 1,000 rounds | {opened:.1} ms | |");
        assert!(opened < 250.0, "{opened} ms; 50 on an idle machine");
    }
}
