//! All integration tests of the crate in one binary: one is linked, not many.

mod device_page;
mod example;
mod quick_start;
mod shop;
