//! Many requests in one transaction: who comes while others are written waits for the next one, so that one sync of the disk
//! makes all of them durable.
//!
//! The first to come leads: it takes everything that waits, writes it, and hands the lead to one of those who came meanwhile.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// At most so many in a transaction, so that the first of them does not wait for long.
const MOST_AT_ONCE: usize = 512;

pub struct GroupCommit<T, R> {
    queue: Mutex<Queue<T, R>>,
}

struct Queue<T, R> {
    waiting: Vec<(T, Arc<Seat<R>>)>,
    has_leader: bool,
}

struct Seat<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
}

enum State<R> {
    Waiting,
    Leads,
    Done(R),
    /// The leader panicked.
    Abandoned,
}

impl<T, R> Default for GroupCommit<T, R> {
    fn default() -> Self {
        Self { queue: Mutex::new(Queue { waiting: Vec::new(), has_leader: false }) }
    }
}

impl<R> Seat<R> {
    fn set(&self, state: State<R>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_one();
    }
}

/// Tells those of a batch who were not answered that nobody will.
struct Batch<R>(Vec<Arc<Seat<R>>>);

impl<R> Drop for Batch<R> {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|seat| seat.set(State::Abandoned));
    }
}

impl<T, R> GroupCommit<T, R> {
    /// Writes an item together with others by `write`, which gives one result for each, in their order.
    ///
    /// Nothing if the thread that wrote it panicked.
    pub fn submit(&self, item: T, write: impl Fn(Vec<T>) -> Vec<R>) -> Option<R> {
        let seat = Arc::new(Seat { state: Mutex::new(State::Waiting), changed: Condvar::new() });
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.waiting.push((item, Arc::clone(&seat)));
        if !std::mem::replace(&mut queue.has_leader, true) {
            seat.set(State::Leads);
        }
        drop(queue);
        loop {
            let mut state = seat.state.lock().unwrap_or_else(PoisonError::into_inner);
            match std::mem::replace(&mut *state, State::Waiting) {
                State::Done(result) => return Some(result),
                State::Abandoned => return None,
                State::Leads => {
                    drop(state);
                    self.lead(&write);
                }
                State::Waiting => drop(seat.changed.wait(state).unwrap_or_else(PoisonError::into_inner)),
            }
        }
    }

    fn lead(&self, write: impl Fn(Vec<T>) -> Vec<R>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let n = queue.waiting.len().min(MOST_AT_ONCE);
        let (items, seats): (Vec<T>, Vec<_>) = queue.waiting.drain(..n).unzip();
        drop(queue);
        let handover = Handover(self);
        let mut batch = Batch(seats);
        let results = write(items);
        assert_eq!(results.len(), batch.0.len(), "one result for each item");
        batch.0.drain(..).zip(results).for_each(|(seat, result)| seat.set(State::Done(result)));
        drop(handover);
    }
}

/// Makes the next one lead, also when writing panicked.
struct Handover<'a, T, R>(&'a GroupCommit<T, R>);

impl<T, R> Drop for Handover<'_, T, R> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match queue.waiting.first() {
            Some((_, seat)) => seat.set(State::Leads),
            None => queue.has_leader = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn everyone_gets_its_own_result_and_few_transactions_are_made() {
        let (group, n_batches) = (GroupCommit::<u32, u32>::default(), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for item in 0..200 {
                let (group, n_batches) = (&group, &n_batches);
                threads.spawn(move || {
                    let write = |items: Vec<u32>| {
                        n_batches.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(5));
                        items.into_iter().map(|item| item * 2).collect()
                    };
                    assert_eq!(group.submit(item, write), Some(item * 2));
                });
            }
        });
        assert!(n_batches.load(Ordering::Relaxed) < 50, "{n_batches:?}");
    }

    #[test]
    fn a_panic_harms_its_own_batch_only() {
        let group = GroupCommit::<u32, u32>::default();
        let attempt = || group.submit(1, |_| panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).is_err());
        assert_eq!(group.submit(2, |items| items), Some(2));
    }
}
