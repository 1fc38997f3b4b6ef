//! Open devices by the number that C has in place of a pointer.
//!
//! Numbers are never used again: a handle that was closed, or never opened, is refused and reads no memory.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use foltr_client::Device;

use crate::border::Failure;
use crate::c_declarations::foltr_device;

/// A device, and how many values describe a document.
pub struct Open {
    pub device: Device,
    pub n_features: usize,
}

struct Handles {
    last: usize,
    open: BTreeMap<usize, Arc<Open>>,
}

static HANDLES: RwLock<Handles> = RwLock::new(Handles { last: 0, open: BTreeMap::new() });

/// Numbers are apart by this, so that no handle looks like part of another.
const STEP: usize = 16;

pub fn enter(open: Open) -> *mut foltr_device {
    let mut handles = HANDLES.write().unwrap_or_else(PoisonError::into_inner);
    handles.last += STEP;
    let number = handles.last;
    handles.open.insert(number, Arc::new(open));
    std::ptr::without_provenance_mut(number)
}

pub fn get(device: *const foltr_device) -> Result<Arc<Open>, Failure> {
    let handles = HANDLES.read().unwrap_or_else(PoisonError::into_inner);
    handles.open.get(&device.addr()).cloned().ok_or_else(|| not_open(device))
}

/// The device closes when the calls that are under way have ended.
pub fn remove(device: *const foltr_device) -> Result<(), Failure> {
    let removed = HANDLES.write().unwrap_or_else(PoisonError::into_inner).open.remove(&device.addr());
    // Closing takes time; other devices need not wait for it.
    removed.map(drop).ok_or_else(|| not_open(device))
}

fn not_open(device: *const foltr_device) -> Failure {
    let why = if device.is_null() { "is NULL" } else { "is not open: it was closed, or never opened" };
    Failure::argument(format!("`device` {why}"))
}

#[cfg(test)]
mod tests {
    use foltr_client::{FeatureSchema, Normalisation, Options};

    use super::*;

    #[test]
    fn calls_that_are_under_way_end_before_the_folder_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new(FeatureSchema::numbered(2, Normalisation::None));
        let open = || Device::open(folder.path(), options.clone());
        let handle = enter(Open { device: open().expect("free"), n_features: 2 });
        let call = get(handle).expect("open");
        remove(handle).expect("open");
        assert!(remove(handle).is_err() && get(handle).is_err(), "it was closed");
        call.device.rank(&[0.5, 1.0]).expect("still there");
        assert!(open().is_err(), "in use by a call");
        drop(call);
        let other = enter(Open { device: open().expect("free again"), n_features: 2 });
        assert_ne!(handle, other);
        assert!(get(handle).is_err(), "numbers are not used again");
        remove(other).expect("open");
    }
}
