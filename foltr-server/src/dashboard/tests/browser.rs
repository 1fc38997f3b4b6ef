//! The dashboard in a real browser, if there is one.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foltr_test::browser::browser;

use super::served::Served;
use super::*;

/// Answers to forms.
const NEW_INVITATION: &str = "/test/form?action=new-invitation&uses=3&days=7&note=Ward+4";
const ROTATE_KEY: &str = "/test/form?action=rotate-key";

const PATIENCE: Duration = Duration::from_secs(120);

fn command(browser: &Path, profile: &Path, width: u32, height: u32, is_dark: bool) -> Command {
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={width},{height}"))
        .args(is_dark.then_some("--blink-settings=preferredColorScheme=0"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Lines of the browser's log that a page caused.
fn complaints(log: &str) -> Vec<&str> {
    let is_complaint = |line: &&str| {
        let words = ["Refused to", "Uncaught", "violates the following", "CONSOLE"];
        // What the test itself provokes: an answer 401 to a wrong token.
        words.iter().any(|word| line.contains(word)) && !line.contains("status of 401")
    };
    log.lines().filter(is_complaint).collect()
}

#[test]
fn an_operator_works_with_it_in_a_browser() {
    let Some(browser) = browser() else { return };
    let served = Served::start(Site::new(vec![rich()]));
    let profile = tempfile::tempdir().expect("a folder");
    let (verdict, log) = watch(&mut command(&browser, profile.path(), 1200, 1200, false), &served, "/?driven");
    assert_eq!(verdict, "", "{log}");
    assert_eq!(complaints(&log), [""; 0]);
}

/// Opens a page until its script reports; what it says, and what the browser logs.
fn watch(command: &mut Command, served: &Served, path: &str) -> (String, String) {
    let mut child = command.arg(format!("{}{path}", served.address)).spawn().expect("the browser starts");
    let log = log_of(&mut child);
    let verdict = served.verdicts.recv_timeout(PATIENCE);
    child.kill().expect("killed");
    child.wait().expect("reaped");
    (verdict.unwrap_or_else(|_| format!("nothing within {} seconds", PATIENCE.as_secs())), log.join().expect("a log"))
}

fn log_of(child: &mut Child) -> JoinHandle<String> {
    let mut stderr = child.stderr.take().expect("piped");
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stderr.read_to_end(&mut bytes).expect("readable");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Takes a picture; returns what the browser logs.
fn picture(command: &mut Command, file: &Path, address: &str) -> String {
    let mut child = command.arg(format!("--screenshot={}", file.display())).arg(address).spawn().expect("it starts");
    let log = log_of(&mut child);
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("killed");
            child.wait().expect("reaped");
            panic!("no picture within {} seconds", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    log.join().expect("a log")
}

#[test]
fn pages_can_be_read_wide_and_on_a_phone_light_and_dark() {
    let Some(browser) = browser() else { return };
    let mut long = rich();
    long.name = "n".repeat(90);
    long.waits_for = "w".repeat(300);
    long.forget_requests[0].state = "the premise of the certificate does not hold: ".repeat(4);
    (long.is_held, long.releases[0].shard) = (true, 3);
    let served = Served::start(Site::new(vec![rich(), fresh(), long.clone()]));
    let long = format!("{}?judged", view::path_of(&long.name));
    let pages = [
        ("/federations/wards?judged", 390, false),
        ("/federations/clinic?judged", 1200, true),
        (&long, 390, true),
        ("/?judged", 390, false),
        (NEW_INVITATION, 390, true),
        (ROTATE_KEY, 390, false),
    ];
    for (path, width, is_dark) in pages {
        let profile = tempfile::tempdir().expect("a folder");
        let path = format!("/test/session?/test/frame?{width}&{path}");
        let (verdict, log) = watch(&mut command(&browser, profile.path(), 1200, 900, is_dark), &served, &path);
        assert_eq!(verdict, format!("{width} {is_dark}\n"), "{path}");
        assert_eq!(complaints(&log), [""; 0]);
    }
}

/// Pictures to look at: `FOLTR_PICTURES=folder`.
#[test]
fn pictures_can_be_taken() {
    let Some(browser) = browser() else { return };
    let served = Served::start(Site::new(vec![rich(), fresh()]));
    let folder = tempfile::tempdir().expect("a folder");
    let named = std::env::var_os("FOLTR_PICTURES");
    let pictures = named.as_ref().map_or(folder.path(), Path::new);
    let sizes = [("wide", 1200, 2450), ("phone", 390, 3400)];
    let pages = [
        ("wards", "/federations/wards"),
        ("clinic", "/federations/clinic"),
        ("list", "/"),
        ("login", "/login"),
        ("invitation", NEW_INVITATION),
        ("confirm", ROTATE_KEY),
    ];
    let all = sizes.iter().flat_map(|size| pages.iter().map(move |page| (size, page)));
    let all: Vec<_> = all.flat_map(|pair| [(pair, false), (pair, true)]).collect();
    let n_taken = if named.is_some() { all.len() } else { 2 };
    for (((size, width, height), (page, path)), is_dark) in all.into_iter().take(n_taken) {
        let scheme = if is_dark { "dark" } else { "light" };
        let name = format!("{page}-{size}-{scheme}");
        let file = pictures.join(format!("{name}.png"));
        let start = if *page == "login" { "" } else { "/test/session?" };
        let frame = if *size == "phone" { format!("/test/frame?{width}&") } else { String::new() };
        let profile = folder.path().join(name);
        let mut command = command(&browser, &profile, (*width).max(500), *height, is_dark);
        let log = picture(&mut command, &file, &format!("{}{start}{frame}{path}", served.address));
        assert_eq!(complaints(&log), [""; 0]);
        assert!(std::fs::metadata(&file).is_ok_and(|file| file.len() > 5000), "{}", file.display());
    }
}
