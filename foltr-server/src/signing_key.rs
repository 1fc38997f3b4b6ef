//! The federation's signing key: 64 hexadecimal digits in a file that only its owner can read, or in an environment variable.
//! It is never in the database.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use foltr_federation::protocol::SecretKey;
use zeroize::Zeroizing;

use crate::hex;

#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("{path} can be read by others; make it private: chmod 600 {path}")]
    Public { path: String },
    #[error("{path} must have 64 hexadecimal digits in lower case")]
    Content { path: String },
}

fn failed(path: &Path, source: io::Error) -> KeyFileError {
    KeyFileError::File { path: path.display().to_string(), source }
}

pub fn read(path: &Path) -> Result<SecretKey, KeyFileError> {
    let mode = path.metadata().map_err(|error| failed(path, error))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Public { path: path.display().to_string() });
    }
    let text = Zeroizing::new(std::fs::read_to_string(path).map_err(|error| failed(path, error))?);
    parse(&text).ok_or_else(|| KeyFileError::Content { path: path.display().to_string() })
}

pub fn parse(text: &str) -> Option<SecretKey> {
    hex::decode(text.trim()).map(|bytes| SecretKey::from_bytes(&Zeroizing::new(bytes)))
}

/// Writes a secret to a new file. Durable when it returns.
pub fn create(path: &Path, secret: &[u8; 32]) -> Result<(), KeyFileError> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{}", *Zeroizing::new(hex::encode(secret)))?;
        file.sync_all()?;
        sync_folder(path)
    };
    write().map_err(|error| failed(path, error))
}

/// Makes the names in a file's folder durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder)?.sync_all()
}

/// Where the next key lies until the release that names it is published.
pub fn next_file(path: &Path) -> std::path::PathBuf {
    path.with_extension("next")
}

/// The next key takes the place of the present one, if it has not yet.
pub fn replace(path: &Path) -> Result<(), KeyFileError> {
    let rename = || {
        match std::fs::rename(next_file(path), path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.exists() => {}
            renamed => renamed?,
        }
        sync_folder(path)
    };
    rename().map_err(|error| failed(path, error))
}
