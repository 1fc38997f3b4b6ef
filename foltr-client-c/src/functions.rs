//! The functions of the interface. Their comments are those of the header.

use std::ffi::{CString, c_char};
use std::path::Path;

use foltr_client::{Consent, Device, ImpressionId, OpenError, Options, Synced};

use crate::arguments::{check_values, text, values, write, write_if_wanted, write_values};
use crate::border::{Failure, border, c_text, last_error};
use crate::c_declarations::{foltr_consent, foltr_device, foltr_options, foltr_progress, foltr_status, foltr_synced};
use crate::handles::{self, Open};

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn foltr_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Why the last call of this thread that returned a status failed; empty if it did not. Valid until its next call.
#[unsafe(no_mangle)]
pub extern "C" fn foltr_last_error() -> *const c_char {
    last_error()
}

/// Frees a text that a function has given. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the text is of `give_text`, and freed once.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Options of a device whose documents are described by so many numbers.
#[unsafe(no_mangle)]
pub extern "C" fn foltr_options_default(n_features: usize) -> foltr_options {
    foltr_options::default_for(n_features)
}

/// Opens the device of a folder, or makes a new one. Needs no server. `device` is NULL if that fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_open(
    folder: *const c_char,
    options: *const foltr_options,
    device: *mut *mut foltr_device,
) -> foltr_status {
    // SAFETY: promised by the caller.
    border(|| unsafe { open(folder, options, device, |folder, options| Device::open(folder, options)) })
}

/// Ranks with the last good model of a folder that `foltr_device_open` cannot use (damaged, on a disk that cannot be
/// written to, or of a newer version), and changes nothing in it. Clicks are refused: they could not be stored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_open_read_only(
    folder: *const c_char,
    options: *const foltr_options,
    device: *mut *mut foltr_device,
) -> foltr_status {
    // SAFETY: promised by the caller.
    border(|| unsafe { open(folder, options, device, |folder, options| Device::open_read_only(folder, options)) })
}

/// Closes a device. Calls of other threads that are under way end first; then the folder is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_close(device: *mut foltr_device) -> foltr_status {
    border(|| handles::remove(device))
}

/// The order to show documents in.
///
/// `features` has `n_features` values of the first document, then those of the second, and so on. `order` has room for
/// `n_documents` numbers: the document to show first, counted from 0 as they came, then the second, and so on. The first
/// `n_ranked` of them were ranked by the model, and the others are as they came; it may be NULL. The list stays open for
/// clicks under the number `impression`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_rank(
    device: *const foltr_device,
    features: *const f32,
    n_documents: usize,
    order: *mut usize,
    impression: *mut u64,
    n_ranked: *mut usize,
) -> foltr_status {
    border(|| {
        let open = handles::get(device)?;
        check_values("order", order, n_documents)?;
        check_values("impression", impression, 1)?;
        // So many values are in no memory.
        let n_values = n_documents.saturating_mul(open.n_features);
        // SAFETY: promised by the caller.
        let features = unsafe { values("features", features, n_values) }?;
        let shown = open.device.rank(features)?;
        // SAFETY: promised by the caller; there are as many as documents.
        unsafe {
            write_values("order", order, &shown.order)?;
            write("impression", impression, shown.impression.0)?;
            write_if_wanted("n_ranked", n_ranked, shown.n_ranked)
        }
    })
}

/// The person opened the document at this position of the shown order, counted from 0. May come late, in any order, more
/// than once and after a restart. When it returns, the click is durable. Clicks from `n_ranked` on and those of a paused
/// device are accepted and teach nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_clicked(
    device: *const foltr_device,
    impression: u64,
    position: usize,
) -> foltr_status {
    border(|| Ok(handles::get(device)?.device.clicked(ImpressionId(impression), position).map(drop)?))
}

/// The person is done with a list: it teaches now. Lists without events end by themselves after a while.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_dismiss(device: *const foltr_device, impression: u64) -> foltr_status {
    border(|| Ok(handles::get(device)?.device.dismiss(ImpressionId(impression))?))
}

/// Takes part in a federation, if it promises what `consent` (a value of `foltr_consent`) asks for. If the server is not
/// reached, the invitation is stored, and `foltr_device_sync` goes on with it. `synced` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_join(
    device: *const foltr_device,
    invitation: *const c_char,
    consent: i32,
    synced: *mut foltr_synced,
) -> foltr_status {
    border(|| {
        let open = handles::get(device)?;
        // SAFETY: promised by the caller.
        let invitation = unsafe { text("invitation", invitation) }?;
        let answer = open.device.join_with(invitation, read_consent(consent)?)?;
        // SAFETY: promised by the caller.
        unsafe { write_if_wanted("synced", synced, answer.into()) }
    })
}

/// Does what is due: ends old lists, fetches a release, makes a message, sends it. Call it whenever work and network are
/// allowed; every few minutes is not too often. It may wait for the server; other threads can rank meanwhile. `synced` may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_sync(device: *const foltr_device, synced: *mut foltr_synced) -> foltr_status {
    border(|| {
        let answer = handles::get(device)?.device.sync()?;
        // SAFETY: promised by the caller.
        unsafe { write_if_wanted("synced", synced, answer.into()) }
    })
}

