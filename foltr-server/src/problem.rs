//! Why a request is refused: a documented name for every reason (RFC 9457).

use serde::Serialize;

/// Every refusal of the server: its name, its status, and what it means.
macro_rules! names {
    ($($variant:ident = $name:literal, $status:literal, $meaning:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Name {
            $($variant,)*
        }

        impl Name {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$variant => $status,)*
                }
            }

            /// In one sentence, for documents.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }
        }
    };
}

names! {
    NotFound = "not-found", 404, "There is nothing at this path.";
    MethodNotAllowed = "method-not-allowed", 405, "The path exists, and not for this method.";
    BadRequest = "bad-request", 400, "The request is no HTTP request of this API: its path, a header or a number is wrong.";
    Malformed = "malformed", 400, "The body is not the document that the path asks for.";
    TooLarge = "too-large", 413, "The body is longer than any document of this API.";
    TooSlow = "too-slow", 408, "The request did not arrive in time.";
    HeadersTooLarge = "headers-too-large", 431, "The headers are longer than any device needs.";
    UnknownFederation = "unknown-federation", 404, "There is no federation of this name.";
    UnknownDevice = "unknown-device", 401, "No device with this id is enrolled.";
    NothingToForget = "unknown-device", 404, "No device with this id is enrolled: there is nothing to forget.";
    BadSignature = "bad-signature", 401, "The signature is not that of the device over method, path and body.";
    OtherDevice = "other-device", 403, "The path or the body is of another device than the one that signed.";
    Revoked = "revoked", 403, "The device was revoked or forgotten.";
    InvitationRefused = "invitation-refused", 403, "The secret is unknown, used up, expired or revoked.";
    FederationFull = "federation-full", 403, "As many devices are enrolled as the plan has clients.";
    OtherPlan = "other-plan", 409, "The contribution is to a plan that is not in force.";
    RoundClosed = "round-closed", 409, "The round of the contribution is not open: it is closed, or never began.";
    AlreadyContributed = "already-contributed", 409, "The device has contributed other bytes to this round.";
    UnknownStart = "unknown-start", 409, "The release that the contribution started from is unknown, too old, or from before a rollback.";
    NotInvited = "not-invited", 409, "The lottery of the round did not invite the device.";
    UpdateRefused = "update-refused", 422, "The update is beyond what the plan allows, such as a clipped step above the clip norm.";
    BufferLimit = "buffer-limit", 429, "The device has as many updates in the buffer as it may have.";
    CannotForget = "cannot-forget", 409, "The plan has no way to forget, or its premise does not hold.";
    TooManyRequests = "too-many-requests", 429, "The device, or all devices together, ask more often than the server allows.";
    Unavailable = "unavailable", 503, "The server is overloaded, draining, or cannot reach its database.";
    NotAuthorised = "not-authorised", 401, "The operator's token is missing or wrong.";
    Forbidden = "forbidden", 403, "The form was not sent from the dashboard's own page.";
    Refused = "refused", 409, "What the operator asks for cannot be done now, for the stated reason.";
    Internal = "internal", 500, "The server failed; its log says why.";
}

/// Where names are documented; not an address that anybody must reach.
pub const TYPE: &str = "urn:foltr:problem:";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub name: Name,
    pub detail: String,
    /// In seconds.
    pub retry_after: Option<u32>,
}

#[derive(Serialize)]
struct Json<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl Problem {
    pub fn new(name: Name, detail: impl Into<String>) -> Self {
        Self { name, detail: detail.into(), retry_after: None }
    }

    pub fn later(name: Name, detail: impl Into<String>, retry_after: u32) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(name, detail) }
    }

    pub fn to_json(&self) -> Vec<u8> {
        let json = Json {
            r#type: format!("{TYPE}{}", self.name.name()),
            title: self.name.meaning(),
            status: self.name.status(),
            detail: &self.detail,
        };
        serde_json::to_vec(&json).expect("texts and numbers")
    }
}
