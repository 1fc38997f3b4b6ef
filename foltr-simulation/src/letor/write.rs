//! Writes a data set as LETOR text that reads back to the same bits.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::dataset::Dataset;

/// Writes `data` to a file, one line a document, every feature named, floats with the fewest digits that round-trip.
pub fn write_letor(data: &Dataset, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
    write_lines(data, &mut out)?;
    out.flush()
}

/// The same text in memory.
pub fn letor_text(data: &Dataset) -> Vec<u8> {
    let mut text = Vec::new();
    write_lines(data, &mut text).expect("writing to memory");
    text
}

fn write_lines(data: &Dataset, out: &mut impl Write) -> io::Result<()> {
    for query_idx in 0..data.n_queries() {
        let query = data.query(query_idx);
        for (doc_idx, label) in data.labels(query_idx).iter().enumerate() {
            write!(out, "{label} qid:{}", data.query_id(query_idx))?;
            for (feature, value) in query.row(doc_idx)[..data.n_features()].iter().enumerate() {
                write!(out, " {}:{value}", feature + 1)?;
            }
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}
