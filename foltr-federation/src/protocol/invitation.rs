//! What a person hands to a device so that it can join: where the federation is, whose signatures it takes, and the secret
//! that lets it in. One line of text: `ADDRESS#KEY.SECRET`.
//!
//! Paths are signed and names are compared byte by byte, so that an address has one form only: what programs would write
//! in another way (percent signs, dots that climb, a slash at the end) is refused.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use zeroize::Zeroizing;

use crate::fingerprint::{Fingerprint, hexadecimal};

/// Far more than any address needs.
const MOST_BYTES: usize = 1024;

/// Written and read as `ADDRESS#KEY.SECRET`. Whoever has the text can enrol a device: show it to nobody else.
///
/// ```
/// use foltr_federation::Fingerprint;
/// use foltr_federation::protocol::Invitation;
///
/// let key = Fingerprint::of(b"the federation's key");
/// let invitation = Invitation::new("https://search.example.org:8443/v1/federations/wards", key, [7; 32])?;
/// assert_eq!(invitation.path(), "/v1/federations/wards");
/// assert_eq!(format!(" {invitation}\n").parse::<Invitation>()?, invitation);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Requests go below it.
    pub address: String,
    /// The fingerprint of the key by which the federation signs.
    pub key: Fingerprint,
    /// Erased from memory when dropped.
    secret: Zeroizing<[u8; 32]>,
}

/// Why a text is no invitation. The secret is in none of them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvitationError {
    #[error("an invitation is ADDRESS#KEY.SECRET, and this text has no `#`: copy all of it")]
    NoKey,
    #[error("an invitation is ADDRESS#KEY.SECRET, and there is no `.` behind the key: copy all of it")]
    NoSecret,
    #[error("the key of an invitation must be 64 hexadecimal digits in lower case; this one has {got} characters")]
    Key { got: usize },
    #[error("the secret of an invitation must be 64 hexadecimal digits in lower case; this one has {got} characters")]
    Secret { got: usize },
    #[error("the address has {got} bytes; at most {MOST_BYTES} are read")]
    TooLong { got: usize },
    #[error("character {at} of the address is a blank or not ASCII; an address has neither")]
    Character { at: usize },
    #[error("the address must begin with https://, or with http:// on this machine")]
    Scheme,
    #[error("the address has a user or a password before an `@`; it must have none")]
    UserInfo,
    #[error(
        "`{host}` is no host; right would be a name in small letters such as search.example.org, or a number such as \
         192.0.2.1 or [::1]"
    )]
    Host { host: String },
    #[error("`{port}` is no port; right would be a number from 1 to 65535, and none where it is the usual one")]
    Port { port: String },
    #[error(
        "http:// is not encrypted and goes to this machine only (localhost, 127.0.0.1, [::1]); for `{host}` use https://"
    )]
    NotEncrypted { host: String },
    #[error("the address has a query or a fragment; it must end before the `?` or `#`")]
    Query,
    #[error("the address ends with a slash; leave it out")]
    TrailingSlash,
    #[error(
        "`{path}` is no path of a federation; right would be /v1/federations/NAME, of letters, digits and any of - . _ ~ \
         between the slashes"
    )]
    Path { path: String },
}

impl Invitation {
    /// To the federation at this address, such as `https://search.example.org:8443/v1/federations/wards`.
    pub fn new(address: impl Into<String>, key: Fingerprint, secret: [u8; 32]) -> Result<Self, InvitationError> {
        let (address, secret) = (address.into(), Zeroizing::new(secret));
        check_address(&address)?;
        Ok(Self { address, key, secret })
    }

    /// To be shown once, when the device enrols. A server compares it in constant time.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The part of the address that requests are signed with; it begins with `/v1/`.
    pub fn path(&self) -> &str {
        let behind = self.address.split_once("://").map_or("", |(_, behind)| behind);
        behind.find('/').map_or("", |at| &behind[at..])
    }

    /// Whether nobody on the way can read along. What is not encrypted stays on this machine.
    pub fn is_encrypted(&self) -> bool {
        self.address.starts_with("https://")
    }
}

impl fmt::Display for Invitation {
    /// The whole invitation, with its secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}.", self.address, self.key)?;
        self.secret.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Invitation {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation({}#{}, and a secret)", self.address, self.key)
    }
}

impl FromStr for Invitation {
    type Err = InvitationError;

