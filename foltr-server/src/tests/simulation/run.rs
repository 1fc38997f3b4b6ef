//! One list of operations on the real server and on the model, compared after each.

mod checks;
mod devices;
mod uploads;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use foltr_federation::protocol::{Invitation, ReleaseChain, ReleaseId, SecretKey};
use foltr_test::disk::{Disk, Survivors};

use super::model::closing::ClosingModel;
use super::model::{InvitationModel, Model, PlanModel, Settings};
use super::operation::{Clock, N_REPLICAS, Operation};
use super::plans::Kind;
use super::servers::{Process, create, sqlite};
use crate::database::Pool;
use crate::operator::{Action, Done, Operator, OperatorError};
use crate::rounds::{Closing, Gathered};
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::store::federations::{self, FederationRow, Phase};
use crate::tests::world::{NAME, START, TestDevice, hash_of, settings};
use uploads::Past;

/// A replica that stopped while it closed a round.
struct Paused {
    replica: usize,
    model: ClosingModel,
    stage: Stage,
}

enum Stage {
    Begun(FederationRow, Gathered),
    Folded(Closing),
}

/// A device that has joined.
struct Member {
    device: TestDevice,
    chain: ReleaseChain,
    /// What it was acknowledged for.
    past: Vec<Past>,
}

pub struct Run {
    disk: Disk,
    process: Process,
    replicas: Vec<Service>,
    /// Whether a replica has the key in force.
    has_key: Vec<bool>,
    /// Reads what is stored, beside the replicas.
    store: Pool,
    key: SecretKey,
    model: Model,
    members: Vec<Member>,
    invitation: Option<(Invitation, u64)>,
    paused: Vec<Paused>,
    /// What had come to the round when a device asked for its task last: more may come before somebody closes it.
    gathered: Gathered,
    /// By shard and version.
    ids: Vec<Vec<ReleaseId>>,
    n_plans: usize,
    trace: DefaultHasher,
    /// How often an upload was answered in which way, and how often something else worth seeing happened.
    counts: Counts,
}

pub type Counts = BTreeMap<String, u64>;

const DAY: u64 = 86_400;
/// Of the first plan; some federations come to the end of it.
const N_ROUNDS: [usize; 3] = [1_000, 1_000, 12];

impl Run {
    /// A federation whose kind and settings follow from the seed.
    pub fn new(seed: u64) -> Self {
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        let n_rounds = N_ROUNDS[seed as usize / 6 % 3];
        let stage = if seed % 5 == 4 { 30 } else { 0 };
        let own = FederationSettings {
            minimum_devices: 2,
            stage_share: if stage > 0 { 0.5 } else { 1.0 },
            stage_seconds: stage,
            receipt_days: 1_000_000,
            stored_releases: 1_000_000,
            ..settings()
        };
        let (disk, key, plan) = (Disk::new(), SecretKey::from_bytes(&[7; 32]), kind.plan(n_rounds));
        let process = Process::new(own, seed);
        create(&sqlite(&disk), &plan, &key);
        let model = Model::new(
            Settings { round_seconds: process.settings.round_seconds, minimum: 2, stage, seed },
            PlanModel { kind, hash: hash_of(&plan), n_rounds: n_rounds as u32 },
            START,
        );
        let replicas = (0..N_REPLICAS).map(|_| process.start(sqlite(&disk), &key)).collect();
        let store = Pool::new(sqlite(&disk), 2);
        Self {
            disk,
            process,
            replicas,
            has_key: vec![true; N_REPLICAS],
            store,
            key,
            model,
            members: Vec::new(),
            invitation: None,
            paused: Vec::new(),
            gathered: Gathered::default(),
            ids: vec![Vec::new(); kind.n_shards() as usize],
            n_plans: n_rounds,
            trace: DefaultHasher::new(),
            counts: Counts::new(),
        }
    }

    /// Everything that happened, as one number and as counts.
    pub fn run(seed: u64, operations: &[Operation]) -> Result<(u64, Counts)> {
        let mut run = Self::new(seed);
        run.check()?;
        for (place, operation) in operations.iter().enumerate() {
            let done = run.apply(*operation).and_then(|()| run.check());
            done.with_context(|| format!("seed {seed}, operation {place}: {operation:?}"))?;
        }
        run.check_everything().with_context(|| format!("seed {seed}, at the end"))?;
        run.count("releases", run.model.releases.len() as u64);
        run.count("rounds and buffers that are over", run.model.over.len() as u64);
        Ok((run.trace.finish(), run.counts))
    }

    fn count(&mut self, what: &str, n: u64) {
        *self.counts.entry(what.to_owned()).or_default() += n;
    }

