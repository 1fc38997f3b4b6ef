//! Parsers and the reader of frames against arbitrary and damaged bytes, in this process.

use foltr_test::fuzzing::{Form, Target, label};

use super::samples::{MAIL, docx, odt, small_pdf};
use super::*;
use crate::extract::frame;

/// Damaged bytes must give texts within the limits, or a reason.
fn fuzz(name: &'static str, valid: Vec<Vec<u8>>, n_inputs: usize) {
    let limits = Limits { text: 1 << 16, texts: 100, unpacked: 1 << 20, ..Limits::default() };
    // Whatever the bytes have become, the parser gets them.
    let format = Format::of(Path::new(name), &valid[0]).expect("a format");
    let parsed = |bytes: &[u8]| -> Result<Vec<Text>, String> {
        let (request, mut texts) = (parse::Request { format, name: name.into() }, Vec::new());
        let mut give = |text| {
            texts.push(text);
            Ok(())
        };
        let parsed = parse::parse(&request, &mut std::io::Cursor::new(bytes), &limits, &mut give);
        parsed.map_err(|reason| label(&reason)).map(|()| texts)
    };
    let headlines =
        |texts: &[Text]| texts.iter().map(|text| (text.title.clone(), text.headings.clone())).collect::<Vec<_>>();
    let sound = headlines(&parsed(&valid[0]).expect("texts"));
    let decode = |_, bytes: &[u8]| -> Result<(), String> {
        let texts = parsed(bytes)?;
        for text in &texts {
            assert!(text.body.len() <= limits.text && text.title.len() <= parse::MOST_TITLE);
            assert!(!text.body.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{:?}", text.body);
        }
        // Most formats refuse nothing.
        if headlines(&texts) == sound { Ok(()) } else { Err("other headlines".into()) }
    };
    Target { name, corpus: None, form: Form::Binary, valid, has_valid_damage: true, decode: &decode }.run(n_inputs);
}

#[test]
fn parsers_survive_fuzzing() {
    let mailbox =
        format!("From a@b Tue Mar  3 12:00:00 2020\n{}\nFrom b 12:00\nTo: c\n\nd", MAIL.replace("\r\n", "\n"));
    let page = "<!DOCTYPE html><title>a</title><meta charset=utf-8><h1 hidden>b</h1><pre>c<script>d</script><div hidden>e</div>&amp;ä";
    let markdown = "---\ntitle: a\n---\n# b\n\n[c]: http://d\n\n| e | f |\n|---|---|\n| g | h |\n\n- [ ] `i` *j* <b>k</b>[^1]\n\n[^1]: l";
    fuzz("a.mbox", vec![mailbox.into_bytes()], 3000);
    fuzz("a.eml", vec![MAIL.as_bytes().to_vec()], 3000);
    fuzz("a.html", vec![page.as_bytes().to_vec()], 3000);
    fuzz("a.md", vec![markdown.as_bytes().to_vec()], 3000);
    fuzz("a.rs", vec![b"pub fn a(b: C) {\n}\nint d(void) {\n".to_vec()], 1000);
    fuzz("a.odt", vec![odt("<text:h>a</text:h><text:p>b<text:s text:c='3'/>&amp;c</text:p>")], 2000);
    fuzz(
        "a.docx",
        vec![docx("<w:p><w:pPr><w:pStyle w:val='berschrift1'/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>")],
        2000,
    );
}

/// Whatever the parser of PDF does, it does within a worker.
#[test]
fn damaged_pdfs_survive_workers() {
    let (folder, extractor) =
        (Folder::new(), extractor("real", Limits { time: Duration::from_secs(2), ..Limits::default() }));
    let (sound, mut n_texts, mut reasons) = (small_pdf(), 0, std::collections::BTreeMap::new());
    let mut state = 7_usize;
    for _ in 0..600 {
        let mut bytes = sound.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (state >> 33) % bytes.len();
            bytes[place] = b"0 9/<>[](Rx\xFF"[(state >> 20) % 12];
        }
        match extractor.texts(&folder.write("a.pdf", &bytes)) {
            Ok(_) => n_texts += 1,
            Err(reason) => *reasons.entry(label(&reason)).or_insert(0) += 1,
        }
    }
    println!("{n_texts} with texts; {reasons:?}");
    assert!(n_texts > 0);
}

#[test]
fn texts_in_frames_survive_fuzzing() {
    let texts = [
        Text::default(),
        Text {
            part: "a".into(),
            title: "b".into(),
            body: "c\nä".into(),
            date: Some(1),
            is_truncated: true,
            ..Text::default()
        },
    ];
    let valid = texts.map(|text| {
        let mut bytes = Vec::new();
        frame::write_text(&mut bytes, &text);
        bytes.split_off(frame::HEADER)
    });
    let decode = |_, bytes: &[u8]| -> Result<(), String> {
        let text = frame::text(bytes).ok_or("refused")?;
        let mut again = Vec::new();
        frame::write_text(&mut again, &text);
        assert_eq!(&again[frame::HEADER..], bytes, "a text has one form");
        Ok(())
    };
    let target = Target {
        name: "texts of workers",
        corpus: None,
        form: Form::Binary,
        valid: valid.to_vec(),
        has_valid_damage: true,
        decode: &decode,
    };
    target.run(20_000);
}
