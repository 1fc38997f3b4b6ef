//! Experiment file in; rows, tables and figures out.

pub mod baseline;
