//! What a document looks like to the ranker: the one list of features, each with its name and what it says in plain words.
//!
//! The names and their order are the schema, and its hash is what agents of one federation have in common. All are computed
//! here, from what this machine knows. They are scaled to [0, 1] over the documents of a search.

mod moment;

use foltr_client::{Feature as SchemaFeature, FeatureKind, FeatureSchema, Normalisation};

pub use moment::{Moment, PathFacts, Seen};

use crate::document::Kind;
use crate::index::Field::{Author, Body, Folders, Headings, Name, Title};

const DAY: f32 = 86_400.0;

/// One number about a document.
pub struct Feature {
    /// In the schema.
    pub name: &'static str,
    /// For people, as in "ranked here because of ...".
    pub words: &'static str,
    kind: FeatureKind,
    value: fn(&Seen<'_>) -> f32,
}

const fn number(name: &'static str, words: &'static str, value: fn(&Seen<'_>) -> f32) -> Feature {
    Feature { name, words, kind: FeatureKind::Number, value }
}

const fn flag(name: &'static str, words: &'static str, value: fn(&Seen<'_>) -> f32) -> Feature {
    Feature { name, words, kind: FeatureKind::Flag, value }
}

const fn one_if(is_so: bool) -> f32 {
    if is_so { 1.0 } else { 0.0 }
}

/// Near 1 for what happened just now, 1/2 after this many days, near 0 after a long time.
fn recency(seconds: f32, days: f32) -> f32 {
    1.0 / (1.0 + seconds.max(0.0) / (days * DAY))
}

fn since_opened(seen: &Seen<'_>, days: f32) -> f32 {
    seen.usage.last.map_or(0.0, |at| recency((seen.moment.now - at) as f32, days))
}

fn since_changed(seen: &Seen<'_>, days: f32) -> f32 {
    recency((seen.moment.now - seen.document.changed) as f32, days)
}

pub const FEATURES: &[Feature] = &[
    // How the words match.
    number("bm25", "how well the whole text matches", |it| it.matches.bm25),
    number("bm25-title", "how well the title matches", |it| it.of(Title).bm25),
    number("bm25-headings", "how well the headings match", |it| it.of(Headings).bm25),
    number("bm25-body", "how well the body matches", |it| it.of(Body).bm25),
    number("bm25-name", "how well the file name matches", |it| it.of(Name).bm25),
    number("bm25-folders", "how well the folders match", |it| it.of(Folders).bm25),
    number("bm25-author", "how well the author matches", |it| it.of(Author).bm25),
    number("coverage", "how many of the words are there", |it| it.matches.coverage),
    number("coverage-exact", "how many of the words are there as typed", |it| it.matches.exact_coverage),
    number("coverage-title", "how many of the words are in the title", |it| it.of(Title).coverage),
    number("coverage-name", "how many of the words are in the file name", |it| it.of(Name).coverage),
    number("coverage-body", "how many of the words are in the body", |it| it.of(Body).coverage),
    flag("all-words", "all words are there", |it| one_if(it.matches.coverage > 0.999)),
    flag("phrase-title", "the title has the words in this order", |it| one_if(it.of(Title).has_phrase)),
    flag("phrase-name", "the file name has the words in this order", |it| one_if(it.of(Name).has_phrase)),
    flag("phrase-body", "the text has the words in this order", |it| one_if(it.of(Body).has_phrase)),
    flag("title-begins", "the title begins with the first word", |it| one_if(it.of(Title).begins)),
    flag("name-begins", "the file name begins with the first word", |it| one_if(it.of(Name).begins)),
    flag("title-is", "the title is what was typed", |it| one_if(it.title_is())),
    flag("name-is", "the file name is what was typed", |it| one_if(it.name_is())),
    number("closeness", "how close together the words are", |it| it.closeness()),
    number("neighbours", "how many words follow each other as typed", |it| it.matches.neighbours),
    number("early", "how early the text has a word", |it| {
        it.matches.first.map_or(0.0, |at| 1.0 / (1.0 + at as f32).ln_1p().max(1.0))
    }),
    // When it was changed and opened.
    number("changed-day", "changed in the last days", |it| since_changed(it, 1.0)),
    number("changed-month", "changed in the last weeks", |it| since_changed(it, 30.0)),
    number("changed-year", "changed in the last year", |it| since_changed(it, 365.0)),
    number("opened-hour", "opened a short while ago", |it| since_opened(it, 1.0 / 24.0)),
    number("opened-week", "opened in the last days", |it| since_opened(it, 7.0)),
    number("opened-quarter", "opened in the last months", |it| since_opened(it, 90.0)),
    number("openings", "how often it was opened", |it| (it.usage.n_openings as f32).ln_1p()),
    number("frecency", "how often it was opened lately", |it| it.usage.frecency.ln_1p()),
    number("same-query", "how often it was opened for these words", |it| (it.usage.n_same_query as f32).ln_1p()),
    number("similar-query", "opened for similar words", |it| it.usage.similar_query),
    // Where it is, and what it is.
    number("depth", "how deep in folders it is", |it| it.path.depth as f32),
    number("near-opened", "how near it is to files opened lately", |it| it.path.nearness),
    number("length", "how long it is", |it| (it.document.n_words as f32).ln_1p()),
    flag("has-title", "it has a title of its own", |it| one_if(!it.document.title.is_empty())),
    flag("language", "it is in the language that is opened most", |it| {
        one_if(it.moment.is_usual_language(it.document))
    }),
    flag("is-note", "it is a text or a note", |it| one_if(matches!(it.document.kind, Kind::Text | Kind::Markdown))),
    flag("is-page", "it is a saved page", |it| one_if(it.document.kind == Kind::Html)),
    flag("is-paper", "it is a PDF or office document", |it| {
        one_if(matches!(it.document.kind, Kind::Pdf | Kind::Office))
    }),
    flag("is-source", "it is source code", |it| one_if(it.document.kind == Kind::Source)),
    flag("is-mail", "it is a mail", |it| one_if(it.document.kind == Kind::Mail)),
];

/// What agents of one federation have in common.
pub fn schema() -> FeatureSchema {
    let features = FEATURES.iter().map(|it| SchemaFeature { name: it.name.into(), kind: it.kind }).collect();
    FeatureSchema { features, normalise: Normalisation::Query }
}

/// Appends the features of a document.
pub fn append(seen: &Seen<'_>, values: &mut Vec<f32>) {
    values.extend(FEATURES.iter().map(|feature| (feature.value)(seen)));
}

/// The place of a feature in the list.
pub fn position(name: &str) -> Option<usize> {
    FEATURES.iter().position(|feature| feature.name == name)
}

#[cfg(test)]
mod tests;
