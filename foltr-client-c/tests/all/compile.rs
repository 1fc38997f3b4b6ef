//! C programs: compiled by the system's compiler, linked with this library in both ways, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::header::header;

/// How a program gets the library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Linking {
    Dynamic,
    Static,
}

/// A program on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A compiler on the path. That of C may be required.
pub fn compiler(name: &str) -> Option<PathBuf> {
    let found = on_path(name).filter(|_| cfg!(unix));
    if name == "cc" { foltr_test::require("cc", found, "there is no cc on the path") } else { found }
}

/// Runs to a good end.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    output
}

/// A library of this crate as the build of this test left it: beside the test, or one folder up.
fn library(ending: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test");
    let folders = test.ancestors().skip(1).take(2);
    let name = format!("{}foltr_device.{ending}", std::env::consts::DLL_PREFIX);
    let found = folders.map(|folder| folder.join(&name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("there is no {name} beside {} or above", test.display()))
}

/// What the standard library of Rust needs of the system (`rustc --print native-static-libs`).
fn system_libraries() -> &'static [&'static str] {
    if cfg!(target_os = "linux") { &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"] } else { &["-lm"] }
}

/// Compiles a program of this crate into a folder.
pub fn program(source: &str, linking: Linking, folder: &Path) -> Option<PathBuf> {
    let compiler = compiler("cc")?;
    let program = folder.join(format!("{linking:?}").to_lowercase());
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic", "-g", "-I"]);
    command.arg(header().parent().expect("a folder")).arg("-o").arg(&program);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(source));
    match linking {
        Linking::Dynamic => {
            let library = library(std::env::consts::DLL_EXTENSION);
            let folder = library.parent().expect("a folder").display();
            command.arg(&library).arg(format!("-Wl,-rpath,{folder}")).arg("-lpthread");
        }
        Linking::Static => {
            command.arg(library("a")).args(system_libraries());
        }
    }
    run(&mut command);
    Some(program)
}
