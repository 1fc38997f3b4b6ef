//! Where the words of a query are in the documents that are worth ranking, and how well that matches.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, SegmentReader};

use super::{Candidate, Field, IndexView, N_FIELDS, WordQuery};

/// As in Lucene and tantivy.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// A word that is there more often says no more about how close words are.
const MOST_POSITIONS: usize = 200;
/// The text that plain BM25 is computed on, as if it were one.
const WHOLE: [Field; 3] = [Field::Title, Field::Name, Field::Body];

/// The words of a query in one field of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldMatch {
    pub bm25: f32,
    /// Of the words' IDF, the share of those that are here.
    pub coverage: f32,
    pub n_words: usize,
    /// All words, one after the other.
    pub has_phrase: bool,
    /// Whether the first word of the query is the first of the field.
    pub begins: bool,
    /// The length of the field in words.
    pub length: u32,
}

/// A document, seen by a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matches {
    /// By [`Field`].
    pub fields: [FieldMatch; N_FIELDS],
    /// BM25 on title, name and body as one text: what a plain search engine does.
    pub bm25: f32,
    /// The share of the words' IDF that is anywhere, and that of words that are as they were typed.
    pub coverage: f32,
    pub exact_coverage: f32,
    /// Of the body: the place of the first word, and the length of the shortest passage with all words that are there.
    pub first: Option<u32>,
    pub window: Option<u32>,
    /// Consecutive words of the query that are consecutive in the body, as a share.
    pub neighbours: f32,
}

/// The share of the words' IDF of which something holds.
type Share<'a> = &'a dyn Fn(&dyn Fn(usize) -> bool) -> f32;

/// Of one document: counts and places, by word.
#[derive(Clone, Default)]
struct Found {
    counts: Vec<[u32; N_FIELDS]>,
    /// Whether the word is there as it was typed.
    is_exact: Vec<bool>,
    /// Sorted, in title, name and body.
    positions: [Vec<Vec<u32>>; N_FIELDS],
    lengths: [u32; N_FIELDS],
}

pub(super) fn find(view: &IndexView, query: &WordQuery, candidates: &[Candidate]) -> tantivy::Result<Vec<Matches>> {
    let averages = average_lengths(view)?;
    let mut all = vec![Matches::default(); candidates.len()];
    for (ordinal, segment) in view.searcher.segment_readers().iter().enumerate() {
        let of_segment = candidates.iter().enumerate().filter(|(_, it)| it.address.segment_ord as usize == ordinal);
        let mut docs: Vec<(DocId, usize)> = of_segment.map(|(at, it)| (it.address.doc_id, at)).collect();
        docs.sort_unstable();
        let mut found = vec![Found::new(query.words.len()); docs.len()];
        for field in Field::ALL {
            read_field(view, segment, query, field, &docs, &mut found)?;
        }
        for ((_, at), found) in docs.iter().zip(&mut found) {
            all[*at] = found.matches(query, &averages);
        }
    }
    Ok(all)
}

fn average_lengths(view: &IndexView) -> tantivy::Result<[f32; N_FIELDS]> {
    let mut totals = [0; N_FIELDS];
    for segment in view.searcher.segment_readers() {
        for field in Field::ALL {
            totals[field as usize] += segment.inverted_index(view.fields.text[field as usize])?.total_num_tokens();
        }
    }
    let n_documents = view.n_documents().max(1) as f32;
    Ok(totals.map(|total| (total as f32 / n_documents).max(1.0)))
}

const fn has_positions(field: Field) -> bool {
    matches!(field, Field::Title | Field::Name | Field::Body)
}

