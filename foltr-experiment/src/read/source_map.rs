//! Where every key of an experiment file stands, so that a problem has its line and value.

use std::collections::HashMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;

/// Line and spelling of every key of a file. Elements of a list have a path of their own: `users.preset[1]`.
#[derive(Clone, Debug, Default)]
pub struct SourceMap(HashMap<String, Location>);

#[derive(Clone, Debug, Default)]
struct Location {
    /// None for what was not in the file but on the command line.
    line: Option<usize>,
    /// The value as it was written; none for a table.
    spelled: Option<String>,
}

impl SourceMap {
    pub(super) fn of(text: &str, table: &DeTable<'_>) -> Self {
        let mut places = Self::default();
        places.add_table(&Source::new(text), "", table);
        places
    }

    /// A key has another value than in the file.
    pub(super) fn replace(&mut self, key: &str, spelled: &str) {
        self.0.retain(|path, _| !is_within(path, key));
        self.0.insert(key.into(), Location { line: None, spelled: Some(spelled.into()) });
    }

    /// A key has the value that stands at `from` of another map.
    pub(crate) fn copy(&mut self, key: &str, from: &str, map: &Self) {
        self.0.retain(|path, _| !is_within(path, key));
        let inside = map.0.iter().filter(|(path, _)| is_within(path, from));
        self.0.extend(inside.map(|(path, place)| (format!("{key}{}", &path[from.len()..]), place.clone())));
    }

    /// Fills in the line and value of a problem whose key stands at `path` of the file.
    pub(crate) fn locate(&self, problem: &mut Problem, path: &str) {
        if let Some(place) = self.0.get(path) {
            problem.line = place.line;
            problem.value.clone_from(&place.spelled);
            return;
        }
        // A missing key has no line: that of the innermost table around it is the next best.
        let outer = path.rmatch_indices(['.', '[']).find_map(|(end, _)| self.0.get(&path[..end]));
        problem.line = outer.and_then(|place| place.line);
    }

    /// Problems with their lines, in the order of the file.
    pub(crate) fn locate_all(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        for problem in &mut problems {
            let path = problem.key.clone();
            self.locate(problem, &path);
        }
        problems.sort_by_key(|problem| problem.line);
        problems
    }

    fn add_table(&mut self, source: &Source<'_>, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table.iter() {
            let name = key.get_ref();
            let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
            self.add(source, &path, source.line_of(key.span().start), value);
        }
    }

    fn add(&mut self, source: &Source<'_>, path: &str, line: usize, value: &Spanned<DeValue<'_>>) {
        if let DeValue::Table(inner) = value.get_ref() {
            self.add_table(source, path, inner);
        }
        if let DeValue::Array(elements) = value.get_ref() {
            // In a longer list the place of the list must do.
            for (i, element) in elements.iter().enumerate().take(MOST_ELEMENTS) {
                self.add(source, &format!("{path}[{i}]"), source.line_of(element.span().start), element);
            }
        }
        let written = source.text.get(value.span()).unwrap_or_default();
        // A list of tables (`[[learner]]`) has no spelling that could be repeated in one line.
        let is_short = |spelled: &String| spelled.len() <= LONGEST_SPELLING;
        let spelled = || written.split_whitespace().collect::<Vec<_>>().join(" ");
        let spelled = (written.len() <= MOST_WRITTEN && !value.get_ref().is_table()).then(spelled).filter(is_short);
        self.0.insert(path.into(), Location { line: Some(line), spelled });
    }
}

/// Elements of a list that have places of their own.
const MOST_ELEMENTS: usize = 1000;
/// Characters of a value that a message repeats, and bytes of the file that may have them, with blanks between.
const LONGEST_SPELLING: usize = 120;
const MOST_WRITTEN: usize = 2000;

/// A file, and where its lines end.
struct Source<'a> {
    text: &'a str,
    line_ends: Vec<usize>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, line_ends: text.match_indices('\n').map(|(byte, _)| byte).collect() }
    }

    fn line_of(&self, byte: usize) -> usize {
        self.line_ends.partition_point(|&end| end < byte) + 1
    }
}

/// Whether a path is a key, or something inside its value.
pub(super) fn is_within(path: &str, key: &str) -> bool {
    path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

pub(super) fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte].iter().filter(|&&letter| letter == b'\n').count() + 1
}
