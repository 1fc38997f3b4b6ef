//! Numbers and texts as little-endian bytes, and back: what is stored, signed, fingerprinted and sent.
//!
//! The reader is total: any bytes give a value or a named error, and nothing is allocated for which there are no bytes.

use thiserror::Error;

/// Appends bytes. What is of any length goes in behind its length where no two inputs may look alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Begins with a name that says what the bytes are, and that nothing else is named.
    pub fn named(name: &str) -> Self {
        let mut writer = Self::default();
        writer.text(name);
        writer
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u8(&mut self, number: u8) -> &mut Self {
        self.bytes(&[number])
    }

    pub fn u16(&mut self, number: u16) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub fn f64(&mut self, number: f64) -> &mut Self {
        self.u64(number.to_bits())
    }

    pub fn u32s(&mut self, values: &[u32]) -> &mut Self {
        values.iter().fold(self, |this, &value| this.u32(value))
    }

    pub fn f32s(&mut self, values: &[f32]) -> &mut Self {
        self.0.reserve(4 * values.len());
        values.iter().fold(self, |this, value| this.u32(value.to_bits()))
    }

    pub fn f64s(&mut self, values: &[f64]) -> &mut Self {
        self.0.reserve(8 * values.len());
        values.iter().fold(self, |this, &value| this.f64(value))
    }

    pub fn len(&mut self, len: usize) -> &mut Self {
        self.u64(len as u64)
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.len(text.len()).bytes(text.as_bytes())
    }

    /// Whether it is there, and if so what it is.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.u8(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }
}

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BytesError {
    #[error("byte {at} is needed, the bytes end before it")]
    Truncated { at: usize },
    #[error("{left} bytes follow byte {at}, where nothing should")]
    TrailingBytes { at: usize, left: usize },
    #[error("before byte {at}: {what}")]
    Content { what: &'static str, at: usize },
}

/// Reads what a [`Writer`] wrote.
///
/// ```
/// use foltr_rank::bytes::{BytesError, Reader, Writer};
///
/// let mut out = Writer::named("greeting");
/// out.u32(7).text("hello");
/// let mut input = Reader::new(&out.0);
/// assert_eq!((input.text()?, input.u32()?, input.text()?), ("greeting", 7, "hello"));
/// input.finish()?;
/// assert_eq!(Reader::new(&out.0[..3]).text(), Err(BytesError::Truncated { at: 3 }));
/// # Ok::<(), BytesError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub const fn wrong(&self, what: &'static str) -> BytesError {
        BytesError::Content { what, at: self.at }
    }

    pub fn require(&self, holds: bool, what: &'static str) -> Result<(), BytesError> {
        if holds { Ok(()) } else { Err(self.wrong(what)) }
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8], BytesError> {
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(BytesError::Truncated { at: self.bytes.len() })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], BytesError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8, BytesError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16, BytesError> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, BytesError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, BytesError> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn bool(&mut self) -> Result<bool, BytesError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong("a byte that is neither yes nor no")),
        }
    }

    /// How many things of at least this many bytes follow, as [`Writer::len`] wrote it: no more than there is room for.
    pub fn len(&mut self, least_len: usize) -> Result<usize, BytesError> {
        let len = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
        let room = (self.bytes.len() - self.at) / least_len.max(1);
        if len > room { Err(BytesError::Truncated { at: self.bytes.len() }) } else { Ok(len) }
    }

    pub fn text(&mut self) -> Result<&'a str, BytesError> {
        let len = self.len(1)?;
        let bytes = self.take(len)?;
        std::str::from_utf8(bytes).map_err(|_| self.wrong("a text that is not UTF-8"))
    }

    /// Finite numbers.
    pub fn f32s(&mut self, n: usize) -> Result<Vec<f32>, BytesError> {
        let bytes = self.take(n.saturating_mul(4))?.as_chunks().0;
        let values: Vec<f32> = bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        self.require(values.iter().all(|value| value.is_finite()), "a number that is not finite")?;
        Ok(values)
    }

    /// As many numbers as there is room for, whatever their bits.
    pub fn fill_f32s(&mut self, values: &mut [f32]) -> Result<(), BytesError> {
        let bytes = self.take(4 * values.len())?.as_chunks().0;
        values.iter_mut().zip(bytes).for_each(|(value, bytes)| *value = f32::from_le_bytes(*bytes));
        Ok(())
    }

    /// Finite numbers.
    pub fn f64s(&mut self, n: usize) -> Result<Vec<f64>, BytesError> {
        let bytes = self.take(n.saturating_mul(8))?.as_chunks().0;
        let values: Vec<f64> = bytes.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        self.require(values.iter().all(|value| value.is_finite()), "a number that is not finite")?;
        Ok(values)
    }

    pub fn f64(&mut self) -> Result<f64, BytesError> {
        self.f64s(1).map(|values| values[0])
    }

    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, BytesError>,
    ) -> Result<Option<T>, BytesError> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Refuses bytes behind the end.
    pub fn finish(self) -> Result<(), BytesError> {
        let left = self.bytes.len() - self.at;
        if left == 0 { Ok(()) } else { Err(BytesError::TrailingBytes { at: self.at, left }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut out = Writer::named("x");
        out.u8(1).u16(2).u32(3).u64(4).f32s(&[1.5]).f64s(&[-2.0]).option(Some(7), |out, value| {
            out.u32(value);
        });
        let mut input = Reader::new(&out.0);
        assert_eq!((input.text(), input.bool(), input.u16(), input.u32()), (Ok("x"), Ok(true), Ok(2), Ok(3)));
        assert_eq!((input.u64(), input.f32s(1), input.f64()), (Ok(4), Ok(vec![1.5]), Ok(-2.0)));
        assert_eq!(input.option(Reader::u32), Ok(Some(7)));
        assert_eq!(input.finish(), Ok(()));
    }

    #[test]
    fn wrong_bytes_are_named_errors() {
        assert_eq!(Reader::new(&[1, 2]).u32(), Err(BytesError::Truncated { at: 2 }));
        assert_eq!(
            Reader::new(&[2]).bool(),
            Err(Reader { bytes: &[2], at: 1 }.wrong("a byte that is neither yes nor no"))
        );
        assert_eq!(Reader::new(&[1]).finish(), Err(BytesError::TrailingBytes { at: 0, left: 1 }));
        // A length of which there are no bytes is refused before anything is allocated.
        assert_eq!(Reader::new(&u64::MAX.to_le_bytes()).len(1), Err(BytesError::Truncated { at: 8 }));
        assert!(matches!(Reader::new(&f32::NAN.to_le_bytes()).f32s(1), Err(BytesError::Content { .. })));
    }
}
