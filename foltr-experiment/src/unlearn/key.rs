//! The key with which a federation signs receipts: 64 hexadecimal digits in a file that only its owner may read.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use crate::store;

/// Reads the secret key, or makes one, and writes the public key beside it (`.pub`).
pub fn secret(path: &Path) -> Result<[u8; 32]> {
    if path.exists() {
        return parse(&store::read(path)?).with_context(|| format!("{} is no key", path.display()));
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
pub fn public(text: &str) -> Result<[u8; 32]> {
    if let Ok(key) = parse(text.as_bytes()) {
        return Ok(key);
    }
    let content = std::fs::read(text)
        .with_context(|| format!("--key: `{text}` is neither 64 hexadecimal digits nor a file that can be read"))?;
    parse(&content).with_context(|| format!("{text} is no key"))
}

pub fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse(text: &[u8]) -> Result<[u8; 32]> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = text.trim_ascii().iter().map(digit).collect();
    let digits = digits.filter(|digits| digits.len() == 64).context("expected 64 hexadecimal digits")?;
    Ok(std::array::from_fn(|i| digits[2 * i] << 4 | digits[2 * i + 1]))
}