    /// White space around it is ignored: people paste.
    fn from_str(text: &str) -> Result<Self, InvitationError> {
        let (address, rest) = text.trim().split_once('#').ok_or(InvitationError::NoKey)?;
        check_address(address)?;
        let (key, secret) = rest.split_once('.').ok_or(InvitationError::NoSecret)?;
        let key = hexadecimal::parse(key).ok_or_else(|| InvitationError::Key { got: key.chars().count() })?;
        let parsed =
            hexadecimal::parse(secret).ok_or_else(|| InvitationError::Secret { got: secret.chars().count() })?;
        Self::new(address, Fingerprint::from_bytes(key), parsed)
    }
}

fn check_address(address: &str) -> Result<(), InvitationError> {
    if address.len() > MOST_BYTES {
        return Err(InvitationError::TooLong { got: address.len() });
    }
    if let Some(at) = address.chars().position(|character| !character.is_ascii_graphic()) {
        return Err(InvitationError::Character { at: at + 1 });
    }
    if address.contains(['?', '#']) {
        return Err(InvitationError::Query);
    }
    let (scheme, behind) = address.split_once("://").ok_or(InvitationError::Scheme)?;
    let (authority, path) = behind.split_at(behind.find('/').unwrap_or(behind.len()));
    let host = check_authority(authority)?;
    // Budgets are remembered by the address, so that each federation has one.
    if host.contains(|letter: char| letter.is_ascii_uppercase()) {
        return Err(InvitationError::Host { host: host.into() });
    }
    let usual = if scheme == "https" { ":443" } else { ":80" };
    if authority.ends_with(usual) && authority.len() == host.len() + usual.len() {
        return Err(InvitationError::Port { port: usual[1..].into() });
    }
    match scheme {
        "https" => {}
        "http" if is_loopback(host) => {}
        "http" => return Err(InvitationError::NotEncrypted { host: host.into() }),
        _ => return Err(InvitationError::Scheme),
    }
    check_path(path)
}

/// The host, if it and its port could be some.
fn check_authority(authority: &str) -> Result<&str, InvitationError> {
    if authority.contains('@') {
        return Err(InvitationError::UserInfo);
    }
    // The colons of a number in brackets are none of a port.
    let end = authority.find(']').map_or(0, |at| at + 1);
    let colon = authority[end..].find(':').map(|at| end + at);
    let (host, port) = authority.split_at(colon.unwrap_or(authority.len()));
    if !is_host(host) {
        return Err(InvitationError::Host { host: host.into() });
    }
    match port.strip_prefix(':') {
        Some(port) if !is_port(port) => Err(InvitationError::Port { port: port.into() }),
        _ => Ok(host),
    }
}

fn is_host(host: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let is_of_number = |letter: char| letter.is_ascii_hexdigit() || matches!(letter, ':' | '.');
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(number) => number.contains(':') && number.chars().all(is_of_number),
        None => host.split('.').all(|label| !label.is_empty() && label.chars().all(is_of_name)),
    }
}

fn is_port(port: &str) -> bool {
    is_decimal(port) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// `localhost`, 127.x.x.x or `[::1]`: what never leaves the machine.
fn is_loopback(host: &str) -> bool {
    let is_byte = |part: &str| is_decimal(part) && part.parse::<u8>().is_ok();
    let is_number = || host.starts_with("127.") && host.split('.').count() == 4 && host.split('.').all(is_byte);
    host == "localhost" || host == "[::1]" || is_number()
}

/// Digits without a zero in front, which some would read as octal.
fn is_decimal(digits: &str) -> bool {
    let has_one_form = digits == "0" || !digits.starts_with('0');
    !digits.is_empty() && has_one_form && digits.chars().all(|digit| digit.is_ascii_digit())
}

fn check_path(path: &str) -> Result<(), InvitationError> {
    if path.ends_with('/') {
        return Err(InvitationError::TrailingSlash);
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_' | '~');
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.chars().all(is_plain);
    match path.strip_prefix("/v1/") {
        Some(rest) if rest.split('/').all(is_segment) => Ok(()),
        _ => Err(InvitationError::Path { path: path.into() }),
    }
}

#[cfg(test)]
mod tests;
