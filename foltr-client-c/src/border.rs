//! The border to C: the last error of each thread, and the one place where panics stop.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::c_declarations::foltr_status;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Why a call failed: its code, and the same in words.
#[derive(Debug, PartialEq)]
pub struct Failure {
    pub status: foltr_status,
    pub message: String,
}

impl Failure {
    pub fn argument(message: impl Into<String>) -> Self {
        Self { status: foltr_status::FOLTR_ARGUMENT, message: message.into() }
    }
}

/// Runs what a function does, and keeps the error for `foltr_last_error`.
///
/// Nothing is seen in a broken state after a panic: the device itself then refuses further calls, and handles are entered
/// and removed as a whole.
pub fn border(call: impl FnOnce() -> Result<(), Failure>) -> foltr_status {
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(broken(&*panic)));
    let (status, message) = match result {
        Ok(()) => (foltr_status::FOLTR_OK, String::new()),
        Err(Failure { status, message }) => (status, message),
    };
    // A thread that is ending has no last error any more.
    let _ = LAST_ERROR.try_with(|last| last.replace(c_text(message)));
    status
}

/// The last error of this thread; empty if there was none.
pub fn last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// A text for C. A 0 would end it early.
pub fn c_text(text: impl Into<String>) -> CString {
    let text = text.into();
    let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    CString::new(text).unwrap_or_default()
}

fn broken(panic: &(dyn Any + Send)) -> Failure {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
    Failure {
        status: foltr_status::FOLTR_BROKEN,
        message: format!("a mistake in this library, please report it: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::c_declarations::foltr_status::{FOLTR_ARGUMENT, FOLTR_BROKEN, FOLTR_OK};

    fn last() -> String {
        // SAFETY: nothing else of this thread has been called in between.
        unsafe { CStr::from_ptr(last_error()) }.to_str().expect("UTF-8").to_owned()
    }

    #[test]
    fn a_panic_is_a_status() {
        let panics = |document: usize| -> Result<(), Failure> { panic!("document {document} is gone") };
        assert_eq!(border(|| panics(7)), FOLTR_BROKEN);
        assert!(last().ends_with("report it: document 7 is gone"), "{}", last());
        assert_eq!(border(|| panic!("gone")), FOLTR_BROKEN);
        assert!(last().ends_with("report it: gone"), "{}", last());
        assert_eq!(border(|| std::panic::panic_any(7)), FOLTR_BROKEN);
        assert!(last().ends_with("without a message"), "{}", last());
        assert_eq!(border(|| Ok(())), FOLTR_OK);
        assert_eq!(last(), "");
    }

    #[test]
    fn each_thread_has_its_last_error() {
        assert_eq!(border(|| Err(Failure::argument("here"))), FOLTR_ARGUMENT);
        std::thread::spawn(|| {
            assert_eq!(last(), "");
            assert_eq!(border(|| Err(Failure::argument("the\0re"))), FOLTR_ARGUMENT);
            assert_eq!(last(), "the\u{fffd}re");
        })
        .join()
        .expect("no panic");
        assert_eq!(last(), "here");
    }
}
