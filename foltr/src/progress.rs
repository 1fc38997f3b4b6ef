//! Progress bars on standard error.

use foltr_experiment::execute::Event;
use foltr_report::table::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error; hidden when that is not a terminal.
fn bar(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("per_sec", |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{} interactions/s", grouped(state.per_sec() as u64));
    });
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)).with_style(style)
}

/// Of interactions.
pub fn progress_bar() -> ProgressBar {
    bar("{prefix} {wide_bar:.cyan/238} {percent:>3} %  {per_sec}  {elapsed} + {eta}  {msg:23}")
}

/// Of steps.
pub fn step_bar() -> ProgressBar {
    bar("{prefix} {wide_bar:.cyan/238} {percent:>3} %  {elapsed} + {eta}  {msg:48}")
}

pub fn show(bar: &ProgressBar, event: Event) {
    match event {
        Event::Started { work } => {
            bar.reset();
            bar.set_length(work);
        }
        Event::Advanced { work, message } => {
            bar.inc(work);
            if let Some(message) = message {
                bar.set_message(message);
            }
        }
        Event::Runs { n_done, n_requested } => bar.set_prefix(format!("{n_done}/{n_requested} runs")),
        Event::Ended => bar.finish_and_clear(),
    }
}
