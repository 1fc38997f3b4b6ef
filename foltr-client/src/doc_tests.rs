//! The Rust blocks of the page for app developers, compiled and run with the other documentation tests.

#[doc = include_str!("../../docs/device.md")]
pub struct DevicePage;
