//! One server and its devices, when anything may fail at any moment. What was acknowledged is remembered outside.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use foltr_federation::protocol::{Contribution, ContributionReceipt, Invitation, ReleaseId, SecretKey, Signed};
use foltr_federation::{Fingerprint, Payload};
use tempfile::TempDir;

use crate::call::{Answer, Call};
use crate::database::Database;
use crate::federation::Federation;
use crate::operator::{Action, Done, Operator};
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::signing_key;
use crate::store::federations::{self, FederationRow};
use crate::store::releases;
use crate::tests::simulation::operation::{Clock, Operation, Twist};
use crate::tests::simulation::plans::Kind;
use crate::tests::simulation::servers::Process;
use crate::tests::world::{NAME, TestDevice, problem, settings};

/// A contribution that was acknowledged.
pub struct Acknowledged {
    pub plan: Fingerprint,
    pub round: u32,
    pub number: u32,
    pub hash: Fingerprint,
    pub time: u64,
    pub call: Call,
}

/// What the world outside of the server knows.
pub struct Site {
    pub process: Process,
    keys: TempDir,
    pub service: Option<Service>,
    invitation: Option<Invitation>,
    /// Devices that know that they have joined.
    pub devices: Vec<TestDevice>,
    pub acknowledged: Vec<Acknowledged>,
    /// The updates of everything that was ever sent, by their hashes, in the order in which they were sent.
    pub sent: HashMap<[u8; 32], (usize, [f64; 2])>,
    n_sent: usize,
    pub kind: Kind,
    n_plans: usize,
    /// The newest plan, round and release that were seen.
    pub seen: Option<(i64, u32, ReleaseId)>,
}

/// Nothing is taken away by its age.
fn process() -> Process {
    let (receipt_days, stored_releases) = (1_000_000, 1_000_000);
    Process::new(FederationSettings { minimum_devices: 2, receipt_days, stored_releases, ..settings() }, 1)
}

/// Where keys of tests lie: syncs are cheap in memory.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

impl Site {
    pub fn new(kind: Kind) -> Self {
        let keys = tempfile::tempdir_in(memory()).expect("a folder");
        signing_key::create(&keys.path().join("key"), &[7; 32]).expect("a new file");
        Self {
            process: process(),
            keys,
            service: None,
            invitation: None,
            devices: Vec::new(),
            acknowledged: Vec::new(),
            sent: HashMap::new(),
            n_sent: 0,
            kind,
            n_plans: 1_000,
            seen: None,
        }
    }

    pub fn key(&self) -> SecretKey {
        signing_key::read(&self.keys.path().join("key")).expect("a key")
    }

    /// A new process begins.
    pub fn start(&mut self, database: Arc<dyn Database>) {
        self.process.has_ended.store(false, Ordering::Relaxed);
        let file = self.keys.path().join("key");
        self.service = Some(self.process.start_with(database, &self.key(), Some(file)));
    }

    pub fn has_ended(&self) -> bool {
        self.process.has_ended.load(Ordering::Relaxed)
    }

    fn service(&self) -> &Service {
        self.service.as_ref().expect("it was started")
    }

    pub fn federation(&self) -> &Federation {
        &self.service().federations[NAME]
    }

    pub fn row(&self) -> Option<FederationRow> {
        self.service().pool.read(|tables| federations::find(tables, 1)).ok()
    }

    /// Whatever the server makes of it; says whether it was done.
    pub fn apply(&mut self, operation: Operation) -> bool {
        let act = |site: &Self, action: &Action| site.service().act(NAME, action).is_ok();
        match operation {
            Operation::Invite { uses } => self.invite(uses),
            Operation::Enrol { .. } => self.enrol(),
            Operation::Upload { device, twist: Twist::Honest | Twist::OtherBytes, .. } => {
                self.upload(device, operation)
            }
            Operation::Upload { device, .. } => self.repeat(device),
            Operation::Tick { .. } | Operation::BeginClosing { .. } => self.service().tick().is_empty(),
            Operation::Clock(Clock::Forward(seconds)) => {
                self.process.time.fetch_add(seconds * 1_000, Ordering::Relaxed);
                true
            }
            Operation::Hold => act(self, &Action::Hold),
            Operation::Resume => act(self, &Action::Resume),
            Operation::CloseRound { .. } => act(self, &Action::CloseRound),
            Operation::RotateKey { .. } => act(self, &Action::RotateKey),
            Operation::RollBack { version } => self.roll_back(version),
            Operation::NewPlan { .. } => self.change_plan(),
            Operation::Revoke { device, .. } if self.devices.len() > 3 => {
                let device = self.devices[device % self.devices.len()].id.to_string();
                act(self, &Action::RevokeDevice { device })
            }
            _ => true,
        }
    }

    fn invite(&mut self, uses: u32) -> bool {
        let action = Action::NewInvitation { uses, seconds: 1 << 40, note: String::new() };
        let Ok(Done::Invitation { invitation, .. }) = self.service().act(NAME, &action) else { return false };
        self.invitation = Some(invitation.parse().expect("an invitation"));
        true
    }

