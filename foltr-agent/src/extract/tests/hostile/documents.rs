//! The documents: how each is made, and how it may end.

use std::fs::File;
use std::io::{BufWriter, Cursor, Seek, SeekFrom};

use flate2::{Compression, write::ZlibEncoder};
use zip::write::{SimpleFileOptions, ZipWriter};

use super::super::samples::{docx, objects_of_pdf, odt, pdf, small_pdf, stream, zipped};
use super::super::*;

pub(super) struct Document {
    pub name: &'static str,
    /// Beginnings of what may be told about it.
    pub expected: &'static str,
    make: fn(&mut BufWriter<File>),
}

impl Document {
    pub fn write(&self, folder: &Folder) -> PathBuf {
        let path = folder.path(self.name);
        let mut out = BufWriter::new(File::create(&path).expect("a file"));
        (self.make)(&mut out);
        out.flush().expect("room on the disk");
        path
    }
}

const fn of(name: &'static str, expected: &'static str, make: fn(&mut BufWriter<File>)) -> Document {
    Document { name, expected, make }
}

fn put(out: &mut BufWriter<File>, bytes: impl AsRef<[u8]>) {
    out.write_all(bytes.as_ref()).expect("room on the disk");
}

fn repeat(out: &mut BufWriter<File>, bytes: &[u8], n: usize) {
    (0..n).for_each(|_| put(out, bytes));
}

/// Behind so many bytes that are none of zeros, a hole.
fn with_hole(out: &mut BufWriter<File>, begin: &str, size: u64) {
    put(out, begin);
    repeat(out, b"x", 5000);
    out.flush().expect("room on the disk");
    out.get_ref().set_len(size).expect("a hole");
    out.seek(SeekFrom::End(0)).expect("a file");
}

/// With one part, most of which is a piece that is repeated.
fn archive(out: &mut BufWriter<File>, name: &str, (begin, piece, end): (&[u8], &[u8], &[u8]), n: usize) {
    let mut bytes = ZipWriter::new(Cursor::new(Vec::new()));
    bytes.start_file(name, SimpleFileOptions::default()).expect("a part");
    let pieces = piece.repeat(4096);
    bytes.write_all(begin).expect("memory");
    (0..n / 4096).for_each(|_| bytes.write_all(&pieces).expect("memory"));
    bytes.write_all(end).expect("memory");
    put(out, bytes.finish().expect("an archive").into_inner());
}

fn half(bytes: Vec<u8>) -> Vec<u8> {
    bytes[..bytes.len() / 2].to_vec()
}

fn small_docx() -> Vec<u8> {
    docx("<w:p><w:r><w:t>low tide</w:t></w:r></w:p>")
}

/// Offsets at which the central directory begins the description of a part.
fn descriptions(archive: &[u8]) -> Vec<usize> {
    (0..archive.len()).filter(|&at| archive[at..].starts_with(b"PK\x01\x02")).collect()
}

fn changed_pdf(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut objects = objects_of_pdf();
    change(&mut objects);
    pdf(&objects, "/Info 6 0 R")
}

const BLANK: usize = 1 << 20;

