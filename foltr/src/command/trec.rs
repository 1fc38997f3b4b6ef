//! `foltr rank` and `foltr qrels`: rankings and labels as files for trec_eval and its relatives.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use foltr_simulation::dataset::Dataset;

use serde_json::json;

use super::{End, WrongUsage};
use crate::cli::{Ids, QrelsArgs, RankArgs, SelectionArgs};
use crate::output::{self, chat, note};
use foltr_experiment::model::Model;
use foltr_experiment::selection::{Part, Selection, load, load_for};
use foltr_experiment::spec::Normalisation;
use foltr_report::trec::{check_distinct, write_qrels, write_run};

pub fn rank(arguments: &RankArgs) -> Result<End> {
    check_output(arguments.out.as_deref())?;
    let model = Model::read(&arguments.model)?;
    let selection = with_names(&arguments.selection, arguments.ids);
    let (parts, warnings) = load_for(&model, &arguments.data, &selection)?;
    warnings.iter().for_each(|warning| note(format_args!("warning: {warning}")));
    let depth = arguments.depth.map(|depth| depth as usize);
    let mut n_tied = 0;
    let content = |out: &mut dyn Write| {
        n_tied = write_run(out, &parts, &model, (depth, arguments.scores), &arguments.tag)?;
        Ok(())
    };
    let end = write(arguments.out.as_deref(), &parts, content)?;
    if n_tied > 0 {
        note(format_args!(
            "note: {n_tied} queries have equal scores, which other tools order by document id; --scores rank leaves none"
        ));
    }
    Ok(end)
}

fn with_names(selection: &SelectionArgs, ids: Ids) -> Selection {
    Selection { with_names: ids == Ids::Original, ..selection.selection() }
}

pub fn qrels(arguments: &QrelsArgs) -> Result<End> {
    check_output(arguments.out.as_deref())?;
    let selection = with_names(&arguments.selection, arguments.ids);
    let parts = load(&arguments.data, &selection, Normalisation::None)?;
    write(arguments.out.as_deref(), &parts, |out| write_qrels(out, &parts, arguments.gain))
}

fn check_output(path: Option<&Path>) -> Result<()> {
    if path.is_none() && output::is_json() {
        let message = "--json needs --out: without a file, standard output is for the lines themselves";
        return Err(WrongUsage(message.into()).into());
    }
    Ok(())
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
    let (n_queries, n_documents) = (count(Dataset::n_queries), count(Dataset::n_docs));
    chat(format_args!("{}: {n_queries} queries, {n_documents} documents", path.display()));
    output::answer(&json!({ "file": path, "n_queries": n_queries, "n_documents": n_documents }))?;
    Ok(End::Done)
}
