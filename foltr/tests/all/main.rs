//! All integration tests of the crate in one binary: one is linked, not ten.

mod binary;
mod boundaries;
mod command_line;
mod every_command;
mod explain;
mod forgetting;
mod golden;
mod mimic;
mod other_tools;
mod report;
mod reproduce;
#[cfg(unix)]
mod resume;
mod studies;
mod trained_rankers;
