//! The page in a real browser: Chromium without a window, driven by its command line only.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A browser that hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_secs(90);

/// What the page says about itself: nothing where all is well.
const SELF_TEST: &str = include_str!("page_test.js");

const ERROR_COUNTER: &str =
    "<script>window.faults=[];addEventListener('error',e=>faults.push('script: '+e.message))</script>";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Light,
    /// As asked for by the reader's system.
    Dark,
}

pub fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut files = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    let browser = files.find(|file| file.is_file());
    crate::require("browser", browser, &format!("there is no {} on the path", names.join(", ")))
}

/// Opens a page with the self-test appended; returns what it found wrong, and how many milliseconds it took to open.
pub fn judge(browser: &Path, html: &str, width: usize, scheme: Scheme) -> (Vec<String>, f64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("page.html");
    assert!(html.contains("<head>") && html.contains("</body>"), "not a page");
    let tested = html.replacen("<head>", &format!("<head>{ERROR_COUNTER}"), 1);
    let end = tested.rfind("</body>").expect("a page");
    let tested = format!("{}<script>{SELF_TEST}</script>{}", &tested[..end], &tested[end..]);
    std::fs::write(&page, tested).expect("written");
    let dom = dump(browser, &page, folder.path(), width, scheme);
    let verdict = dom.rsplit("VERDICT[").next().and_then(|rest| rest.split("]VERDICT").next());
    let verdict =
        verdict.unwrap_or_else(|| panic!("the page did not judge itself: {} bytes of {dom:.2000}", dom.len()));
    let (milliseconds, faults) = verdict.split_once('\n').expect("a first line");
    (faults.lines().map(str::to_owned).collect(), milliseconds.parse().expect("a number"))
}

fn dump(browser: &Path, page: &Path, folder: &Path, width: usize, scheme: Scheme) -> String {
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={width},1200"))
        .args((scheme == Scheme::Dark).then_some("--blink-settings=preferredColorScheme=0"))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("the browser starts");
    let mut stdout = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).map(|_| String::from_utf8_lossy(&bytes).into_owned())
    });
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("a child").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("killed");
            child.wait().expect("reaped");
            panic!("the browser did not end within {} seconds", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    reader.join().expect("a reader").expect("readable")
}
