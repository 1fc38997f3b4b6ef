//! The operator's tokens: known to the server by their hashes only.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use foltr_federation::Fingerprint;
use rand::TryRng;
use rand::rngs::SysRng;
use subtle::ConstantTimeEq;
use thiserror::Error;
use zeroize::Zeroizing;

use super::session::Session;

/// Wrong tokens within [`WINDOW`] seconds; who sends another one is told to wait.
const MOST_WRONG: u32 = 10;
const WINDOW: u64 = 60;

/// In front of a token before it is hashed.
const NAME: &[u8] = b"foltr operator token\n";

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenRefused {
    #[error("the operator's token is wrong")]
    Wrong,
    /// Also for a wrong token; a right one is always taken.
    #[error("the operator's token is wrong, as were {MOST_WRONG} within a minute; wait {retry_after} seconds")]
    TooMany { retry_after: u32 },
    #[error("the system gives no random bytes")]
    NoRandomness,
}

#[derive(Debug, Error)]
pub enum TokenFileError {
    #[error("{0}: {1}; `foltr-server token` makes one")]
    File(PathBuf, std::io::Error),
    #[error("{0}: expected hashes of tokens, 64 hexadecimal digits a line; `foltr-server token` makes it anew")]
    Content(PathBuf),
}

/// Decides who is the operator. Replicas that have the same hashes accept the same tokens and sessions.
///
/// A token leads to a secret, and the secret to the stored hash. A session carries the secret, encrypted under a key that
/// follows from the hash. So neither who reads the hashes can make a session, nor can who copies a session prolong it.
pub struct Authority {
    hashes: RwLock<Vec<Fingerprint>>,
    /// Where the hashes are read again.
    file: Option<PathBuf>,
    wrong: Mutex<WrongTokens>,
}

/// How many since when.
#[derive(Default)]
struct WrongTokens {
    since: u64,
    count: u32,
}

impl Authority {
    /// With the hashes of all tokens that are taken: several while one replaces another.
    pub fn new(hashes: Vec<Fingerprint>) -> Self {
        Self { hashes: RwLock::new(hashes), file: None, wrong: Mutex::default() }
    }

    /// With the hashes in a file, one a line. It is read again for every request, so that a token that was replaced is taken
    /// no longer; a file that cannot be read changes nothing.
    pub fn of_file(file: PathBuf) -> Result<Self, TokenFileError> {
        let hashes = RwLock::new(read_hashes(&file)?);
        Ok(Self { hashes, file: Some(file), wrong: Mutex::default() })
    }

    fn hashes(&self) -> Vec<Fingerprint> {
        match self.file.as_deref().map(read_hashes) {
            Some(Ok(read)) => *self.hashes.write().unwrap_or_else(PoisonError::into_inner) = read,
            Some(Err(error)) => tracing::warn!(%error, "the tokens of before stay in use"),
            None => {}
        }
        self.hashes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A new token of 64 hexadecimal digits, to be shown once, and its hash, to be stored.
    pub fn new_token() -> Result<(Zeroizing<String>, Fingerprint), TokenRefused> {
        let mut bytes = Zeroizing::new([0; 32]);
        SysRng.try_fill_bytes(bytes.as_mut()).map_err(|_| TokenRefused::NoRandomness)?;
        let token = Zeroizing::new(Fingerprint::from_bytes(*bytes).to_string());
        let hash = Self::hash_of(&token);
        Ok((token, hash))
    }

    /// What is stored of a token.
    pub fn hash_of(token: &str) -> Fingerprint {
        Fingerprint::of(secret_of(token).as_ref())
    }

    /// Whether somebody is the operator. `now` is in seconds since 1970.
    pub fn check(&self, token: &str, now: u64) -> Result<(), TokenRefused> {
        self.find(token, now).map(|_| ())
    }

    /// The value of a cookie that stands for the token for [`super::SESSION_SECONDS`].
    pub fn log_in(&self, token: &str, now: u64) -> Result<String, TokenRefused> {
        let hash = self.find(token.trim(), now)?;
        Session::begin(secret_of(token.trim()), &hash, now).ok_or(TokenRefused::NoRandomness)
    }

    /// The session of a cookie's value, if it is one of these tokens and has not expired.
    pub fn session(&self, value: &str, now: u64) -> Option<Session> {
        self.hashes().iter().find_map(|hash| Session::open(value, hash, now))
    }

    fn find(&self, token: &str, now: u64) -> Result<Fingerprint, TokenRefused> {
        let hash = Self::hash_of(token);
        // Looks at all of them, whichever is right.
        let is_equal = |known: &Fingerprint| bool::from(known.as_bytes().ct_eq(hash.as_bytes()));
        let mut found = self.hashes().into_iter().filter(is_equal).collect::<Vec<_>>();
        found.pop().ok_or_else(|| self.count_wrong(now))
    }

    fn count_wrong(&self, now: u64) -> TokenRefused {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = now.checked_sub(wrong.since).filter(|elapsed| *elapsed < WINDOW);
        let elapsed = elapsed.unwrap_or_else(|| {
            *wrong = WrongTokens { since: now, count: 0 };
            0
        });
        if wrong.count < MOST_WRONG {
            wrong.count += 1;
            return TokenRefused::Wrong;
        }
        TokenRefused::TooMany { retry_after: u32::try_from(WINDOW - elapsed).expect("at most a minute") }
    }
}

fn read_hashes(file: &Path) -> Result<Vec<Fingerprint>, TokenFileError> {
    let text = std::fs::read_to_string(file).map_err(|error| TokenFileError::File(file.to_owned(), error))?;
    let hashes = text.lines().filter(|line| !line.is_empty()).map(|line| crate::hex::decode(line.trim()));
    let hashes: Option<Vec<Fingerprint>> = hashes.map(|hash| hash.map(Fingerprint::from_bytes)).collect();
    hashes.ok_or_else(|| TokenFileError::Content(file.to_owned()))
}

fn secret_of(token: &str) -> Zeroizing<[u8; 32]> {
    let named = Zeroizing::new([NAME, token.as_bytes()].concat());
    Zeroizing::new(*Fingerprint::of(&named).as_bytes())
}
