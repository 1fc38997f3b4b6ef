//! Which parser reads a file, by its name and its first bytes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Reason;
use super::reason::Container;
use crate::document::Kind;

/// What a file is written in. Several formats are of one [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    Text,
    Markdown,
    Html,
    Pdf,
    Odt,
    Docx,
    Source,
    /// One mail.
    Message,
    /// Mails one after the other (mbox).
    Mailbox,
}

const SOURCE_NAMES: &[&str] = &[
    "brewfile",
    "build",
    "build.bazel",
    "cmakelists.txt",
    "containerfile",
    "dockerfile",
    "gemfile",
    "gnumakefile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "meson.build",
    "rakefile",
    "sconstruct",
    "vagrantfile",
    "workspace",
];

const SOURCE_EXTENSIONS: &[&str] = &[
    "ada", "adb", "ads", "asm", "awk", "bash", "bat", "bzl", "c", "cabal", "cc", "cfg", "cjs", "clj", "cljs", "cmake",
    "cmd", "coffee", "cpp", "cr", "cs", "css", "cu", "cxx", "d", "dart", "diff", "el", "elm", "erl", "ex", "exs", "f",
    "f90", "fish", "fs", "fsx", "glsl", "go", "gradle", "graphql", "groovy", "h", "hcl", "hh", "hpp", "hrl", "hs",
    "hxx", "ini", "ipynb", "java", "jl", "js", "json", "json5", "jsx", "kt", "kts", "less", "lisp", "lua", "m", "mjs",
    "mk", "ml", "mli", "mm", "nim", "nix", "pas", "patch", "php", "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r",
    "rake", "rb", "rkt", "rs", "s", "sass", "sbt", "scala", "scm", "scss", "sh", "sql", "sv", "svelte", "swift", "tcl",
    "tf", "toml", "ts", "tsx", "v", "vala", "vb", "vhd", "vhdl", "vim", "vue", "xml", "xsd", "xsl", "xslt", "yaml",
    "yml", "zig", "zsh",
];

/// Begins of the headers that mail servers and programs write first.
const MAIL_HEADERS: &[&str] = &[
    "arc-seal",
    "content-type",
    "date",
    "delivered-to",
    "dkim-signature",
    "envelope-to",
    "from",
    "message-id",
    "mime-version",
    "received",
    "return-path",
    "subject",
    "to",
    "x-account-key",
    "x-original-to",
];

impl Format {
    pub const fn kind(self) -> Kind {
        match self {
            Self::Text => Kind::Text,
            Self::Markdown => Kind::Markdown,
            Self::Html => Kind::Html,
            Self::Pdf => Kind::Pdf,
            Self::Odt | Self::Docx => Kind::Office,
            Self::Source => Kind::Source,
            Self::Message | Self::Mailbox => Kind::Mail,
        }
    }

    /// The format of a file with this path (of which nothing is opened) and these first bytes. What the bytes say counts
    /// more than the name.
    pub fn of(path: &Path, first: &[u8]) -> Result<Self, Reason> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let extension =
            name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, extension)| extension);
        if first.starts_with(b"%PDF-") || (extension == "pdf" && find(first, b"%PDF-")) {
            return Ok(Self::Pdf);
        }
        if first.starts_with(b"PK\x03\x04") {
            return zipped(extension, first).ok_or(Reason::Binary);
        }
        if first.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") && extension == "docx" {
            return Err(Reason::Encrypted(Container::Office));
        }
        let is_utf16 = first.starts_with(b"\xFF\xFE") || first.starts_with(b"\xFE\xFF");
        if !is_utf16 && is_binary(first) {
            return Err(Reason::Binary);
        }
        Ok(by_content(path, first).unwrap_or_else(|| by_name(&name, extension, first)))
    }
}

fn zipped(extension: &str, first: &[u8]) -> Option<Format> {
    // An ODT begins with its media type, not compressed.
    if find(first, b"mimetypeapplication/vnd.oasis.opendocument.text") {
        return Some(Format::Odt);
    }
    match extension {
        "odt" | "ott" => Some(Format::Odt),
        "docx" | "docm" | "dotx" => Some(Format::Docx),
        _ => find(first, b"word/document.xml").then_some(Format::Docx),
    }
}

