//! Answers the requests of devices, and everything that is done to federations. No sockets, no threads.

pub mod contribute;
mod enrol;
mod fold;
mod forget;
mod give;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foltr_federation::protocol::{DeviceId, verify_request};

use crate::call::{Answer, Call, Method};
use crate::database::{DatabaseError, Pool};
use crate::federation::Federation;
use crate::hex;
use crate::problem::{Name, Problem};
use crate::randomness::{OsRandomness, Randomness, spread};
use crate::rate_limit::RateLimit;
use crate::snapshot::{Snapshot, SnapshotError};
use crate::store::devices::{DeviceRow, Status};

/// Milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

pub struct Service {
    pub(crate) pool: Pool,
    pub(crate) federations: BTreeMap<String, Federation>,
    pub(crate) clock: Clock,
    /// When something was collected for the first time, in seconds.
    pub(crate) first_collected: OnceLock<u64>,
    randomness: Mutex<Box<dyn Randomness>>,
    /// By federation and name.
    refusals: Mutex<BTreeMap<(String, Name), u64>>,
    /// Of ids that no device has.
    strangers: RateLimit<()>,
    wake: Mutex<Option<Box<dyn Fn() + Send>>>,
}

/// Ids that nobody has: so many at once, and so many a minute, of all callers together.
const STRANGERS: (u32, u32) = (1_000, 6_000);

impl Service {
    pub fn new(pool: Pool, federations: Vec<Federation>, clock: Clock) -> Self {
        Self::with_randomness(pool, federations, clock, Box::new(OsRandomness::default()))
    }

    /// With other random numbers than the operating system's, for tests.
    pub(crate) fn with_randomness(
        pool: Pool,
        federations: Vec<Federation>,
        clock: Clock,
        randomness: Box<dyn Randomness>,
    ) -> Self {
        Self {
            pool,
            first_collected: OnceLock::new(),
            federations: federations.into_iter().map(|it| (it.name.clone(), it)).collect(),
            clock,
            randomness: Mutex::new(randomness),
            refusals: Mutex::default(),
            strangers: RateLimit::new(STRANGERS.0, STRANGERS.1),
            wake: Mutex::default(),
        }
    }

