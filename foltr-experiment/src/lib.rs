//! Experiment file in, finished runs out.

pub mod baseline;
pub mod collection;
pub mod data;
pub mod evaluate;
pub mod execute;
pub mod grid;
pub mod history_files;
pub mod interleaved;
pub mod job;
pub mod manifest;
pub mod mimic;
pub mod model;
pub mod partition;
pub mod probe;
mod read;
pub mod results;
pub mod rows;
pub mod run;
pub mod schema;
pub mod selection;
pub mod spec;
pub mod store;
pub mod study;
pub mod trained;
pub mod unlearn;
mod warnings;
