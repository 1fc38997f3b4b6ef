//! Numbers and texts as little-endian bytes: what is stored, signed and fingerprinted.

use crate::fingerprint::Fingerprint;

/// Appends bytes. What is of any length goes in behind its length where no two inputs may look alike.
#[derive(Clone, Debug, Default)]
pub struct Writer(pub(crate) Vec<u8>);

impl Writer {
    /// Begins with a name that says what the bytes are, and that nothing else is named.
    pub(crate) fn named(name: &str) -> Self {
        let mut writer = Self::default();
        writer.text(name);
        writer
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u8(&mut self, number: u8) -> &mut Self {
        self.bytes(&[number])
    }

    pub(crate) fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    pub(crate) fn f64(&mut self, number: f64) -> &mut Self {
        self.u64(number.to_bits())
    }

    pub(crate) fn u32s(&mut self, values: &[u32]) -> &mut Self {
        values.iter().fold(self, |this, &value| this.u32(value))
    }

    pub(crate) fn f32s(&mut self, values: &[f32]) -> &mut Self {
        self.0.reserve(4 * values.len());
        values.iter().fold(self, |this, value| this.u32(value.to_bits()))
    }

    pub(crate) fn f64s(&mut self, values: &[f64]) -> &mut Self {
        self.0.reserve(8 * values.len());
        values.iter().fold(self, |this, &value| this.f64(value))
    }

    pub(crate) fn len(&mut self, len: usize) -> &mut Self {
        self.u64(len as u64)
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.len(text.len()).bytes(text.as_bytes())
    }

    pub(crate) fn fingerprint(&mut self, fingerprint: &Fingerprint) -> &mut Self {
        self.bytes(fingerprint.as_bytes())
    }

    /// Whether it is there, and if so what it is.
    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.u8(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }

    pub(crate) fn finish(&self) -> Fingerprint {
        Fingerprint::of(&self.0)
    }
}
