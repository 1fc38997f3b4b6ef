//! `run`: the agent answers on a page of this machine.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

use super::folders;
use crate::agent::{Agent, Settings};
use crate::home::{Address, Home};
use crate::page;
use crate::scan::Machine;
use crate::service::Service;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Folders to make searchable first.
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The port of the page; any that is free when absent.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Open the page in the browser.
    #[arg(long)]
    open: bool,
    /// Keep results strictly in the order of their scores. Nothing is learnt from clicks then.
    #[arg(long)]
    no_exploration: bool,
    /// Never mix results with plain BM25's to compare both.
    #[arg(long)]
    no_comparison: bool,
}

pub(super) fn run(home: Home, arguments: &RunArgs) -> Result<()> {
    let settings = Settings {
        no_exploration: arguments.no_exploration,
        no_comparison: arguments.no_comparison,
        ..Settings::default()
    };
    let agent = Agent::open(home.clone(), settings)?;
    folders::add_all(&agent, &arguments.folders)?;
    let service = Arc::new(Service::new(agent, folders::extractor()?, Box::<Machine>::default()));
    let page = page::Page::bind(Arc::clone(&service), arguments.port)
        .with_context(|| format!("port {} of this machine", arguments.port))?;
    let (port, token) = (page.port(), page.token().to_owned());
    home.write_address(&Address { port, token, process: std::process::id() })?;
    let url = page.url();
    writeln!(
        std::io::stdout(),
        "{url}\nWhoever has this address can search your files: do not pass it on. Ctrl-C stops."
    )?;
    let stopped = Arc::clone(&service);
    ctrlc::set_handler(move || stopped.stop())?;
    if arguments.open {
        launch(&home, &url)?;
    }
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| service.work());
        scope.spawn(|| service.sync());
        let ended = page.serve();
        service.stop();
        ended
    });
    home.remove_address()?;
    Ok(ended?)
}

/// The address is a secret, and other users can read command lines: the browser gets a file that only this user can read,
/// which leads it on. A browser that is not there is no reason to stop: the address was printed.
fn launch(home: &Home, url: &str) -> Result<()> {
    let path = home.folder().join("open.html");
    let page = format!(
        "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={url}\"><title>foltr-agent</title>\n"
    );
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    file.write_all(page.as_bytes())?;
    let started = Command::new("xdg-open").arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Ok(mut child) = started {
        std::thread::spawn(move || child.wait());
    }
    Ok(())
}

pub(super) fn open_page(home: &Home) -> Result<()> {
    let address = home.address().context("no agent runs: foltr-agent run")?;
    let url = format!("http://127.0.0.1:{}/{}/", address.port, address.token);
    launch(home, &url)?;
    writeln!(std::io::stdout(), "{url}")?;
    Ok(())
}
