//! Experiment file in; rows, tables and figures out.

pub mod about;
pub mod baseline;
pub mod bench;
pub mod cli;
pub mod command;
pub mod data;
pub mod demo;
pub mod evaluate;
pub mod execute;
pub mod folder;
pub mod grid;
pub mod model;
pub mod plot;
pub mod probe;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod rows;
pub mod run;
pub mod schema;
pub mod selection;
pub mod spec;
pub mod statistics;
pub mod summary;
pub mod table;
pub mod trec;
