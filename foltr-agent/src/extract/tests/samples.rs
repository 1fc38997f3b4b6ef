//! Small documents, written by hand.

use std::io::Cursor;

use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;

pub(super) fn zipped(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).expect("a part");
        archive.write_all(bytes).expect("memory");
    }
    archive.finish().expect("an archive").into_inner()
}

pub(super) fn odt(content: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office='o' xmlns:text='t'><office:body>{content}</office:body></office:document-content>"
    );
    let meta = "<m xmlns:dc='d'><dc:title>Tide &amp; time</dc:title><dc:creator>Ada L.</dc:creator></m>";
    zipped(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("content.xml", content.as_bytes()),
        ("meta.xml", meta.as_bytes()),
    ])
}

pub(super) fn docx(body: &str) -> Vec<u8> {
    let document = format!("<?xml version='1.0'?><w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    let styles =
        "<w:styles xmlns:w='w'><w:style w:styleId='berschrift1'><w:name w:val='heading 1'/></w:style></w:styles>";
    let core = "<c xmlns:dc='d'><dc:title></dc:title><dc:creator>Grace</dc:creator></c>";
    zipped(&[
        ("word/document.xml", document.as_bytes()),
        ("word/styles.xml", styles.as_bytes()),
        ("docProps/core.xml", core.as_bytes()),
    ])
}

/// A PDF of these objects, numbered from 1, the first of which is the catalog. `{}` of streams is their own affair.
pub(super) fn pdf(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (place, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        out.extend(format!("{} 0 obj\n", place + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    offsets.iter().for_each(|offset| out.extend(format!("{offset:010} 00000 n \n").bytes()));
    let n = objects.len() + 1;
    out.extend(format!("trailer\n<< /Size {n} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n").bytes());
    out
}

pub(super) fn stream(dictionary: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("<< {dictionary} /Length {} >>\nstream\n", bytes.len()).into_bytes();
    out.extend(bytes);
    out.extend(b"\nendstream");
    out
}

/// A page that draws two lines, and a title.
pub(super) fn objects_of_pdf() -> Vec<Vec<u8>> {
    let drawn = b"BT /F1 12 Tf 72 720 Td (Low tide) Tj 0 -40 Td (at noon) Tj ET";
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>";
    vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        page.into(),
        stream("", drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
        b"<< /Title (Tide tables) /Author (Harbour office) >>".to_vec(),
    ]
}

pub(super) fn small_pdf() -> Vec<u8> {
    pdf(&objects_of_pdf(), "/Info 6 0 R")
}

pub(super) const MAIL: &str = "Return-Path: <ada@example.org>\r\nFrom: =?utf-8?q?Ad=C3=A4?= <ada@example.org>\r\n\
    Subject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\n aus dem Hafen\r\nDate: Tue, 3 Mar 2020 12:00:00 +0100\r\n\
    Message-ID: <one@example.org>\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\
    Content-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Transfer-Encoding: quoted-printable\r\n\r\nEbbe um sieben =E2=80=93 p=C3=BCnktlich.\r\n--y\r\n\
    Content-Type: text/html\r\n\r\n<p>Not this</p>\r\n--y--\r\n--x\r\nContent-Type: text/html; charset=windows-1251\r\n\
    Content-Transfer-Encoding: base64\r\n\r\nPHA+z/Do4uXyPC9wPg==\r\n--x\r\nContent-Type: application/pdf; name=\"tides.pdf\"\r\n\
    Content-Disposition: attachment; filename=\"tides.pdf\"\r\n\r\nJVBERi0=\r\n--x--\r\n";

#[test]
fn encodings() {
    let body = |bytes: &[u8]| parsed("a.txt", bytes).expect("text").body;
    assert_eq!(body(b"plain\r\nlines\rand\x07 bells\n"), "plain\nlines\nand bells\n");
    assert_eq!(body("Grüße – ok".as_bytes()), "Grüße – ok");
    assert_eq!(body(b"\xEF\xBB\xBFbom"), "bom");
    let german = "Die Flut kommt früh, und die Möwen grüßen über dem Hafen. Später fährt das Schiff zurück nach Köln.";
    let latin: Vec<u8> = german.chars().map(|c| c as u8).collect();
    assert_eq!(body(&latin), german);
    let russian = "Прилив начинается рано утром, и чайки кричат над гаванью.";
    assert_eq!(body(&encoding_rs::WINDOWS_1251.encode(russian).0), russian);
    let japanese = "潮の満ち引きは月の引力によって起こります。港の船は朝に出ます。";
    assert_eq!(body(&encoding_rs::SHIFT_JIS.encode(japanese).0), japanese);
    let little: Vec<u8> = [0xFEFF].into_iter().chain(japanese.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = [0xFEFF].into_iter().chain(japanese.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    assert_eq!((body(&little), body(&big)), (japanese.to_owned(), japanese.to_owned()));
}

#[test]
fn long_texts_are_cut_between_characters() {
    let limits = Limits { text: 10, ..Limits::default() };
    let mut content = std::io::Cursor::new("äääääää and more".as_bytes());
    let text = text::read(&mut content, &limits).expect("text");
    assert_eq!((text.body.as_str(), text.is_truncated), ("äääää", true));
}

#[test]
fn markdown() {
    let page = "---\ntitle: \"The tides\"\nauthor: Ada\n---\n# Moon *and* `sun`\n\nPulls **hard**, [see](http://x).\n\n```rust\nlet x = 1;\n```\n\n\
                | a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\n## Noon\n";
    let text = parsed("a.md", page.as_bytes()).expect("Markdown");
    assert_eq!((text.title.as_str(), text.author.as_str()), ("The tides", "Ada"));
    assert_eq!(text.headings, "Moon and sun\nNoon");
    assert_eq!(text.body, "Moon and sun\nPulls hard, see.\nlet x = 1;\na\tb\t\n1\t2\t\none\ntwo\nNoon\n");
    assert_eq!(parsed("a.md", b"# First\n# Second").expect("Markdown").title, "First");
}

#[test]
fn html() {
    let page = "<!DOCTYPE html><html><head><meta charset=\"windows-1251\"><title>Tide\n tables</title><meta name=author content=Ada>\
                <style>p { color: red }</style><script>if (a < b) document.write('<p>no</p>')</script></head><body>\
                <nav><ul><li>Home</ul></nav><h1>Low <b>water</b></h1><p>At   noon &amp; at\nnight<p>\u{CF}\u{F0}\
                <div hidden>secret<div>deep</div></div><pre>a\n  b</pre><footer>legal</footer>end";
    let page: Vec<u8> = page.chars().map(|c| c as u8).collect();
    let text = parsed("a.html", &page).expect("HTML");
    assert_eq!(
        (text.title.as_str(), text.author.as_str(), text.headings.as_str()),
        ("Tide tables", "Ada", "Low water")
    );
    assert_eq!(text.body, "Low water\nAt noon & at night\nПр\na\n  b\nend\n");
}

#[test]
fn office_documents() {
    let text = parsed(
        "a.odt",
        &odt("<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h>One &lt; two</text:h>\
              <text:p>Ebb<text:s text:c='2'/>and<text:tab/>flow&#228;</text:p>"),
    )
    .expect("ODT");
    assert_eq!(
        (text.title.as_str(), text.author.as_str(), text.headings.as_str()),
        ("Tide & time", "Ada L.", "One < two")
    );
    assert_eq!(text.body, "One < two\nEbb  and\tflowä\n");
    let body = "<w:p><w:pPr><w:pStyle w:val='berschrift1'/></w:pPr><w:r><w:t>Moon</w:t></w:r></w:p><w:p><w:r><w:t>rises &amp; \
                </w:t></w:r><w:r><w:delText>gone</w:delText><w:br/><w:t>sets</w:t></w:r></w:p>";
    let text = parsed("a.docx", &docx(body)).expect("DOCX");
    assert_eq!((text.title.as_str(), text.author.as_str(), text.headings.as_str()), ("Moon", "Grace", "Moon"));
    assert_eq!(text.body, "Moon\nrises & \nsets\n");
}

#[test]
fn pdf_with_a_title() {
    let text = parsed("a.pdf", &small_pdf()).expect("PDF");
    assert_eq!((text.title.as_str(), text.author.as_str()), ("Tide tables", "Harbour office"));
    let words: Vec<_> = text.body.split_whitespace().collect();
    assert_eq!(words, ["Low", "tide", "at", "noon"]);
    assert!(!text.is_truncated);
}

#[test]
fn pdf_that_only_forbids_printing() {
    use pdf_extract::{Document, EncryptionState, EncryptionVersion, Permissions};
    let encrypted = |user_password| {
        let bytes = pdf(&objects_of_pdf(), "/Info 6 0 R /ID [<00> <00>]");
        let mut document = Document::load_mem(&bytes).expect("a PDF");
        let permissions = Permissions::empty();
        let version =
            EncryptionVersion::V1 { document: &document, owner_password: "owner", user_password, permissions };
        let state = EncryptionState::try_from(version).expect("a key");
        document.encrypt(&state).expect("a document");
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).expect("memory");
        parsed("a.pdf", &bytes)
    };
    let text = encrypted("").expect("no password");
    assert_eq!(text.title, "Tide tables");
    assert!(text.body.contains("noon"), "{text:?}");
    assert_eq!(encrypted("secret").expect_err("a password").to_string(), "encrypted PDF");
}

#[test]
fn source_code() {
    let text = parsed("src/lib.rs", b"//! Tides.\npub fn low() -> u8 {\n    1\n}\n").expect("source");
    assert_eq!((text.headings.as_str(), text.body.lines().count()), ("pub fn low() -> u8", 4));
}

#[test]
fn a_mail() {
    let text = parsed("a.eml", MAIL.as_bytes()).expect("mail");
    assert_eq!((text.title.as_str(), text.author.as_str()), ("Grüße aus dem Hafen", "Adä <ada@example.org>"));
    assert_eq!((text.headings.as_str(), text.date), ("tides.pdf", Some(1_583_233_200)));
    assert_eq!(text.body, "Ebbe um sieben – pünktlich.\nПривет\n");
}

#[test]
fn a_mailbox() {
    let second = "From: b@c\nMessage-ID: <one@example.org>\nSubject: again\n\nFrom here on it is quiet.\n\nFrom now on too.\n>From me\n>>From you\n";
    let third = "X: y\n\nno identifier\n";
    let (from, mail) = ("From a@b Tue Mar  3 12:00:00 2020\n", MAIL.replace("\r\n", "\n"));
    let mailbox = format!("{from}{mail}\n{from}{second}\n{from}{third}");
    let texts = all_parsed("Inbox", mailbox.as_bytes()).expect("a mailbox");
    let parts: Vec<_> = texts.iter().map(|text| text.part.as_str()).collect();
    let at = |n: usize| {
        (from.len() + mail.len() + 1) * usize::from(n > 0) + (from.len() + second.len() + 1) * usize::from(n > 1)
    };
    let expected = ["one@example.org".to_owned(), format!("one@example.org at {}", at(1)), format!("at {}", at(2))];
    assert_eq!(parts, expected);
    assert_eq!(
        texts[1].body,
        "From here on it is quiet.\n\nFrom now on too.\nFrom me\n>From you\n\n".trim_end().to_owned() + "\n\n"
    );
}

/// Through workers, with the kinds that they get.
#[test]
fn all_kinds_through_workers() {
    let (folder, extractor) = (Folder::new(), extractor("real", Limits::default()));
    let mailbox = format!("From a@b Tue Mar  3 12:00:00 2020\n{}", MAIL.replace("\r\n", "\n"));
    let files: [(&str, Vec<u8>, Kind, &str); 10] = [
        ("a.txt", b"low tide".to_vec(), Kind::Text, "low tide"),
        ("empty.txt", Vec::new(), Kind::Text, ""),
        ("a.md", b"# A\nlow tide".to_vec(), Kind::Markdown, "low tide"),
        ("a.html", b"<p>low tide".to_vec(), Kind::Html, "low tide"),
        ("a.pdf", small_pdf(), Kind::Pdf, "Low"),
        ("a.odt", odt("<text:p>low tide</text:p>"), Kind::Office, "low tide"),
        ("a.docx", docx("<w:p><w:r><w:t>low tide</w:t></w:r></w:p>"), Kind::Office, "low tide"),
        ("a.py", b"def low():\n    pass".to_vec(), Kind::Source, "pass"),
        ("cur/1:2,S", MAIL.as_bytes().to_vec(), Kind::Mail, "Ebbe"),
        ("Inbox", mailbox.into_bytes(), Kind::Mail, "Ebbe"),
    ];
    for (name, bytes, kind, words) in files {
        let (found, texts) =
            extractor.texts(&folder.write(name, &bytes)).unwrap_or_else(|reason| panic!("{name}: {reason}"));
        assert_eq!((found, texts.len()), (kind, 1), "{name}");
        assert!(texts[0].body.contains(words), "{name}: {texts:?}");
    }
    // A receiver may stop in the middle.
    let path = folder.path("Inbox");
    let outcome = extractor.extract(&path, &mut |_| ControlFlow::Break(()));
    assert_eq!(outcome, Outcome::Texts { kind: Kind::Mail, n_texts: 1 });
    assert!(extractor.texts(&path).is_ok());
}
