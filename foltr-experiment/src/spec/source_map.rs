//! Where every key of an experiment file stands, so that a problem can be told with its line and value.

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use super::Problem;

/// Line and spelling of every key of a file. Elements of a list have a path of their own: `users.preset[1]`.
#[derive(Clone, Debug, Default)]
pub struct SourceMap(HashMap<String, Place>);

/// Where one value stands.
#[derive(Clone, Debug, Default)]
struct Place {
    /// None for what was not in the file but on the command line.
    line: Option<usize>,
    /// The value as it was written; none for a table.
    spelled: Option<String>,
}

impl SourceMap {
    /// Finds all keys.
    ///
    /// # Errors
    /// One problem a syntax error.
    pub fn of(text: &str) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            let mut places = Self::default();
            places.note_table(text, "", table.get_ref());
            return Ok(places);
        }
        let problem = |error: &toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = line_of(text, start);
            let spelled = text.lines().nth(line - 1).unwrap_or_default().trim();
            let message = format!("this is not TOML: {}", error.message().trim_end());
            Problem { line: Some(line), key: spelled.into(), value: None, message }
        };
        Err(errors.iter().map(problem).collect())
    }

    /// Says that a key has another value than in the file.
    pub fn replace(&mut self, key: &str, spelled: &str) {
        self.0.retain(|path, _| !is_within(path, key));
        self.0.insert(key.into(), Place { line: None, spelled: Some(spelled.into()) });
    }

    /// Says that a key has the value that stands at `from`, also of another map.
    pub fn copy(&mut self, key: &str, from: &str, map: &Self) {
        let places: Vec<(String, Place)> = map
            .0
            .iter()
            .filter(|(path, _)| is_within(path, from))
            .map(|(path, place)| (format!("{key}{}", &path[from.len()..]), place.clone()))
            .collect();
        self.0.retain(|path, _| !is_within(path, key));
        self.0.extend(places);
    }

    /// Fills in the line and value of a problem whose key stands at `path` of the file.
    pub fn locate(&self, problem: &mut Problem, path: &str) {
        if let Some(place) = self.0.get(path) {
            problem.line = place.line;
            problem.value.clone_from(&place.spelled);
            return;
        }
        // A missing key has no line: that of the innermost table around it is the next best.
        let mut outer = path;
        while let Some(end) = outer.rfind(['.', '[']) {
            outer = &outer[..end];
            if let Some(place) = self.0.get(outer) {
                problem.line = place.line;
                return;
            }
        }
    }

    fn note_table(&mut self, text: &str, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table.iter() {
            let path =
                if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
            self.note(text, &path, line_of(text, key.span().start), value);
        }
    }

    fn note(&mut self, text: &str, path: &str, line: usize, value: &toml::Spanned<DeValue<'_>>) {
        let spelled = match value.get_ref() {
            DeValue::Table(inner) => {
                self.note_table(text, path, inner);
                None
            }
            DeValue::Array(elements) => {
                for (i, element) in elements.iter().enumerate() {
                    let line = line_of(text, element.span().start);
                    self.note(text, &format!("{path}[{i}]"), line, element);
                }
                Some(spelled(text, value.span()))
            }
            _ => Some(spelled(text, value.span())),
        };
        // A list of tables (`[[learner]]`) has no spelling that could be repeated in one line.
        let spelled = spelled.filter(|spelled| spelled.len() <= 120);
        self.0.insert(path.into(), Place { line: Some(line), spelled });
    }
}

/// Whether a path is a key, or something inside its value.
fn is_within(path: &str, key: &str) -> bool {
    path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn spelled(text: &str, span: std::ops::Range<usize>) -> String {
    text.get(span).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte].iter().filter(|&&letter| letter == b'\n').count() + 1
}
