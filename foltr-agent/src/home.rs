//! The agent's folder: where everything is that it stores. Only its owner can read it.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Names the folder in place of the usual one.
pub const VARIABLE: &str = "FOLTR_AGENT_HOME";

#[derive(Debug, Error)]
pub enum HomeError {
    #[error("there is no folder for data of programs; set {VARIABLE} to one")]
    Nowhere,
    #[error("{folder} cannot be used: {source}", folder = .folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("{folder} is in use by another agent (process {process}); stop it, or use another folder with --home", folder = .folder.display())]
    InUse { folder: PathBuf, process: String },
}

#[derive(Clone, Debug)]
pub struct Home {
    folder: PathBuf,
}

/// How the commands reach the agent that runs in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Address {
    pub port: u16,
    /// Who knows it may search and change everything.
    pub token: String,
    pub process: u32,
}

/// As long as it lives, no other agent uses the folder.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

impl Home {
    /// The folder that was asked for, or the usual one. It is made if it is not there.
    pub fn open(asked: Option<&Path>) -> Result<Self, HomeError> {
        let usual = || Some(dirs::data_dir()?.join("foltr-agent"));
        let of_variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = asked.map(Path::to_owned).or(of_variable).or_else(usual).ok_or(HomeError::Nowhere)?;
        let wrong = |source| HomeError::Folder { folder: folder.clone(), source };
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(wrong)?;
        }
        let folder = folder.canonicalize().map_err(wrong)?;
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).map_err(wrong)?;
        Ok(Self { folder })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is known of files, and what was opened.
    pub fn catalogue(&self) -> PathBuf {
        self.folder.join("catalogue.db")
    }

    /// What was opened.
    pub fn history(&self) -> PathBuf {
        self.folder.join("history.db")
    }

    pub fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// What was learnt.
    pub fn device(&self) -> PathBuf {
        self.folder.join("device")
    }

    /// The last list of the commands, with its words.
    pub fn last_search(&self) -> PathBuf {
        self.folder.join("last-search.json")
    }

    pub fn forget_last_search(&self) -> Result<(), HomeError> {
        match std::fs::remove_file(self.last_search()) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(HomeError::Folder { folder: self.folder.clone(), source })
            }
            _ => Ok(()),
        }
    }

    fn address_file(&self) -> PathBuf {
        self.folder.join("address.json")
    }

    pub fn lock(&self) -> Result<HomeLock, HomeError> {
        let path = self.folder.join("lock");
        let wrong = |source| HomeError::Folder { folder: self.folder.clone(), source };
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                let process = std::fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
                let process = if process.is_empty() { "unknown".into() } else { process };
                return Err(HomeError::InUse { folder: self.folder.clone(), process });
            }
            Err(std::fs::TryLockError::Error(source)) => return Err(wrong(source)),
        }
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(wrong)?;
        Ok(HomeLock { _file: file })
    }

    /// Says how to reach the agent that runs here. The file is whole or absent.
    pub fn write_address(&self, address: &Address) -> io::Result<()> {
        let path = self.address_file();
        let part = path.with_extension("partial");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(&serde_json::to_vec(address)?)?;
        std::fs::rename(part, path)
    }

    /// How to reach the agent that runs here, if one has said so.
    pub fn address(&self) -> Option<Address> {
        serde_json::from_slice(&std::fs::read(self.address_file()).ok()?).ok()
    }

    pub fn remove_address(&self) -> io::Result<()> {
        match std::fs::remove_file(self.address_file()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_for_one_agent_and_its_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::open(Some(&folder.path().join("agent"))).expect("made");
        let mode = std::fs::metadata(home.folder()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let lock = home.lock().expect("free");
        let refused = home.lock().expect_err("in use").to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(lock);
        home.lock().expect("free again");
    }

    #[test]
    fn an_address_is_whole_or_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::open(Some(folder.path())).expect("made");
        assert_eq!(home.address(), None);
        home.remove_address().expect("nothing to do");
        let address = Address { port: 1234, token: "abc".into(), process: 7 };
        home.write_address(&address).expect("written");
        assert_eq!(home.address(), Some(address));
        home.remove_address().expect("removed");
        assert_eq!(home.address(), None);
    }
}
