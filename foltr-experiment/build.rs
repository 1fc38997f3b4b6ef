//! Gives the program a hash of everything that its numbers depend on, so that results of other code are never reused.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

/// The crates that compute numbers; tables, figures and commands do not.
const COMPUTING: [&str; 6] = [
    "../foltr-rank/src",
    "../foltr-federation/src",
    "../foltr-simulation/src",
    "../foltr-mimic/src",
    "src",
    "../Cargo.lock",
];

fn main() {
    let mut hash = Xxh3::new();
    for part in COMPUTING {
        println!("cargo::rerun-if-changed={part}");
        for file in files(Path::new(part)) {
            hash.update(file.to_string_lossy().as_bytes());
            let content = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            hash.update(&(content.len() as u64).to_le_bytes());
            hash.update(&content);
        }
    }
    println!("cargo::rustc-env=FOLTR_CODE_HASH={:016x}", hash.digest());
}

/// A file, or all files below a folder, in the order of their names.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return if path.exists() { vec![path.into()] } else { Vec::new() };
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut inside: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    inside.sort();
    inside.iter().flat_map(|path| files(path)).collect()
}
