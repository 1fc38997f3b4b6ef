//! How far work is, on standard error: a bar on a terminal, elsewhere a line now and then; nothing with `--quiet`.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foltr_experiment::execute::Event;
use foltr_report::table::grouped;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{is_quiet, note};

/// Work that takes less has no line.
const FIRST_LINE: Duration = Duration::from_secs(1);
const BETWEEN_LINES: Duration = Duration::from_secs(10);

pub struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
}

/// Prints how far a bar is, until it is dropped.
struct Lines {
    end: Option<Sender<()>>,
    printer: Option<JoinHandle<()>>,
}

impl Progress {
    pub fn of_interactions() -> Self {
        Self::new("{prefix} {wide_bar:.cyan/238} {percent:>3} %  {per_sec}  {elapsed} + {eta}  {msg:23}")
    }

    pub fn of_steps() -> Self {
        Self::new("{prefix} {wide_bar:.cyan/238} {percent:>3} %  {elapsed} + {eta}  {msg:48}")
    }

    fn new(template: &str) -> Self {
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = style.with_key("per_sec", |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{} interactions/s", grouped(state.per_sec() as u64));
        });
        // Hidden when standard error is no terminal.
        let target = if is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let bar = ProgressBar::with_draw_target(None, target).with_style(style);
        let lines = (!is_quiet() && !stderr().is_terminal()).then(|| Lines::start(bar.clone()));
        Self { bar, lines }
    }

    pub const fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    pub fn show(&self, event: Event) {
        match event {
            Event::Started { work } => {
                self.bar.reset();
                self.bar.set_length(work);
            }
            Event::Advanced { work, message } => {
                self.bar.inc(work);
                if let Some(message) = message {
                    self.bar.set_message(message);
                }
            }
            Event::Runs { n_done, n_requested } => self.bar.set_prefix(format!("{n_done}/{n_requested} runs")),
            Event::Ended => self.bar.finish_and_clear(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.lines.take());
        self.bar.finish_and_clear();
    }
}

impl Lines {
    fn start(bar: ProgressBar) -> Self {
        let (end, ended) = channel();
        let printer = std::thread::spawn(move || {
            let started = Instant::now();
            let mut wait = FIRST_LINE;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                note(line(&bar, started.elapsed()));
                wait = BETWEEN_LINES;
            }
            if started.elapsed() >= FIRST_LINE {
                note(line(&bar, started.elapsed()));
            }
        });
        Self { end: Some(end), printer: Some(printer) }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.printer.take().map(JoinHandle::join);
    }
}

/// Such as `3/12 runs, 25 %, 10 seconds, about 30 seconds left`.
fn line(bar: &ProgressBar, elapsed: Duration) -> String {
    let (done, all) = (bar.position(), bar.length().unwrap_or(0));
    let mut parts = vec![bar.prefix()];
    parts.extend((100 * done.min(all)).checked_div(all).map(|percent| format!("{percent} %")));
    parts.push(HumanDuration(elapsed).to_string());
    if 0 < done && done < all {
        let left = elapsed.mul_f64((all - done) as f64 / done as f64);
        parts.push(format!("about {} left", HumanDuration(left)));
    }
    parts.push(bar.message());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

#[test]
fn a_line_says_how_far_the_work_is_and_how_long_it_will_take() {
    let bar = ProgressBar::with_draw_target(Some(400), ProgressDrawTarget::hidden());
    assert_eq!(line(&bar, Duration::from_secs(1)), "0 %, 1 second");
    bar.set_position(100);
    bar.set_prefix("3/12 runs");
    assert_eq!(line(&bar, Duration::from_secs(10)), "3/12 runs, 25 %, 10 seconds, about 30 seconds left");
    bar.set_position(400);
    assert_eq!(line(&bar, Duration::from_secs(40)), "3/12 runs, 100 %, 40 seconds");
}
