//! Open devices by the number that C has in place of a pointer.
//!
//! Numbers are never used again: a handle that was closed, or never opened, is refused and reads no memory.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use foltr_client::Device;

use crate::border::Failure;
use crate::types::foltr_device;

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
