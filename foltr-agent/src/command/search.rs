//! `search`, `open` and `explain`: lists in a terminal.

use std::fs::OpenOptions;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::reach::Reach;
use super::status;
use crate::agent::SavedList;
use crate::answer::{Answer, Filter, Hit, ListId, Request, Why};
use crate::document::Kind;
use crate::home::Home;

const DAY: i64 = 86_400;
/// Shares of a score that are worth a line.
const MOST_SHARES: usize = 8;

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// What to look for. The last word may be the beginning of one.
    #[arg(required = true)]
    words: Vec<String>,
    /// Results on a page.
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    number: u32,
    /// Which page of results.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    page: u32,
    /// Only these kinds: text, markdown, html, pdf, office, source, mail.
    #[arg(short, long, value_name = "KIND", value_parser = kind)]
    kind: Vec<Kind>,
    /// Only below this folder.
    #[arg(short, long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Only what was changed in so many days.
    #[arg(short, long, value_name = "N")]
    days: Option<u32>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The number of a result.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    number: u32,
    /// Print the path instead of opening it.
    #[arg(long)]
    print: bool,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The number of a result of the last search.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    number: Option<u32>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// The last list, for other processes.
#[derive(Deserialize, Serialize)]
struct LastSearch {
    /// Known to the process that answered.
    list: ListId,
    process: u32,
    answer: Answer,
    /// For when that process is gone.
    saved: Option<SavedList>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let names = || Kind::ALL.map(Kind::name).join(", ");
    Kind::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| format!("expected one of: {}", names()))
}

pub(super) fn search(home: Home, arguments: &SearchArgs) -> Result<()> {
    let folder = arguments.folder.as_ref().map(|it| it.canonicalize().with_context(|| it.display().to_string()));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |it| it.as_secs() as i64);
    let filter = Filter {
        kinds: arguments.kind.clone(),
        folder: folder.transpose()?,
        changed_since: arguments.days.map(|days| now - i64::from(days) * DAY),
        changed_before: None,
    };
    let most = (arguments.page * arguments.number) as usize;
    // A blank after the words would end the last one.
    let request = Request { words: arguments.words.join(" "), filter, most: Some(most), ..Request::default() };
    let reach = Reach::of(home.clone())?;
    end_last(&home, &reach);
    let answer = reach.search(&request)?;
    if let Some(list) = answer.list {
        reach.seen(list)?;
        remember(&home, &reach, list, &answer)?;
    } else {
        home.forget_last_search()?;
    }
    if arguments.json {
        return print(&serde_json::to_string_pretty(&answer)?);
    }
    let first = ((arguments.page - 1) * arguments.number) as usize;
    let shown = answer.hits.iter().enumerate().skip(first);
    let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text: String = shown.map(|(at, hit)| line(at + 1, hit, now, colours)).collect();
    if answer.hits.is_empty() {
        text = nothing(&reach)?;
    } else {
        text += &format!(
            "{} of {} documents with these words, in {:.1} ms. Open one: foltr-agent open N\n",
            answer.hits.len() - first.min(answer.hits.len()),
            answer.n_matches,
            answer.microseconds as f64 / 1000.0
        );
    }
    print(text.trim_end())
}

fn nothing(reach: &Reach) -> Result<String> {
    let status = reach.status()?.agent;
    Ok(match (status.folders.is_empty(), status.n_documents) {
        (true, _) => "No folder was added yet: foltr-agent add FOLDER".into(),
        (false, 0) => "Nothing was indexed yet: foltr-agent add FOLDER looks at a folder again".into(),
        _ => "No document has these words.".into(),
    })
}

fn line(number: usize, hit: &Hit, now: i64, colours: bool) -> String {
    let style = |code: &str, text: &str| if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let snippet: String = hit
        .snippet
        .iter()
        .map(|it| if it.is_match { style("1;33", &plain(&it.text)) } else { plain(&it.text) })
        .collect();
    let part = if hit.part.is_empty() { String::new() } else { format!(" [{}]", plain(&hit.part)) };
    let age = status::age(now - hit.changed);
    format!(
        "{number:>3}. {}\n     {}{part} - {}, {age}\n     {}\n\n",
        style("1", &plain(&hit.title)),
        style("36", &plain(&hit.path)),
        hit.kind.name(),
        snippet.trim()
    )
}

