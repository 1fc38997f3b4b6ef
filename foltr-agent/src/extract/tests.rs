//! Files of all kinds through workers that are this test binary, documents made to do harm, and workers that lie.

mod hostile;
mod lying;
mod parsers;
mod samples;
mod throughput;

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::child::{self, Parser};
use super::*;
use crate::document::{Kind, Text};

/// Which worker the binary is, if it is one.
const VARIABLE: &str = "FOLTR_TEST_WORKER";
/// Its test, which is nothing else than a worker.
const ENTRY: &str = "extract::tests::worker";

#[test]
fn worker() {
    let Some(which) = std::env::var_os(VARIABLE) else { return };
    let which = which.to_str().expect("names are ASCII");
    match which {
        "real" => run_child(),
        name => match hostile::parser(name) {
            Some(parser) => child::serve(parser),
            None => lying::lie(name),
        },
    }
}

pub(crate) fn program(worker: &str) -> Program {
    Program {
        path: std::env::current_exe().expect("a test binary"),
        arguments: ["--exact", ENTRY, "--nocapture", "--test-threads=1"].map(Into::into).to_vec(),
        variables: vec![(VARIABLE.into(), worker.into())],
    }
}

fn extractor(worker: &str, limits: Limits) -> Extractor {
    Extractor::new(program(worker), limits)
}

/// A folder for files of a test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for temporary files"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file");
        path
    }
}

/// The only text of bytes in a file of this name, in this process.
fn parsed(name: &str, bytes: &[u8]) -> Result<Text, Reason> {
    let mut texts = all_parsed(name, bytes)?;
    assert_eq!(texts.len(), 1, "{name}");
    Ok(texts.remove(0))
}

fn all_parsed(name: &str, bytes: &[u8]) -> Result<Vec<Text>, Reason> {
    let format = Format::of(Path::new(name), &bytes[..bytes.len().min(4096)])?;
    let (request, mut texts) = (parse::Request { format, name: name.into() }, Vec::new());
    parse::parse(&request, &mut std::io::Cursor::new(bytes), &Limits::default(), &mut |text| {
        texts.push(text);
        Ok(())
    })?;
    Ok(texts)
}
