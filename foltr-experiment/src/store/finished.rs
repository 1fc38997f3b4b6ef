//! A finished run, read back.

use std::path::Path;

use anyhow::{Context, Result};

use super::record::RunRecord;
use crate::rows::{ClientValue, MetricName, Row};

pub(super) const ROWS_FILE: &str = "rows.csv";
pub(super) const ROWS_HEADER: &str = "round,metric,value";
/// What the final rankers are worth to every client, in the folder of a run whose clients differ.
pub(super) const CLIENTS_FILE: &str = "clients.csv";
pub(super) const CLIENTS_HEADER: &str = "client,group,metric,value";

/// A finished run, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    pub record: RunRecord,
    /// In the order in which they were written.
    pub rows: Vec<Row>,
    /// What the final rankers are worth to every client; empty if clients do not differ.
    pub clients: Vec<ClientValue>,
}

impl FinishedRun {
    /// Reads the values of one run.
    ///
    /// # Errors
    /// If one of these files is missing, differs from its checksum or is not what a run writes; with its line.
    pub fn read(folder: &Path) -> Result<Self> {
        let record = RunRecord::read(folder)?;
        let rows = lines(&record, folder, ROWS_FILE, ROWS_HEADER, read_row)?;
        let has_clients = record.files.contains_key(CLIENTS_FILE);
        let read_clients = || lines(&record, folder, CLIENTS_FILE, CLIENTS_HEADER, read_client);
        let clients = if has_clients { read_clients()? } else { Vec::new() };
        Ok(Self { record, rows, clients })
    }
}

fn lines<T>(
    record: &RunRecord,
    folder: &Path,
    name: &str,
    header: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    let path = folder.join(name);
    let text =
        String::from_utf8(record.content(folder, name)?).with_context(|| format!("{} is no text", path.display()))?;
    let read = |(i, line): (usize, &str)| {
        read(line).with_context(|| format!("{}:{}: `{line}`: expected {header}", path.display(), i + 1))
    };
    text.lines().enumerate().skip(1).map(read).collect()
}

fn read_row(line: &str) -> Option<Row> {
    let (round, rest) = line.split_once(',')?;
    let (metric, value) = rest.rsplit_once(',')?;
    Some(Row { round: round.parse().ok()?, metric: metric.parse::<MetricName>().ok()?, value: value.parse().ok()? })
}

fn read_client(line: &str) -> Option<ClientValue> {
    let mut parts = line.split(',');
    Some(ClientValue {
        client: parts.next()?.parse().ok()?,
        group: parts.next()?.parse().ok()?,
        metric: parts.next()?.parse().ok()?,
        value: parts.next()?.parse().ok()?,
    })
}