fn by_content(path: &Path, first: &[u8]) -> Option<Format> {
    if first.starts_with(b"From ") && has_header(first.split(|&b| b == b'\n').nth(1).unwrap_or_default()) {
        return Some(Format::Mailbox);
    }
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    if (folder == "cur" || folder == "new") && has_header(first) {
        return Some(Format::Message);
    }
    let text = first.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first).trim_ascii_start();
    let starts = |with: &[u8]| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    (starts(b"<!doctype html") || starts(b"<html")).then_some(Format::Html)
}

fn by_name(name: &str, extension: &str, first: &[u8]) -> Format {
    match extension {
        "html" | "htm" | "xhtml" | "xht" => Format::Html,
        "md" | "markdown" | "mkd" | "mdown" => Format::Markdown,
        "eml" => Format::Message,
        "mbox" if has_header(first) => Format::Message,
        _ if SOURCE_EXTENSIONS.contains(&extension) || SOURCE_NAMES.contains(&name) => Format::Source,
        "" if first.starts_with(b"#!") => Format::Source,
        _ => Format::Text,
    }
}

/// Whether the text begins with a header of a mail.
fn has_header(text: &[u8]) -> bool {
    let name: Vec<u8> = text.iter().copied().take(32).take_while(|&b| b != b':' && b != b'\n').collect();
    let is_known = MAIL_HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header.as_bytes()));
    is_known || (name.len() > 2 && name[..2].eq_ignore_ascii_case(b"x-") && text.get(name.len()) == Some(&b':'))
}

fn is_binary(first: &[u8]) -> bool {
    // Tab, line feed, vertical tab, form feed, carriage return, and what shifts between sets of Japanese characters.
    let is_odd = |b: u8| b < 0x20 && !(9..=13).contains(&b) && b != 0x1B;
    let n_odd = first.iter().filter(|&&b| is_odd(b)).count();
    first.contains(&0) || n_odd * 20 > first.len()
}

fn find(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_say_more_than_names() {
        let of = |path: &str, first: &[u8]| Format::of(Path::new(path), first);
        assert_eq!(of("a.txt", b"%PDF-1.4\n%\xE2\xE3"), Ok(Format::Pdf));
        assert_eq!(of("a.pdf", b"no such thing"), Ok(Format::Text));
        assert_eq!(of("a.pdf", b"junk\n%PDF-1.4"), Ok(Format::Pdf));
        assert_eq!(of("a.txt", b"a\0b"), Err(Reason::Binary));
        assert_eq!(of("a.txt", b"\xFF\xFEa\0"), Ok(Format::Text));
        assert_eq!(of("a.docx", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), Err(Reason::Encrypted(Container::Office)));
        assert_eq!(of("a.jar", b"PK\x03\x04\0\0"), Err(Reason::Binary));
        assert_eq!(of("a.bin", b"PK\x03\x04 ... word/document.xml"), Ok(Format::Docx));
        assert_eq!(of("page", b"\n<!DOCTYPE html><p>"), Ok(Format::Html));
        assert_eq!(of("a.html", b""), Ok(Format::Html));
        assert_eq!(of("Inbox", b"From - Tue Mar  3 2020\nX-Account-Key: 1\n"), Ok(Format::Mailbox));
        assert_eq!(of("letter", b"From here on\nall is well\n"), Ok(Format::Text));
        assert_eq!(of("mail/cur/17:2,S", b"Return-Path: <a@b>\n"), Ok(Format::Message));
        assert_eq!(of("notes/new/list", b"milk\nbread\n"), Ok(Format::Text));
        assert_eq!(of("a.eml", b"Weird: yes\n"), Ok(Format::Message));
        assert_eq!(of("Makefile", b"all:\n"), Ok(Format::Source));
        assert_eq!(of("A.RS", b"fn main() {}"), Ok(Format::Source));
        assert_eq!(of("run", b"#!/bin/sh\n"), Ok(Format::Source));
        assert_eq!(of(".md", b"hidden"), Ok(Format::Text));
        assert_eq!(of("README.md", b"# A"), Ok(Format::Markdown));
    }
}
