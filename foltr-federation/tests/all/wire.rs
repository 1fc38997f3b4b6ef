//! Contributions over the wire and back, for tests of what comes after.

use foltr_federation::protocol::{Contribution, ContributionError, DeviceId, ReleaseId};
use foltr_federation::{Expected, Fingerprint, Message};

pub fn plan() -> Fingerprint {
    Fingerprint::of(b"plan")
}

/// The contribution of the device that has the number of the message's client.
pub fn contribution(message: &Message) -> Contribution {
    let Message { round, start, client, payload } = message.clone();
    let device = DeviceId::from_bytes(*Fingerprint::of(&client.to_le_bytes()).as_bytes());
    let start = ReleaseId { version: start, hash: Fingerprint::of(b"release") };
    Contribution { plan: plan(), round, start, device, payload }
}

pub fn over_the_wire(message: &Message, expected: &Expected) -> Result<Message, ContributionError> {
    let received = Contribution::decode(&contribution(message).encode(), &plan(), expected)?;
    Ok(Message { round: received.round, start: message.start, client: message.client, payload: received.payload })
}
