//! Tables as files: LaTeX for papers, CSV for programs, Markdown for pages.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::latex;
use super::tables::{ResultCell, ResultRow, ResultTable};

impl ResultTable {
    /// Writes `ID.tex`, `ID.csv` and `ID.md`.
    pub fn write(&self, folder: &Path) -> Result<[PathBuf; 3]> {
        let paths = ["tex", "csv", "md"].map(|ending| folder.join(format!("{}.{ending}", self.id)));
        for (path, text) in paths.iter().zip([self.latex(), self.csv()?, self.markdown()]) {
            std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(paths)
    }

    /// How many runs a row has, where all have equally many.
    pub fn n_of_all(&self) -> Option<usize> {
        let first = self.rows.first()?.n;
        self.rows.iter().all(|row| row.n == first).then_some(first)
    }

    /// A `tabular` with rules of booktabs and marks of amssymb, to be put into a document by `\input`. What a caption must
    /// say stands in comments above it.
    pub fn latex(&self) -> String {
        let has_n = self.n_of_all().is_none();
        let mut out = String::new();
        for line in self.caption.lines().chain(self.notes.iter().map(String::as_str)) {
            let _ = writeln!(out, "% {line}");
        }
        out += "% Needs \\usepackage{booktabs} and \\usepackage{amssymb}.\n";
        let numbers = "r".repeat(self.measures.len() + usize::from(has_n));
        let _ = writeln!(out, "\\begin{{tabular}}{{{}{numbers}}}\n\\toprule", "l".repeat(self.axes.len()));
        let heads = self.axes.iter().map(|axis| latex::escape(axis)).chain(self.measures.iter().map(|it| heading(it)));
        let heads: Vec<String> = heads.chain(has_n.then(|| "runs".into())).collect();
        let _ = writeln!(out, "{} \\\\\n\\midrule", heads.join(" & "));
        let is_marked = |column: usize| self.rows.iter().any(|row| row.cells[column].as_ref().is_some_and(has_marks));
        let is_marked: Vec<bool> = (0..self.measures.len()).map(is_marked).collect();
        for (idx, row) in self.rows.iter().enumerate() {
            if idx > 0 && row.is_first {
                out += "\\midrule\n";
            }
            let labels = row.labels.iter().map(|label| latex::escape(&label.text));
            let cells = row.cells.iter().zip(&is_marked).map(|(cell, &is_marked)| latex_cell(cell.as_ref(), is_marked));
            let fields: Vec<String> = labels.chain(cells).chain(has_n.then(|| row.n.to_string())).collect();
            let _ = writeln!(out, "{} \\\\", fields.join(" & "));
        }
        out + "\\bottomrule\n\\end{tabular}\n"
    }

    /// Numbers as they are: mean, half the interval, and the tests in words.
    fn csv(&self) -> Result<String> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        let of_measure = |name: &String| [name.clone(), format!("{name}: half interval"), format!("{name}: tests")];
        let header = self.axes.iter().cloned().chain(self.measures.iter().flat_map(of_measure));
        csv.write_record(header.chain(["runs".into()]))?;
        for row in &self.rows {
            let labels = row.labels.iter().map(|label| label.text.clone());
            let cells = row.cells.iter().flat_map(|cell| {
                cell.as_ref()
                    .map_or_else(Default::default, |it| [it.value.to_string(), it.half_width.clone(), it.test.clone()])
            });
            csv.write_record(labels.chain(cells).chain([row.n.to_string()]))?;
        }
        Ok(String::from_utf8(csv.into_inner()?)?)
    }

    fn markdown(&self) -> String {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
        let line = |fields: Vec<String>| format!("| {} |\n", fields.join(" | "));
        let names = self.axes.iter().chain(&self.measures).map(|name| escaped(name));
        let mut out = line(names.chain(["runs".into()]).collect());
        let rules = self.axes.iter().map(|_| "---").chain(self.measures.iter().map(|_| "---:")).chain(["---:"]);
        let _ = writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"));
        for ResultRow { labels, cells, n, .. } in &self.rows {
            let labels = labels.iter().map(|label| escaped(&label.text));
            let cells = cells.iter().map(|cell| cell.as_ref().map_or_else(|| "–".into(), markdown_cell));
            out += &line(labels.chain(cells).chain([n.to_string()]).collect());
        }
        let texts = [self.caption.as_str()].into_iter().chain(self.notes.iter().map(String::as_str));
        texts.for_each(|text| out += &format!("\n{text}\n"));
        out
    }
}

/// A heading over two lines, so that columns are as narrow as their numbers.
fn heading(name: &str) -> String {
    let parts = name.split_once(" on ").map(|(measure, queries)| (measure.to_owned(), format!("on {queries}")));
    let parts = parts.or_else(|| name.split_once(", ").map(|(measure, how)| (measure.to_owned(), how.to_owned())));
    match parts {
        Some((first, second)) => format!("\\shortstack[r]{{{}\\\\{}}}", latex::escape(&first), latex::escape(&second)),
        None => latex::escape(name),
    }
}

fn has_marks(cell: &ResultCell) -> bool {
    !cell.mark.is_empty() || !cell.query_mark.is_empty()
}

/// In a column with marks every cell has room for them, so that numbers stand below each other.
fn latex_cell(cell: Option<&ResultCell>, is_marked: bool) -> String {
    let Some(cell) = cell else { return "--".into() };
    let mean = if cell.is_best { format!("\\textbf{{{}}}", cell.mean) } else { cell.mean.clone() };
    let half =
        if cell.half_width.is_empty() { String::new() } else { format!(" {{\\small $\\pm$ {}}}", cell.half_width) };
    let marks = latex::marks(cell.mark) + latex::marks(cell.query_mark).as_str();
    let marks = if is_marked { format!("\\makebox[1.3em][l]{{$^{{{marks}}}$}}") } else { String::new() };
    format!("{mean}{half}{marks}")
}

fn markdown_cell(cell: &ResultCell) -> String {
    let mean = if cell.is_best { format!("**{}**", cell.mean) } else { cell.mean.clone() };
    let half = if cell.half_width.is_empty() { String::new() } else { format!(" ± {}", cell.half_width) };
    let marks = [cell.mark, cell.query_mark].concat();
    format!("{mean}{half}{}{marks}", if marks.is_empty() { "" } else { " " })
}
