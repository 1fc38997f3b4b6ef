//! Results in; verdicts, tables, figures and pages out.

pub mod assemble;
pub mod expect;
pub mod mimic;
pub mod parquet;
pub mod plot;
pub mod report;
pub mod statistics;
pub mod summary;
pub mod table;
pub mod trec;
