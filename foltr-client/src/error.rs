//! Why a device cannot be opened, and why a call does nothing.

use std::path::PathBuf;

use thiserror::Error;

use crate::core::{FederationError, LoadError, Refused};
use crate::folder_lock::LockError;
use crate::store::StoreError;
use crate::transport::{NetworkError, NotReached};

/// Why a device cannot be opened. Nothing was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    #[error("{}: {source}", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Why a call did not do what it should. Ranking goes on.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0} ({1})")]
    NotReached(FederationError, NotReached),
    #[error("this is no invitation: {0}")]
    Invitation(#[from] foltr_federation::protocol::InvitationError),
    #[error("an earlier call failed in the middle of its work; open the device again")]
    Broken,
}

impl DeviceError {
    /// With the reason why the server was not reached.
    pub(crate) fn because(self, why: &NotReached) -> Self {
        match self {
            Self::Refused(Refused::Federation(error)) => Self::NotReached(error, why.clone()),
            other => other,
        }
    }
}
