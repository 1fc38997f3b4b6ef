//! Numbers from little-endian bytes that come block by block. Nothing is allocated before as many bytes are known to be
//! there.

use std::fmt;

use crate::fingerprint::Fingerprint;
use crate::history::HistoryError;

/// Bytes that are asked for at a time, unless more are needed at once.
const BLOCK: usize = 1 << 16;

/// Fills a block with the bytes that come next; says no if they do not.
pub(crate) type Fetch<'a> = dyn FnMut(&mut [u8]) -> bool + 'a;

pub struct Reader<'a> {
    fetch: Box<Fetch<'a>>,
    /// How many bytes there are, and how many of them were read.
    len: usize,
    at: usize,
    block: Vec<u8>,
    /// Where the bytes of the block begin that were not read yet.
    start: usize,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("len", &self.len).field("at", &self.at).finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    #[cfg(test)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self::of_stream(bytes.len(), from_slice(bytes))
    }

    /// Reads `len` bytes block by block; `fetch` fills a block, or says that it cannot.
    pub(crate) fn of_stream(len: usize, fetch: impl FnMut(&mut [u8]) -> bool + 'a) -> Self {
        Self { fetch: Box::new(fetch), len, at: 0, block: Vec::new(), start: 0 }
    }

    pub(crate) const fn is_at_end(&self) -> bool {
        self.at == self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn wrong(&self, what: &'static str) -> HistoryError {
        HistoryError::Content { what, at: self.at }
    }

    pub(crate) fn require(&self, holds: bool, what: &'static str) -> Result<(), HistoryError> {
        if holds { Ok(()) } else { Err(self.wrong(what)) }
    }

    pub(crate) fn take(&mut self, n: usize) -> Result<&[u8], HistoryError> {
        if n > self.len - self.at {
            return Err(HistoryError::Truncated { at: self.len });
        }
        if n > self.block.len() - self.start {
            self.fetch_at_least(n)?;
        }
        let start = self.start;
        (self.start, self.at) = (start + n, self.at + n);
        Ok(&self.block[start..start + n])
    }

    fn fetch_at_least(&mut self, n: usize) -> Result<(), HistoryError> {
        self.block.drain(..self.start);
        self.start = 0;
        let (known, n_left) = (self.block.len(), self.len - self.at);
        self.block.resize(n.max(BLOCK).min(n_left), 0);
        let fetched = (self.fetch)(&mut self.block[known..]);
        if fetched { Ok(()) } else { Err(HistoryError::Truncated { at: self.at + known }) }
    }

    /// Reads all that is left, whatever it is.
    pub(crate) fn skip_to_end(&mut self) -> Result<(), HistoryError> {
        while !self.is_at_end() {
            self.take(BLOCK.min(self.len - self.at))?;
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], HistoryError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn salt(&mut self) -> Result<[u8; 16], HistoryError> {
        self.array()
    }

    pub(crate) fn u8(&mut self) -> Result<u8, HistoryError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, HistoryError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, HistoryError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn bool(&mut self) -> Result<bool, HistoryError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong("a byte that is neither yes nor no")),
        }
    }

    pub(crate) fn fingerprint(&mut self) -> Result<Fingerprint, HistoryError> {
        self.array().map(Fingerprint::from_bytes)
    }

    /// How many things of at least this many bytes follow: no more than there is room for.
    pub(crate) fn count(&mut self, least_len: usize) -> Result<usize, HistoryError> {
        let count = self.u32()? as usize;
        let room = (self.len - self.at) / least_len.max(1);
        if count > room { Err(HistoryError::Truncated { at: self.len }) } else { Ok(count) }
    }

    pub(crate) fn f32s(&mut self, n: usize) -> Result<Vec<f32>, HistoryError> {
        let bytes = self.take(n.saturating_mul(4))?.as_chunks().0;
        let values: Vec<f32> = bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        self.require(values.iter().all(|value| value.is_finite()), "a number that is not finite")?;
        Ok(values)
    }

    pub(crate) fn f64s(&mut self, n: usize) -> Result<Vec<f64>, HistoryError> {
        let bytes = self.take(n.saturating_mul(8))?.as_chunks().0;
        let values: Vec<f64> = bytes.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        self.require(values.iter().all(|value| value.is_finite()), "a number that is not finite")?;
        Ok(values)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, HistoryError> {
        self.f64s(1).map(|values| values[0])
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, HistoryError>,
    ) -> Result<Option<T>, HistoryError> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    pub(crate) fn many<T>(
        &mut self,
        least_len: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, HistoryError>,
    ) -> Result<Vec<T>, HistoryError> {
        let count = self.count(least_len)?;
        (0..count).map(|_| read(self)).collect()
    }

    /// Clients in rising order, of so many.
    pub(crate) fn require_clients(
        &self,
        mut clients: impl Iterator<Item = u32> + Clone,
        n_clients: u32,
    ) -> Result<(), HistoryError> {
        let is_rising = clients.clone().is_sorted_by(|a, b| a < b);
        let known = is_rising && clients.all(|client| client < n_clients);
        self.require(known, "clients that do not exist or are out of order")
    }
}

/// Fetches from bytes in memory.
pub(crate) fn from_slice(mut bytes: &[u8]) -> impl FnMut(&mut [u8]) -> bool {
    move |block| match bytes.split_at_checked(block.len()) {
        Some((next, rest)) => {
            block.copy_from_slice(next);
            bytes = rest;
            true
        }
        None => false,
    }
}
