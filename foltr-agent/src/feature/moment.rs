//! What features are computed from: the moment of a search, and a document as it is seen then.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use whatlang::Lang;

use crate::catalogue::DocumentRecord;
use crate::history::Use;
use crate::index::{Field, FieldMatch, Matches};

/// What all documents of a search have in common.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Seconds since 1970.
    pub now: i64,
    /// The words as they were typed, in small letters, with one space between them.
    pub typed: String,
    /// The folders of the files that were opened last.
    pub recent_folders: Vec<PathBuf>,
    usual_language: Option<Lang>,
}

impl Moment {
    pub fn new(now: i64, words: &str, recent: &[(PathBuf, Option<Lang>)]) -> Self {
        let mut counts: HashMap<Lang, usize> = HashMap::new();
        recent.iter().filter_map(|(_, language)| *language).for_each(|it| *counts.entry(it).or_default() += 1);
        let usual = counts.into_iter().max_by_key(|&(language, n)| (n, std::cmp::Reverse(language.code())));
        let folder = |(path, _): &(PathBuf, Option<Lang>)| path.parent().map(Path::to_owned);
        Self {
            now,
            typed: plain(words),
            recent_folders: recent.iter().filter_map(folder).collect(),
            usual_language: usual.map(|(language, _)| language),
        }
    }

    pub fn is_usual_language(&self, document: &DocumentRecord) -> bool {
        self.usual_language.is_some() && document.language == self.usual_language
    }
}

/// In small letters, words with one space between them.
fn plain(text: &str) -> String {
    let words = text.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy, Debug, Default)]
pub struct PathFacts {
    /// Folders above the file, from the folder that was added on.
    pub depth: usize,
    /// Between 0 and 1: how much of the way to a file that was opened lately is the same.
    pub nearness: f32,
}

impl PathFacts {
    pub fn new(path: &Path, added: Option<&Path>, moment: &Moment) -> Self {
        let inside = added.and_then(|added| path.strip_prefix(added).ok()).unwrap_or(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        let nearness = moment.recent_folders.iter().map(|it| nearness(folder, it)).fold(0.0, f32::max);
        Self { depth: inside.components().count().saturating_sub(1), nearness }
    }
}

/// 1 in the same folder, less for each step up and down.
fn nearness(a: &Path, b: &Path) -> f32 {
    let n_common = a.components().zip(b.components()).take_while(|(a, b)| a == b).count();
    let n_steps = a.components().count() + b.components().count() - 2 * n_common;
    1.0 / (1.0 + n_steps as f32)
}

/// A document as a search sees it.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub moment: &'a Moment,
    pub document: &'a DocumentRecord,
    pub file: &'a Path,
    pub matches: &'a Matches,
    pub usage: &'a Use,
    pub path: PathFacts,
}

impl Seen<'_> {
    pub(super) fn of(&self, field: Field) -> &FieldMatch {
        &self.matches.fields[field as usize]
    }

    pub(super) fn title_is(&self) -> bool {
        !self.moment.typed.is_empty() && plain(&self.document.title) == self.moment.typed
    }

    pub(super) fn name_is(&self) -> bool {
        let is = |name: Option<&std::ffi::OsStr>| {
            name.is_some_and(|name| plain(&name.to_string_lossy()) == self.moment.typed)
        };
        !self.moment.typed.is_empty() && (is(self.file.file_name()) || is(self.file.file_stem()))
    }

    /// 1 if the words stand side by side, 0 if there are not two of them.
    pub(super) fn closeness(&self) -> f32 {
        let n_words = self.of(Field::Body).n_words as f32;
        self.matches.window.map_or(0.0, |window| n_words / window.max(1) as f32)
    }
}
