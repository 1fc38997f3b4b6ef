//! LETOR text of any length, query after query, without ever holding more than a block of it.
//!
//! Differs from [`super::parse_letor`] in two ways that bounded memory asks for: the lines of a query must stand together
//! (whoever receives the queries sees one twice otherwise), and without a declared width that of the first document is the
//! width of all.

use std::io::Read;
use std::path::Path;

use memchr::{memchr_iter, memrchr};

use super::chunk::Chunk;
use super::{LetorError, MAX_FEATURES, ReadOptions, first_width, limits_of, read_block};

/// Bytes of text read before any of it is parsed: enough pieces for many threads.
pub(crate) const BLOCK_BYTES: usize = 32 << 20;

pub(crate) struct StreamedQuery<'a> {
    pub(crate) id: &'a str,
    pub(crate) n_features: usize,
    pub(crate) labels: &'a [u8],
    /// Padded, one for each label.
    pub(crate) rows: &'a [f32],
}

#[derive(Default)]
struct OpenQuery {
    id: Box<str>,
    labels: Vec<u8>,
    rows: Vec<f32>,
}

/// Reads all queries in the order of the text. `name` is what errors call it.
pub(crate) fn stream_letor<E: From<LetorError>>(
    mut source: impl Read,
    name: &Path,
    options: &ReadOptions,
    block_bytes: usize,
    mut receive: impl FnMut(StreamedQuery<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let file = || name.to_path_buf();
    let mut limits = limits_of(name, options)?;
    let (mut text, mut n_lines) = (Vec::new(), 0);
    let (mut open, mut width) = (OpenQuery::default(), options.n_features);
    loop {
        let read = source.by_ref().take(block_bytes as u64).read_to_end(&mut text);
        let n_read = read.map_err(|source| LetorError::Read { file: file(), source })?;
        let is_last = n_read < block_bytes;
        // A line that is longer than a block is read on.
        let end = if is_last { text.len() } else { memrchr(b'\n', &text).map_or(0, |newline| newline + 1) };
        let mut block = &text[..end];
        if n_lines == 0 {
            block = block.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(block);
        }
        width = width.or_else(|| first_width(block, limits));
        limits.max_index = width.unwrap_or(MAX_FEATURES);
        for chunk in read_block(block, width, limits, name, n_lines)? {
            let n_features = limits.max_index;
            open.take(&chunk, |query| receive(StreamedQuery { n_features, ..query }))?;
        }
        n_lines += memchr_iter(b'\n', block).count();
        text.drain(..end);
        if is_last {
            break;
        }
    }
    match width {
        None => Err(LetorError::Empty { file: file() }.into()),
        Some(0) => Err(LetorError::NoFeatures { file: file() }.into()),
        Some(n_features) => open.close(|query| receive(StreamedQuery { n_features, ..query })),
    }
}

impl OpenQuery {
    /// Takes the rows of a chunk; hands over every query that another one follows.
    fn take<E>(&mut self, chunk: &Chunk, mut receive: impl FnMut(StreamedQuery<'_>) -> Result<(), E>) -> Result<(), E> {
        let ends = chunk.runs.iter().skip(1).map(|run| run.first_row).chain([chunk.labels.len()]);
        for (run, end) in chunk.runs.iter().zip(ends) {
            if run.query_id != self.id {
                self.close(&mut receive)?;
                self.id = run.query_id.clone();
            }
            self.labels.extend_from_slice(&chunk.labels[run.first_row..end]);
            self.rows.extend_from_slice(&chunk.rows[run.first_row * chunk.stride..end * chunk.stride]);
        }
        Ok(())
    }

    /// Hands over the query, if there is one.
    fn close<E>(&mut self, mut receive: impl FnMut(StreamedQuery<'_>) -> Result<(), E>) -> Result<(), E> {
        if !self.labels.is_empty() {
            receive(StreamedQuery { id: &self.id, n_features: 0, labels: &self.labels, rows: &self.rows })?;
        }
        self.labels.clear();
        self.rows.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::{Synthetic, SyntheticShape};
    use crate::letor::{letor_text, parse_letor};

    /// What was streamed: ids, labels and rows of all queries.
    type Seen = (Vec<String>, Vec<u8>, Vec<f32>);

    fn streamed(text: &str, options: &ReadOptions, block_bytes: usize) -> Result<Seen, LetorError> {
        let mut seen = Seen::default();
        stream_letor(text.as_bytes(), Path::new("s.txt"), options, block_bytes, |query| {
            seen.0.push(query.id.to_owned());
            seen.1.extend_from_slice(query.labels);
            seen.2.extend_from_slice(query.rows);
            Ok::<(), LetorError>(())
        })?;
        Ok(seen)
    }

    #[test]
    fn blocks_of_any_size_give_what_the_whole_gives() {
        let synthetic = Synthetic { n_train: 30, ..Synthetic::new(SyntheticShape::Tiny) };
        let text = String::from_utf8(letor_text(&synthetic.generate(1).expect("valid").train)).expect("ASCII");
        let options = ReadOptions { n_features: Some(12), ..ReadOptions::default() };
        let whole = parse_letor(text.as_bytes(), Path::new("s.txt"), &options).expect("valid");
        let ids: Vec<String> = (0..30).map(|query| whole.query_id(query).to_owned()).collect();
        for block_bytes in [7, 100, 1000, 1 << 20] {
            let (seen, labels, rows) = streamed(&text, &options, block_bytes).expect("valid");
            assert_eq!((&seen, labels.as_slice(), rows.as_slice()), (&ids, whole.all_labels(), whole.rows()));
        }
    }

    #[test]
    fn faults_are_reported_with_their_line_in_the_file() {
        let text = "# head\n0 qid:1 1:1 2:1\n1 qid:1 1:2\n\n1 qid:2 1:x\n";
        for block_bytes in [16, 1 << 20] {
            let error = streamed(text, &ReadOptions::default(), block_bytes).expect_err("not a number").to_string();
            assert!(error.starts_with("s.txt:5:9: found `1:x`"), "{error}");
        }
        let wide = streamed("0 qid:1 1:1 2:1\n1 qid:1 3:2\n", &ReadOptions::default(), 64).expect_err("wider");
        assert!(wide.to_string().contains("a feature index from 1 to 2"), "{wide}");
        assert!(matches!(streamed("# nothing\n", &ReadOptions::default(), 64), Err(LetorError::Empty { .. })));
        assert!(matches!(streamed("1 qid:1\n", &ReadOptions::default(), 64), Err(LetorError::NoFeatures { .. })));
    }
}
