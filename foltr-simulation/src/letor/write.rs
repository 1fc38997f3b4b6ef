//! Writes a data set as LETOR text that reads back to the same bits.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rayon::prelude::*;

use crate::dataset::Dataset;

/// Writes `data` to a file, one line a document, every feature named, floats with the fewest digits that round-trip.
pub fn write_letor(data: &Dataset, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
    write_lines(data, &mut out)?;
    out.flush()
}

pub fn letor_text(data: &Dataset) -> Vec<u8> {
    let mut text = Vec::new();
    write_lines(data, &mut text).expect("writing to memory");
    text
}

/// Queries whose lines are made in parallel before they are written in order.
const QUERIES_AT_A_TIME: usize = 256;

fn write_lines(data: &Dataset, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = (1..=data.n_features()).map(|index| format!(" {index}:")).collect();
    for first in (0..data.n_queries()).step_by(QUERIES_AT_A_TIME) {
        let queries = first..(first + QUERIES_AT_A_TIME).min(data.n_queries());
        let texts: Vec<_> = queries.into_par_iter().map(|query_idx| query_lines(data, query_idx, &names)).collect();
        for text in texts {
            out.write_all(&text?)?;
        }
    }
    Ok(())
}

fn query_lines(data: &Dataset, query_idx: usize, names: &[String]) -> io::Result<Vec<u8>> {
    let query = data.query(query_idx);
    let mut text = Vec::new();
    for (doc_idx, label) in data.labels(query_idx).iter().enumerate() {
        write!(text, "{label} qid:{}", data.query_id(query_idx))?;
        for (name, value) in names.iter().zip(query.row(doc_idx)) {
            text.extend_from_slice(name.as_bytes());
            match value.to_bits() {
                // By far the most common value.
                0 => text.push(b'0'),
                _ => write!(text, "{value}")?,
            }
        }
        text.push(b'\n');
    }
    Ok(text)
}