pub(super) const ALL: &[Document] = &[
    of("zip-bomb.docx", "unpacks to more than 16 MiB", |out| {
        archive(out, "word/document.xml", (b"<a>", b"                ", b"</a>"), 4 << 20);
    }),
    of("zip-bomb.odt", "unpacks to more than 16 MiB", |out| {
        archive(out, "content.xml", (b"<a b='", b"                ", b"'/>"), 4 << 20);
    }),
    of("nested-zips.docx", "damaged office document: it has no word/document.xml", |out| {
        let mut inner = zipped(&[("a", &vec![0; BLANK])]);
        (0..20).for_each(|_| inner = zipped(&[("a.zip", &inner)]));
        put(out, inner);
    }),
    of("wrong-sizes.docx", "damaged|1 texts|unpacks", |out| {
        let mut bytes = small_docx();
        for at in descriptions(&bytes) {
            bytes[at + 20..at + 28].fill(0xFE);
        }
        put(out, bytes);
    }),
    of("overlapping-parts.docx", "damaged|1 texts", |out| {
        let mut bytes = small_docx();
        for at in descriptions(&bytes) {
            bytes[at + 42..at + 46].fill(0);
        }
        put(out, bytes);
    }),
    of("many-parts-claimed.docx", "damaged|1 texts", |out| {
        let mut bytes = small_docx();
        let end = bytes.len() - 22;
        bytes[end + 8..end + 12].fill(0xFF);
        put(out, bytes);
    }),
    of("no-directory.docx", "damaged ZIP", |out| put(out, half(small_docx()))),
    of("truncated.odt", "damaged ZIP", |out| put(out, half(odt("<text:p>low tide</text:p>")))),
    of("billion-laughs.odt", "1 texts", |out| {
        let mut entities = "<!ENTITY a0 'lol'>".to_owned();
        for n in 1..30 {
            entities += &format!("<!ENTITY a{n} '{}'>", format!("&a{};", n - 1).repeat(10));
        }
        let content = format!("<!DOCTYPE x [{entities}]><x><p>&a29;</p></x>");
        put(out, zipped(&[("content.xml", content.as_bytes())]));
    }),
    of("entity-loop.docx", "1 texts", |out| {
        let content = "<!DOCTYPE x [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><w:p><w:t>&a;</w:t></w:p>";
        put(out, zipped(&[("word/document.xml", content.as_bytes())]));
    }),
    of("million-elements-deep.odt", "damaged XML|1 texts", |out| {
        archive(out, "content.xml", (b"", b"<a>", b""), 1 << 20)
    }),
    of("million-attributes.docx", "1 texts|took", |out| {
        archive(out, "word/document.xml", (b"<a", b" b='c'", b"/>"), 1 << 20);
    }),
    of("truncated.pdf", "damaged PDF|1 texts", |out| put(out, half(small_pdf()))),
    of("xref-loop.pdf", "damaged PDF|1 texts", |out| {
        let bytes = pdf(&objects_of_pdf(), "/Prev 0000000000");
        let place = bytes.windows(5).rposition(|w| w == b"xref\n" || w == b"\nxref").expect("a table") + 1;
        put(out, String::from_utf8_lossy(&bytes).replace("/Prev 0000000000", &format!("/Prev {place:010}")));
    }),
    of("page-loop.pdf", "damaged PDF|1 texts", |out| {
        put(out, changed_pdf(|objects| objects[1] = b"<< /Type /Pages /Kids [2 0 R 2 0 R 3 0 R] /Count 3 >>".to_vec()));
    }),
    of("parent-loop.pdf", "nested too deeply|damaged PDF|1 texts|took", |out| {
        put(
            out,
            changed_pdf(|objects| {
                objects[2] = b"<< /Type /Page /Parent 3 0 R /Contents 4 0 R >>".to_vec();
            }),
        );
    }),
    of("drawn-in-itself.pdf", "nested too deeply|damaged PDF|1 texts|took|needed", |out| {
        put(
            out,
            changed_pdf(|objects| {
                let page = String::from_utf8_lossy(&objects[2]).replace("/Font <<", "/XObject << /X 7 0 R >> /Font <<");
                objects[2] = page.into_bytes();
                objects[3] = stream("", b"/X Do");
                let resources =
                    "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 7 0 R >> >>";
                objects.push(stream(resources, b"/X Do"));
            }),
        );
    }),
    of("endless-stream.pdf", "damaged PDF|1 texts", |out| {
        put(out, changed_pdf(|objects| objects[3] = b"<< /Length 99999999999 >>\nstream\nBT ET\nendstream".to_vec()));
    }),
    of("hundred-thousand-objects.pdf", "1 texts|took", |out| {
        put(out, changed_pdf(|objects| objects.extend((0..100_000).map(|n| format!("<< /N {n} >>").into_bytes()))));
    }),
    of("hundred-thousand-pages.pdf", "1 texts|damaged PDF|took", |out| {
        let kids = "3 0 R ".repeat(100_000);
        put(
            out,
            changed_pdf(|objects| objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count 100000 >>").into_bytes()),
        );
    }),
    of("flate-bomb.pdf", "needed more than 512 MiB of memory|damaged PDF|took", |out| {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        (0..600).for_each(|_| packed.write_all(&[b' '; BLANK]).expect("memory"));
        let packed = packed.finish().expect("memory");
        put(out, changed_pdf(|objects| objects[3] = stream("/Filter /FlateDecode", &packed)));
    }),
    of("deep-arrays.pdf", "nested too deeply|damaged PDF|1 texts", |out| {
        put(out, changed_pdf(|objects| objects[5] = "[".repeat(200_000).into_bytes()));
    }),
    of("encrypted.pdf", "encrypted PDF", |out| {
        let encrypt = format!(
            "/Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /O <{0}> /U <{0}> >> /ID [<00> <00>]",
            "ab".repeat(32)
        );
        put(out, pdf(&objects_of_pdf(), &encrypt));
    }),
    of("million-elements-deep.html", "1 texts", |out| repeat(out, b"<div>a", 1_000_000)),
    of("left-out-a-million-times.html", "1 texts|took", |out| repeat(out, b"<nav><svg>", 1_000_000)),
    of("attribute-of-200-mb.html", "larger than 64 MiB", |out| with_hole(out, "<p a='", 200_000_000)),
    of("attribute-of-50-mb.html", "1 texts|took", |out| {
        put(out, "<p a='");
        repeat(out, b"0123456789", 5_000_000);
    }),
    of("half-a-million-attributes.html", "took longer than 3 s|1 texts", |out| {
        put(out, "<p ");
        (0..500_000).for_each(|n| put(out, format!("a{n} ")));
    }),
    of("half-tags.html", "1 texts|took", |out| repeat(out, b"<a href='", 2_000_000)),
    of("line-of-1-gb.txt", "larger than 64 MiB", |out| with_hole(out, "", 1 << 30)),
    of("line-of-60-mb.txt", "1 texts", |out| repeat(out, b"0123456789", 6_000_000)),
    of("line-of-20-mb.rs", "1 texts", |out| repeat(out, b"fn a(", 4_000_000)),
    of("brackets.md", "1 texts|took", |out| repeat(out, b"[a](<b ![", 200_000)),
    of("quotes.md", "1 texts|took", |out| repeat(out, b"> ", 500_000)),
    of("emphasis.md", "1 texts|took", |out| repeat(out, b"*a_ **b `", 200_000)),
    of("lists.md", "1 texts|took", |out| repeat(out, b"- ", 500_000)),
    of("parts-in-parts.eml", "1 texts|damaged mail", |out| {
        put(out, "From: a@b\n");
        (0..10_000).for_each(|n| put(out, format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n")));
        put(out, "\nend\n");
    }),
    of("million-parts.eml", "1 texts|needed", |out| {
        put(out, "Content-Type: multipart/mixed; boundary=b\n\n");
        repeat(out, b"--b\n\na\n", 1_000_000);
    }),
    of("base64-garbage.eml", "1 texts", |out| {
        put(out, "Subject: a\nContent-Transfer-Encoding: base64\n\n");
        repeat(out, b"!=$%QUJD\xFF=", 1_000_000);
    }),
    of("headers-of-100-mb.eml", "larger than 64 MiB", |out| with_hole(out, "Subject: ", 100_000_000)),
    of("headers-of-50-mb.eml", "1 texts|took|needed", |out| repeat(out, b"Subject: a\n", 5_000_000)),
    of("header-of-50-mb.eml", "1 texts|took|needed", |out| {
        put(out, "Subject: ");
        repeat(out, b"=?utf-8?q?a?= ", 3_500_000);
    }),
    of("mailbox-without-end.mbox", "1 texts|took", |out| {
        with_hole(out, "From a@b Tue Mar  3 12:00:00 2020\nSubject: a\n\n", 512 << 20);
    }),
    of("many-mails.mbox", "has more than 2000 texts", |out| repeat(out, b"From a@b 12:00\nTo: b\n\n\n", 100_000)),
    of("invalid-utf-8.txt", "1 texts", |out| repeat(out, b"a\xF0\x9F\xFF\xC0\xAF\xED\xA0\x80", 100_000)),
    of("zeros.txt", "binary", |out| repeat(out, b"\0", 10_000)),
    of("zeros-later.txt", "1 texts", |out| with_hole(out, "", 1 << 20)),
    of("empty.pdf", "1 texts", |_| {}),
    of("empty.docx", "1 texts", |_| {}),
    of("empty.mbox", "1 texts|0 texts", |_| {}),
    of("lone-signature.pdf", "damaged PDF", |out| put(out, "%PDF-1.7\n")),
    of("lone-signature.odt", "damaged ZIP", |out| put(out, "PK\x03\x04")),
];