/// From now on nothing is recorded, learnt or sent. Lists are ranked by the model as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_pause(device: *const foltr_device) -> foltr_status {
    border(|| Ok(handles::get(device)?.device.pause()?))
}

/// Ends a pause.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_resume(device: *const foltr_device) -> foltr_status {
    border(|| Ok(handles::get(device)?.device.resume()?))
}

/// Deletes all that was learnt and recorded here; then asks the server to forget this device, now or as soon as it is
/// reached by `foltr_device_sync`. What was spent of the privacy budget stays written down. `synced` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_forget(device: *const foltr_device, synced: *mut foltr_synced) -> foltr_status {
    border(|| {
        let answer = handles::get(device)?.device.forget()?;
        // SAFETY: promised by the caller.
        unsafe { write_if_wanted("synced", synced, answer.into()) }
    })
}

/// What the device knows and stores, in words for its owner. Free the text by `foltr_string_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_status(device: *const foltr_device, text: *mut *mut c_char) -> foltr_status {
    border(|| {
        // SAFETY: promised by the caller.
        unsafe { write("text", text, std::ptr::null_mut()) }?;
        let status = handles::get(device)?.device.status()?;
        // SAFETY: promised by the caller.
        unsafe { give_text(text, status.to_string()) }
    })
}

/// The server's receipt of having forgotten this device: JSON that `foltr receipt verify` reads; NULL if there is none.
/// Free the text by `foltr_string_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foltr_device_deletion_receipt(
    device: *const foltr_device,
    text: *mut *mut c_char,
) -> foltr_status {
    border(|| {
        // SAFETY: promised by the caller.
        unsafe { write("text", text, std::ptr::null_mut()) }?;
        match handles::get(device)?.device.deletion_receipt()? {
            // SAFETY: promised by the caller.
            Some(receipt) => unsafe { give_text(text, String::from_utf8_lossy(&receipt)) },
            None => Ok(()),
        }
    })
}

/// # Safety
/// Pointers that are not NULL must be as the header says.
unsafe fn open(
    folder: *const c_char,
    options: *const foltr_options,
    device: *mut *mut foltr_device,
    open: impl FnOnce(&Path, Options) -> Result<Device, OpenError>,
) -> Result<(), Failure> {
    // SAFETY: promised by the caller.
    unsafe {
        write("device", device, std::ptr::null_mut())?;
        let folder = text("folder", folder)?;
        if folder.is_empty() {
            return Err(Failure::argument("`folder` is empty; expected the path of a folder"));
        }
        let options = values("options", options, 1)?[0].read()?;
        let n_features = options.features.features.len();
        let opened = Open { device: open(Path::new(folder), options)?, n_features };
        write("device", device, handles::enter(opened))
    }
}

/// # Safety
/// The pointer must be to a place for a pointer.
unsafe fn give_text(place: *mut *mut c_char, text: impl Into<String>) -> Result<(), Failure> {
    // SAFETY: promised by the caller.
    unsafe { write("text", place, c_text(text).into_raw()) }
}

fn read_consent(value: i32) -> Result<Consent, Failure> {
    match value {
        _ if value == foltr_consent::FOLTR_PROTECTED_MESSAGES as i32 => Ok(Consent::ProtectedMessages),
        _ if value == foltr_consent::FOLTR_TRUSTED_SERVER as i32 => Ok(Consent::TrustedServer),
        _ if value == foltr_consent::FOLTR_NO_PROMISE as i32 => Ok(Consent::NoPromise),
        _ => Err(Failure::argument(format!("`consent` is {value}; see `foltr_consent`"))),
    }
}

impl From<Synced> for foltr_synced {
    fn from(synced: Synced) -> Self {
        let (progress, seconds, round) = match synced {
            Synced::Alone => (foltr_progress::FOLTR_ALONE, 0, 0),
            Synced::Paused => (foltr_progress::FOLTR_PAUSED, 0, 0),
            Synced::Later { seconds } => (foltr_progress::FOLTR_LATER, seconds, 0),
            Synced::UpToDate => (foltr_progress::FOLTR_UP_TO_DATE, 0, 0),
            Synced::Waiting { seconds } => (foltr_progress::FOLTR_WAITING, seconds, 0),
            Synced::Contributed { round } => (foltr_progress::FOLTR_CONTRIBUTED, 0, round),
            Synced::ForgettingAsked => (foltr_progress::FOLTR_FORGETTING_ASKED, 0, 0),
            Synced::ForgettingLater => (foltr_progress::FOLTR_FORGETTING_LATER, 0, 0),
            Synced::Forgotten => (foltr_progress::FOLTR_FORGOTTEN, 0, 0),
            _ => (foltr_progress::FOLTR_OTHER, 0, 0),
        };
        Self { progress, seconds, round }
    }
}
