//! All integration tests of the crate in one binary: one is linked, not ten.

mod adoption_fuzz;
mod example;
mod golden;
mod session;
