//! The device as an app embeds it.

use std::fmt;
use std::path::Path;

use foltr_federation::protocol::Invitation;
use foltr_rank::{ImpressionId, OwnRanker};

use crate::core::{Click, Consent, Shown, Status, Synced};
use crate::error::{DeviceError, OpenError};
use crate::options::Options;
use crate::randomness::OsRandomness;
use crate::shell::Shell;
use crate::transport::Https;

/// A device: ranks, learns from clicks, and takes part in a federation if its owner wants that.
///
/// Methods take `&self` and may be called from several threads, which are served one after the other; a visit to the
/// server does not hold up the others. What [`clicked`](Self::clicked) has acknowledged survives a crash.
///
/// ```
/// use foltr_client::{Device, FeatureSchema, Normalisation, Options};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// // Two numbers describe a document: how well it fits the query, and how new it is.
/// let features = FeatureSchema::numbered(2, Normalisation::None);
/// let device = Device::open(folder, Options::new(features))?;
///
/// // Three candidates, one after the other.
/// let shown = device.rank(&[0.9, 0.1, 0.5, 0.5, 0.2, 0.9])?;
/// for &document in &shown.order {
///     // ... display it ...
/// }
/// device.clicked(shown.impression, 0)?;
/// device.dismiss(shown.impression)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Device(Shell<OsRandomness, Https>);

impl Device {
    /// Opens the device of a folder, or makes a new one. Needs no server.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let https = Https::new(&options.network)?;
        Ok(Self(Shell::open(folder.as_ref(), options, OsRandomness::new(), https)?))
    }

    /// Ranks with the last good model of a folder that [`open`](Self::open) cannot use (damaged, on a disk that cannot be
    /// written to, or of a newer version), and changes nothing in it. Clicks are refused: they could not be stored.
    pub fn open_read_only(folder: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let https = Https::new(&options.network)?;
        Ok(Self(Shell::open_read_only(folder.as_ref(), options, OsRandomness::new(), https)?))
    }

    /// The order to show candidates in. `features` has those of the first document, then those of the second, and so on, in
    /// the order of the schema. The list stays open for clicks.
    pub fn rank(&self, features: &[f32]) -> Result<Shown, DeviceError> {
        self.0.rank(features)
    }

    /// The next list while a query is being typed. It is drawn with the same random numbers as the previous one, so that a
    /// document that is in both lists stays where it was as far as its score does. Each list by itself is drawn as by [`rank`](Self::rank).
    pub fn rank_next(&self, features: &[f32], previous: Option<ImpressionId>) -> Result<Shown, DeviceError> {
        self.0.rank_next(features, previous)
    }

    /// Takes back a list that nobody has seen: nothing is learnt from it, and it counts for nothing.
    pub fn withdraw(&self, impression: ImpressionId) -> Result<(), DeviceError> {
        self.0.withdraw(impression)
    }

    /// What lists are ranked by, without chance: to explain an order. Features are scaled as the schema says before it sees them.
    pub fn ranker(&self) -> Result<OwnRanker, DeviceError> {
        self.0.ranker()
    }

    /// The person opened the document at this position of the shown order, counted from 0. May come late, in any order, more than
    /// once and after a restart. When it returns, the click is durable.
    pub fn clicked(&self, impression: ImpressionId, position: usize) -> Result<Click, DeviceError> {
        self.0.clicked(impression, position)
    }

    /// The person is done with a list: it teaches now. Lists without events end by themselves after a while.
    pub fn dismiss(&self, impression: ImpressionId) -> Result<(), DeviceError> {
        self.0.dismiss(impression)
    }

    /// Takes part in a federation, if its plan bounds what a message says about its sender, whoever reads it.
    ///
    /// If the server is not reached, the invitation is stored, and [`sync`](Self::sync) goes on with it.
    pub fn join(&self, invitation: &str) -> Result<Synced, DeviceError> {
        self.join_with(invitation, Consent::ProtectedMessages)
    }

    /// Takes part in a federation, with the owner's word that less of a promise is enough.
    pub fn join_with(&self, invitation: &str, consent: Consent) -> Result<Synced, DeviceError> {
        let invitation: Invitation = invitation.parse()?;
        self.0.join(&invitation, consent)
    }

    /// Does what is due: ends old lists, fetches a release, makes a message, sends it. Call it whenever the host allows work
    /// and network; every few minutes is not too often.
    pub fn sync(&self) -> Result<Synced, DeviceError> {
        self.0.sync()
    }

    /// Everything that the device knows.
    pub fn status(&self) -> Result<Status, DeviceError> {
        self.0.status()
    }

    /// From now on nothing is recorded, learnt or sent. Lists are ranked by the model as it is.
    pub fn pause(&self) -> Result<(), DeviceError> {
        self.0.set_paused(true)
    }

    pub fn is_paused(&self) -> Result<bool, DeviceError> {
        self.0.is_paused()
    }

    pub fn resume(&self) -> Result<(), DeviceError> {
        self.0.set_paused(false)
    }

    /// Deletes all that was learnt and recorded here; then asks the server to forget this device, now or as soon as it is
    /// reached by [`sync`](Self::sync). What was spent of the privacy budget stays written down.
    pub fn forget(&self) -> Result<Synced, DeviceError> {
        self.0.forget()
    }

    /// The server's receipt of having forgotten this device: JSON that `foltr receipt verify` reads.
    pub fn deletion_receipt(&self) -> Result<Option<Vec<u8>>, DeviceError> {
        self.0.deletion_receipt()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").finish_non_exhaustive()
    }
}
