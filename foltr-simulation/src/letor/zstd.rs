//! Zstandard as a stream: all frames one after the other, with their checksums compared.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

pub(crate) struct ZstdReader<R> {
    source: R,
    frame: FrameDecoder,
}

impl<R: BufRead> ZstdReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, frame: FrameDecoder::new() }
    }

    fn check_frame(&self) -> io::Result<()> {
        match self.frame.get_checksum_from_data() {
            Some(stored) if self.frame.get_calculated_checksum() != Some(stored) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a Zstandard frame is wrong"))
            }
            _ => Ok(()),
        }
    }

    fn next_frame(&mut self) -> io::Result<()> {
        use FrameDecoderError::ReadFrameHeaderError as InHeader;
        match self.frame.reset(&mut self.source) {
            // Bytes for other programs.
            Err(InHeader(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let skipped = io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                if skipped < length.into() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
            }
            other => other.map_err(io::Error::other),
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.frame.can_collect() == 0 {
            if !self.frame.is_finished() {
                let blocks = BlockDecodingStrategy::UptoBlocks(1);
                self.frame.decode_blocks(&mut self.source, blocks).map_err(io::Error::other)?;
                continue;
            }
            self.check_frame()?;
            if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.next_frame()?;
        }
        self.frame.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    const LINE: &str = "the wing the wing the wing of the tail, the tail of the wing\n";

    /// Six times the line by `zstd --check -19`.
    #[rustfmt::skip]
    const FOREIGN: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x68, 0x45, 0x01, 0x00, 0xc8, 0x74, 0x68, 0x65, 0x20, 0x77, 0x69, 0x6e, 0x67, 0x20, 0x6f,
        0x66, 0x20, 0x74, 0x68, 0x65, 0x20, 0x74, 0x61, 0x69, 0x6c, 0x2c, 0x20, 0x6f, 0x66, 0x0a, 0x04, 0x00, 0x2e, 0x40, 0x50,
        0xa2, 0x28, 0x3d, 0x5a, 0x8a, 0x44, 0xaf, 0x1c, 0x01, 0xd3, 0x8d, 0x22, 0x84,
    ];

    fn read(bytes: &[u8]) -> io::Result<String> {
        io::read_to_string(ZstdReader::new(bytes))
    }

    fn packed(text: &str) -> Vec<u8> {
        compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
    }

    #[test]
    fn frames_and_skipped_frames_are_one_text() {
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let bytes = [packed("one\n"), skipped.to_vec(), packed(""), packed("two\n")].concat();
        assert_eq!(read(&bytes).expect("three frames"), "one\ntwo\n");
        assert!(read(&skipped[..9]).is_err(), "a truncated frame to skip");
        assert_eq!(read(&skipped).expect("nothing"), "");
        let long = "0 qid:1 1:0.5\n".repeat(100_000);
        assert_eq!(read(&packed(&long)).expect("many blocks"), long);
    }

    #[test]
    fn a_frame_of_zstandards_own_program_is_read_and_damage_is_an_error() {
        let text = LINE.repeat(6);
        assert_eq!(read(FOREIGN).expect("a frame"), text);
        for n_bytes in 1..FOREIGN.len() {
            assert!(read(&FOREIGN[..n_bytes]).is_err(), "{n_bytes} bytes");
        }
        for position in 0..FOREIGN.len() {
            let mut damaged = FOREIGN.to_vec();
            damaged[position] ^= 1;
            // Some bits of the header do not matter.
            assert!(read(&damaged).map_or(true, |read| read == text), "byte {position}");
        }
        assert!(read(b"no frame").is_err());
    }
}
