//! Every operation: what it takes, what it answers, and why it refuses.

use crate::call::Method;
use crate::problem::Name::{self, *};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Signs every request with its key.
    Device,
    /// Has a token.
    Operator,
    /// Needs nothing.
    Anybody,
}

pub(super) struct Operation {
    pub method: Method,
    pub path: &'static str,
    pub who: Who,
    pub id: &'static str,
    pub summary: &'static str,
    /// Name, whether it is required, and meaning.
    pub query: &'static [(&'static str, bool, &'static str)],
    /// Media type and meaning.
    pub body: Option<(&'static str, &'static str)>,
    /// Status, media type (none without a body) and meaning.
    pub answers: &'static [(u16, &'static str, &'static str)],
    pub problems: &'static [Name],
}

pub(super) const BYTES: &str = "application/octet-stream";
pub(super) const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
const METRICS: &str = "application/openmetrics-text";

const SHARD: (&str, bool, &str) = ("shard", true, "The shard of the device.");

/// Of what reads the request, before anything knows what it asks for.
pub(super) const OF_EVERY_REQUEST: &[Name] = &[BadRequest, TooSlow, HeadersTooLarge];
/// Of what calls the server's state.
pub(super) const OF_EVERY_CALL: &[Name] = &[TooLarge, Unavailable, Internal];
/// Of all that devices ask for.
pub(super) const OF_EVERY_DEVICE: &[Name] = &[UnknownFederation, BadSignature, Revoked, TooManyRequests];
/// Of all that operators ask for: who sends too many wrong tokens has to wait.
pub(super) const OF_EVERY_OPERATOR: &[Name] = &[NotAuthorised, TooManyRequests];

const fn device(method: Method, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { method, path, who: Who::Device, id, summary, query: &[], body: None, answers: &[], problems: &[] }
}

const fn operator(method: Method, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { who: Who::Operator, ..device(method, path, id, summary) }
}

const fn anybody(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { who: Who::Anybody, ..device(Method::Get, path, id, summary) }
}

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        body: Some((BYTES, "Enrolment request.")),
        answers: &[(201, BYTES, "Signed enrolment."), (200, BYTES, "The same: the device had joined before.")],
        problems: &[Malformed, OtherDevice, InvitationRefused, FederationFull],
        ..device(Method::Post, "/v1/federations/{federation}/devices", "enrol", "Joins the federation.")
    },
    Operation {
        answers: &[(200, BYTES, "Signed plan.")],
        problems: &[UnknownDevice, NotFound],
        ..device(Method::Get, "/v1/federations/{federation}/plans/{hash}", "plan", "A plan, by its hash.")
    },
    Operation {
        query: &[SHARD],
        answers: &[
            (200, BYTES, "Signed task."),
            (204, "", "No round is open; `Retry-After` says when to ask again."),
            (304, "", "The task is the one of `If-None-Match`."),
        ],
        problems: &[UnknownDevice],
        ..device(Method::Get, "/v1/federations/{federation}/task", "task", "The open task.")
    },
    Operation {
        query: &[SHARD, ("after", true, "The newest version that the device knows.")],
        answers: &[(200, BYTES, "Headers in a row, of the versions after it, at most 1,000.")],
        problems: &[UnknownDevice],
        ..device(Method::Get, "/v1/federations/{federation}/headers", "headers", "The headers of releases.")
    },
    Operation {
        query: &[SHARD],
        answers: &[(200, BYTES, "Release.")],
        problems: &[UnknownDevice, NotFound],
        ..device(Method::Get, "/v1/federations/{federation}/releases/newest", "newestRelease", "The newest release.")
    },
    Operation {
        query: &[SHARD],
        answers: &[(200, BYTES, "Release.")],
        problems: &[UnknownDevice, NotFound],
        ..device(
            Method::Get,
            "/v1/federations/{federation}/releases/{version}",
            "release",
            "A release, by its version.",
        )
    },
    Operation {
        body: Some((BYTES, "Contribution.")),
        answers: &[
            (201, BYTES, "Signed contribution receipt: the contribution is stored."),
            (200, BYTES, "The same receipt: the same bytes had come before."),
        ],
        problems: &[
            Malformed,
            UnknownDevice,
            OtherDevice,
            OtherPlan,
            RoundClosed,
            AlreadyContributed,
            UnknownStart,
            NotInvited,
            UpdateRefused,
            BufferLimit,
        ],
        ..device(
            Method::Put,
            "/v1/federations/{federation}/rounds/{round}/contributions/{device}",
            "contribute",
            "Contributes to a round.",
        )
    },
    Operation {
        body: Some((BYTES, "Forget request.")),
        answers: &[
            (202, "", "The request is stored; `Retry-After` says when to ask again."),
            (200, JSON, "Deletion receipt."),
        ],
        problems: &[Malformed, OtherDevice, NothingToForget, CannotForget],
        ..device(Method::Post, "/v1/federations/{federation}/forget", "forget", "Asks to be forgotten.")
    },
    Operation {
        answers: &[
            (202, "", "The request is stored; `Retry-After` says when to ask again."),
            (200, JSON, "Deletion receipt."),
        ],
        problems: &[UnknownDevice, OtherDevice, NotFound],
        ..device(Method::Get, "/v1/federations/{federation}/receipts/{device}", "receipt", "The deletion receipt.")
    },
    Operation {
        answers: &[(200, JSON, "All federations.")],
        ..operator(Method::Get, "/v1/admin/overview", "overview", "What the dashboard shows.")
    },
    Operation {
        body: Some((JSON, "Action.")),
        answers: &[(200, JSON, "It is done.")],
        problems: &[Malformed, UnknownFederation, Refused],
        ..operator(Method::Post, "/v1/admin/federations/{federation}/actions", "act", "Does something to a federation.")
    },
    Operation {
        query: &[("version", false, "Without it, the published one.")],
        answers: &[(200, BYTES, "The ranker as safetensors, for `foltr evaluate`.")],
        problems: &[UnknownFederation, NotFound, Refused],
        ..operator(Method::Get, "/v1/admin/federations/{federation}/model", "model", "A model, as a file.")
    },
    Operation {
        answers: &[(200, TEXT, "The process is alive.")],
        ..anybody("/healthz", "health", "Whether the process is alive.")
    },
    Operation {
        answers: &[(200, TEXT, "It can work.")],
        problems: &[Unavailable, Internal],
        ..anybody("/readyz", "readiness", "Whether the server can work.")
    },
    Operation {
        answers: &[(200, METRICS, "OpenMetrics.")],
        problems: &[NotFound, Unavailable, Internal],
        ..anybody("/metrics", "metrics", "Counters for monitoring, unless they are switched off.")
    },
    Operation {
        answers: &[(200, JSON, "OpenAPI 3.1.")],
        ..anybody("/openapi.json", "description", "This description.")
    },
];

impl Operation {
    /// Every name that it can answer, in the order of [`Name::ALL`].
    pub fn all_problems(&self) -> Vec<Name> {
        let groups: &[&[Name]] = match self.who {
            Who::Device => &[OF_EVERY_REQUEST, OF_EVERY_CALL, OF_EVERY_DEVICE, self.problems],
            Who::Operator => &[OF_EVERY_REQUEST, OF_EVERY_CALL, OF_EVERY_OPERATOR, self.problems],
            Who::Anybody => &[OF_EVERY_REQUEST, self.problems],
        };
        let mut names = groups.concat();
        names.sort();
        names
    }
}
