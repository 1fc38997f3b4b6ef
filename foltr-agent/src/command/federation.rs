//! `join`, `pause`, `resume` and `forget`.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use foltr_client::Consent;
use serde_json::{Value, json};

use super::reach::Reach;
use crate::agent::consent_name;
use crate::home::Home;

#[derive(Debug, Args)]
pub struct JoinArgs {
    /// What somebody of the federation gave you. Treat it like a password.
    invitation: String,
    /// How little of a promise you are content with.
    #[arg(long, value_enum, default_value = "protected-messages")]
    consent: ConsentChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConsentChoice {
    /// What a message says about you must be bounded, whoever reads it.
    ProtectedMessages,
    /// The server may read your messages, and protects you from everybody else.
    TrustedServer,
    /// Nothing needs to be promised.
    NoPromise,
}

#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Do not ask whether this is meant.
    #[arg(long)]
    yes: bool,
}

pub(super) fn join(home: Home, arguments: &JoinArgs) -> Result<()> {
    let consent = match arguments.consent {
        ConsentChoice::ProtectedMessages => Consent::ProtectedMessages,
        ConsentChoice::TrustedServer => Consent::TrustedServer,
        ConsentChoice::NoPromise => Consent::NoPromise,
    };
    let reach = Reach::of(home)?;
    match &reach {
        Reach::Here(agent) => drop(agent.join(&arguments.invitation, consent)?),
        Reach::Running(client) => {
            let body = json!({ "invitation": arguments.invitation, "consent": consent_name(consent) });
            client.post::<Value>("join", &body)?;
        }
    }
    let federation = reach.status()?.agent.federation;
    let Some(federation) = federation else { bail!("the federation was not joined") };
    let promise = federation.promise.as_deref().unwrap_or("its plan has not been seen yet");
    writeln!(std::io::stdout(), "{}\n{promise}", federation.address)?;
    Ok(())
}

pub(super) fn set_paused(home: Home, is_paused: bool) -> Result<()> {
    match (Reach::of(home)?, is_paused) {
        (Reach::Here(agent), true) => agent.pause()?,
        (Reach::Here(agent), false) => agent.resume()?,
        (Reach::Running(client), true) => drop(client.post::<Value>("pause", &json!({}))?),
        (Reach::Running(client), false) => drop(client.post::<Value>("resume", &json!({}))?),
    }
    Ok(())
}

pub(super) fn forget(home: Home, arguments: &ForgetArgs) -> Result<()> {
    if !arguments.yes {
        if !std::io::stdin().is_terminal() {
            bail!("this deletes what was learnt and what was opened; say --yes");
        }
        write!(std::io::stdout(), "Delete what was learnt and what was opened? The index stays. [y/N] ")?;
        std::io::stdout().flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            bail!("nothing was deleted");
        }
    }
    match Reach::of(home)? {
        Reach::Here(agent) => drop(agent.forget()?),
        Reach::Running(client) => drop(client.post::<Value>("forget", &json!({}))?),
    }
    writeln!(std::io::stdout(), "Forgotten.")?;
    Ok(())
}
