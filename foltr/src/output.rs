//! Standard output and standard error. A failed write stops no work: a reader that went away is nothing to report, any
//! other failure is reported when the command ends ([`failure`]).

mod plain_text;

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use serde::Serialize;

pub use plain_text::{one_line, without_control_characters};

/// The first write that failed. Nothing is written after it.
static FAILED_WRITE: OnceLock<io::Error> = OnceLock::new();

#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub quiet: bool,
    pub json: bool,
}

static STYLE: OnceLock<Style> = OnceLock::new();

/// To be called once, before anything is printed.
pub fn set_style(style: Style) {
    let _ = STYLE.set(style);
}

fn style() -> Style {
    STYLE.get().copied().unwrap_or_default()
}

pub fn is_quiet() -> bool {
    style().quiet
}

pub fn is_json() -> bool {
    style().json
}

/// Writes text to standard output as it is.
pub fn print(text: &str) {
    if FAILED_WRITE.get().is_some() {
        return;
    }
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        let _ = FAILED_WRITE.set(error);
    }
}

/// Lines of a result; nothing with `--json`.
pub fn say(line: impl Display) {
    if !is_json() {
        print(&(without_control_characters(&line.to_string()) + "\n"));
    }
}

/// Which files were written and what can be done with them; nothing with `--json` or `--quiet`.
pub fn chat(line: impl Display) {
    if !is_quiet() {
        say(line);
    }
}

/// The whole result of a command as one document; nothing without `--json`.
pub fn answer(result: &impl Serialize) -> serde_json::Result<()> {
    if is_json() {
        print(&(serde_json::to_string_pretty(result)? + "\n"));
    }
    Ok(())
}

/// What is being done, on standard error; nothing with `--quiet`.
pub fn progress(line: impl Display) {
    if !is_quiet() {
        note(line);
    }
}

/// A line on standard error. If that cannot be written, there is nobody to tell.
pub fn note(line: impl Display) {
    let text = without_control_characters(&line.to_string());
    let lines: Vec<String> = text.lines().map(one_line).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Whether nobody can read what would be printed from now on.
pub fn is_lost() -> bool {
    FAILED_WRITE.get().is_some()
}

/// Why output was lost; none if all was written, or if the reader had read enough, as `head` does.
pub fn failure() -> Option<&'static io::Error> {
    FAILED_WRITE.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
}

/// Prints help or what is wrong with the command line.
pub fn print_clap(error: &clap::Error) {
    if !error.use_stderr() {
        let written = error.print().and_then(|()| io::stdout().flush());
        let _ = written.map_err(|error| FAILED_WRITE.set(error));
        return;
    }
    let plain = error.to_string();
    if without_control_characters(&plain) == plain && plain.lines().all(|line| one_line(line) == line) {
        let _ = error.print();
    } else {
        note(plain);
    }
}
