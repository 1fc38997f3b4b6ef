//! Power fails at any moment: what was acknowledged is there afterwards, and nothing was sent that is not booked.
//!
//! The disk loses, keeps or tears what was not synced. Real kills are in `kills.rs`: they cannot show a missing sync.

use std::collections::{BTreeMap, BTreeSet};

use foltr_federation::aggregate::Mean;
use foltr_federation::protocol::{Contribution, DeviceId, Plan};
use foltr_federation::{Aggregation, Defence, FederationPlan, WorkerMomentum};
use foltr_rank::ImpressionId;
use foltr_rank::rng::{Purpose, Streams};
use foltr_test::campaign_size;
use foltr_test::disk::{Fault, Survivors};
use rand::RngExt;

use super::device::{TestDevice, documents, options, simulated};
use super::federation::{Way, lock};
use super::modes;
use crate::error::DeviceError;
use crate::options::{Options, Retention};

const N_DOCS: usize = 6;

/// What the device has acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// Positions that were clicked, of lists that nobody has dismissed.
    clicks: BTreeMap<u64, BTreeSet<usize>>,
    /// The same of lists whose end was asked for: they have ended, or are open with these clicks.
    ended: BTreeMap<u64, BTreeSet<usize>>,
    /// Every id that a caller has seen.
    ids: BTreeSet<u64>,
    n_crashes: u32,
    n_full: u32,
    n_lost_lists: u32,
}

fn plan() -> Plan {
    let momentum = Some(WorkerMomentum::Fixed { beta: 0.5 });
    let rule = Aggregation::Mean(Mean::default());
    let mut plan = FederationPlan { n_rounds: 1_000, n_interactions: 2, ..modes::pdgd(1) };
    if let foltr_rank::Learner::Pdgd(pdgd) = &mut plan.learner {
        // So slow that no order becomes certain: every list with a click is evidence, and counted.
        pdgd.learning_rate = 1e-6;
    }
    simulated(FederationPlan { defence: Some(Defence { momentum, ..Defence::of_rule(rule) }), ..plan })
}

struct Case {
    device: TestDevice,
    acknowledged: Acknowledged,
    seed: u64,
}

impl Case {
    fn run(seed: u64) -> Acknowledged {
        // No list ends by itself.
        let retention = Retention { list_timeout: u64::MAX, ..Retention::default() };
        let device = TestDevice::member(plan(), Options { retention, ..options() }, seed);
        let mut case = Self { device, acknowledged: Acknowledged::default(), seed };
        let mut random = Streams::new(seed).open(Purpose::Data, 0, 0);
        for number in 0..4_u32 {
            let at = case.device.disk.n_operations() + random.random_range(0..60_u64);
            let fault = match random.random_range(0..8_u32) {
                0 => Fault::Full,
                1 => Fault::SyncError,
                2 | 3 => Fault::TornWrite,
                _ => Fault::PowerLoss,
            };
            case.device.disk.fail_at(at, fault);
            case.work(&mut random);
            if fault == Fault::Full {
                case.make_room();
            }
            case = case.crash(&mut random, number);
        }
        case.acknowledged
    }

    /// Anything may happen, until the disk fails or the person is tired.
    fn work(&mut self, random: &mut foltr_rank::rng::Stream) {
        let mut shown: Vec<u64> = self.acknowledged.clicks.keys().copied().collect();
        for _ in 0..40 {
            let shell = &self.device.shell;
            let pick = |random: &mut foltr_rank::rng::Stream, shown: &[u64]| {
                (!shown.is_empty()).then(|| shown[random.random_range(0..shown.len())])
            };
            let done = match random.random_range(0..10_u32) {
                0..=3 => shell.rank(&documents(random.random_range(0..N_DOCS), N_DOCS)).map(|list| {
                    assert!(self.acknowledged.ids.insert(list.impression.0), "an id that another list had");
                    shown.push(list.impression.0);
                }),
                4..=6 => {
                    let Some(id) = pick(random, &shown) else { continue };
                    // One position is never clicked, so that every list with clicks prefers something.
                    let position = random.random_range(0..N_DOCS - 1);
                    shell.clicked(ImpressionId(id), position).map(|_| {
                        self.acknowledged.clicks.entry(id).or_default().insert(position);
                    })
                }
                7 => {
                    let Some(id) = pick(random, &shown) else { continue };
                    shown.retain(|&other| other != id);
                    let clicks = self.acknowledged.clicks.remove(&id);
                    self.acknowledged.ended.insert(id, clicks.unwrap_or_default());
                    shell.dismiss(ImpressionId(id))
                }
                8 => {
                    shell.transport().way =
                        [Way::Clear, Way::RequestLost, Way::AnswerLost][random.random_range(0..3_usize)];
                    // Any wait is over.
                    self.device.pass(7 * 60 * 60);
                    let synced = shell.sync().map(drop);
                    if synced.is_ok() && random.random() {
                        self.device.close_round();
                    }
                    synced
                }
                _ => shell.status().map(drop),
            };
            if let Err(DeviceError::Store(_)) = done {
                break;
            }
        }
    }

