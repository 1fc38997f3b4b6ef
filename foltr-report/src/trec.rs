//! Rankings and labels as text that trec_eval and its relatives read: run files and qrels.
//!
//! Documents are called as their file calls them. Where it does not, a document is called by its query and its place
//! there, counted from 1 and padded with zeros: `18219-000007`. trec_eval orders equal scores by descending name; so do we
//! by descending place (spec section 3), and with names by place both orders are the same.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Write;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use foltr_rank::Ranker;
use foltr_rank::metric::gain;

use foltr_experiment::evaluate::rank_all;
use foltr_experiment::model::Model;
use foltr_experiment::selection::Part;

/// Digits of a place at least. All documents of a query have equally many, or text would not sort like numbers.
const N_DIGITS: usize = 6;

/// What stands in the score column of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scores {
    /// The model's scores, ties included.
    Model,
    /// Documents left below, so that no tie is left and every tool ranks alike.
    Rank,
}

/// What stands in the relevance column of qrels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Gain {
    Label,
    /// 2^label - 1: the linear nDCG of trec_eval on these is our nDCG.
    Exponential,
}

/// Writes `query Q0 document rank score tag` for the best `depth` documents of every query, or all; `tag` has no blanks.
/// Returns how many queries have equal scores among documents with names of their own: other tools order those by name.
pub fn write_run(
    out: &mut dyn Write,
    parts: &[Part],
    model: &Model,
    (depth, kind): (Option<usize>, Scores),
    tag: &str,
) -> Result<usize> {
    let mut n_tied = 0;
    let mut ranker = Ranker::new(model.shape);
    ranker.load(&model.params);
    let (mut scores, mut order) = (Vec::new(), Vec::new());
    for (part, query_idx) in queries(parts) {
        let (query, id) = (part.data.query(query_idx), part.data.query_id(query_idx));
        let n_docs = query.n_docs();
        scores.resize(n_docs, 0.0);
        ranker.score(query, &mut scores);
        let is_finite = scores.iter().all(|score| score.is_finite());
        ensure!(is_finite, "query {id}: the score of a document is too large for a number; scale the features");
        rank_all(&scores, &mut order);
        let has_ties = || order.windows(2).any(|pair| scores[pair[0] as usize] == scores[pair[1] as usize]);
        n_tied += usize::from(part.names.is_some() && kind == Scores::Model && has_ties());
        for (position, &doc_idx) in order.iter().take(depth.unwrap_or(n_docs)).enumerate() {
            let score = match kind {
                // As a double, every digit: read as single or as double precision it is the same number.
                Scores::Model => f64::from(scores[doc_idx as usize] + 0.0),
                Scores::Rank => (n_docs - position) as f64,
            };
            let (name, rank) = (document_name(part, query_idx, doc_idx as usize), position + 1);
            writeln!(out, "{id} Q0 {name} {rank} {score} {tag}")?;
        }
    }
    Ok(n_tied)
}

/// Writes `query 0 document relevance` for every document.
pub fn write_qrels(out: &mut dyn Write, parts: &[Part], relevance: Gain) -> Result<()> {
    for (part, query_idx) in queries(parts) {
        let (labels, id) = (part.data.labels(query_idx), part.data.query_id(query_idx));
        for (doc_idx, &label) in labels.iter().enumerate() {
            let relevance = match relevance {
                Gain::Label => f64::from(label),
                Gain::Exponential => gain(label),
            };
            writeln!(out, "{id} 0 {} {relevance}", document_name(part, query_idx, doc_idx))?;
        }
    }
    Ok(())
}

/// Makes sure that no query occurs twice: these files have no column for folds and splits.
pub fn check_distinct(parts: &[Part]) -> Result<()> {
    let mut seen = HashSet::new();
    for (part, query_idx) in queries(parts) {
        let id = part.data.query_id(query_idx);
        ensure!(
            seen.insert(id),
            "query {id} occurs twice in these folds and splits; choose one --fold and one --split"
        );
    }
    Ok(())
}

