//! What a form of the dashboard asks for.

use thiserror::Error;

use crate::admin::form::{Form, FormError};
use crate::operator::Action;

/// What [`Form`] and the fields of the page allow.
pub(super) const MOST_USES: u64 = 1_000_000;
pub(super) const MOST_DAYS: u64 = 3650;
pub(super) const LONGEST_NOTE: usize = 200;

const DAY: u64 = 24 * 3600;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum ActionError {
    #[error("{0}")]
    Form(#[from] FormError),
    #[error("there is no action {0:?}")]
    Unknown(String),
    #[error("the note has {0} letters; expected at most {LONGEST_NOTE}")]
    LongNote(usize),
    #[error("the device id is {0:?}; expected 64 hexadecimal digits")]
    Device(String),
}

/// What is asked before something is done that cannot be undone.
pub(super) struct Question {
    pub(super) title: String,
    pub(super) consequence: &'static str,
    pub(super) button: &'static str,
}

pub(super) fn of(form: &Form) -> Result<Action, ActionError> {
    Ok(match form.text("action")? {
        "new-invitation" => new_invitation(form)?,
        "revoke-invitation" => Action::RevokeInvitation { id: form.number("id", 0, u64::MAX)? },
        "hold" => Action::Hold,
        "resume" => Action::Resume,
        "close-round" => Action::CloseRound,
        "roll-back" => Action::RollBack { version: form.number_32("version")? },
        "revoke-device" => Action::RevokeDevice { device: device(form)? },
        "forget" => Action::Forget { device: device(form)? },
        "rotate-key" => Action::RotateKey,
        other => return Err(ActionError::Unknown(other.to_owned())),
    })
}

/// As in the form.
pub(super) fn name(action: &Action) -> &'static str {
    match action {
        Action::NewInvitation { .. } => "new-invitation",
        Action::RevokeInvitation { .. } => "revoke-invitation",
        Action::Hold => "hold",
        Action::Resume => "resume",
        Action::CloseRound => "close-round",
        Action::RollBack { .. } => "roll-back",
        Action::RevokeDevice { .. } => "revoke-device",
        Action::Forget { .. } => "forget",
        Action::RotateKey => "rotate-key",
    }
}

/// Nothing for what can be undone, or done again.
pub(super) fn question(action: &Action) -> Option<Question> {
    let (title, consequence, button) = match action {
        Action::RollBack { version } => (
            format!("Roll back to release {version}?"),
            "Its parameters are published as a new release, and a new round begins. Contributions that started from \
                 a release in between are refused.",
            "Roll back",
        ),
        Action::RevokeDevice { device } => (
            format!("Revoke device {device}?"),
            "The server does not know it any more. Its owner needs a new invitation to join again.",
            "Revoke the device",
        ),
        Action::Forget { device } => (
            format!("Forget device {device}?"),
            "What it contributed is removed as far as the plan promises. It cannot be brought back.",
            "Forget the device",
        ),
        Action::RotateKey => (
            "Replace the key of the federation?".to_owned(),
            "A release names a new key, which signs from then on. Make new invitations afterwards: the old ones \
                 name the old key.",
            "Replace the key",
        ),
        Action::NewInvitation { .. }
        | Action::RevokeInvitation { .. }
        | Action::Hold
        | Action::Resume
        | Action::CloseRound => return None,
    };
    Some(Question { title, consequence, button })
}

/// What the page says after an action of this name.
pub(super) fn done_text(name: &str) -> Option<&'static str> {
    Some(match name {
        "revoke-invitation" => "The invitation is revoked. Nobody can join with it any more.",
        "hold" => "The federation is held. No task is given out until you resume.",
        "resume" => "The federation goes on.",
        "close-round" => "The round closes with what has come.",
        "roll-back" => "The earlier parameters are published again.",
        "revoke-device" => "The device is revoked.",
        "forget" => "The request to forget is taken. Its state is below.",
        "rotate-key" => "The federation has a new key.",
        _ => return None,
    })
}

fn new_invitation(form: &Form) -> Result<Action, ActionError> {
    let note = form.get("note").unwrap_or_default().trim().to_owned();
    let length = note.chars().count();
    if length > LONGEST_NOTE {
        return Err(ActionError::LongNote(length));
    }
    let uses = u32::try_from(form.number("uses", 1, MOST_USES)?).expect("at most a million, as was checked");
    Ok(Action::NewInvitation { uses, seconds: form.number("days", 1, MOST_DAYS)? * DAY, note })
}

fn device(form: &Form) -> Result<String, ActionError> {
    let device = form.text("device")?.trim().to_ascii_lowercase();
    let is_id = device.len() == 64 && device.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_id.then_some(device.clone()).ok_or(ActionError::Device(device))
}
