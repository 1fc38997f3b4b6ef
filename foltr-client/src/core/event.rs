//! What happens to a device, and what it wants done about it.

use std::fmt;

use foltr_federation::protocol::Invitation;
use foltr_rank::ImpressionId;

use super::error::Refused;
use crate::item::Write;

#[derive(Debug)]
pub enum Event<'a> {
    /// Candidates to rank: their features, document after document.
    Rank(&'a [f32]),
    /// The same while a query is being typed, with the list before.
    RankNext {
        features: &'a [f32],
        previous: Option<ImpressionId>,
    },
    Clicked {
        impression: ImpressionId,
        position: usize,
    },
    Dismissed(ImpressionId),
    /// Nobody has seen the list.
    Withdrawn(ImpressionId),
    /// The owner wants to take part in a federation.
    Join {
        invitation: &'a Invitation,
        consent: Consent,
    },
    /// The host allows work and network for a while.
    Sync,
    /// The answer to the request that was to be sent.
    Answered(Answer),
    /// The request got no answer.
    NotReached,
    Pause,
    Resume,
    Forget,
}

/// What to do, in this order. An action that fails ends the list.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Write in one transaction. If it must be durable, wait until it is: what follows rests on it.
    Store { writes: Vec<Write>, durable: bool },
    /// Delete all records, and what is left of them on the disk; then write these, durably.
    Erase { writes: Vec<Write> },
    /// Send, and come back with [`Event::Answered`] or [`Event::NotReached`].
    Send(Request),
    /// What the caller of the event gets.
    Answer(Result<Outcome, Refused>),
}

/// What the caller of an event gets.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    Shown(Shown),
    Clicked(Click),
    Synced(Synced),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub impression: ImpressionId,
    /// All candidates, by their place in the call: the order to display.
    pub order: Vec<usize>,
    /// How many of them, from the first, the model has ranked. The others are in the host's order.
    pub n_ranked: usize,
}

/// What became of a click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Click {
    /// It is durable, and teaches when its list ends.
    Recorded,
    /// Behind the documents that the model ranked: nothing can be learnt from it.
    BeyondRanked,
    /// The device is paused.
    Ignored,
}

/// How far a device got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synced {
    /// There is no federation.
    Alone,
    Paused,
    /// It is too early for the next attempt.
    Later {
        seconds: u64,
    },
    /// The newest release is here, and nothing is to be sent.
    UpToDate,
    /// A message was made, and waits for its time.
    Waiting {
        seconds: u64,
    },
    /// The server has taken the message of this round.
    Contributed {
        round: u32,
    },
    /// The server was asked to forget this device. Its receipt is still to come.
    ForgettingAsked,
    /// The server could not be asked to forget this device, and will be.
    ForgettingLater,
    /// The receipt of having been forgotten is here.
    Forgotten,
}

/// How little an owner is content with, from the strictest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consent {
    /// What a message says about its sender must be bounded, whoever reads it.
    ProtectedMessages = 0,
    /// The server may see every message, and promises something to everybody else.
    TrustedServer = 1,
    /// Nothing is promised to anybody.
    NoPromise = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
}

impl Method {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// A signed request (`docs/protocol.md`, Requests).
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// The federation's address without its path, such as `https://search.example.org:8443`.
    pub origin: String,
    /// With its query.
    pub path: String,
    pub body: Vec<u8>,
    /// Values of the headers `foltr-device` and `foltr-signature`.
    pub device: String,
    pub signature: String,
    /// The longest answer that makes sense, in bytes.
    pub most: usize,
}

impl fmt::Debug for Request {
    /// Without its body, which may be a secret or an update.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, origin, path, body, .. } = self;
        write!(f, "{} {origin}{path} with {} bytes", method.name(), body.len())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// The header `retry-after`, in seconds.
    pub retry_after: Option<u64>,
}

impl Answer {
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// The last part of the `type` of a problem (RFC 9457), or nothing.
    pub fn problem(&self) -> Option<String> {
        let problem: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        let name = problem.get("type")?.as_str()?.rsplit(['/', ':', '#']).next()?;
        let is_name =
            |name: &&str| !name.is_empty() && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_graphic());
        Some(name).filter(is_name).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_does_not_show_its_body() {
        let (body, most) = (b"secret".to_vec(), 9);
        let [origin, path, device, signature] = ["https://a.org", "/v1/a", "d", "s"].map(str::to_owned);
        let request = Request { method: Method::Post, origin, path, body, device, signature, most };
        assert_eq!(format!("{request:?}"), "POST https://a.org/v1/a with 6 bytes");
    }

    #[test]
    fn the_name_of_a_problem_is_the_end_of_its_type() {
        let problem = |body: &str| Answer { status: 409, body: body.into(), ..Answer::default() }.problem();
        assert_eq!(problem(r#"{"type":"https://foltr.dev/problems/round-closed"}"#).as_deref(), Some("round-closed"));
        assert_eq!(problem(r#"{"type":"urn:foltr:revoked","detail":"x"}"#).as_deref(), Some("revoked"));
        for nothing in ["", "no json", "{}", r#"{"type":7}"#, r#"{"type":"a/"}"#, "{\"type\":\"a b\u{7}\"}"] {
            assert_eq!(problem(nothing), None, "{nothing}");
        }
    }
}
