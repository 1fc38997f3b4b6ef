//! What the functions take and give, as C sees it.
//!
//! Functions take `int32_t` where C passes a constant: an enum of Rust must not have a value that it does not know.

use std::ffi::c_char;

/// How a call ended. `foltr_last_error` says it in words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foltr_status {
    FOLTR_OK = 0,
    /// An argument or an option is wrong: NULL, not UTF-8, out of range, a device that is not open, no invitation.
    FOLTR_ARGUMENT = 1,
    /// The list has ended: it was dismissed, or had no event for a long time.
    FOLTR_CLOSED = 2,
    /// No list with this number was shown.
    FOLTR_UNKNOWN = 3,
    /// The features of a document are not as the options say.
    FOLTR_FEATURES = 4,
    /// The folder cannot be used, or the disk is full or failed. A click that ends like this is not stored.
    FOLTR_STORE = 5,
    /// The folder is in use by another device.
    FOLTR_LOCKED = 6,
    /// The server was not reached or had no answer. Call `foltr_device_sync` later.
    FOLTR_NETWORK = 7,
    /// Something is wrong with the federation or its answers, or the device is in another one.
    FOLTR_FEDERATION = 8,
    /// The federation promises less than the owner wants. See `foltr_consent`.
    FOLTR_CONSENT = 9,
    /// A mistake in this library. Close the device and open it again; what was stored is safe.
    FOLTR_BROKEN = 10,
}

/// What the values of a feature are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foltr_kind {
    /// Any finite number.
    FOLTR_NUMBER = 0,
    /// A whole number from 0 on.
    FOLTR_COUNT = 1,
    /// 0 or 1.
    FOLTR_FLAG = 2,
}

/// How features are scaled before the model reads them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foltr_normalisation {
    /// Not at all.
    FOLTR_NORMALISE_NONE = 0,
    /// Every feature to 0 ... 1 within each call of `foltr_device_rank`.
    FOLTR_NORMALISE_QUERY = 1,
}

/// How little an owner is content with, from the strictest on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foltr_consent {
    /// What a message says about its sender must be bounded, whoever reads it.
    FOLTR_PROTECTED_MESSAGES = 0,
    /// The server may see every message, and promises something to everybody else.
    FOLTR_TRUSTED_SERVER = 1,
    /// Nothing is promised to anybody.
    FOLTR_NO_PROMISE = 2,
}

/// How far a device got with its federation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foltr_progress {
    /// There is no federation.
    FOLTR_ALONE = 0,
    FOLTR_PAUSED = 1,
    /// It is too early for the next attempt, by `seconds`.
    FOLTR_LATER = 2,
    /// The newest release is here, and nothing is to be sent.
    FOLTR_UP_TO_DATE = 3,
    /// A message was made, and is sent in `seconds` or later.
    FOLTR_WAITING = 4,
    /// The server has taken the message of `round`.
    FOLTR_CONTRIBUTED = 5,
    /// The server was asked to forget this device. Its receipt is still to come.
    FOLTR_FORGETTING_ASKED = 6,
    /// The receipt of having been forgotten is here.
    FOLTR_FORGOTTEN = 7,
    /// All is well, in a way that this interface has no word for.
    FOLTR_OTHER = 8,
    /// The server could not be asked to forget this device, and will be by `foltr_device_sync`.
    FOLTR_FORGETTING_LATER = 9,
}

/// What `foltr_device_join`, `foltr_device_sync` and `foltr_device_forget` found out.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct foltr_synced {
    pub progress: foltr_progress,
    /// 0 if the progress has no number of seconds.
    pub seconds: u64,
    /// 0 if the progress has no round.
    pub round: u32,
}

/// How a device works. `foltr_options_default` fills it; change what should be different.
///
/// What it points to is copied by `foltr_device_open`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct foltr_options {
    /// Numbers that describe a document. A folder is for one set of features, and so is a federation.
    pub n_features: usize,
    /// As many names in UTF-8, or NULL: then they are 1, 2, ...
    pub names: *const *const c_char,
    /// As many values of `foltr_kind`, or NULL: then all are numbers.
    pub kinds: *const i32,
    /// A value of `foltr_normalisation`.
    pub normalisation: i32,
    /// Documents that the model ranks, 1 to 100. Those beyond stay in the app's order.
    pub list_length: usize,
    /// How fast a device learns that is in no federation.
    pub learning_rate: f64,
    /// Whether releases that rank worse for this person are refused; 0 if all are adopted.
    pub adoption: i32,
    /// Messages wait for a random time of at most so many seconds.
    pub upload_delay: u64,
    /// Such as `http://proxy.example.org:3128`; NULL for none, whatever the environment says.
    pub proxy: *const c_char,
    /// Certificates of one's own authority, in PEM form, in place of the public ones; or NULL.
    pub certificate_authority: *const u8,
    /// Its bytes.
    pub certificate_authority_length: usize,
}

/// An open device. It stays open until `foltr_device_close`.
pub struct foltr_device {
    _private: [u8; 0],
}
