//! Numbers from little-endian bytes. Nothing is allocated before as many bytes are known to be there.

use crate::fingerprint::Fingerprint;
use crate::history::HistoryError;

#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) const fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) const fn wrong(&self, what: &'static str) -> HistoryError {
        HistoryError::Content { what, at: self.at }
    }

    pub(crate) fn require(&self, holds: bool, what: &'static str) -> Result<(), HistoryError> {
        if holds { Ok(()) } else { Err(self.wrong(what)) }
    }

    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], HistoryError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..n).ok_or(HistoryError::Truncated { at: self.bytes.len() })?;
        self.at += n;
        Ok(taken)
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
        let room = (self.bytes.len() - self.at) / least_len.max(1);
        if count > room { Err(HistoryError::Truncated { at: self.bytes.len() }) } else { Ok(count) }
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
