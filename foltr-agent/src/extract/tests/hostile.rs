//! Documents that are made to do harm, files that are none, and parsers that misbehave.

mod documents;

use std::os::unix::net::UnixListener;
use std::time::Instant;

use super::*;
use crate::extract::parse::{Content, Give, Request};

/// Shorter and smaller than for owners, so that the tests are quick.
fn limits() -> Limits {
    Limits { time: Duration::from_secs(3), memory: 512 << 20, texts: 2000, ..Limits::default() }
}

/// What a busy machine may need beside the time of the parser.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hostile documents that may be slow without being expected to be.
const MOST_SLOW: usize = 3;

fn works(extractor: &Extractor, folder: &Folder) {
    let (_, texts) = extractor.texts(&folder.write("good.txt", b"low tide")).expect("the pool works");
    assert_eq!(texts[0].body, "low tide");
}

/// The number of texts, or why there are none.
fn ask(extractor: &Extractor, path: &Path) -> String {
    let start = Instant::now();
    let mut n_bytes = 0;
    let outcome = extractor.extract(path, &mut |text| {
        assert!(text.body.len() <= extractor.limits().text, "{}", path.display());
        n_bytes += text.body.len();
        ControlFlow::Continue(())
    });
    let elapsed = start.elapsed();
    let told = match outcome {
        Outcome::Texts { n_texts, .. } => format!("{n_texts} texts"),
        Outcome::Skipped { reason, .. } => reason.to_string(),
    };
    println!("{}: {told} ({n_bytes} bytes, {:.2} s)", path.display(), elapsed.as_secs_f64());
    assert!(elapsed < limits().time + PATIENCE, "{}", path.display());
    told
}

#[test]
fn hostile_documents_cost_little() {
    foltr_test::in_own_process(|| {
        let (folder, extractor) = (Folder::new(), extractor("real", limits()));
        let paths: Vec<_> = documents::ALL.iter().map(|document| document.write(&folder)).collect();
        let before = foltr_test::peak_memory();
        let mut n_slow = 0;
        for (document, path) in documents::ALL.iter().zip(paths) {
            let told = ask(&extractor, &path);
            let is_expected = document.expected.split('|').any(|expected| told.starts_with(expected));
            // On a busy machine some more may take too long; it costs no more than that.
            n_slow += usize::from(!is_expected && told.starts_with("took longer than"));
            assert!(
                (is_expected || told.starts_with("took longer than")) && n_slow <= MOST_SLOW,
                "{}: {told}, not {}",
                document.name,
                document.expected
            );
            works(&extractor, &folder);
        }
        if let (Some(before), Some(after)) = (before, foltr_test::peak_memory()) {
            println!("the parent needed {} KiB more", (after - before) >> 10);
            assert!(after - before < 48 << 20, "{} bytes", after - before);
        }
    });
}

#[test]
fn random_bytes_behind_every_name() {
    let (folder, extractor) = (Folder::new(), extractor("real", limits()));
    let mut state = 1_u64;
    let mut random = |n: usize| -> Vec<u8> {
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..n).map(next).collect()
    };
    let begins: [&[u8]; 6] = [b"", b"%PDF-1.7\n", b"PK\x03\x04", b"From a 12:34\nDate: x\n\n", b"<html>", b"\xFF\xFE"];
    for extension in ["txt", "pdf", "odt", "docx", "html", "md", "eml", "mbox", "rs"] {
        for (place, begin) in begins.iter().enumerate() {
            let path = folder.write(&format!("{place}.{extension}"), &[begin, &random(9000)[..]].concat());
            ask(&extractor, &path);
            // Without the bytes that betray themselves.
            let bytes: Vec<u8> = random(9000).into_iter().map(|b| b.max(32)).collect();
            ask(&extractor, &folder.write(&format!("{place}.{extension}"), &[begin, &bytes[..]].concat()));
        }
    }
    works(&extractor, &folder);
}

#[test]
fn what_is_no_file_is_never_waited_for() {
    let (folder, extractor) = (Folder::new(), extractor("real", limits()));
    let path = folder.path("pipe.txt");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).expect("a pipe");
    assert_eq!(ask(&extractor, &path), "not a regular file");
    let _listener = UnixListener::bind(folder.path("socket.txt")).expect("a socket");
    assert_eq!(ask(&extractor, &folder.path("socket.txt")), "not a regular file");
    std::fs::create_dir(folder.path("x.pdf")).expect("a folder");
    assert_eq!(ask(&extractor, &folder.path("x.pdf")), "not a regular file");
    std::os::unix::fs::symlink(folder.path("loop.txt"), folder.path("loop.txt")).expect("a link");
    assert_eq!(ask(&extractor, &folder.path("loop.txt")), "not a regular file");
    for device in ["/dev/zero", "/dev/null", "/dev/tty"].into_iter().filter(|device| Path::new(device).exists()) {
        assert_eq!(ask(&extractor, Path::new(device)), "not a regular file");
    }
    assert_eq!(ask(&extractor, &folder.path("none.txt")), "cannot be read: No such file or directory");
    assert_eq!(ask(&extractor, &folder.path("none\0.txt")), "cannot be read: Invalid argument");
    works(&extractor, &folder);
}

