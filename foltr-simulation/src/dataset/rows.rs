//! Memory for feature rows: owned and aligned to a vector register, or mapped from a cache file.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use memmap2::MmapMut;

use crate::mapping::MappedFile;

/// Eight floats on a 32-byte boundary: one AVX register.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(32))]
struct Lanes([f32; foltr_rank::query::LANES]);

/// From this many bytes on, rows live in memory of their own that the system may back with huge pages: queries are
/// visited in random order, and with small pages most visits would begin with a walk through the page tables.
const HUGE: usize = 4 << 20;

/// Floats in owned memory that begins on a 32-byte boundary; their number is a whole number of registers.
#[derive(Debug)]
pub struct AlignedRows(Memory);

#[derive(Debug)]
enum Memory {
    Vector(Vec<Lanes>),
    Pages(MmapMut),
}

impl AlignedRows {
    pub fn zeroed(n_floats: usize) -> Self {
        Self::try_zeroed(n_floats).expect("memory for the feature rows")
    }

    /// Zeros, or `None` where memory does not suffice.
    pub(crate) fn try_zeroed(n_floats: usize) -> Option<Self> {
        let lanes = foltr_rank::query::LANES;
        assert!(n_floats.is_multiple_of(lanes), "{n_floats} floats are not whole registers of {lanes}");
        let n_bytes = n_floats.checked_mul(size_of::<f32>())?;
        if n_bytes < HUGE {
            return bytemuck::allocation::try_zeroed_vec(n_floats / lanes).ok().map(|rows| Self(Memory::Vector(rows)));
        }
        let pages = MmapMut::map_anon(n_bytes).ok()?;
        // Only advice: a system without huge pages refuses it, and nothing is lost.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        Some(Self(Memory::Pages(pages)))
    }

    pub fn from_slice(rows: &[f32]) -> Self {
        let mut copy = Self::zeroed(rows.len());
        copy.as_mut_slice().copy_from_slice(rows);
        copy
    }

    #[inline]
    pub fn as_slice(&self) -> &[f32] {
        match &self.0 {
            Memory::Vector(rows) => bytemuck::cast_slice(rows),
            Memory::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }

    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        match &mut self.0 {
            Memory::Vector(rows) => bytemuck::cast_slice_mut(rows),
            Memory::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

impl Clone for AlignedRows {
    fn clone(&self) -> Self {
        Self::from_slice(self.as_slice())
    }
}

#[derive(Clone, Debug)]
pub(crate) enum FeatureRows {
    Owned(Arc<AlignedRows>),
    /// In a cache file, from byte `start` on for `len` bytes.
    Mapped {
        file: Arc<MappedFile>,
        start: usize,
        len: usize,
    },
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