    pub(crate) fn randomness(&self) -> MutexGuard<'_, Box<dyn Randomness>> {
        self.randomness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is called when a round may be due.
    pub fn on_due(&self, wake: impl Fn() + Send + 'static) {
        *self.wake.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(wake));
    }

    pub(crate) fn wake(&self) {
        if let Some(wake) = &*self.wake.lock().unwrap_or_else(PoisonError::into_inner) {
            wake();
        }
    }

    /// Whether devices reach a federation by HTTPS, here or at a proxy.
    pub fn is_reached_by_tls(&self) -> bool {
        self.federations.values().any(|federation| federation.settings.address.starts_with("https://"))
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        (self.clock)() / 1_000
    }

    /// Answers a request below `/v1/federations/`.
    pub fn answer(&self, call: &Call) -> Answer {
        let path = call.path.strip_prefix("/v1/federations/").unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.split('/').collect();
        let Some(federation) = parts.first().and_then(|name| self.federations.get(*name)) else {
            return Problem::new(Name::UnknownFederation, "there is no federation of this name").into();
        };
        self.route(federation, call, &parts[1..], query).unwrap_or_else(|mut problem| {
            self.count_refusal(&federation.name, problem.name);
            problem.retry_after.get_or_insert_with(|| spread(federation.settings.retry_seconds));
            problem.into()
        })
    }

    fn route(&self, federation: &Federation, call: &Call, parts: &[&str], query: &str) -> Result<Answer, Problem> {
        let no_query = || Query::read(query, &[]);
        match (call.method, parts) {
            (Method::Post, ["devices"]) => no_query().and_then(|_| self.enrol(federation, call)),
            (Method::Post, ["forget"]) => no_query().and_then(|_| self.forget(federation, call)),
            (Method::Get, ["receipts", device]) => {
                no_query().and_then(|_| self.deletion_receipt(federation, call, device))
            }
            (Method::Put, ["rounds", round, "contributions", device]) => {
                no_query().and_then(|_| self.contribute(federation, call, number(round)?, device))
            }
            (Method::Get, ["task"]) => self.task(federation, call, &Query::read(query, &["shard"])?),
            (Method::Get, ["plans", hash]) => no_query().and_then(|_| self.plan(federation, call, hash)),
            (Method::Get, ["headers"]) => self.headers(federation, call, &Query::read(query, &["shard", "after"])?),
            (Method::Get, ["releases", "newest"]) => {
                self.newest_release(federation, call, &Query::read(query, &["shard"])?)
            }
            (Method::Get, ["releases", version]) => {
                self.release(federation, call, number(version)?, &Query::read(query, &["shard"])?)
            }
            (_, ["devices" | "forget" | "task" | "headers"])
            | (_, ["plans" | "releases" | "receipts", _])
            | (_, ["rounds", _, "contributions", _]) => {
                Err(Problem::new(Name::MethodNotAllowed, format!("{} is not for this path", call.method.name())))
            }
            _ => Err(Problem::new(Name::NotFound, "there is nothing at this path")),
        }
    }

    /// Bytes of the longest contribution to any plan of any federation.
    pub fn longest_contribution(&self) -> usize {
        self.federations.values().map(Federation::longest_contribution).max().unwrap_or(0)
    }

    pub(crate) fn count_refusal(&self, federation: &str, name: Name) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *refusals.entry((federation.to_owned(), name)).or_default() += 1;
    }

    /// Refusals so far, by federation and name.
    pub fn refusals(&self) -> BTreeMap<(String, Name), u64> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn snapshot(&self, federation: &Federation) -> Result<Arc<Snapshot>, Problem> {
        federation.snapshot(&self.pool).map_err(|error| unusable(federation, &error))
    }

    /// The device that signed a request, whatever its status.
    fn signer(&self, federation: &Federation, call: &Call) -> Result<DeviceRow, Problem> {
        let id = hex::decode(&call.device).map(DeviceId::from_bytes);
        let id = id.ok_or_else(|| Problem::new(Name::BadRequest, "foltr-device must be 64 hexadecimal digits"))?;
        // Who is enrolled is known from the first look on.
        self.snapshot(federation)?;
        if !federation.is_enrolled(&id) {
            let later = |wait| Problem::later(Name::TooManyRequests, "too many unknown devices ask", wait);
            self.strangers.take((), (self.clock)()).map_err(later)?;
        }
        let unknown = || Problem::new(Name::UnknownDevice, "no device with this id is enrolled");
        let device = federation.device(&self.pool, &id).map_err(|error| unavailable(&error))?.ok_or_else(unknown)?;
        let signature = signature(call)?;
        verify_request(call.method.name(), &call.path, &call.body, &device.key, &signature)
            .map_err(|_| Problem::new(Name::BadSignature, "the signature is not over this method, path and body"))?;
        let limited = |wait| Problem::later(Name::TooManyRequests, "this device asks too often", wait);
        federation.per_device.take(id, (self.clock)()).map_err(limited)?;
        federation.note_seen(&device, self.now());
        Ok(device)
    }

    /// The device that signed a request, if it may take part.
    fn authenticate(&self, federation: &Federation, call: &Call) -> Result<DeviceRow, Problem> {
        let device = self.signer(federation, call)?;
        match device.status {
            Status::Active => Ok(device),
            Status::Revoked => Err(Problem::new(Name::Revoked, "the device was revoked")),
            Status::Forgotten => Err(Problem::new(Name::Revoked, "the device was forgotten")),
        }
    }
}

fn signature(call: &Call) -> Result<[u8; 64], Problem> {
    hex::decode(&call.signature)
        .ok_or_else(|| Problem::new(Name::BadRequest, "foltr-signature must be 128 hexadecimal digits"))
}

/// A decimal number in its one form.
fn number(text: &str) -> Result<u32, Problem> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    let parsed = text.parse().ok().filter(|_| is_plain);
    parsed.ok_or_else(|| Problem::new(Name::BadRequest, "a number in the path must be decimal and below 2^32"))
}

/// Numbers of a query by their names. Unknown and repeated ones are refused.
struct Query<'a>(Vec<(&'a str, u32)>);

impl<'a> Query<'a> {
    fn read(query: &'a str, allowed: &[&str]) -> Result<Self, Problem> {
        let mut pairs: Vec<(&str, u32)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !allowed.contains(&name) || pairs.iter().any(|(own, _)| *own == name) {
                let detail = match allowed {
                    [] => "this path has no query".into(),
                    allowed => format!("the query may have each of {} once", allowed.join(", ")),
                };
                return Err(Problem::new(Name::BadRequest, detail));
            }
            pairs.push((name, number(value)?));
        }
        Ok(Self(pairs))
    }

    fn get(&self, name: &str) -> u32 {
        self.0.iter().find(|(own, _)| *own == name).map_or(0, |(_, value)| *value)
    }
}

pub(crate) fn unavailable(error: &DatabaseError) -> Problem {
    tracing::error!(%error, "the database failed");
    Problem::later(Name::Unavailable, "the database cannot be used now", spread(10))
}

fn unusable(federation: &Federation, error: &SnapshotError) -> Problem {
    tracing::error!(federation = federation.name, %error, "the federation cannot be used");
    Problem::later(Name::Unavailable, "the federation cannot be used now", spread(30))
}