#[test]
fn a_file_that_grows_has_an_end() {
    let (folder, extractor) = (Folder::new(), extractor("real", Limits { html_file: 1 << 20, ..limits() }));
    let path = folder.write("a.html", &b"<p>low tide ".repeat(50_000));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::options().append(true).open(&path).expect("a file");
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(&[b'x'; 1 << 12]).expect("room on the disk");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for _ in 0..20 {
            let told = ask(&extractor, &path);
            assert!(told == "1 texts" || told == "larger than 1 MiB", "{told}");
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

fn text(body: impl Into<String>) -> Text {
    Text { body: body.into(), ..Text::default() }
}

/// Workers whose parser is one of these.
pub(super) fn parser(name: &str) -> Option<Parser> {
    Some(match name {
        "endless" => |_, _, _, _| loop {
            std::hint::spin_loop();
        },
        "hungry" => |_, _, _, give| {
            let mut kept = Vec::new();
            loop {
                kept.push(vec![1_u8; 1 << 20]);
                if kept.is_empty() {
                    give(text(""))?;
                }
            }
        },
        "deep" => |_, _, _, give| give(text(format!("{}", depth(1)))),
        "panicking" => |_, _, _, _| panic!("the document has\nno end"),
        "aborting" => |_, _, _, _| std::process::abort(),
        "noisy" => |_, content, limits, give| {
            (0..2000).for_each(|_| eprintln!("{}", "noise ".repeat(20)));
            println!("noise where answers could be");
            give(super::text::read(content, limits)?)
        },
        "curious" => curious,
        "only once" => |_, content, limits, give| {
            use std::sync::atomic::{AtomicU32, Ordering};
            static N: AtomicU32 = AtomicU32::new(0);
            if N.fetch_add(1, Ordering::Relaxed) == 1 {
                std::process::abort();
            }
            give(super::text::read(content, limits)?)
        },
        _ => return None,
    })
}

#[allow(unconditional_recursion)]
fn depth(n: u64) -> u64 {
    std::hint::black_box([n; 64]).iter().sum::<u64>() + depth(std::hint::black_box(n + 1))
}

/// Tells what it can reach beside its file.
fn curious(_: &Request, content: &mut dyn Content, _: &Limits, give: &mut Give) -> Result<(), Reason> {
    let mut found = Vec::new();
    let mut own = String::new();
    content.read_to_string(&mut own).map_err(|error| Reason::unreadable(&error))?;
    if std::fs::read("/etc/hostname").is_ok() || std::fs::read("/proc/self/environ").is_ok() {
        found.push("files");
    }
    if std::fs::read_dir("/").is_ok() {
        found.push("folders");
    }
    let address = own.trim().parse().expect("an address");
    if std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok() {
        found.push("network");
    }
    if std::process::Command::new("/bin/true").status().is_ok() {
        found.push("programs");
    }
    give(text(found.join(" ")))
}

#[test]
fn parsers_that_misbehave_fail_alone() {
    let folder = Folder::new();
    let path = folder.write("a.txt", b"low tide");
    let short = Limits { time: Duration::from_millis(1500), ..limits() };
    assert_eq!(ask(&extractor("endless", short), &path), "took longer than 1.5 s");
    // What fails by itself does so soon, but for a machine that is busy.
    let limits = Limits { time: Duration::from_secs(60), ..limits() };
    let ask = |name: &str| ask(&extractor(name, limits.clone()), &path);
    assert_eq!(ask("hungry"), "needed more than 512 MiB of memory");
    assert_eq!(ask("deep"), "nested too deeply");
    assert_eq!(ask("panicking"), "the parser failed: the document has no end");
    assert_eq!(ask("aborting"), "the parser failed: it was ended by signal 6");
    assert_eq!(ask("noisy"), "1 texts");
}

#[test]
fn a_file_that_an_old_worker_fails_at_gets_a_new_one() {
    let folder = Folder::new();
    let extractor = extractor("only once", limits());
    for _ in 0..3 {
        works(&extractor, &folder);
    }
    extractor.rest();
    works(&extractor, &folder);
}

#[test]
fn workers_are_replaced_after_some_files() {
    let folder = Folder::new();
    // The second file of a worker would kill it, and it would be asked again: now there is no second.
    let extractor = extractor("only once", Limits { files_of_worker: 1, ..limits() });
    for _ in 0..3 {
        works(&extractor, &folder);
    }
}

/// On Linux with Landlock.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_reaches_nothing_but_its_file() {
    if !std::thread::spawn(sandbox::keeps_from_files).join().expect("it is asked") {
        println!("skipped: no Landlock here");
        return;
    }
    let folder = Folder::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let path = folder.write("a.txt", listener.local_addr().expect("an address").to_string().as_bytes());
    let (_, texts) = extractor("curious", limits()).texts(&path).expect("a text");
    assert_eq!(texts[0].body, "");
}

#[test]
fn a_worker_ends_with_its_parent() {
    let folder = Folder::new();
    let extractor = extractor("endless", Limits { time: Duration::from_secs(60), ..limits() });
    let path = folder.write("a.txt", b"low tide");
    let (program, limits) = (super::program("endless"), extractor.limits().clone());
    // As if the parent had died: nobody kills the worker, but its socket closes.
    let mut worker = worker::Worker::start(&program, &limits).expect("a worker");
    let request = Request { format: Format::Text, name: "a.txt".into() };
    let file = std::fs::File::open(path).expect("a file");
    let _ = worker.ask((&request, &file), Duration::from_millis(300), &limits, &mut |_| ControlFlow::Continue(()));
    let deadline = Instant::now() + PATIENCE;
    while !worker.ends_without_parent() {
        assert!(Instant::now() < deadline, "the worker goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}
