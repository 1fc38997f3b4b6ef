//! Results in; verdicts, tables, figures and pages out.

pub mod assemble;
pub mod expect;
pub mod merge;
pub mod mimic;
pub mod names;
pub mod parquet;
pub mod plot;
pub mod report;
mod rows;
pub mod statistics;
pub mod summary;
pub mod table;
pub mod trec;

/// Every item once, in the order of first appearance.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}