/// Texts of files must not steer the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

fn print(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn remember(home: &Home, reach: &Reach, list: ListId, answer: &Answer) -> Result<()> {
    let (process, saved) = match reach {
        Reach::Running(_) => (home.address().map_or(0, |it| it.process), None),
        Reach::Here(agent) => (std::process::id(), Some(agent.save_list(list)?)),
    };
    let last = LastSearch { list, process, answer: answer.clone(), saved };
    let path = home.last_search();
    let partial = path.with_extension("partial");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    file.write_all(&serde_json::to_vec(&last)?)?;
    Ok(std::fs::rename(partial, path)?)
}

fn last(home: &Home) -> Result<LastSearch> {
    let path = home.last_search();
    let bytes = std::fs::read(&path).context("there was no search yet: foltr-agent search WORDS")?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged; search again", path.display()))
}

/// Who searches again is done with the list before. It may be over already.
fn end_last(home: &Home, reach: &Reach) {
    if let Ok(last) = last(home)
        && let Ok(list) = list_of(reach, home, &last)
    {
        let _ = reach.left(list);
    }
}

/// The list as the process that answers now knows it.
fn list_of(reach: &Reach, home: &Home, last: &LastSearch) -> Result<ListId> {
    match (reach, &last.saved) {
        (Reach::Running(_), _) if home.address().is_some_and(|it| it.process == last.process) => Ok(last.list),
        (Reach::Here(agent), Some(saved)) => Ok(agent.restore_list(saved.clone())?),
        _ => bail!("the agent was started or stopped since the last search; search again"),
    }
}

pub(super) fn open(home: Home, arguments: &OpenArgs) -> Result<()> {
    let last = last(&home)?;
    let hits = &last.answer.hits;
    let at = arguments.number as usize - 1;
    ensure!(at < hits.len(), "the last search has {} results", hits.len());
    let reach = Reach::of(home.clone())?;
    let list = list_of(&reach, &home, &last)?;
    let path = reach.opened(list, hits[at].document)?;
    remember(&home, &reach, list, &last.answer)?;
    if arguments.print {
        return print(&path);
    }
    let launched =
        Command::new("xdg-open").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match launched {
        Ok(mut child) => {
            child.wait()?;
            Ok(())
        }
        Err(error) => print(&format!("{path}\n(xdg-open cannot be started: {error})")),
    }
}

pub(super) fn explain(home: Home, arguments: &ExplainArgs) -> Result<()> {
    let Some(number) = arguments.number else {
        return status::explain(&Reach::of(home)?, arguments.json);
    };
    let last = last(&home)?;
    let hits = &last.answer.hits;
    let at = number as usize - 1;
    ensure!(at < hits.len(), "the last search has {} results", hits.len());
    let reach = Reach::of(home.clone())?;
    let why = reach.why(list_of(&reach, &home, &last)?, hits[at].document)?;
    if arguments.json {
        return print(&serde_json::to_string_pretty(&why)?);
    }
    print(&in_words(&hits[at], &why))
}

fn in_words(hit: &Hit, why: &Why) -> String {
    let mut text = format!("{}\nplace {} by score", plain(&hit.title), why.rank_by_score);
    if why.rank_by_score != why.rank_shown {
        text += &format!(", shown at place {}: lists vary a little, so that the agent can learn", why.rank_shown);
    }
    text += "\n";
    for share in why.shares.iter().take(MOST_SHARES) {
        text += &format!("{:>+7.2}  {}\n", share.share, share.feature);
    }
    if why.shares.is_empty() {
        text += "nothing sets it apart from the other documents with these words";
    }
    text.trim_end().to_owned()
}
