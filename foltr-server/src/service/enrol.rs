//! A device joins by the secret of an invitation.

use foltr_federation::protocol::{Enrolment, EnrolmentRequest, Signed, verify_request};

use super::{Service, signature, unavailable};
use crate::call::{Answer, Call};
use crate::database::{Connection, DatabaseError};
use crate::federation::Federation;
use crate::problem::{Name, Problem};
use crate::randomness::secret;
use crate::store::devices::{self, DeviceRow, Status};
use crate::store::{federations, forgetting, invitations};

enum Joined {
    New(DeviceRow),
    Before(DeviceRow),
    Refused,
    Full,
}

impl Service {
    pub(super) fn enrol(&self, federation: &Federation, call: &Call) -> Result<Answer, Problem> {
        let request = EnrolmentRequest::decode(&call.body)
            .map_err(|error| Problem::new(Name::Malformed, format!("no enrolment request: {error}")))?;
        if call.device != request.key.device_id().to_string() {
            return Err(Problem::new(Name::OtherDevice, "foltr-device is not the id of the key in the request"));
        }
        verify_request(call.method.name(), &call.path, &call.body, &request.key, &signature(call)?)
            .map_err(|_| Problem::new(Name::BadSignature, "the request is not signed by the key in it"))?;
        let snapshot = self.snapshot(federation)?;
        let (most, now) = (snapshot.parts.n_clients(), self.now());
        let has_history = snapshot.parts.plan.federation().unlearning.is_some();
        self.check_welcome(federation, &request, now)?;
        let joined = self.pool.write(|tables| join(tables, federation.id, &request, most, has_history, now));
        match joined.map_err(|error| unavailable(&error))? {
            Joined::New(device) => {
                federation.note_enrolled(&device.device);
                self.wake();
                enrolment(federation, &snapshot, &device, 201)
            }
            Joined::Before(device) if device.status == Status::Active => enrolment(federation, &snapshot, &device, 200),
            Joined::Before(_) => Err(Problem::new(Name::Revoked, "the device was revoked or forgotten")),
            Joined::Refused => Err(not_invited()),
            Joined::Full => {
                Err(Problem::new(Name::FederationFull, format!("the plan is for {most} devices, and all have joined")))
            }
        }
    }

    /// Only who joined before or has an invitation gets as far as the writer, and neither waits for those who have none.
    fn check_welcome(&self, federation: &Federation, request: &EnrolmentRequest, now: u64) -> Result<(), Problem> {
        let is_welcome = self.pool.read(|tables| {
            let known = devices::find(tables, federation.id, &request.key.device_id())?;
            Ok(known.is_some() || invitations::is_usable(tables, federation.id, &request.secret, now)?)
        });
        if is_welcome.map_err(|error| unavailable(&error))? {
            return Ok(());
        }
        let later = |wait| Problem::later(Name::TooManyRequests, "too many unknown devices ask", wait);
        self.strangers.take((), (self.clock)()).map_err(later)?;
        Err(not_invited())
    }
}

fn not_invited() -> Problem {
    Problem::new(Name::InvitationRefused, "the secret is unknown, used up, expired or revoked")
}

fn join(
    tables: &mut dyn Connection,
    federation: i64,
    request: &EnrolmentRequest,
    most: u32,
    has_history: bool,
    now: u64,
) -> Result<Joined, DatabaseError> {
    let mut row = federations::lock(tables, federation)?;
    let device = request.key.device_id();
    if let Some(known) = devices::find(tables, federation, &device)? {
        return Ok(Joined::Before(known));
    }
    if row.n_numbers >= most {
        return Ok(Joined::Full);
    }
    let Some(invitation) = invitations::take_use(tables, federation, &request.secret, now)? else {
        return Ok(Joined::Refused);
    };
    let new = DeviceRow { number: row.n_numbers, device, key: request.key, status: Status::Active, last_seen: now };
    devices::insert(tables, federation, &new, invitation, now)?;
    if has_history {
        forgetting::write_key(tables, federation, new.number, &secret())?;
    }
    row.n_numbers += 1;
    row.n_active += 1;
    federations::update(tables, &row)?;
    Ok(Joined::New(new))
}

fn enrolment(
    federation: &Federation,
    snapshot: &crate::snapshot::Snapshot,
    device: &DeviceRow,
    status: u16,
) -> Result<Answer, Problem> {
    let key = federation.key();
    let enrolment =
        Enrolment { device: device.device, number: device.number, key: key.public_key(), plan: snapshot.parts.hash };
    let signed = Signed::sign(enrolment, &key).map_err(|error| Problem::new(Name::Internal, error.to_string()))?;
    Ok(Answer::bytes(status, signed.as_bytes().to_vec()))
}