    fn note(&mut self, what: impl Hash) {
        what.hash(&mut self.trace);
    }

    /// A replica that can sign.
    fn signer(&self, replica: usize) -> usize {
        if self.has_key[replica] { replica } else { 1 - replica }
    }

    fn federation(&self, replica: usize) -> &crate::federation::Federation {
        &self.replicas[replica].federations[NAME]
    }

    fn apply(&mut self, operation: Operation) -> Result<()> {
        match operation {
            Operation::Invite { uses } => self.invite(uses),
            Operation::RevokeInvitation => self.revoke_invitation(),
            Operation::Enrol { replica, again } => self.enrol(self.signer(replica), again),
            Operation::Upload { device, replica, twist, network } => self.upload(device, replica, twist, network),
            Operation::Task { device, replica } => self.task(device, replica).and_then(|()| self.gather(replica)),
            Operation::Follow { device, replica } => self.follow(device, replica),
            Operation::Tick { replica } => self.tick(replica),
            Operation::Clock(clock) => self.set_clock(clock),
            Operation::Hold | Operation::Resume => self.hold(operation == Operation::Hold),
            Operation::CloseRound { replica } => self.close_round(replica),
            Operation::RollBack { version } => self.roll_back(version),
            Operation::NewPlan { kind } => self.change_plan(kind),
            Operation::RotateKey { replica } => self.rotate_key(replica),
            Operation::Revoke { device, replica } => self.revoke(device, replica),
            Operation::Forget { device, replica, network } => self.forget(device, replica, network),
            Operation::BeginClosing { replica, is_open } => self.begin_closing(replica, is_open),
            Operation::GoOnClosing { which } => self.go_on_closing(which),
            Operation::Restart { replica } => self.restart(replica),
            Operation::PowerLoss { survivors, seed } => self.lose_power(survivors, seed),
        }
    }

    /// The operator acts at a replica that can sign.
    fn act(&mut self, replica: usize, action: &Action) -> Result<Done, OperatorError> {
        let done = self.replicas[self.signer(replica)].act(NAME, action);
        self.note(done.is_ok());
        done
    }

    fn tick(&mut self, replica: usize) -> Result<()> {
        let problems = self.replicas[replica].tick();
        if self.has_key[replica] {
            ensure!(problems.is_empty(), "what is due was not done: {problems:?}");
            self.model.tick();
        }
        Ok(())
    }

    fn set_clock(&mut self, clock: Clock) -> Result<()> {
        self.model.now = match clock {
            Clock::Forward(seconds) => self.model.now + seconds,
            Clock::Back(seconds) => self.model.now.saturating_sub(seconds).max(DAY),
        };
        self.process.time.store(self.model.now * 1_000, Ordering::Relaxed);
        Ok(())
    }

    fn hold(&mut self, is_held: bool) -> Result<()> {
        self.act(0, if is_held { &Action::Hold } else { &Action::Resume })?;
        self.model.hold(is_held);
        Ok(())
    }

    fn close_round(&mut self, replica: usize) -> Result<()> {
        let cannot = self.model.cannot_close();
        let done = self.act(replica, &Action::CloseRound);
        ensure!(matches!(done, Err(OperatorError::Refused(_))) == cannot, "{done:?}, and cannot close: {cannot}");
        if !cannot {
            done?;
            self.model.close(true);
        }
        Ok(())
    }

    fn roll_back(&mut self, version: usize) -> Result<()> {
        let version = version % self.model.releases.len();
        self.act(0, &Action::RollBack { version: version as u32 })?;
        self.model.roll_back(version);
        Ok(())
    }

    fn change_plan(&mut self, kind: usize) -> Result<()> {
        let kind = Kind::ALL[kind];
        self.n_plans += 1;
        let plan = kind.plan(self.n_plans);
        let done = self.replicas[self.signer(0)].change_plan(NAME, &plan, None);
        if kind.n_shards() != self.model.kind().n_shards() {
            ensure!(matches!(done, Err(OperatorError::Refused(_))), "{done:?}, and there are other shards");
            return Ok(());
        }
        done?;
        self.model.change_plan(PlanModel { kind, hash: hash_of(&plan), n_rounds: self.n_plans as u32 });
        Ok(())
    }

    /// The other replica gets the key when it is started again.
    fn rotate_key(&mut self, replica: usize) -> Result<()> {
        let signer = self.signer(replica);
        self.act(signer, &Action::RotateKey)?;
        self.key = self.federation(signer).key();
        self.has_key = (0..N_REPLICAS).map(|other| other == signer).collect();
        self.model.rotate_key();
        Ok(())
    }

