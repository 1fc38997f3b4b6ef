//! How much a file may cost.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Format;

const MIB: u64 = 1 << 20;

/// Limits of the extraction. The defaults have a reason each; tests set smaller ones.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Limits {
    /// Wall-clock time until the next text of a file.
    pub time: Duration,
    /// Address space of a worker, in bytes.
    pub memory: u64,
    /// Bytes of the body of a text; what is beyond is not indexed.
    pub text: usize,
    /// Texts of a file.
    pub texts: u64,
    /// Bytes to which the parts of a packed document may unpack, one by one.
    pub unpacked: u64,
    /// Bytes of a file of plain text, Markdown or source code.
    pub plain_file: u64,
    pub html_file: u64,
    pub pdf_file: u64,
    pub office_file: u64,
    /// Also of a message in a mailbox.
    pub message: u64,
    pub mailbox_file: u64,
    /// Files that a worker reads before another takes its place.
    pub files_of_worker: u32,
    /// Resident memory, in bytes, with which a worker is replaced although it works.
    pub worn_memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Books of a thousand pages take two or three seconds.
            time: Duration::from_secs(10),
            // The largest PDFs that are worth reading need a few hundred MiB.
            memory: 1 << 30,
            // The King James Bible has 4.5 MB: half of it says what it is about.
            text: 2 << 20,
            // Mailboxes of decades have some hundred thousand messages.
            texts: 1_000_000,
            // The text of a book as XML has some ten MiB.
            unpacked: 256 * MIB,
            // More than that is a log or data.
            plain_file: 64 * MIB,
            // Saved pages with images in them.
            html_file: 64 * MIB,
            // Scans are large, and have little text.
            pdf_file: 256 * MIB,
            office_file: 256 * MIB,
            // Servers take 25 to 50 MB.
            message: 64 * MIB,
            // Read as a stream.
            mailbox_file: 64 << 30,
            // Whatever leaks is forgotten after some seconds.
            files_of_worker: 5_000,
            worn_memory: 256 * MIB,
        }
    }
}

/// A slow disk reads as fast as that: a mailbox that takes longer as a whole is given up.
const SLOWEST_BYTES_PER_SECOND: u64 = MIB;

impl Limits {
    /// Largest file of this format, in bytes.
    pub const fn file(&self, format: Format) -> u64 {
        match format {
            Format::Text | Format::Markdown | Format::Source => self.plain_file,
            Format::Html => self.html_file,
            Format::Pdf => self.pdf_file,
            Format::Odt | Format::Docx => self.office_file,
            Format::Message => self.message,
            Format::Mailbox => self.mailbox_file,
        }
    }

    /// Time that all texts of a file may take.
    pub(super) fn time_of_file(&self, format: Format, size: u64) -> Duration {
        match format {
            Format::Mailbox => self.time + Duration::from_secs(size / SLOWEST_BYTES_PER_SECOND),
            _ => self.time,
        }
    }
}
