//! Read-only memory mapping of files: the one place in this crate with `unsafe`.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// The bytes of a file, mapped into memory; empty files are mapped to nothing.
#[derive(Debug)]
pub(crate) struct MappedFile(Option<Mmap>);

impl MappedFile {
    pub(crate) fn open(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the mapping is private to this process and never written through. What remains is that another
        // process changes or truncates the file while it is mapped. Cache files are never changed in place by this
        // program: they are written to a temporary file and renamed, so a mapping keeps the old file alive. Source
        // files are mapped only while they are parsed; the parser checks every index on use and checks text to be UTF-8
        // on the copy it keeps, so a byte that changes between two reads gives an error or a panic, not a bad access.
        unsafe { Mmap::map(file) }.map(|map| Self(Some(map)))
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or(&[])
    }
}
