//! The fields of a document in the index.

use tantivy::TantivyDocument;
use tantivy::schema::{self, FAST, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};

use super::{IndexedDocument, words};

/// Where a word can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Title,
    Headings,
    Body,
    /// The name of the file.
    Name,
    Folders,
    Author,
}

pub const N_FIELDS: usize = 6;

impl Field {
    pub const ALL: [Self; N_FIELDS] =
        [Self::Title, Self::Headings, Self::Body, Self::Name, Self::Folders, Self::Author];

    const fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Headings => "headings",
            Self::Body => "body",
            Self::Name => "name",
            Self::Folders => "folders",
            Self::Author => "author",
        }
    }

    /// How much its BM25 counts when candidates are found. The ranking has weights of its own.
    pub(super) const fn boost(self) -> f32 {
        match self {
            Self::Title | Self::Name => 1.5,
            Self::Headings | Self::Author => 0.5,
            Self::Body => 1.0,
            Self::Folders => 0.3,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub schema: Schema,
    pub id: schema::Field,
    pub kind: schema::Field,
    pub changed: schema::Field,
    pub text: [schema::Field; N_FIELDS],
}

impl Fields {
    pub fn new() -> Self {
        let mut builder = Schema::builder();
        let id = builder.add_u64_field("id", FAST | INDEXED | STORED);
        let kind = builder.add_u64_field("kind", INDEXED);
        let changed = builder.add_i64_field("changed", FAST);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(words::ANALYSER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = Field::ALL.map(|field| {
            let options = TextOptions::default().set_indexing_options(indexing.clone());
            // Only snippets need the text again.
            let options = if field == Field::Body { options.set_stored() } else { options };
            builder.add_text_field(field.name(), options)
        });
        Self { schema: builder.build(), id, kind, changed, text }
    }

    pub const fn body(&self) -> schema::Field {
        self.text[Field::Body as usize]
    }

    pub fn document(&self, document: &IndexedDocument<'_>) -> TantivyDocument {
        let mut made = TantivyDocument::default();
        made.add_u64(self.id, document.id.0);
        made.add_u64(self.kind, document.kind as u64);
        made.add_i64(self.changed, document.changed);
        let IndexedDocument { title, headings, body, name, folders, author, .. } = document;
        for (field, text) in self.text.into_iter().zip([title, headings, body, name, folders, author]) {
            made.add_text(field, text);
        }
        made
    }
}