    /// The disk was full and is no more: nothing was lost, and all that waited is written.
    fn make_room(&mut self) {
        self.device.disk.clear_fault();
        self.acknowledged.n_full += 1;
        self.device.shell.status().expect("it goes on");
        let _ = self.device.shell.sync();
    }

    fn crash(self, random: &mut foltr_rank::rng::Stream, number: u32) -> Self {
        let Self { device, mut acknowledged, seed } = self;
        let TestDevice { disk, federation, time, options, shell } = device;
        drop(shell);
        let survivors = Survivors::ALL[random.random_range(0..Survivors::ALL.len())];
        disk.clear_fault();
        disk.reboot(survivors, seed + u64::from(number));
        acknowledged.n_crashes += 1;
        let next = seed ^ (u64::from(number) + 1) << 32;
        let shell = super::device::open(&disk, &federation, &time, &options, next)
            .unwrap_or_else(|error| panic!("seed {seed}, crash {number}: {error}"));
        let mut case = Self { device: TestDevice { disk, federation, time, options, shell }, acknowledged, seed };
        case.check(number);
        case
    }

    fn check(&mut self, crash: u32) {
        let Self { device, acknowledged, seed } = self;
        let what = format!("seed {seed}, crash {crash}");
        let (open, n_observed, ledger, task) = device
            .shell
            .with_core(|core, _| (core.open_clicks(), core.n_observed(), core.ledger(), core.ledger_task()));
        for (id, positions) in &acknowledged.clicks {
            let clicks = open.get(id).unwrap_or_else(|| panic!("{what}: list {id} with clicks is gone"));
            positions.iter().for_each(|&position| assert!(clicks.at(position), "{what}: a click on list {id} is lost"));
        }
        // A list whose end was lost is open again, with its clicks.
        let reopened: Vec<u64> = acknowledged.ended.keys().copied().filter(|id| open.contains_key(id)).collect();
        for id in reopened {
            let positions = acknowledged.ended.remove(&id).unwrap_or_default();
            positions.iter().for_each(|&at| assert!(open[&id].at(at), "{what}: a click on list {id} is lost"));
            if !positions.is_empty() {
                acknowledged.clicks.insert(id, positions);
            }
        }
        let n_taught = acknowledged.ended.values().filter(|clicks| !clicks.is_empty()).count() as u64;
        // A click that was stored, but not acknowledged, may have come in beside.
        assert!(n_observed >= n_taught, "{what}: {n_taught} lists with clicks have ended, {n_observed} have taught");
        acknowledged.n_lost_lists += acknowledged.ids.iter().filter(|id| !open.contains_key(id)).count() as u32;
        let federation = lock(&device.federation);
        assert!(!federation.has_other_bytes, "{what}: a second message for a round");
        let ledger = ledger.expect("it is a member");
        assert!(ledger.n_messages() >= federation.received.len() as u64, "{what}: the ledger is below what was sent");
        let newest = federation.received.last_key_value().map(|((round, _), _)| *round);
        for ((round, device), bytes) in &federation.received {
            // Older ones are settled: their cost stays.
            if newest.is_some_and(|newest| round + 16 > newest) {
                assert!(ledger.has_message(&task, *round, bytes), "{what}: round {round} is not booked");
            }
            assert_eq!(*device, device_of(bytes), "{what}");
        }
    }
}

fn device_of(bytes: &[u8]) -> DeviceId {
    let plan = plan();
    let hash = foltr_federation::protocol::Document::hash(&plan).expect("sound");
    Contribution::decode(bytes, &hash, &plan.expected().expect("sound")).expect("its own bytes").device
}

#[test]
fn power_failures_lose_nothing_that_was_acknowledged() {
    let n_cases = campaign_size(500, 20_000);
    let started = std::time::Instant::now();
    let mut total = [0_u32; 3];
    for seed in 0..n_cases {
        let Acknowledged { n_crashes, n_full, n_lost_lists, .. } = Case::run(seed);
        total = [total[0] + n_crashes, total[1] + n_full, total[2] + n_lost_lists];
    }
    let [n_crashes, n_full, n_gone] = total;
    assert!(n_crashes >= 100 && n_full > 0 && n_gone > 0, "{total:?}: nothing was put to the test");
    println!(
        "| power failures | {n_cases} cases, {n_crashes} crashes, {n_full} full disks | none lost | {:.0} s |",
        started.elapsed().as_secs_f64()
    );
}
