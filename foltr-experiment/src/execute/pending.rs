//! Which jobs are left to do, and in which order.

use std::collections::HashSet;

use anyhow::{Result, bail};
use rayon::prelude::*;

use super::Execution;
use super::plan::Plan;
use crate::job::Job;
use crate::store::{RunState, RunStore, current_key};
use crate::unlearn::journal::Journal;

#[derive(Default)]
pub(super) struct Pending {
    /// Trainings that others start from, and jobs that start by themselves.
    pub(super) first: Vec<Job>,
    /// Jobs that start from a history.
    pub(super) then: Vec<Job>,
    pub(super) n_requested: usize,
    pub(super) n_finished_before: usize,
    pub(super) notes: Vec<String>,
}

impl Pending {
    pub(super) fn of(plan: &Plan, store: &RunStore, how: &Execution<'_>) -> Result<Self> {
        let states: Vec<RunState> = plan.jobs.par_iter().map(|job| store.state(&job.key)).collect();
        let mut pending = Self::default();
        let (mut keys, mut n_forgotten) = (HashSet::new(), 0);
        if how.signer.is_none()
            && let Some(open) = Journal::read(store.path())?.open_request()
        {
            pending.notes.push(format!("{open}; rerun `foltr unlearn` to resume"));
        }
        for (job, state) in plan.jobs.iter().zip(states) {
            // Settings with other labels may be equal.
            if !keys.insert(job.key.clone()) {
                continue;
            }
            match state {
                RunState::Finished(_) => pending.n_finished_before += 1,
                RunState::Forgotten(_) if !how.retrain_forgotten => {
                    n_forgotten += 1;
                    pending.n_finished_before += 1;
                    if let RunState::Damaged(damage) = store.state(&current_key(store.path(), &job.key)) {
                        let note = format!("{damage}; --retrain-forgotten trains this run again, with all clients");
                        pending.notes.push(note);
                    }
                }
                state => pending.add(job.clone(), &state),
            }
        }
        pending.n_requested = keys.len();
        let trainings: Vec<Job> = pending.then.iter().filter_map(Job::training).collect();
        for training in trainings.into_iter().filter(|training| keys.insert(training.key.clone())) {
            match store.state(&training.key) {
                RunState::Finished(_) => {}
                RunState::Forgotten(_) if !how.retrain_forgotten => bail!(
                    "fold {}, seed {}: clients were forgotten in the training that [unlearning] starts from; \
                     --retrain-forgotten trains it again, with them",
                    training.fold,
                    training.seed
                ),
                state => pending.add(training, &state),
            }
        }
        if n_forgotten > 0 {
            pending.notes.push(format!(
                "{n_forgotten} runs are those after `foltr unlearn`; --retrain-forgotten trains them again, with all clients"
            ));
        }
        Ok(pending)
    }

    fn add(&mut self, job: Job, state: &RunState) {
        if let RunState::Damaged(damage) = state {
            self.notes.push(format!("{damage}; this run was done again"));
        }
        if job.parent().is_some() { &mut self.then } else { &mut self.first }.push(job);
    }
}
