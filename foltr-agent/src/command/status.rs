//! `status`, and what `explain` says about privacy.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Result;
use clap::Args;

use super::reach::{FullStatus, Reach};
use crate::agent::{AgentStatus, Measured};
use crate::home::Home;
use crate::page::words;
use crate::service::Indexing;

/// With fewer lists the interval of the comparison says nothing.
const LEAST_COMPARED: u64 = 20;
/// Skipped files that are named.
const MOST_SKIPPED: usize = 10;

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn status(home: Home, arguments: &StatusArgs) -> Result<()> {
    let status = Reach::of(home)?.status()?;
    let text = if arguments.json { serde_json::to_string_pretty(&status)? } else { in_words(&status) };
    Ok(writeln!(std::io::stdout(), "{}", text.trim_end())?)
}

fn in_words(FullStatus { agent, indexing }: &FullStatus) -> String {
    let mut text = String::new();
    if let Some(problem) = &agent.problem {
        let _ = writeln!(text, "problem: {problem}");
    }
    if agent.is_paused {
        let _ = writeln!(text, "paused: nothing is recorded, learnt or sent");
    }
    let _ =
        writeln!(text, "{} documents in {} files of {} folders", agent.n_documents, agent.n_files, agent.folders.len());
    for folder in &agent.folders {
        let gone = if folder.is_there { "" } else { " (not there now)" };
        let _ = writeln!(text, "  {}{gone}", folder.path);
    }
    text += &indexing.as_ref().map_or_else(|| "no agent runs: files are not watched\n".to_owned(), working);
    if agent.n_skipped > 0 {
        let _ = writeln!(text, "{} files are not in the index:", agent.n_skipped);
        for file in agent.skipped.iter().take(MOST_SKIPPED) {
            let _ = writeln!(text, "  {}: {}", file.path, file.reason);
        }
        if agent.n_skipped > MOST_SKIPPED {
            let _ = writeln!(text, "  and {} more (status --json)", agent.n_skipped - MOST_SKIPPED);
        }
    }
    text + &quality(&agent.measured) + &learning(agent)
}

fn working(indexing: &Indexing) -> String {
    let mut text = match (&indexing.waits_for, indexing.is_running) {
        (Some(reason), _) => format!("waits to look at files: {reason}\n"),
        (None, true) => format!("looks at files: {} of {}\n", indexing.n_done, indexing.n_files),
        (None, false) => "watches the folders\n".into(),
    };
    for problem in indexing.problem.iter().chain(&indexing.not_watched) {
        let _ = writeln!(text, "  {problem}");
    }
    text
}

fn quality(measured: &Measured) -> String {
    let Measured { n_searches, n_with_opening, comparison, .. } = measured;
    if *n_with_opening == 0 {
        return format!("{n_searches} searches, nothing opened yet\n");
    }
    let mut text = format!(
        "{n_searches} searches, {n_with_opening} with an opening: {:.0} % at rank 1, {:.0} % up to rank 3, {:.1} characters typed\n",
        100.0 * measured.opened_at_rank_1,
        100.0 * measured.opened_up_to_rank_3,
        measured.mean_typed
    );
    text += &match comparison.n_lists {
        n if n < LEAST_COMPARED => format!("  beside plain BM25: {n} lists were compared, too few to say\n"),
        n => format!(
            "  beside plain BM25 in {n} lists: {:+.2} (95 % from {:+.2} to {:+.2}; above 0 is better)\n",
            comparison.preference, comparison.low, comparison.high
        ),
    };
    text
}

fn learning(agent: &AgentStatus) -> String {
    let mut text = format!("learnt alone from {} lists\n", agent.learned.n_lists);
    if let Some(federation) = &agent.federation {
        let _ = writeln!(text, "learns with others: {} ({} messages sent)", federation.address, federation.n_messages);
        let _ = writeln!(text, "  {} of {} lists of the next message", federation.n_lists, federation.n_needed);
    }
    text
}

/// What stays here and what leaves.
pub(super) fn explain(reach: &Reach, json: bool) -> Result<()> {
    let status = reach.status()?.agent;
    let text = if json { serde_json::to_string_pretty(&status)? } else { privacy(&status) };
    Ok(writeln!(std::io::stdout(), "{}", text.trim_end())?)
}

fn privacy(status: &AgentStatus) -> String {
    let learned = &status.learned;
    let mut text = format!(
        "Stored on this machine only:\n  the text of {} documents, to search them\n  {} openings with the words that were typed\n  \
         a model that has learnt from {} lists, and {} lists that are open, with features of their documents\n",
        status.n_documents, learned.n_openings, learned.n_lists, learned.n_open_lists
    );
    for stored in &status.stored {
        let _ = writeln!(text, "    {} x {} ({} bytes)", stored.count, stored.what, stored.bytes);
    }
    match &status.federation {
        None => text += "Sent: nothing. This agent learns alone.\n",
        Some(it) => {
            let _ = writeln!(text, "Sent: {} messages to {}, as device {}", it.n_messages, it.address, it.device);
            let _ = writeln!(text, "Agreed to: {}", it.consent);
            let _ = writeln!(text, "Promised: {}", it.promise.as_deref().unwrap_or("the plan has not been seen yet"));
            if let Some(budget) = &it.budget {
                let _ = writeln!(text, "Privacy budget: {}", words::budget(budget).join(" "));
            }
        }
    }
    text + "Not encrypted by foltr-agent: whoever can read this user's files can read all of it.\n"
}

/// A time in words, such as `3 days ago`.
pub(super) fn age(seconds: i64) -> String {
    let (n, unit) = match seconds {
        ..0 => return "in the future".into(),
        0..60 => return "just now".into(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400..2_592_000 => (seconds / 86_400, "day"),
        2_592_000..31_536_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    format!("{n} {unit}{} ago", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_in_words() {
        let words = [-5, 30, 60, 7_300, 86_400 * 3, 86_400 * 40, 86_400 * 800].map(age);
        let expected =
            ["in the future", "just now", "1 minute ago", "2 hours ago", "3 days ago", "1 month ago", "2 years ago"];
        assert_eq!(words, expected);
    }
}
