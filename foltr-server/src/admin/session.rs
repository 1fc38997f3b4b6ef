//! Sessions of the dashboard: cookies that the server need not remember, so that every replica takes them.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use foltr_federation::Fingerprint;
use rand::TryRng;
use rand::rngs::SysRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// How long a session lasts: half a day.
pub const SESSION_SECONDS: u64 = 12 * 3600;

const KEY_NAME: &[u8] = b"foltr session key\n";
const FORM_NAME: &[u8] = b"foltr form token\n";
const CONTEXT: &[u8] = b"foltr dashboard session 1";

const N_NONCE: usize = 24;
/// The secret and the expiry.
const N_CONTENT: usize = 32 + 8;
const N_TAG: usize = 16;

/// An operator who has logged in.
pub struct Session {
    secret: Zeroizing<[u8; 32]>,
    nonce: [u8; N_NONCE],
}

impl Session {
    /// The value of a new session; nothing if the system gives no random bytes.
    pub(super) fn begin(secret: Zeroizing<[u8; 32]>, hash: &Fingerprint, now: u64) -> Option<String> {
        let mut nonce = [0; N_NONCE];
        SysRng.try_fill_bytes(&mut nonce).ok()?;
        let expiry = now.saturating_add(SESSION_SECONDS);
        let content = Zeroizing::new([secret.as_slice(), &expiry.to_le_bytes()].concat());
        let sealed = cipher(hash).encrypt(&XNonce::from(nonce), Payload { msg: &content, aad: CONTEXT }).ok()?;
        Some([nonce.as_slice(), &sealed].concat().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(super) fn open(value: &str, hash: &Fingerprint, now: u64) -> Option<Self> {
        let bytes: [u8; N_NONCE + N_CONTENT + N_TAG] = bytes_of(value)?;
        let (nonce, sealed) = bytes.split_first_chunk::<N_NONCE>()?;
        let opened = cipher(hash).decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: CONTEXT }).ok()?;
        let opened = Zeroizing::new(opened);
        let (secret, expiry) = opened.split_first_chunk::<32>()?;
        let is_secret = Fingerprint::of(secret).as_bytes().ct_eq(hash.as_bytes());
        let expiry = u64::from_le_bytes(expiry.try_into().ok()?);
        (bool::from(is_secret) && now < expiry).then(|| Self { secret: Zeroizing::new(*secret), nonce: *nonce })
    }

    /// What every form of this session carries: a page of somebody else does not know it.
    pub fn form_token(&self) -> String {
        let named = Zeroizing::new([FORM_NAME, self.secret.as_slice(), &self.nonce].concat());
        Fingerprint::of(&named).to_string()
    }

    pub fn is_form_token(&self, token: &str) -> bool {
        self.form_token().as_bytes().ct_eq(token.as_bytes()).into()
    }
}

fn cipher(hash: &Fingerprint) -> XChaCha20Poly1305 {
    let key = Fingerprint::of(&[KEY_NAME, hash.as_bytes()].concat());
    XChaCha20Poly1305::new(key.as_bytes().into())
}

fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |idx: usize| char::from(pair[idx]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(bytes)
}