fn read_field(
    view: &IndexView,
    segment: &SegmentReader,
    query: &WordQuery,
    field: Field,
    docs: &[(DocId, usize)],
    found: &mut [Found],
) -> tantivy::Result<()> {
    let tantivy_field = view.fields.text[field as usize];
    let norms: FieldNormReader = segment.get_fieldnorms_reader(tantivy_field)?;
    for ((doc, _), found) in docs.iter().zip(found.iter_mut()) {
        found.lengths[field as usize] = norms.fieldnorm(*doc);
    }
    let inverted = segment.inverted_index(tantivy_field)?;
    let option =
        if has_positions(field) { IndexRecordOption::WithFreqsAndPositions } else { IndexRecordOption::WithFreqs };
    for (word, it) in query.words.iter().enumerate() {
        for (at, term) in it.terms.iter().enumerate() {
            let term = Term::from_field_text(tantivy_field, term);
            if let Some(postings) = inverted.read_postings(&term, option)? {
                read_postings(postings, docs, |document, postings| {
                    found[document].add(word, field, at == 0, postings);
                });
            }
        }
    }
    Ok(())
}

/// Visits the documents that are both wanted and in the postings.
fn read_postings(
    mut postings: SegmentPostings,
    docs: &[(DocId, usize)],
    mut visit: impl FnMut(usize, &mut SegmentPostings),
) {
    for (at, &(doc, _)) in docs.iter().enumerate() {
        if postings.doc() < doc {
            postings.seek(doc);
        }
        if postings.doc() == doc {
            visit(at, &mut postings);
        }
    }
}

impl Found {
    fn new(n_words: usize) -> Self {
        Self {
            counts: vec![[0; N_FIELDS]; n_words],
            is_exact: vec![false; n_words],
            positions: std::array::from_fn(|_| vec![Vec::new(); n_words]),
            lengths: [0; N_FIELDS],
        }
    }

    fn add(&mut self, word: usize, field: Field, is_exact: bool, postings: &mut SegmentPostings) {
        self.counts[word][field as usize] += postings.term_freq();
        self.is_exact[word] |= is_exact;
        let positions = &mut self.positions[field as usize][word];
        if has_positions(field) && positions.len() < MOST_POSITIONS {
            postings.append_positions_with_offset(0, positions);
            positions.truncate(MOST_POSITIONS);
        }
    }

    fn matches(&mut self, query: &WordQuery, averages: &[f32; N_FIELDS]) -> Matches {
        self.positions.iter_mut().flatten().for_each(|positions| {
            positions.sort_unstable();
            positions.dedup();
        });
        let sequence: Vec<usize> =
            query.sequence.iter().filter_map(|term| query.words.iter().position(|word| word.term == *term)).collect();
        let idf: f32 = query.words.iter().map(|word| word.idf).sum::<f32>().max(f32::MIN_POSITIVE);
        let share = |has: &dyn Fn(usize) -> bool| {
            query.words.iter().enumerate().filter(|(word, _)| has(*word)).map(|(_, it)| it.idf).sum::<f32>() / idf
        };
        let is_anywhere = |word: usize| self.counts[word].iter().any(|&count| count > 0);
        let body = &self.positions[Field::Body as usize];
        Matches {
            fields: Field::ALL.map(|field| self.field(field, query, &sequence, averages, &share)),
            bm25: self.whole_bm25(query, averages),
            coverage: share(&is_anywhere),
            exact_coverage: share(&|word| is_anywhere(word) && self.is_exact[word]),
            first: body.iter().filter_map(|positions| positions.first()).min().copied(),
            window: shortest_window(body),
            neighbours: neighbours(body, &sequence),
        }
    }

    fn field(
        &self,
        field: Field,
        query: &WordQuery,
        sequence: &[usize],
        averages: &[f32; N_FIELDS],
        share: Share<'_>,
    ) -> FieldMatch {
        let at = field as usize;
        let (length, average) = (self.lengths[at], averages[at]);
        let has = |word: usize| self.counts[word][at] > 0;
        let of_word = |word: usize| bm25(query.words[word].idf, self.counts[word][at], length as f32 / average);
        let positions = &self.positions[at];
        let first = sequence.first().map(|&word| positions[word].first() == Some(&0));
        FieldMatch {
            bm25: (0..query.words.len()).map(of_word).sum(),
            coverage: share(&has),
            n_words: (0..query.words.len()).filter(|&word| has(word)).count(),
            has_phrase: has_phrase(positions, sequence),
            begins: first == Some(true),
            length,
        }
    }

