//! The key with which a federation signs receipts: 64 hexadecimal digits in a file that only its owner may read.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

/// Reads the secret key, or makes one, and writes the public key beside it (`.pub`).
///
/// # Errors
/// If the file cannot be read or written, or is no key.
pub fn secret(path: &Path) -> Result<[u8; 32]> {
    if path.exists() {
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        return parse(&text).with_context(|| format!("{} is no key", path.display()));
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| anyhow!("the system gives no random numbers: {error}"))?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || -> std::io::Result<()> {
        let mut file = options.open(path)?;
        writeln!(file, "{}", in_hex(&secret))?;
        file.sync_all()?;
        let public = foltr_federation::receipt::public_key(&secret);
        std::fs::write(path.with_extension("pub"), in_hex(&public) + "\n")
    };
    write().with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(secret)
}

/// A public key: the digits themselves, or a file with them.
///
/// # Errors
/// If it is neither.
pub fn public(text: &str) -> Result<[u8; 32]> {
    if let Ok(key) = parse(text) {
        return Ok(key);
    }
    let content = std::fs::read_to_string(text)
        .with_context(|| format!("--key: `{text}` is neither 64 hexadecimal digits nor a file that can be read"))?;
    parse(&content).with_context(|| format!("{text} is no key"))
}

/// As digits.
pub fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse(text: &str) -> Result<[u8; 32]> {
    let text = text.trim();
    let wrong = || anyhow!("expected 64 hexadecimal digits");
    if text.len() != 64 || !text.is_ascii() {
        return Err(wrong());
    }
    let mut key = [0; 32];
    for (byte, i) in key.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[i..i + 2], 16).map_err(|_| wrong())?;
    }
    Ok(key)
}
