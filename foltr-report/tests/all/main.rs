//! All integration tests of the crate in one binary: one is linked, not ten.

mod comparable;
mod fabricated;
mod page;
mod paper;
