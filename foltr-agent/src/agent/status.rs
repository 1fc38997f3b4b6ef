//! Everything that the agent knows, stores and has sent, for its owner.

use std::collections::BTreeMap;

use foltr_client::{Consent, DeviceError, ModelInUse, Status, Synced};
use serde::{Deserialize, Serialize};

use super::{Agent, AgentError, Measured};
use crate::feature::FEATURES;
use crate::history::Opening;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AgentStatus {
    pub is_paused: bool,
    pub folders: Vec<FolderStatus>,
    pub n_files: usize,
    pub n_documents: usize,
    /// Files that are not in the index, with the reason; at most 200.
    pub skipped: Vec<SkippedFile>,
    pub n_skipped: usize,
    pub learned: Learned,
    pub measured: Measured,
    /// Absent while nobody else is learnt with.
    pub federation: Option<Federation>,
    /// Addresses that have not confirmed yet that they have forgotten this agent.
    pub being_forgotten_by: Vec<String>,
    /// What does not work, in words.
    pub problem: Option<String>,
    /// What is stored of what was learnt.
    pub stored: Vec<Stored>,
}

/// More skipped files are counted only.
pub const MOST_LISTED: usize = 200;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FolderStatus {
    pub path: String,
    pub added: i64,
    pub is_there: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SkippedFile {
    pub path: String,
    pub reason: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Learned {
    /// Lists that have taught the model of this agent alone.
    pub n_lists: u64,
    pub n_open_lists: usize,
    /// Stored openings, with the words that were typed.
    pub n_openings: usize,
    /// The release in use; absent if it is the agent's own model.
    pub release: Option<u32>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Federation {
    pub address: String,
    /// The id under which the server knows this agent.
    pub device: String,
    pub is_member: bool,
    pub consent: String,
    /// What the plan promises, in words.
    pub promise: Option<String>,
    pub newest_release: Option<u32>,
    /// The newest release was worse for this person, and is not used.
    pub is_newest_refused: bool,
    /// Lists of the open round, and how many it needs.
    pub n_lists: u32,
    pub n_needed: u32,
    pub waiting_round: Option<u32>,
    pub n_messages: u64,
    pub budget: Option<Budget>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Budget {
    pub spent_epsilon: f64,
    pub spent_delta: f64,
    /// Absent if nothing limits it.
    pub limit_epsilon: Option<f64>,
    pub limit_delta: f64,
    /// Messages that nothing protected.
    pub n_unprotected: u64,
    pub is_exhausted: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Stored {
    pub what: String,
    pub count: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Export {
    pub status: AgentStatus,
    /// Of the ranker in use, by feature.
    pub weights: BTreeMap<String, f32>,
    pub openings: Vec<ExportedOpening>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ExportedOpening {
    /// The file; absent if it is gone.
    pub document: Option<String>,
    pub at: i64,
    pub query: String,
    pub rank: u32,
}

impl Agent {
    pub fn status(&self) -> Result<AgentStatus, AgentError> {
        let status = self.device.status()?;
        let measured = self.measured()?;
        let n_openings = self.lock_history()?.openings().len();
        let catalogue = self.read_catalogue()?;
        let mut skipped: Vec<SkippedFile> = catalogue
            .files()
            .filter_map(|(_, file)| Some((file, file.skipped.clone()?)))
            .map(|(file, reason)| SkippedFile { path: file.path.to_string_lossy().into_owned(), reason })
            .collect();
        skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let n_skipped = skipped.len();
        skipped.truncate(MOST_LISTED);
        let folder = |it: &crate::catalogue::Folder| FolderStatus {
            path: it.path.to_string_lossy().into_owned(),
            added: it.added,
            is_there: it.path.is_dir(),
        };
        Ok(AgentStatus {
            is_paused: status.is_paused,
            folders: catalogue.folders().iter().map(folder).collect(),
            n_files: catalogue.files().count(),
            n_documents: catalogue.n_documents(),
            skipped,
            n_skipped,
            learned: learned(&status, n_openings),
            measured,
            federation: federation(&status),
            being_forgotten_by: status.being_forgotten_by,
            problem: status.problem,
            stored: status
                .stored
                .iter()
                .map(|it| Stored { what: it.what.to_owned(), count: it.count, bytes: it.bytes })
                .collect(),
        })
    }

    /// All that was recorded and learnt about the owner.
    pub fn export(&self) -> Result<Export, AgentError> {
        let status = self.status()?;
        let ranker = self.device.ranker()?;
        let weights = FEATURES.iter().zip(&ranker.params).map(|(feature, weight)| (feature.name.into(), *weight));
        let (catalogue, history) = (self.read_catalogue()?, self.lock_history()?);
        let path = |document| Some(catalogue.path_of(catalogue.document(document)?).to_string_lossy().into_owned());
        let opening = |it: &Opening| ExportedOpening {
            document: path(it.document),
            at: it.at,
            query: it.query.clone(),
            rank: it.rank,
        };
        let openings = history.openings().iter().map(opening).collect();
        Ok(Export { status, weights: weights.collect(), openings })
    }

    /// From now on nothing is recorded, learnt or sent.
    pub fn pause(&self) -> Result<(), AgentError> {
        Ok(self.device.pause()?)
    }

    pub fn resume(&self) -> Result<(), AgentError> {
        Ok(self.device.resume()?)
    }

    /// Learns with others from now on, if the plan is what the owner agrees to.
    pub fn join(&self, invitation: &str, consent: Consent) -> Result<Synced, AgentError> {
        Ok(self.device.join_with(invitation, consent)?)
    }

    /// Sends and fetches what is due.
    pub fn sync(&self) -> Result<Synced, DeviceError> {
        self.device.sync()
    }

    /// Deletes what was learnt and what was opened, and asks the federation to forget as well. The index stays.
    pub fn forget(&self) -> Result<Synced, AgentError> {
        self.lock_lists()?.clear();
        self.lock_history()?.erase()?;
        self.home.forget_last_search()?;
        Ok(self.device.forget()?)
    }
}

fn learned(status: &Status, n_openings: usize) -> Learned {
    let release = if let ModelInUse::Release { version } = status.model { Some(version) } else { None };
    Learned { n_lists: status.n_learnt_alone, n_open_lists: status.n_open, n_openings, release }
}

fn federation(status: &Status) -> Option<Federation> {
    let it = status.federation.as_ref()?;
    let budget = it.budget.map(|budget| Budget {
        spent_epsilon: budget.spent.epsilon,
        spent_delta: budget.spent.delta,
        limit_epsilon: Some(budget.limit.epsilon).filter(|epsilon| *epsilon < f64::MAX),
        limit_delta: budget.limit.delta,
        n_unprotected: budget.n_unprotected,
        is_exhausted: budget.is_exhausted,
    });
    Some(Federation {
        address: it.address.clone(),
        device: it.device.clone(),
        is_member: it.is_member,
        consent: consent_name(it.consent).to_owned(),
        promise: it.promise.clone(),
        newest_release: it.newest_release,
        is_newest_refused: it.is_newest_refused,
        n_lists: it.n_interactions,
        n_needed: it.n_needed,
        waiting_round: it.waiting_round,
        n_messages: it.n_messages,
        budget,
    })
}

/// As the commands and the page spell it.
pub const fn consent_name(consent: Consent) -> &'static str {
    match consent {
        Consent::ProtectedMessages => "protected-messages",
        Consent::TrustedServer => "trusted-server",
        Consent::NoPromise => "no-promise",
    }
}