    fn whole_bm25(&self, query: &WordQuery, averages: &[f32; N_FIELDS]) -> f32 {
        let length: u32 = WHOLE.iter().map(|&field| self.lengths[field as usize]).sum();
        let average: f32 = WHOLE.iter().map(|&field| averages[field as usize]).sum();
        let of_word = |(counts, word): (&[u32; N_FIELDS], &super::QueryWord)| {
            let count = WHOLE.iter().map(|&field| counts[field as usize]).sum();
            bm25(word.idf, count, length as f32 / average)
        };
        self.counts.iter().zip(&query.words).map(of_word).sum()
    }
}

fn bm25(idf: f32, count: u32, relative_length: f32) -> f32 {
    let count = count as f32;
    if count == 0.0 { 0.0 } else { idf * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * relative_length)) }
}

/// Whether the words follow each other somewhere. One word alone is no phrase.
fn has_phrase(positions: &[Vec<u32>], sequence: &[usize]) -> bool {
    let Some((&first, rest)) = sequence.split_first() else { return false };
    let follows = |begin: u32| (begin + 1..).zip(rest).all(|(at, &word)| positions[word].binary_search(&at).is_ok());
    !rest.is_empty() && positions[first].iter().any(|&begin| follows(begin))
}

/// The length of the shortest passage that has every word that is there at all, if that is two words or more.
fn shortest_window(positions: &[Vec<u32>]) -> Option<u32> {
    let mut all: Vec<(u32, usize)> =
        positions.iter().enumerate().flat_map(|(word, it)| it.iter().map(move |&at| (at, word))).collect();
    all.sort_unstable();
    let n_words = positions.iter().filter(|it| !it.is_empty()).count();
    if n_words < 2 {
        return None;
    }
    let mut counts = vec![0_u32; positions.len()];
    let (mut n_inside, mut begin, mut shortest) = (0, 0, None);
    for &(end, word) in &all {
        counts[word] += 1;
        n_inside += usize::from(counts[word] == 1);
        while n_inside == n_words {
            let (first, word) = all[begin];
            let length = end - first + 1;
            shortest = Some(shortest.map_or(length, |it: u32| it.min(length)));
            counts[word] -= 1;
            n_inside -= usize::from(counts[word] == 0);
            begin += 1;
        }
    }
    shortest
}

/// Of the pairs of consecutive words of the query, the share that is in the text as well.
fn neighbours(positions: &[Vec<u32>], sequence: &[usize]) -> f32 {
    let is_there =
        |pair: &&[usize]| positions[pair[0]].iter().any(|&at| positions[pair[1]].binary_search(&(at + 1)).is_ok());
    let n_pairs = sequence.len().saturating_sub(1);
    if n_pairs == 0 { 0.0 } else { sequence.windows(2).filter(is_there).count() as f32 / n_pairs as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_phrases_and_neighbours_by_hand() {
        // a . b . . . . a b c
        let positions = [vec![0, 7], vec![2, 8], vec![9], vec![]];
        assert_eq!(shortest_window(&positions), Some(3));
        assert_eq!(shortest_window(&positions[..2]), Some(2));
        assert_eq!(shortest_window(&positions[..1]), None);
        assert!(
            has_phrase(&positions, &[0, 1, 2]) && !has_phrase(&positions, &[1, 0]) && !has_phrase(&positions, &[2])
        );
        assert!(!has_phrase(&positions, &[]));
        assert_eq!(neighbours(&positions, &[0, 1, 2, 3]), 2.0 / 3.0);
        assert_eq!(neighbours(&positions, &[0]), 0.0);
    }

    #[test]
    fn bm25_by_hand() {
        // 2 x 3 x 2.2 / (3 + 1.2 x (.25 + .75 x 2))
        assert!((bm25(2.0, 3, 2.0) - 13.2 / 5.1).abs() < 1e-6);
        assert_eq!(bm25(2.0, 0, 2.0), 0.0);
    }
}
