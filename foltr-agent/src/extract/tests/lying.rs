//! Workers that do not keep to the protocol.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::exit;
use std::thread::sleep;

use super::*;
use crate::extract::frame::{self, Tag};

const LIES: &[&str] = &[
    "exits",
    "closes",
    "silent",
    "garbage",
    "four gibibytes",
    "half a frame",
    "early answer",
    "endless texts",
    "long body",
    "bad utf-8",
    "huge field",
    "trickle",
    "bad reason",
    "deaf",
    "endless errors",
    "answers twice",
];

pub(super) fn lie(name: &str) -> ! {
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().expect("a socket");
    let mut socket = UnixStream::from(stdin);
    let asleep = || loop {
        sleep(Duration::from_secs(60));
    };
    let text = |body: &str| {
        let mut out = Vec::new();
        frame::write_text(&mut out, &Text { body: body.into(), ..Text::default() });
        out
    };
    if name == "early answer" {
        let _ = socket.write_all(&[text("not asked"), vec![4, 0, 0, 0, 0], vec![3]].concat());
    }
    if name == "deaf" {
        asleep();
    }
    // The greeting and the request.
    for _ in 0..2 {
        let mut header = [0; frame::HEADER];
        socket.read_exact(&mut header).expect("a header");
        let (_, length) = frame::header(header, 0).expect("a message");
        socket.read_exact(&mut vec![0; length]).expect("a message");
    }
    let mut send = |bytes: &[u8]| {
        if socket.write_all(bytes).is_err() {
            exit(0);
        }
    };
    match name {
        "exits" => exit(7),
        "closes" => {
            socket.shutdown(std::net::Shutdown::Both).expect("a socket");
        }
        "garbage" => loop {
            send(&[0xA5; 1 << 16]);
        },
        "four gibibytes" => send(&[3, 255, 255, 255, 255, 1, 2, 3]),
        "half a frame" => {
            send(&text("half")[..9]);
            exit(0);
        }
        "endless texts" => loop {
            send(&text("again"));
        },
        "long body" => send(&text(&"x".repeat(5000))),
        "bad utf-8" => {
            let mut bytes = text("abcdef");
            let place = bytes.len() - 12;
            bytes[place] = 0xFF;
            send(&bytes);
        }
        "huge field" => {
            let mut bytes = text("abcdef");
            bytes[5..9].fill(0xFF);
            send(&bytes);
        }
        "trickle" => loop {
            send(&text("")[..1]);
            sleep(Duration::from_millis(50));
            send(&text("")[1..]);
        },
        "bad reason" => send(b"\x05\x03\0\0\0{x}"),
        "endless errors" => loop {
            eprintln!("{}", "noise ".repeat(1000));
        },
        "answers twice" => send(&[text("one"), vec![4, 0, 0, 0, 0], text("two"), vec![4, 0, 0, 0, 0]].concat()),
        _ => {}
    }
    asleep()
}

#[test]
fn lies_are_failed_files() {
    let folder = Folder::new();
    let path = folder.write("a.txt", b"low tide");
    foltr_test::in_own_process(|| {
        let before = foltr_test::peak_memory();
        for lie in LIES {
            let limits = Limits { time: Duration::from_millis(400), text: 4096, texts: 100, ..Limits::default() };
            let extractor = extractor(lie, limits);
            let start = std::time::Instant::now();
            let mut n = 0;
            let outcomes = [(); 2].map(|()| {
                extractor.extract(&path, &mut |_| {
                    n += 1;
                    ControlFlow::Continue(())
                })
            });
            println!("{lie}: {outcomes:?}, {n} texts, {:.2} s", start.elapsed().as_secs_f64());
            assert!(start.elapsed() < Duration::from_secs(8), "{lie}");
            assert!(n <= 202, "{lie} gave {n} texts");
            let is_failure = |outcome: &Outcome| matches!(outcome, Outcome::Skipped { .. });
            // One right answer is no lie yet.
            assert!(outcomes.iter().any(is_failure), "{lie}: {outcomes:?}");
        }
        if let (Some(before), Some(after)) = (before, foltr_test::peak_memory()) {
            assert!(after - before < 16 << 20, "the parent needs {} bytes more", after - before);
        }
    });
}

#[test]
fn a_program_that_is_none_is_said_to_be_so() {
    let folder = Folder::new();
    let path = folder.write("a.txt", b"low tide");
    let program = Program { path: folder.path("none"), arguments: Vec::new(), variables: Vec::new() };
    let reason = Extractor::new(program, Limits::default()).texts(&path).expect_err("no program");
    assert_eq!(reason.to_string(), "the parser cannot be started: No such file or directory");
    let program = Program { path: "/bin/true".into(), arguments: Vec::new(), variables: Vec::new() };
    let reason = Extractor::new(program, Limits::default()).texts(&path).expect_err("another program");
    assert!(matches!(reason, Reason::ParserFailed(_) | Reason::NoParser(_)), "{reason}");
}

#[test]
fn frames_are_what_was_written_and_nothing_else() {
    let written = Text {
        part: "p".into(),
        title: "t".into(),
        body: "ä".into(),
        date: Some(-1),
        is_truncated: true,
        ..Text::default()
    };
    let mut bytes = Vec::new();
    frame::write_text(&mut bytes, &written);
    let header = bytes[..frame::HEADER].try_into().expect("a header");
    assert_eq!(frame::header(header, 1000), Some((Tag::Text, bytes.len() - frame::HEADER)));
    assert_eq!(frame::header(header, 10), None);
    let payload = &bytes[frame::HEADER..];
    assert_eq!(frame::text(payload), Some(written));
    for n in 0..payload.len() {
        assert_eq!(frame::text(&payload[..n]), None, "{n} bytes");
    }
    assert_eq!(frame::text(&[payload, &[0]].concat()), None);
}