    fn invite(&mut self, uses: u32) -> Result<()> {
        match self.act(0, &Action::NewInvitation { uses, seconds: DAY, note: String::new() })? {
            Done::Invitation { id, invitation } => self.invitation = Some((invitation.parse()?, id)),
            other => anyhow::bail!("{other:?} is no invitation"),
        }
        let expires_at = self.model.now + DAY;
        self.model.invitations.push(InvitationModel { uses, expires_at, is_revoked: false });
        Ok(())
    }

    fn revoke_invitation(&mut self) -> Result<()> {
        let Some((_, id)) = self.invitation else { return Ok(()) };
        self.act(0, &Action::RevokeInvitation { id })?;
        self.model.invitations.last_mut().context("an invitation")?.is_revoked = true;
        Ok(())
    }

    fn revoke(&mut self, device: usize, replica: usize) -> Result<()> {
        // Some stay, or there is nothing to see any more.
        if self.members.is_empty() || self.model.n_active() <= 3 {
            return Ok(());
        }
        let number = device % self.members.len();
        self.act(replica, &Action::RevokeDevice { device: self.members[number].device.id.to_string() })?;
        self.model.devices[number].1 = false;
        Ok(())
    }

    fn gather(&mut self, replica: usize) -> Result<()> {
        let row = self.store.read(|tables| federations::find(tables, 1))?;
        self.gathered = self.replicas[replica].gather(&row)?;
        Ok(())
    }

    /// As a replica does that stops before it has read the contributions. One without contributions is never closed.
    fn begin_closing(&mut self, replica: usize, is_open: bool) -> Result<()> {
        if self.model.is_asynchronous() || self.model.open.is_empty() {
            return Ok(());
        }
        let mut seen: FederationRow = self.store.read(|tables| federations::find(tables, 1))?;
        if is_open {
            seen.phase = Phase::Open;
        }
        let gathered = std::mem::take(&mut self.gathered);
        let row = self.replicas[replica].begin_closing(self.federation(replica), &seen)?;
        let model = self.model.begin_closing(is_open);
        ensure!(row.is_some() == model.is_some(), "began to close: {}", row.is_some());
        if let (Some(row), Some(model)) = (row, model) {
            self.paused.push(Paused { replica, model, stage: Stage::Begun(row, gathered) });
        }
        Ok(())
    }

    fn go_on_closing(&mut self, which: usize) -> Result<()> {
        if self.paused.is_empty() {
            return Ok(());
        }
        let Paused { replica, mut model, stage } = self.paused.remove(which % self.paused.len());
        let (service, federation, can_sign) =
            (&self.replicas[replica], self.federation(replica), self.has_key[replica]);
        match stage {
            Stage::Begun(row, gathered) => {
                let folded = service.fold_round(federation, row, gathered);
                if !can_sign {
                    ensure!(folded.is_err(), "a replica without the key goes on");
                    return Ok(());
                }
                let folded = folded?;
                ensure!(folded.is_some() == self.model.is_closed_by(&model), "folded: {}", folded.is_some());
                self.count(
                    if folded.is_some() { "paused replica: goes on" } else { "paused replica: too late to fold" },
                    1,
                );
                if let Some(closing) = folded {
                    self.model.fold_round(&mut model);
                    self.paused.push(Paused { replica, model, stage: Stage::Folded(closing) });
                }
            }
            Stage::Folded(closing) => {
                let is_ours = self.model.is_closed_by(&model);
                let published = service.publish(federation, closing);
                ensure!(published.is_ok() == can_sign, "{published:?} by a replica that can sign: {can_sign}");
                if can_sign && is_ours {
                    self.model.publish_round(model);
                } else {
                    self.count("paused replica: too late to publish", 1);
                }
            }
        }
        Ok(())
    }

    fn restart(&mut self, replica: usize) -> Result<()> {
        self.paused.retain(|paused| paused.replica != replica);
        self.gathered = Gathered::default();
        self.replicas[replica] = self.process.start(sqlite(&self.disk), &self.key);
        self.has_key[replica] = true;
        Ok(())
    }

    fn lose_power(&mut self, survivors: Survivors, seed: u64) -> Result<()> {
        self.paused.clear();
        self.gathered = Gathered::default();
        self.replicas.clear();
        self.store = Pool::new(sqlite(&self.disk), 2);
        self.disk.reboot(survivors, seed);
        self.replicas = (0..N_REPLICAS).map(|_| self.process.start(sqlite(&self.disk), &self.key)).collect();
        self.has_key.fill(true);
        let problems = crate::verifying::before_start(&self.replicas[0])?;
        ensure!(problems.is_empty(), "after a power loss: {problems:?}");
        Ok(())
    }
}
