//! What does a ranker from outside say of queries and documents? A TREC run: `query Q0 document rank score tag` a line.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::FileError;
use crate::collection::{lines, read_text};

/// Documents of each query with their scores, by document. Ranks and tags are not looked at: scores say it all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run(HashMap<String, Vec<(u32, f32)>>);

impl Run {
    /// A file, plain or gzip, whose documents have these numbers.
    pub fn read(file: &Path, documents: &HashMap<&str, u32>) -> Result<Self, FileError> {
        Self::parse(&read_text(file)?.0, file, documents)
    }

    pub fn parse(text: &str, file: &Path, documents: &HashMap<&str, u32>) -> Result<Self, FileError> {
        let mut lists: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        let mut before: (&str, HashSet<u32>) = ("", HashSet::new());
        for (at, content) in lines(text, file) {
            let columns: Vec<&str> = content.split_whitespace().collect();
            let [query, _, document, _, score, _] = columns[..] else {
                return Err(at.unexpected(content, "a line of a run, `query Q0 document rank score tag`"));
            };
            let number = documents.get(document);
            let &number = number.ok_or_else(|| at.unexpected(document, "the name of a document of the collection"))?;
            let value = score.parse::<f32>().ok().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| at.unexpected(score, "a finite number as the score"))?;
            // Lines of a query mostly stand together.
            if before.0 != query {
                before = (query, lists.get(query).into_iter().flatten().map(|&(document, _)| document).collect());
            }
            if !before.1.insert(number) {
                return Err(at.error(format!("query `{query}` has document `{document}` again; expected each once")));
            }
            match lists.get_mut(query) {
                Some(list) => list.push((number, value)),
                None => drop(lists.insert(query.to_owned(), vec![(number, value)])),
            }
        }
        if lists.is_empty() {
            return Err(FileError::new(file, "the run is empty; expected lines `query Q0 document rank score tag`"));
        }
        lists.values_mut().for_each(|list| list.sort_unstable_by_key(|&(document, _)| document));
        Ok(Self(lists))
    }

    /// The score of each document; none where the run does not have it. None if it does not have the query.
    pub fn scores(&self, query: &str, documents: &[u32]) -> Option<Vec<Option<f32>>> {
        let list = self.0.get(query)?;
        let score = |wanted: &u32| {
            let place = list.binary_search_by_key(wanted, |&(document, _)| document).ok()?;
            Some(list[place].1)
        };
        Some(documents.iter().map(score).collect())
    }

    pub fn n_queries(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Run, String> {
        let documents = HashMap::from([("d1", 0), ("d2", 1), ("d3", 2)]);
        Run::parse(text, Path::new("run"), &documents).map_err(|error| error.to_string())
    }

    #[test]
    fn scores_are_found_by_query_and_document() {
        let run = parse("q1 Q0 d3 1 2.5 tag\nq2\tQ0\td1\t1\t-1e-3\ttag\n\nq1 Q0 d1 2 0 tag\n").expect("a run");
        assert_eq!(run.scores("q1", &[0, 1, 2]), Some(vec![Some(0.0), None, Some(2.5)]));
        assert_eq!(run.scores("q2", &[0]), Some(vec![Some(-1e-3)]));
        assert_eq!((run.scores("q3", &[0]), run.n_queries()), (None, 2));
    }

    #[test]
    fn what_is_no_run_is_refused_with_its_line() {
        let good = "q1 Q0 d1 1 1 tag\n";
        for (text, expected) in [
            ("", "run: the run is empty"),
            ("q1 0 d1 1", "run:1: found `q1 0 d1 1`, expected a line of a run, `query Q0 document rank score tag`"),
            (&format!("{good}\nq1 Q0 d9 1 1 t"), "run:3: found `d9`, expected the name of a document"),
            (&format!("{good}q1 Q0 d2 1 NaN t"), "run:2: found `NaN`, expected a finite number as the score"),
            (&format!("{good}q2 Q0 d1 1 1 t\nq1 Q0 d1 2 0 t"), "run:3: query `q1` has document `d1` again"),
            (&format!("{good}q1 Q0 d1 2 0 t"), "run:2: query `q1` has document `d1` again; expected each once"),
        ] {
            let error = parse(text).expect_err("refused");
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
