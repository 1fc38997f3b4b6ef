//! Whose turn it is to call the handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use rand::TryRng;
use rand::rngs::SysRng;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::limits::Limits;
use super::metrics::Metrics;
use crate::problem::{Name, Problem};

/// Calls of different kinds do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A device asks for something: cheap.
    DeviceReads,
    /// A device sends something, which waits for a commit.
    DeviceWrites,
    Operator,
}

pub(super) struct Queue {
    device_reads: Line,
    device_writes: Line,
    operator: Line,
    waiting_time: Duration,
    in_flight: Gauge,
}

/// Those who came first are first; who comes to a full line is refused.
struct Line {
    turns: Arc<Semaphore>,
    n_waiting: AtomicUsize,
    max_waiting: usize,
    waiting: Gauge,
}

/// The right to call the handler. Belongs to the call, not to the client, who may be gone before it ends.
pub(super) struct Turn {
    _permit: OwnedSemaphorePermit,
    in_flight: Gauge,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.in_flight.dec();
    }
}

struct Waiting<'a>(&'a Line);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.n_waiting.fetch_sub(1, Ordering::Relaxed);
        self.0.waiting.dec();
    }
}

impl Queue {
    pub fn new(limits: &Limits, metrics: &Metrics) -> Self {
        let reads = (limits.calls / 4).max(1);
        let operator = (limits.calls / 16).max(1);
        let line = |n_turns: usize| Line {
            turns: Arc::new(Semaphore::new(n_turns)),
            n_waiting: AtomicUsize::new(0),
            max_waiting: limits.waiting_calls,
            waiting: metrics.calls_waiting.clone(),
        };
        Self {
            device_reads: line(reads),
            device_writes: line(limits.calls.saturating_sub(reads + operator).max(1)),
            operator: line(operator),
            waiting_time: limits.waiting_time,
            in_flight: metrics.calls_in_flight.clone(),
        }
    }

    fn line(&self, kind: Kind) -> &Line {
        match kind {
            Kind::DeviceReads => &self.device_reads,
            Kind::DeviceWrites => &self.device_writes,
            Kind::Operator => &self.operator,
        }
    }

    /// Whether somebody new would be refused now, so that reading a body is in vain.
    pub fn is_full(&self, kind: Kind) -> bool {
        let line = self.line(kind);
        line.turns.available_permits() == 0 && line.n_waiting.load(Ordering::Relaxed) >= line.max_waiting
    }

    pub async fn turn(&self, kind: Kind) -> Result<Turn, Problem> {
        let line = self.line(kind);
        let turns = || Arc::clone(&line.turns);
        let permit = match turns().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                if line.n_waiting.fetch_add(1, Ordering::Relaxed) >= line.max_waiting {
                    line.n_waiting.fetch_sub(1, Ordering::Relaxed);
                    return Err(overloaded("too many requests wait for their turn"));
                }
                line.waiting.inc();
                let _waiting = Waiting(line);
                let permit = timeout(self.waiting_time, turns().acquire_owned()).await;
                let permit = permit.map_err(|_| overloaded("the request waited too long for its turn"))?;
                permit.expect("semaphores of the queue are never closed")
            }
        };
        self.in_flight.inc();
        Ok(Turn { _permit: permit, in_flight: self.in_flight.clone() })
    }
}

/// Spread over half a minute, so that those who were refused together do not come back together.
pub(super) fn overloaded(detail: &str) -> Problem {
    let random = SysRng.try_next_u32().unwrap_or_default();
    Problem::later(Name::Unavailable, detail, 5 + random % 26)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_has_an_end_and_moves_on() {
        let limits = Limits { calls: 4, waiting_calls: 1, waiting_time: Duration::from_secs(10), ..Limits::default() };
        let metrics = Metrics::new();
        let queue = Arc::new(Queue::new(&limits, &metrics));
        let _other = queue.turn(Kind::DeviceReads).await.expect("its own line");
        let first = queue.turn(Kind::DeviceWrites).await.expect("nobody is there");
        let _second = queue.turn(Kind::DeviceWrites).await.expect("two of four are for uploads");
        assert!(!queue.is_full(Kind::DeviceWrites), "one may wait");
        let waiting = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.turn(Kind::DeviceWrites).await }
        });
        while metrics.calls_waiting.get() == 0 {
            tokio::task::yield_now().await;
        }
        assert!(queue.is_full(Kind::DeviceWrites));
        let refused = queue.turn(Kind::DeviceWrites).await.err().expect("the line is full");
        assert_eq!(refused.name, Name::Unavailable);
        drop(first);
        let third = waiting.await.expect("no panic").expect("who waits comes next");
        assert_eq!((metrics.calls_in_flight.get(), metrics.calls_waiting.get()), (3, 0));
        drop(third);
        assert_eq!(metrics.calls_in_flight.get(), 2);
    }
}
