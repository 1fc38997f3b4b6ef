//! `foltr rank` and `foltr qrels`: rankings and labels as files for trec_eval and its relatives.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use foltr_simulation::dataset::Dataset;

use super::End;
use crate::cli::{QrelsArgs, RankArgs};
use crate::output::say;
use foltr_experiment::model::Model;
use foltr_experiment::selection::{Part, load, load_for};
use foltr_experiment::spec::Normalisation;
use foltr_report::trec::{check_distinct, write_qrels, write_run};

pub fn rank(arguments: &RankArgs) -> Result<End> {
    let model = Model::read(&arguments.model)?;
    let parts = load_for(&model, &arguments.data, &arguments.selection.selection())?;
    let depth = arguments.depth.map(|depth| depth as usize);
    let content = |out: &mut dyn Write| write_run(out, &parts, &model, (depth, arguments.scores), &arguments.tag);
    write(arguments.out.as_deref(), &parts, content)
}

pub fn qrels(arguments: &QrelsArgs) -> Result<End> {
    let parts = load(&arguments.data, &arguments.selection.selection(), Normalisation::None)?;
    write(arguments.out.as_deref(), &parts, |out| write_qrels(out, &parts, arguments.gain))
}

/// Writes to a file, and says what is in it; or to standard output.
fn write(path: Option<&Path>, parts: &[Part], content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<End> {
    check_distinct(parts)?;
    let Some(path) = path else {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = content(&mut out).and_then(|()| Ok(out.flush()?));
        // Whoever reads may stop reading, as `head` does.
        let stopped = |error: &anyhow::Error| {
            error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
        };
        return match written {
            Err(error) if !stopped(&error) => Err(error),
            _ => Ok(End::Done),
        };
    };
    let failed = || format!("{} cannot be written", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(failed)?);
    content(&mut out)?;
    out.flush().with_context(failed)?;
    let count = |of: fn(&Dataset) -> usize| parts.iter().map(|part| of(&part.data)).sum::<usize>();
    say(format_args!(
        "{}: {} queries, {} documents",
        path.display(),
        count(Dataset::n_queries),
        count(Dataset::n_docs)
    ));
    Ok(End::Done)
}
