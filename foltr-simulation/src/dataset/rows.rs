//! Memory for feature rows: owned and aligned to a vector register, or mapped from a cache file.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::mapping::MappedFile;

/// Eight floats on a 32-byte boundary: one AVX register.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(32))]
struct Lanes([f32; foltr_rank::query::LANES]);

/// Floats in owned memory that begins on a 32-byte boundary; their number is a whole number of registers.
#[derive(Clone, Debug)]
pub struct AlignedRows(Vec<Lanes>);

impl AlignedRows {
    /// Zeros.
    ///
    /// # Panics
    /// If `n_floats` is not a multiple of eight; padded rows always are.
    pub fn zeroed(n_floats: usize) -> Self {
        Self::try_zeroed(n_floats).expect("memory for the feature rows")
    }

    /// Zeros, or `None` where memory does not suffice.
    pub(crate) fn try_zeroed(n_floats: usize) -> Option<Self> {
        let lanes = foltr_rank::query::LANES;
        assert!(n_floats.is_multiple_of(lanes), "{n_floats} floats are not whole registers of {lanes}");
        bytemuck::allocation::try_zeroed_vec(n_floats / lanes).ok().map(Self)
    }

    /// A copy of padded rows.
    ///
    /// # Panics
    /// If their number is not a multiple of eight.
    pub fn from_slice(rows: &[f32]) -> Self {
        let mut copy = Self::zeroed(rows.len());
        copy.as_mut_slice().copy_from_slice(rows);
        copy
    }

    /// The floats.
    pub fn as_slice(&self) -> &[f32] {
        bytemuck::cast_slice(&self.0)
    }

    /// The floats, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// Where the rows of a data set are.
#[derive(Clone, Debug)]
pub(crate) enum FeatureRows {
    /// In memory of their own.
    Owned(Arc<AlignedRows>),
    /// In a cache file, from byte `start` on for `len` bytes.
    Mapped { file: Arc<MappedFile>, start: usize, len: usize },
}

impl FeatureRows {
    #[inline]
    pub(crate) fn as_slice(&self) -> &[f32] {
        match self {
            Self::Owned(rows) => rows.as_slice(),
            Self::Mapped { file, start, len } => bytemuck::cast_slice(&file.bytes()[*start..*start + *len]),
        }
    }
}
