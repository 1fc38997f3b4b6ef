//! `foltr-server invite`.

use anyhow::{Result, bail};
use clap::Subcommand;

use super::{One, name_of, say, service};
use crate::folder::Folder;
use crate::operator::{Action, Done, Operator};

#[derive(Debug, Subcommand)]
pub enum InviteCommand {
    /// Make an invitation and print it. It cannot be shown again.
    New {
        #[command(flatten)]
        one: One,
        /// How many devices may join with it.
        #[arg(long, default_value_t = 1, value_name = "N")]
        uses: u32,
        /// Days until it expires.
        #[arg(long, default_value_t = 7, value_name = "N")]
        days: u64,
        /// What it is for, to find it again.
        #[arg(long, default_value = "", value_name = "TEXT")]
        note: String,
    },
    /// All invitations, without their secrets.
    List(One),
    /// Let nobody in any more with an invitation.
    Revoke {
        #[command(flatten)]
        one: One,
        /// Its number in the list.
        #[arg(value_name = "ID")]
        id: u64,
    },
}

pub fn run(command: &InviteCommand) -> Result<()> {
    let (InviteCommand::New { one, .. } | InviteCommand::List(one) | InviteCommand::Revoke { one, .. }) = command;
    let folder = Folder::open(&one.folder.folder)?;
    super::init::create_missing(&folder)?;
    let (name, service) = (name_of(&folder, one.federation.as_deref())?, service(&folder)?);
    match command {
        InviteCommand::New { uses, days, note, .. } => {
            let seconds = days.saturating_mul(86_400);
            match service.act(&name, &Action::NewInvitation { uses: *uses, seconds, note: note.clone() })? {
                Done::Invitation { invitation, .. } => say(&invitation),
                other => bail!("{other:?} instead of an invitation"),
            }
        }
        InviteCommand::Revoke { id, .. } => {
            service.act(&name, &Action::RevokeInvitation { id: *id })?;
            say(&format!("invitation {id} lets nobody in any more"))
        }
        InviteCommand::List(_) => {
            let overview = service.overview()?;
            let now = overview.now;
            for line in overview.federations.iter().filter(|it| it.name == name).flat_map(|it| &it.invitations) {
                let state = match line {
                    line if line.is_revoked => "revoked".into(),
                    line if line.expires_at <= now => "expired".into(),
                    line if line.uses_left == 0 => "used up".into(),
                    line => format!("{} uses, {} hours left", line.uses_left, (line.expires_at - now) / 3_600),
                };
                say(&format!("{:>5}  {state:<28}  {}", line.id, line.note))?;
            }
            Ok(())
        }
    }
}
