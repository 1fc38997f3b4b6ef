//! Texts of files, read by a child process that can touch nothing but the file it is asked about.
//!
//! Documents come from strangers: a mail or a PDF may be made to crash, to fill the memory or to never end. So parsers run
//! in workers, which are the same program started with a hidden subcommand ([`run_child`]). The parent opens the file
//! and hands the descriptor over a socket; the worker answers with texts. What a worker sends is not trusted: every
//! length is bounded, and whatever is malformed counts as a failed file.
//!
//! A worker reads many files, as starting one takes longer than most files. What a document did to a worker could
//! therefore show in later answers of the same worker; after a crash, a time-out or too much memory it is replaced.

mod child;
mod format;
mod frame;
mod html;
mod limits;
mod mail;
mod mailbox;
mod markdown;
mod office;
mod open;
mod parse;
mod pdf;
mod pool;
mod reason;
mod sandbox;
mod source;
mod text;
mod worker;

#[cfg(test)]
mod tests;

pub use child::run_child;
pub use format::Format;
pub use limits::Limits;
pub use pool::{Extractor, Outcome, Program};
pub use reason::{Container, Reason};

/// The parsers in a test binary.
#[cfg(test)]
pub(crate) use tests::program as test_program;
