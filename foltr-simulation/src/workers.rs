//! One [`Worker`] for each thread of the pool, and one for a caller outside of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foltr_rank::rng::Streams;

use crate::client_round::Worker;
use crate::federation_run::FederationSettings;

pub(crate) struct Workers(Vec<Mutex<Worker>>);

impl Workers {
    pub(crate) fn new(settings: &FederationSettings, streams: &Streams) -> Self {
        let worker = |_| Mutex::new(Worker::new(settings.client_learner(), streams));
        Self((0..=rayon::current_num_threads()).map(worker).collect())
    }

    pub(crate) fn own(&self) -> MutexGuard<'_, Worker> {
        let thread = rayon::current_thread_index().unwrap_or(self.0.len() - 1);
        // A worker is only memory: after a panic elsewhere it is begun anew like any other.
        self.0[thread % self.0.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
