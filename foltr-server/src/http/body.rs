//! The body of a request, as far as it is within the limits.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::{Body, Bytes, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::exchange::Shared;
use super::queue::overloaded;
use crate::problem::{Name, Problem};

/// Memory for bodies is counted in KiB, so that a permit of 32 bits suffices.
pub(super) const UNIT: usize = 1 << 10;

pub(super) struct Upload {
    body: Incoming,
    shared: Arc<Shared>,
    bytes: Vec<u8>,
    n_bytes: usize,
    /// For `bytes`; none for an empty body.
    memory: Option<OwnedSemaphorePermit>,
    is_read: bool,
}

impl Upload {
    pub fn new(body: Incoming, shared: &Arc<Shared>) -> Self {
        let is_read = body.is_end_stream();
        Self { body, shared: Arc::clone(shared), bytes: Vec::new(), n_bytes: 0, memory: None, is_read }
    }

    /// Whether all of it has come, so that the connection can take another request.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// The body, and its share of the memory for bodies.
    pub async fn read(&mut self) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Problem> {
        let limit = self.shared.limits.body_bytes.min(self.shared.handler.longest_body());
        let announced = usize::try_from(self.body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(too_large(limit));
        }
        let began = Instant::now();
        while !self.is_read {
            let limits = &self.shared.limits;
            let deadline = began + limits.transfer_time(limits.body_time, self.n_bytes);
            let frame = timeout_at(deadline, poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx))).await;
            match frame.map_err(|_| too_slow(self.n_bytes))? {
                None => self.is_read = true,
                Some(Ok(frame)) => self.add(&frame.into_data().unwrap_or_default(), limit)?,
                Some(Err(_)) => {
                    return Err(Problem::new(Name::BadRequest, "the body is cut off or its chunks are wrong"));
                }
            }
        }
        Ok((std::mem::take(&mut self.bytes), self.memory.take()))
    }

    fn add(&mut self, data: &Bytes, limit: usize) -> Result<(), Problem> {
        let (before, after) = (self.n_bytes.div_ceil(UNIT), (self.n_bytes + data.len()).div_ceil(UNIT));
        self.n_bytes += data.len();
        if self.n_bytes > limit {
            return Err(too_large(limit));
        }
        if after > before {
            let n_units = u32::try_from(after - before).map_err(|_| too_large(limit))?;
            let more = Arc::clone(&self.shared.body_memory).try_acquire_many_owned(n_units);
            let more = more.map_err(|_| overloaded("too many bodies are in memory"))?;
            match &mut self.memory {
                Some(memory) => memory.merge(more),
                None => self.memory = Some(more),
            }
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Name::TooLarge, format!("the body is longer than {limit} bytes"))
}

fn too_slow(n_bytes: usize) -> Problem {
    Problem::new(Name::TooSlow, format!("only {n_bytes} bytes of the body came in time"))
}
