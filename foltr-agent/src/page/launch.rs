//! Opens a file with the program that the desktop has for it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const OPENER: &str = "xdg-open";

#[derive(Clone, Debug, Default)]
pub(super) struct Launcher {
    /// In place of what is on the path.
    pub program: Option<PathBuf>,
}

impl Launcher {
    /// Returns what went wrong, in words. No shell reads the name of the file.
    pub fn open(&self, file: &Path) -> Result<(), String> {
        if !file.is_absolute() || !file.exists() {
            return Err("the file is not there any more".into());
        }
        if is_starter(file) {
            return Err("it would start a program; open it from its folder if you want that".into());
        }
        let program = self.program.clone().or_else(|| on_path(&std::env::var_os("PATH").unwrap_or_default()));
        let Some(program) = program else {
            return Err(format!("{OPENER} was not found, which knows the program for a file"));
        };
        let mut command = Command::new(program);
        command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C in the agent's terminal is not meant for what was opened.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| format!("{OPENER} cannot be started: {error}"))?;
        // Some desktops keep it until the document is closed.
        let reaper = std::thread::Builder::new().name("opened".into()).stack_size(64 << 10);
        reaper.spawn(move || child.wait()).map(drop).map_err(|error| error.to_string())
    }
}

/// Desktops may run what such a file names.
fn is_starter(file: &Path) -> bool {
    file.extension().and_then(OsStr::to_str).is_some_and(|it| it.eq_ignore_ascii_case("desktop"))
}

fn on_path(path: &OsStr) -> Option<PathBuf> {
    // A relative folder would be one of the folder where the agent was started.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(OPENER)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_in_absolute_folders_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(OPENER);
        std::fs::write(&file, "#!/bin/sh\n").expect("written");
        let path = std::env::join_paths([Path::new("."), Path::new(""), folder.path()]).expect("a path");
        assert_eq!(on_path(&path), None, "it cannot be run");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        assert_eq!(on_path(&path), Some(file));
        assert_eq!(on_path(OsStr::new(".:relative")), None);
    }

    #[test]
    fn what_is_gone_or_starts_programs_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let launcher = Launcher { program: Some("/nowhere/xdg-open".into()) };
        let gone = launcher.open(&folder.path().join("gone.txt")).expect_err("gone");
        assert!(gone.contains("not there any more"), "{gone}");
        let starter = folder.path().join("games.Desktop");
        std::fs::write(&starter, "[Desktop Entry]\nExec=false\n").expect("written");
        assert!(launcher.open(&starter).expect_err("refused").contains("start a program"));
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "a").expect("written");
        assert!(launcher.open(&file).expect_err("no program").contains("cannot be started"));
        assert!(launcher.open(Path::new("a.txt")).is_err());
    }
}
