//! A device asks to be forgotten; what it contributed is unlearned as the plan says.

use foltr_federation::protocol::{DeviceId, ForgetRequest};

use super::{Service, unavailable};
use crate::call::{Answer, Call};
use crate::database::{Connection, DatabaseError};
use crate::federation::Federation;
use crate::forgetting::{self as unlearning, FORGETTING_TOGETHER};
use crate::hex;
use crate::history;
use crate::operator::{Done, OperatorError};
use crate::problem::{Name, Problem};
use crate::randomness::spread;
use crate::rounds::RoundError;
use crate::store::contributions::{self, ContributionKey};
use crate::store::devices::{self, DeviceRow, Status};
use crate::store::federations::{self, Phase};
use crate::store::forgetting::{self, ForgetRow};

impl Service {
    pub(super) fn forget(&self, federation: &Federation, call: &Call) -> Result<Answer, Problem> {
        let device = self.leaver(federation, call)?;
        let request = ForgetRequest::decode(&call.body)
            .map_err(|error| Problem::new(Name::Malformed, format!("no request to be forgotten: {error}")))?;
        if request.device != device.device {
            return Err(Problem::new(Name::OtherDevice, "the request is for another device than the one that signed"));
        }
        let asked = self.ask(federation, &device).map_err(|error| unavailable(&error))?;
        self.wake();
        self.state_of(asked, federation)
    }

    /// The same without asking again.
    pub(super) fn deletion_receipt(
        &self,
        federation: &Federation,
        call: &Call,
        device: &str,
    ) -> Result<Answer, Problem> {
        let row = self.leaver(federation, call)?;
        if hex::decode(device).map(DeviceId::from_bytes) != Some(row.device) {
            return Err(Problem::new(Name::OtherDevice, "the receipt is of another device than the one that signed"));
        }
        let find = |tables: &mut dyn Connection| forgetting::find(tables, federation.id, row.number);
        let request: Option<ForgetRow> = self.pool.read(find).map_err(|error| unavailable(&error))?;
        let none = || Problem::new(Name::NotFound, "the device has not asked to be forgotten");
        self.state_of(request.ok_or_else(none)?, federation)
    }

    /// The device that signed, whatever its status. One that is not enrolled has nothing to be forgotten.
    fn leaver(&self, federation: &Federation, call: &Call) -> Result<DeviceRow, Problem> {
        self.signer(federation, call).map_err(|problem| match problem.name {
            Name::UnknownDevice => Problem { name: Name::NothingToForget, ..problem },
            _ => problem,
        })
    }

    fn state_of(&self, request: ForgetRow, federation: &Federation) -> Result<Answer, Problem> {
        match (request.receipt, request.state.as_str()) {
            (Some(receipt), _) => Ok(Answer::json(200, receipt)),
            (None, "queued") => {
                Ok(Answer { retry_after: Some(spread(federation.settings.retry_seconds)), ..Answer::empty(202) })
            }
            (None, _) => Err(Problem::later(Name::CannotForget, request.reason, spread(86_400))),
        }
    }

    /// Notes the wish of a device, which takes no part any more. Asked again, nothing changes.
    fn ask(&self, federation: &Federation, device: &DeviceRow) -> Result<ForgetRow, DatabaseError> {
        let now = self.now();
        let asked = self.pool.write(|tables| -> Result<ForgetRow, DatabaseError> {
            let mut row = federations::lock(tables, federation.id)?;
            if let Some(known) = forgetting::find(tables, federation.id, device.number)? {
                return Ok(known);
            }
            let request = ForgetRow {
                number: device.number,
                device: device.device,
                asked_at: now,
                state: "queued".into(),
                reason: String::new(),
                receipt: None,
            };
            forgetting::write(tables, federation.id, &request)?;
            let current = devices::find(tables, federation.id, &device.device)?;
            if current.is_some_and(|device| device.status == Status::Active) {
                devices::set_status(tables, federation.id, device.number, Status::Revoked)?;
                row.n_active = row.n_active.saturating_sub(1);
            }
            let (plan, round) = (row.plan, row.round);
            let key = ContributionKey { federation: federation.id, plan, round, number: device.number };
            // What it sent to the open round is in no model yet. A round that is being closed has it.
            if row.phase == Phase::Open && contributions::delete_unfolded(tables, &key)? {
                row.n_contributions = row.n_contributions.saturating_sub(1);
            }
            row.revision += 1;
            federations::update(tables, &row)?;
            Ok(request)
        })?;
        drop(federation.refresh(&self.pool));
        Ok(asked)
    }

