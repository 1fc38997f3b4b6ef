//! Fingerprints in bytes, and of them.

pub use foltr_rank::bytes::Writer;

use crate::fingerprint::Fingerprint;

pub(crate) trait WriteFingerprint {
    fn fingerprint(&mut self, fingerprint: &Fingerprint) -> &mut Self;

    /// Of everything written.
    fn finish(&self) -> Fingerprint;
}

impl WriteFingerprint for Writer {
    fn fingerprint(&mut self, fingerprint: &Fingerprint) -> &mut Self {
        self.bytes(fingerprint.as_bytes())
    }

    fn finish(&self) -> Fingerprint {
        Fingerprint::of(&self.0)
    }
}
