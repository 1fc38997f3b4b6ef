//! The C interface as C programs see it.

mod compile;
mod header;
mod programs;
