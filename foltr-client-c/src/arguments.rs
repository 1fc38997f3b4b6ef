//! Pointers from C as values of Rust. All `unsafe` of this crate is here, and in `foltr_string_free`.

use std::ffi::{CStr, c_char};

use crate::border::Failure;

fn is_null(name: &str) -> Failure {
    Failure::argument(format!("`{name}` is NULL"))
}

/// # Safety
/// A pointer that is not NULL must be to a text that ends with a 0 and stays as it is for the call.
pub unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(is_null(name));
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    let wrong = |error: std::str::Utf8Error| format!("`{name}` is not UTF-8 from byte {} on", error.valid_up_to());
    bytes.to_str().map_err(|error| Failure::argument(wrong(error)))
}

/// # Safety
/// A pointer that is not NULL must be to as many values, which stay as they are for the call.
pub unsafe fn values<'a, T>(name: &str, pointer: *const T, n: usize) -> Result<&'a [T], Failure> {
    check_values(name, pointer, n)?;
    // SAFETY: promised by the caller; the size was checked.
    Ok(unsafe { std::slice::from_raw_parts(pointer, n) })
}

/// # Safety
/// A pointer that is not NULL must be to as many places that nobody else uses during the call.
pub unsafe fn write_values<T: Copy>(name: &str, pointer: *mut T, values: &[T]) -> Result<(), Failure> {
    check_values(name, pointer, values.len())?;
    // SAFETY: promised by the caller. The values are the library's own and do not overlap.
    unsafe { pointer.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    Ok(())
}

pub fn check_values<T>(name: &str, pointer: *const T, n: usize) -> Result<(), Failure> {
    let fits = n.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    match () {
        () if pointer.is_null() => Err(is_null(name)),
        () if !pointer.is_aligned() => Err(Failure::argument(format!("`{name}` is not aligned for its type"))),
        () if !fits => Err(Failure::argument(format!("`{name}` cannot have {n} values: no memory is so large"))),
        () => Ok(()),
    }
}

/// # Safety
/// A pointer that is not NULL must be to a place that nobody else uses during the call.
pub unsafe fn write<T: Copy>(name: &str, pointer: *mut T, value: T) -> Result<(), Failure> {
    // SAFETY: promised by the caller.
    unsafe { write_values(name, pointer, &[value]) }
}

/// Writes if the caller wants to know.
///
/// # Safety
/// As for [`write`].
pub unsafe fn write_if_wanted<T: Copy>(name: &str, pointer: *mut T, value: T) -> Result<(), Failure> {
    if pointer.is_null() {
        return Ok(());
    }
    // SAFETY: promised by the caller.
    unsafe { write(name, pointer, value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_pointers_are_named() {
        let numbers = [1.0_f32, 2.0];
        let said = |result: Result<&[f32], Failure>| result.expect_err("wrong").message;
        // SAFETY: what is read is within `numbers`; the others are refused before they are read.
        unsafe {
            assert_eq!(values("features", numbers.as_ptr(), 2), Ok(&numbers[..]));
            assert_eq!(said(values("features", std::ptr::null(), 2)), "`features` is NULL");
            let odd = numbers.as_ptr().wrapping_byte_add(1);
            assert_eq!(said(values("features", odd, 1)), "`features` is not aligned for its type");
            let large = said(values("features", numbers.as_ptr(), usize::MAX / 4));
            assert!(large.contains("no memory is so large"), "{large}");
        }
    }

    #[test]
    fn texts_must_be_utf_8() {
        // SAFETY: both texts end with a 0.
        unsafe {
            assert_eq!(text("folder", c"ä".as_ptr()), Ok("ä"));
            let wrong = text("folder", c"ab\xff".as_ptr()).expect_err("wrong").message;
            assert_eq!(wrong, "`folder` is not UTF-8 from byte 2 on");
        }
    }
}