fn queries(parts: &[Part]) -> impl Iterator<Item = (&Part, usize)> {
    parts.iter().flat_map(|part| (0..part.data.n_queries()).map(move |query_idx| (part, query_idx)))
}

fn document_name(part: &Part, query_idx: usize, doc_idx: usize) -> Cow<'_, str> {
    let docs = part.data.docs(query_idx);
    match &part.names {
        Some(names) => Cow::Borrowed(&names[docs.start + doc_idx]),
        None => Cow::Owned(place_name(part.data.query_id(query_idx), doc_idx, docs.len())),
    }
}

fn place_name(query_id: &str, doc_idx: usize, n_docs: usize) -> String {
    let n_digits = n_docs.to_string().len().max(N_DIGITS);
    format!("{query_id}-{:0n_digits$}", doc_idx + 1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use foltr_rank::Shape;
    use foltr_simulation::letor::{ReadOptions, parse_letor};

    use super::*;
    use foltr_experiment::spec::Normalisation;

    const TEXT: &str = "0 qid:7 1:1\n2 qid:7 1:3\n1 qid:7 1:1\n0 qid:a 1:0.1\n";

    fn parts() -> Vec<Part> {
        let data = parse_letor(TEXT.as_bytes(), Path::new("t.txt"), &ReadOptions::default()).expect("valid");
        vec![Part::new(data)]
    }

    fn run(weight: f32, depth: Option<usize>, scores: Scores) -> Result<String> {
        let model =
            Model { shape: Shape::Linear { n_features: 1 }, normalise: Normalisation::None, params: vec![weight] };
        let mut text = Vec::new();
        write_run(&mut text, &parts(), &model, (depth, scores), "t")?;
        Ok(String::from_utf8(text)?)
    }

    #[test]
    fn runs_have_every_digit_and_the_later_of_equals_first() {
        let expected = "7 Q0 7-000002 1 6 t\n7 Q0 7-000003 2 2 t\n7 Q0 7-000001 3 2 t\n\
                        a Q0 a-000001 1 0.20000000298023224 t\n";
        let run = |weight, depth, scores| run(weight, depth, scores).expect("memory");
        assert_eq!(run(2.0, None, Scores::Model), expected);
        assert_eq!(run(2.0, Some(1), Scores::Rank), "7 Q0 7-000002 1 3 t\na Q0 a-000001 1 1 t\n");
        assert!(run(-0.0, None, Scores::Model).starts_with("7 Q0 7-000003 1 0 t\n7 Q0 7-000002 2 0 t\n"));
    }

    #[test]
    fn documents_with_names_are_called_by_them() {
        let mut parts = parts();
        parts[0].names = Some(["a", "b", "c", "d"].map(Into::into).into());
        let model = Model { shape: Shape::Linear { n_features: 1 }, normalise: Normalisation::None, params: vec![2.0] };
        let mut text = Vec::new();
        let n_tied = write_run(&mut text, &parts, &model, (None, Scores::Model), "t").expect("memory");
        let expected = "7 Q0 b 1 6 t\n7 Q0 c 2 2 t\n7 Q0 a 3 2 t\na Q0 d 1 0.20000000298023224 t\n";
        assert_eq!((String::from_utf8(text).expect("ASCII").as_str(), n_tied), (expected, 1));
        let mut text = Vec::new();
        write_qrels(&mut text, &parts, Gain::Label).expect("memory");
        assert_eq!(text, b"7 0 a 0\n7 0 b 2\n7 0 c 1\na 0 d 0\n");
    }

    #[test]
    fn scores_that_are_no_numbers_are_refused() {
        let error = run(f32::MAX, None, Scores::Model).expect_err("infinite").to_string();
        assert!(error.starts_with("query 7: "), "{error}");
    }

    #[test]
    fn names_sort_like_places() {
        let names: Vec<String> = [9, 99, 1_234_567].map(|doc| place_name("q", doc, 2_000_000)).into();
        assert_eq!(names, ["q-0000010", "q-0000100", "q-1234568"]);
        assert!(names.is_sorted());
    }
}