    /// The same device asks until it has an answer.
    fn enrol(&mut self) -> bool {
        let Some(invitation) = &self.invitation else { return true };
        let mut device = TestDevice::new(self.devices.len() as u64 + 1);
        let answer = self.service().answer(&device.enrolment(invitation));
        if answer.status >= 300 {
            return answer.status != 503;
        }
        assert!(!self.has_ended(), "a process that ended has acknowledged a device");
        device.number = self.devices.len() as u32;
        self.devices.push(device);
        true
    }

    /// What a device sends now.
    fn contribution(&self, number: usize, variant: f64) -> Option<Contribution> {
        let service = self.service();
        let snapshot = self.federation().refresh(&service.pool).ok()?;
        let sign = if snapshot.row.round % 2 == 0 { 1.0 } else { -1.0 };
        let delta = vec![sign * 2.0_f32.powi(number as i32), sign * (3.0 * number as f32 + variant as f32)];
        let start =
            service.pool.read(|tables| releases::headers(tables, 1, 0, snapshot.shards[0].row.newest, 1)).ok()?;
        Some(Contribution {
            plan: snapshot.parts.hash,
            round: snapshot.row.round,
            start: start.first()?.id(),
            device: self.devices[number].id,
            payload: Payload::Step { n_interactions: 4, delta },
        })
    }

    fn upload(&mut self, device: usize, operation: Operation) -> bool {
        if self.devices.is_empty() {
            return true;
        }
        let number = device % self.devices.len();
        let is_other = matches!(operation, Operation::Upload { twist: Twist::OtherBytes, .. });
        let Some(contribution) = self.contribution(number, if is_other { 0.5 } else { 0.0 }) else { return false };
        let call = self.devices[number].upload(&contribution);
        let hash = contribution.hash();
        let Payload::Step { delta, .. } = &contribution.payload else { unreachable!("these plans take steps") };
        let sent = (self.n_sent, [delta[0].into(), delta[1].into()]);
        self.n_sent += 1;
        self.sent.entry(*hash.as_bytes()).or_insert(sent);
        let answer = self.service().answer(&call);
        if answer.status == 201 {
            // It was not taken before.
            self.sent.insert(*hash.as_bytes(), sent);
        }
        self.note(&answer, contribution.plan, contribution.round, number, hash, call)
    }

    /// An acknowledged contribution again.
    fn repeat(&mut self, device: usize) -> bool {
        let n = self.acknowledged.len();
        let Some(earlier) = self.acknowledged.get(device % n.max(1)) else { return true };
        let (plan, round, number, hash) = (earlier.plan, earlier.round, earlier.number as usize, earlier.hash);
        let call = earlier.call.clone();
        let answer = self.service().answer(&call);
        self.note(&answer, plan, round, number, hash, call)
    }

    /// Remembers an acknowledged contribution; its receipt is the one that it had before.
    fn note(
        &mut self,
        answer: &Answer,
        plan: Fingerprint,
        round: u32,
        number: usize,
        hash: Fingerprint,
        call: Call,
    ) -> bool {
        if !matches!(answer.status, 200 | 201) {
            return problem(answer) != "unavailable";
        }
        assert!(!self.has_ended(), "a process that ended has acknowledged a contribution");
        let time = Signed::<ContributionReceipt>::decode(&answer.body).expect("a receipt").unverified().time;
        match self.acknowledged.iter().find(|earlier| earlier.hash == hash) {
            Some(earlier) => assert_eq!(earlier.time, time, "a receipt has changed"),
            None => self.acknowledged.push(Acknowledged { plan, round, number: number as u32, hash, time, call }),
        }
        true
    }

    fn roll_back(&self, version: usize) -> bool {
        // A buffer that is dropped is not told from one that is lost.
        if self.kind == Kind::Buffered {
            return true;
        }
        let Some((_, _, newest)) = self.seen else { return true };
        let version = version as u32 % (newest.version + 1);
        self.service().act(NAME, &Action::RollBack { version }).is_ok()
    }

    fn change_plan(&mut self) -> bool {
        if self.kind == Kind::Buffered {
            return true;
        }
        self.n_plans += 1;
        let plan = self.kind.plan(self.n_plans);
        self.service().change_plan(NAME, &plan, None).is_ok()
    }

    /// Looks at where the federation is.
    pub fn look(&mut self) {
        let Some(row) = self.row() else { return };
        let read = |tables: &mut dyn crate::database::Connection| {
            let newest = releases::shards(tables, 1)?[0].newest;
            releases::headers(tables, 1, 0, newest, 1)
        };
        let Ok(headers) = self.service().pool.read(read) else { return };
        if let (false, Some(header)) = (self.has_ended(), headers.first()) {
            self.seen = Some((row.plan, row.round, header.id()));
        }
    }
}
