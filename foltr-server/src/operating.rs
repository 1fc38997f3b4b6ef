//! What the operator does to the federations of a service.

use foltr_federation::protocol::{DeviceId, Invitation, Plan, SecretKey};
use foltr_rank::Params;

use crate::database::{Connection, DatabaseError};
use crate::export;
use crate::federation::Federation;
use crate::hex;
use crate::operator::{Action, Done, ExportedModel, InvitationLine, Operator, OperatorError, Overview};
use crate::publishing::{self, Change, PublishError};
use crate::randomness::secret;
use crate::rounds::{self, RoundError};
use crate::service::Service;
use crate::settings::FederationSettings;
use crate::signing_key;
use crate::store::devices::{self, Status};
use crate::store::federations::{self, FederationRow, Phase};
use crate::store::invitations;

impl From<DatabaseError> for OperatorError {
    fn from(error: DatabaseError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<RoundError> for OperatorError {
    fn from(error: RoundError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<crate::snapshot::SnapshotError> for OperatorError {
    fn from(error: crate::snapshot::SnapshotError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<PublishError> for OperatorError {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::Database(error) => error.into(),
            error => Self::Refused(error.to_string()),
        }
    }
}

fn refused(why: impl Into<String>) -> OperatorError {
    OperatorError::Refused(why.into())
}

impl Operator for Service {
    fn overview(&self) -> Result<Overview, OperatorError> {
        let federations = self.federations.values().map(|federation| self.federation_overview(federation));
        let federations = federations.collect::<Result<_, _>>()?;
        Ok(Overview { now: self.now(), version: env!("CARGO_PKG_VERSION"), federations })
    }

    fn act(&self, federation: &str, action: &Action) -> Result<Done, OperatorError> {
        let known = self.federations.get(federation);
        let federation = known.ok_or_else(|| OperatorError::UnknownFederation(federation.to_owned()))?;
        tracing::info!(federation = federation.name, action = action.name(), "the operator acts");
        let done = match action {
            Action::NewInvitation { uses, seconds, note } => self.invite(federation, *uses, *seconds, note),
            Action::RevokeInvitation { id } => self.revoke_invitation(federation, *id),
            Action::Hold => self.hold(federation, true),
            Action::Resume => self.hold(federation, false),
            Action::CloseRound => self.close_now(federation),
            Action::RollBack { version } => self.roll_back(federation, *version),
            Action::RevokeDevice { device } => self.revoke_device(federation, device),
            Action::Forget { device } => self.forget_for(federation, &device_id(device)?),
            Action::RotateKey => self.rotate_key(federation),
        };
        if let Err(error) = federation.refresh(&self.pool) {
            // What was done is done, and an invitation can be shown only now.
            tracing::warn!(federation = federation.name, %error, "the federation cannot be read");
        }
        done
    }

    fn export(&self, federation: &str, version: Option<u32>) -> Result<ExportedModel, OperatorError> {
        let known = self.federations.get(federation);
        let federation = known.ok_or_else(|| OperatorError::UnknownFederation(federation.to_owned()))?;
        export::export(self, federation, version)
    }
}

fn device_id(text: &str) -> Result<DeviceId, OperatorError> {
    let id = hex::decode(text).map(DeviceId::from_bytes);
    id.ok_or_else(|| refused(format!("{text:?} is no device; right would be 64 hexadecimal digits")))
}

/// A stage does not go on while its federation is held, and begins anew afterwards.
fn hold_stage(row: &mut FederationRow, settings: &FederationSettings, now: u64) {
    match row.is_held {
        true if row.staged_until > now => row.staged_until = rounds::NO_DEADLINE,
        false if row.staged_until == rounds::NO_DEADLINE => {
            row.staged_until = now.saturating_add(settings.stage_seconds);
            row.deadline = row.deadline.max(row.staged_until.saturating_add(settings.round_seconds));
        }
        _ => {}
    }
}

/// A fresh key, in its file. One that an interrupted rotation left there is used.
fn next_key(federation: &Federation) -> Result<SecretKey, OperatorError> {
    let next = zeroize::Zeroizing::new(secret());
    let Some(file) = federation.key_file.as_deref().map(signing_key::next_file) else {
        return Ok(SecretKey::from_bytes(&next));
    };
    let wrong = |error: signing_key::KeyFileError| refused(error.to_string());
    if !file.exists() {
        signing_key::create(&file, &next).map_err(wrong)?;
    }
    signing_key::read(&file).map_err(wrong)
}

impl Service {
    /// Changes a federation's row in one transaction.
    fn change<T>(
        &self,
        federation: &Federation,
        mut run: impl FnMut(&mut dyn Connection, &mut FederationRow) -> Result<T, OperatorError>,
    ) -> Result<T, OperatorError> {
        self.pool.write(|tables| {
            let mut row = federations::lock(tables, federation.id)?;
            run(tables, &mut row)
        })
    }

    fn invite(&self, federation: &Federation, uses: u32, seconds: u64, note: &str) -> Result<Done, OperatorError> {
        if uses == 0 || seconds == 0 {
            return Err(refused("an invitation must have at least one use and last at least one second"));
        }
        let (secret, now, key) = (secret(), self.now(), federation.key());
        let address = federation.settings.address.clone();
        let invitation = Invitation::new(address, key.public_key().fingerprint(), secret)
            .map_err(|error| refused(format!("the address in the federation's settings.toml: {error}")))?;
        let id = self.change(federation, |tables, _| {
            let line = InvitationLine {
                id: invitations::next_id(tables, federation.id)?,
                note: note.chars().filter(|letter| !letter.is_control()).take(200).collect(),
                created_at: now,
                expires_at: now.saturating_add(seconds).min(i64::MAX as u64),
                uses_left: uses,
                is_revoked: false,
            };
            invitations::insert(tables, federation.id, &secret, &line)?;
            Ok(line.id)
        })?;
        Ok(Done::Invitation { id, invitation: invitation.to_string() })
    }

    fn revoke_invitation(&self, federation: &Federation, id: u64) -> Result<Done, OperatorError> {
        let is_known = self.change(federation, |tables, _| Ok(invitations::revoke(tables, federation.id, id)?))?;
        if is_known { Ok(Done::Done) } else { Err(refused(format!("there is no invitation {id}"))) }
    }

    fn hold(&self, federation: &Federation, is_held: bool) -> Result<Done, OperatorError> {
        let (now, settings) = (self.now(), &federation.settings);
        self.change(federation, |tables, row| {
            if row.is_held == is_held {
                return Ok(());
            }
            row.is_held = is_held;
            hold_stage(row, settings, now);
            if !is_held && row.phase == Phase::Open && row.deadline < rounds::NO_DEADLINE {
                // Devices that could not get the task while it was held have time again.
                row.deadline = row.deadline.max(now.saturating_add(settings.round_seconds));
            }
            row.revision += 1;
            Ok(federations::update(tables, row)?)
        })?;
        Ok(Done::Done)
    }

    fn close_now(&self, federation: &Federation) -> Result<Done, OperatorError> {
        let snapshot = federation.refresh(&self.pool)?;
        let row = &snapshot.row;
        let why = match row.phase {
            _ if row.is_held => "the federation is held: resume it first",
            Phase::Open if snapshot.engine.is_asynchronous() => {
                "there are no rounds: a version comes when the buffer is full"
            }
            Phase::Open if self.n_contributions(federation)? == 0 && !snapshot.engine.hides_who() => {
                "nobody has contributed to the round"
            }
            Phase::Open => {
                self.close(federation, row)?;
                return Ok(Done::Done);
            }
            _ => "no round is open",
        };
        Err(refused(why))
    }

    fn n_contributions(&self, federation: &Federation) -> Result<u32, OperatorError> {
        let row: FederationRow = self.pool.read(|tables| federations::find(tables, federation.id))?;
        Ok(row.n_contributions)
    }

    fn roll_back(&self, federation: &Federation, version: u32) -> Result<Done, OperatorError> {
        let (key, now) = (federation.key(), self.now());
        let mut randomness = self.randomness();
        self.change(federation, |tables, row| {
            let change = Change { settings: &federation.settings, key: &key, randomness: &mut **randomness, now };
            Ok(publishing::roll_back(tables, row, version, change)?)
        })?;
        drop(randomness);
        self.newest(federation)
    }

    /// Puts another plan into force, with this model or the newest one; says which release names it.
    pub fn change_plan(&self, name: &str, plan: &Plan, model: Option<Params>) -> Result<u32, OperatorError> {
        let known = self.federations.get(name);
        let federation = known.ok_or_else(|| OperatorError::UnknownFederation(name.to_owned()))?;
        let (key, now) = (federation.key(), self.now());
        let mut randomness = self.randomness();
        self.change(federation, |tables, row| {
            let change = Change { settings: &federation.settings, key: &key, randomness: &mut **randomness, now };
            Ok(publishing::change_plan(tables, row, plan, model.clone(), change)?)
        })?;
        drop(randomness);
        Ok(federation.refresh(&self.pool)?.shards[0].row.newest)
    }

    fn newest(&self, federation: &Federation) -> Result<Done, OperatorError> {
        let snapshot = federation.refresh(&self.pool)?;
        Ok(Done::Release { version: snapshot.shards[0].row.newest })
    }

    fn revoke_device(&self, federation: &Federation, device: &str) -> Result<Done, OperatorError> {
        let id = device_id(device)?;
        self.change(federation, |tables, row| {
            let known = devices::find(tables, federation.id, &id)?;
            let known = known.ok_or_else(|| refused(format!("no device {device} is enrolled")))?;
            if known.status == Status::Active {
                devices::set_status(tables, federation.id, known.number, Status::Revoked)?;
                row.n_active = row.n_active.saturating_sub(1);
                row.revision += 1;
                federations::update(tables, row)?;
            }
            Ok(())
        })?;
        Ok(Done::Done)
    }

    /// The new key lies in a file before the release that names it is published, and takes the place of the old one after
    /// that. [`crate::folder`] completes a rotation that was interrupted.
    fn rotate_key(&self, federation: &Federation) -> Result<Done, OperatorError> {
        if federation.is_key_of_environment {
            let why =
                "the key is in an environment variable, where a new one cannot be kept: put it into signing.key first";
            return Err(refused(why));
        }
        let next_key = next_key(federation)?;
        let (key, now) = (federation.key(), self.now());
        let mut randomness = self.randomness();
        self.change(federation, |tables, row| {
            let change = Change { settings: &federation.settings, key: &key, randomness: &mut **randomness, now };
            Ok(publishing::change_key(tables, row, next_key.public_key(), &change)?)
        })?;
        drop(randomness);
        federation.set_key(next_key);
        if let Some(file) = &federation.key_file {
            signing_key::replace(file).map_err(|error| refused(error.to_string()))?;
        }
        self.newest(federation)
    }
}
