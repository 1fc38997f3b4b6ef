//! Experiment file in; rows, tables and figures out.

pub mod rows;
pub mod spec;
