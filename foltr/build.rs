//! Embeds all experiment files of `specs/`, so that the command finds its entries wherever it runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let specs = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../specs");
    println!("cargo::rerun-if-changed={}", specs.display());
    let mut files = Vec::new();
    collect(&specs, &mut files)?;
    files.sort();
    let mut code = String::from("pub const SPECS: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file.strip_prefix(&specs).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string());
    }
    code += "];\n";
    std::fs::write(Path::new(&std::env::var("OUT_DIR").unwrap_or_default()).join("specs.rs"), code)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
