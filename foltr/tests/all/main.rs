//! All integration tests of the crate in one binary: one is linked, not ten.

mod binary;
mod boundaries;
mod cache;
#[cfg(unix)]
mod cluster;
mod command_line;
#[cfg(unix)]
mod documents;
mod every_command;
mod explain;
mod forgetting;
mod golden;
mod mimic;
mod other_tools;
mod outside_teacher;
mod paper_collections;
mod report;
mod reproduce;
mod result_models;
#[cfg(unix)]
mod resume;
mod shards;
mod studies;
mod trained_rankers;
