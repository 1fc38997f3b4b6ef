//! One list that was shown, with all that learning from its clicks needs.

use std::fmt;

use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::Lesson;
use crate::query::{Clicks, MAX_SHOWN, QueryView, Ranking, pad_rows, row_stride};

/// The number of an impression. Numbers of a device rise, and none is used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImpressionId(pub u64);

impl fmt::Display for ImpressionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "impression {}", self.0)
    }
}

/// A list that was shown: copies of its documents' features, its clicks, and what it will teach. Hidden documents are not
/// stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredImpression {
    id: ImpressionId,
    release: u32,
    n_features: usize,
    /// Of the shown documents, padded, by position.
    rows: Vec<f32>,
    clicks: Clicks,
    lesson: Lesson,
    /// By the session's clock.
    pub(super) last_event: u64,
}

impl StoredImpression {
    pub(super) fn new(
        id: ImpressionId,
        release: u32,
        query: QueryView<'_>,
        ranking: &Ranking,
        lesson: Lesson,
        last_event: u64,
    ) -> Self {
        let mut rows = Vec::with_capacity(ranking.len() * query.stride());
        ranking.docs().iter().for_each(|&doc| rows.extend_from_slice(query.row(doc as usize)));
        Self { id, release, n_features: query.n_features(), rows, clicks: Clicks::default(), lesson, last_event }
    }

    pub const fn id(&self) -> ImpressionId {
        self.id
    }

    /// The release from which its round started.
    pub const fn release(&self) -> u32 {
        self.release
    }

    pub const fn clicks(&self) -> Clicks {
        self.clicks
    }

    pub const fn n_shown(&self) -> usize {
        self.rows.len() / row_stride(self.n_features)
    }

    /// The shown documents, by position.
    pub fn documents(&self) -> QueryView<'_> {
        QueryView::new(&self.rows, self.n_features)
    }

    /// Memory that it takes.
    pub fn n_bytes(&self) -> usize {
        size_of::<Self>() + size_of::<f32>() * self.rows.capacity() + self.lesson.n_bytes()
    }

    pub(crate) const fn lesson(&self) -> &Lesson {
        &self.lesson
    }

    pub(super) fn outlive_round(&mut self) {
        self.lesson.outlive_round();
    }

    pub(super) const fn click(&mut self, position: usize) {
        self.clicks.click(position);
    }

    /// For [`Session::join`](super::Session::join).
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.write(&mut out);
        out.0
    }

    fn write(&self, out: &mut Writer) {
        out.u64(self.id.0).u32(self.release).u64(self.last_event);
        out.u64(self.clicks.0 as u64).u64((self.clicks.0 >> 64) as u64).u8(self.n_shown() as u8);
        for row in self.rows.chunks_exact(row_stride(self.n_features)) {
            out.f32s(&row[..self.n_features]);
        }
        self.lesson.write(out);
    }

    pub(super) fn read(n_features: usize, input: &mut Reader<'_>) -> Result<Self, BytesError> {
        let (id, release, last_event) = (ImpressionId(input.u64()?), input.u32()?, input.u64()?);
        let clicks = Clicks(u128::from(input.u64()?) | u128::from(input.u64()?) << 64);
        let n_shown = usize::from(input.u8()?);
        input.require((1..=MAX_SHOWN).contains(&n_shown), "a list that nobody is shown")?;
        input.require(clicks.0 >> n_shown == 0, "a click on nothing")?;
        let rows = pad_rows(&input.f32s(n_shown * n_features)?, n_features);
        let lesson = Lesson::read(n_shown, input)?;
        Ok(Self { id, release, n_features, rows, clicks, lesson, last_event })
    }
}