    /// On behalf of a device's owner.
    pub(crate) fn forget_for(&self, federation: &Federation, id: &DeviceId) -> Result<Done, OperatorError> {
        let device = self.pool.read(|tables| devices::find(tables, federation.id, id))?;
        let device: DeviceRow = device.ok_or_else(|| OperatorError::Refused(format!("no device {id} is enrolled")))?;
        self.ask(federation, &device)?;
        self.forget_queued(federation)?;
        let request = self.pool.read(|tables| forgetting::find(tables, federation.id, device.number))?;
        match request.filter(|request: &ForgetRow| request.state == "refused") {
            Some(request) => Err(OperatorError::Refused(request.reason)),
            None => Ok(Done::Done),
        }
    }

    /// The deletion receipt of a device; nothing if it is not forgotten.
    pub fn receipt_of(&self, federation: &str, device: &str) -> Result<Option<Vec<u8>>, OperatorError> {
        let known = self.federations.get(federation);
        let federation = known.ok_or_else(|| OperatorError::UnknownFederation(federation.to_owned()))?;
        let Some(id) = hex::decode(device).map(DeviceId::from_bytes) else { return Ok(None) };
        let find = |tables: &mut dyn Connection| -> Result<Option<ForgetRow>, OperatorError> {
            let device = devices::find(tables, federation.id, &id)?;
            let request = device.map(|device| forgetting::find(tables, federation.id, device.number));
            Ok(request.transpose()?.flatten())
        };
        Ok(self.pool.read(find)?.and_then(|request| request.receipt))
    }

    /// The history of a shard, as `foltr receipt verify` reads it.
    pub fn history_of(&self, federation: &str, shard: u32) -> Result<Vec<u8>, OperatorError> {
        let known = self.federations.get(federation);
        let federation = known.ok_or_else(|| OperatorError::UnknownFederation(federation.to_owned()))?;
        let snapshot = federation.refresh(&self.pool)?;
        let histories = self
            .pool
            .read(|tables| -> Result<_, OperatorError> { Ok(history::complete(tables, federation.id, &snapshot)?) })?;
        let none = || OperatorError::Refused(format!("there is no history of shard {shard}: the plan asks for none"));
        histories.get(&shard).map(foltr_federation::History::encode).ok_or_else(none)
    }

    /// Meets what waits, all at once, between two rounds.
    pub(crate) fn forget_queued(&self, federation: &Federation) -> Result<(), RoundError> {
        let queued = |tables: &mut dyn Connection| forgetting::queued(tables, federation.id, FORGETTING_TOGETHER);
        let queued: Vec<ForgetRow> = self.pool.read(queued)?;
        if queued.is_empty() {
            return Ok(());
        }
        let (key, now) = (federation.key(), self.now());
        let mut randomness = self.randomness();
        self.pool.write(|tables| -> Result<(), RoundError> {
            let row = federations::lock(tables, federation.id)?;
            if row.phase == Phase::Closing || row.is_held {
                return Ok(());
            }
            // Others may have met some of them meanwhile.
            let queued = forgetting::queued(tables, federation.id, FORGETTING_TOGETHER)?;
            unlearning::meet(tables, federation, row, queued, &key, &mut **randomness, now)
        })?;
        drop(randomness);
        federation.refresh(&self.pool)?;
        Ok(())
    }
}
