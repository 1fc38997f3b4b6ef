//! Places for connections, given out in the order in which they were asked for.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::database::{Connection, DatabaseError};

/// A connection, or none yet.
type Slot = Option<Box<dyn Connection>>;

pub struct Slots {
    state: Mutex<State>,
    n: usize,
}

#[derive(Default)]
struct State {
    /// Those with a connection are at the end.
    free: VecDeque<Slot>,
    waiting: VecDeque<(u64, SyncSender<Slot>)>,
    n_waited: u64,
}

/// A place that comes back when this is dropped. Its connection does, unless it was taken or a panic is under way.
pub struct Lease<'a> {
    slots: &'a Slots,
    pub connection: Slot,
}

impl Slots {
    pub fn new(n: usize) -> Self {
        let free = (0..n).map(|_| None).collect();
        Self { state: Mutex::new(State { free, ..State::default() }), n }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn take(&self, patience: Duration) -> Result<Lease<'_>, DatabaseError> {
        let lease = |connection| Lease { slots: self, connection };
        let (sender, receiver) = sync_channel(1);
        let ticket = {
            let mut state = self.state();
            // Nobody waits while a place is free.
            if let Some(connection) = state.free.pop_back() {
                return Ok(lease(connection));
            }
            state.n_waited += 1;
            let ticket = state.n_waited;
            state.waiting.push_back((ticket, sender));
            ticket
        };
        if let Ok(connection) = receiver.recv_timeout(patience) {
            return Ok(lease(connection));
        }
        let mut state = self.state();
        state.waiting.retain(|(waiting, _)| *waiting != ticket);
        // It may have come just now.
        receiver.try_recv().map(lease).map_err(|_| {
            let n = self.n;
            DatabaseError::Unavailable(format!("all {n} connections were in use for {patience:?}"))
        })
    }

    fn give_back(&self, connection: Slot) {
        let mut state = self.state();
        if let Some((_, first)) = state.waiting.pop_front() {
            first.try_send(connection).expect("it waits as long as it is in the queue, for one connection");
        } else if connection.is_some() {
            state.free.push_back(connection);
        } else {
            state.free.push_front(connection);
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let connection = self.connection.take().filter(|_| !std::thread::panicking());
        self.slots.give_back(connection);
    }
}
