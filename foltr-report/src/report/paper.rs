//! A folder for a LaTeX document: tables to `\input`, figures to `\includegraphics`, and a document that has all of them.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::figures::{Section, SectionFigure};
use super::latex::escape;
use super::page::Page;
use crate::plot::{self, Figure, Format, Length};

/// Of a column and of a page with two of them, in points: 8.4 and 17.4 cm.
const COLUMN: Length = Length(238.0);
const PAGE: Length = Length(493.0);
/// So many floats at most wait for a page of their own.
const FLOATS_A_PAGE: usize = 4;

const HEAD: &str = r"% An example: every table and figure of this folder. Copy what you need into your own document.
% Tables need booktabs (rules) and amssymb (marks of tests), figures need graphicx.
\documentclass[10pt]{article}
\usepackage[a4paper, margin=1.8cm]{geometry}
\usepackage{booktabs}
\usepackage{amssymb}
\usepackage{graphicx}
\setlength{\belowcaptionskip}{6pt}
% A table that is wider than the text is made narrower.
\newcommand{\fitted}[1]{\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{#1}}
\begin{document}
";

impl Page {
    /// Writes tables and figures, in all their formats, and `main.tex` unless it is there; returns whether it was not.
    pub fn write_paper(&self, folder: &Path, format: &Format) -> Result<bool> {
        let [tables, figures] = ["tables", "figures"].map(|name| folder.join(name));
        for folder in [&tables, &figures] {
            std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        }
        self.write_tables(&tables)?;
        self.figures().collect::<Vec<_>>().into_par_iter().try_for_each(|(_, it)| {
            let format = Format { without_title: true, ..in_column(&it.figure, &self.format_of(it, format)) };
            plot::write(&it.figure.clone().formatted(&format), &figures.join(&it.file_name)).map(drop)
        })?;
        let example = folder.join("main.tex");
        let is_new = !example.exists();
        if is_new {
            let text = self.example();
            std::fs::write(&example, text).with_context(|| format!("{} cannot be written", example.display()))?;
        }
        Ok(is_new)
    }

    fn example(&self) -> String {
        let mut floats: Vec<String> = Vec::new();
        for table in &self.tables {
            let notes = table.notes.iter().map(|note| escape(note)).collect::<Vec<_>>().join(" ");
            let caption = format!("{} {notes}", escape(&table.caption));
            floats.push(format!(
                "\\begin{{table}}[htbp]\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\fitted{{\\input{{tables/{}}}}}\n\\end{{table}}\n",
                caption.trim_end(),
                table.id,
                table.id
            ));
        }
        for (section, it) in self.figures() {
            floats.push(format!(
                "\\begin{{figure}}[htbp]\n\\centering\n\\includegraphics{{figures/{}.pdf}}\n\\caption{{{}}}\n\\label{{fig:{}}}\n\\end{{figure}}\n",
                it.file_name,
                escape(&figure_caption(section, it)),
                it.file_name
            ));
        }
        let mut out = HEAD.to_owned();
        for floats in floats.chunks(FLOATS_A_PAGE) {
            let _ = writeln!(out, "{}\\clearpage", floats.concat());
        }
        out + "\\end{document}\n"
    }
}

/// As wide as a column; figures with several panels, groups or cells side by side as wide as a page.
fn in_column(figure: &Figure, format: &Format) -> Format {
    let n_columns = match figure {
        Figure::Curves(figure) => figure.rows.iter().map(|row| row.panels.len()).max().unwrap_or(1),
        Figure::Bars(figure) => (figure.groups.len() * figure.methods.len()).div_ceil(8),
        Figure::HeatMap(figure) => figure.columns.len().div_ceil(3),
    };
    let width = format.width.unwrap_or(if n_columns > 1 { PAGE } else { COLUMN });
    Format { width: Some(width), ..format.clone() }
}

fn figure_caption(section: &Section, it: &SectionFigure) -> String {
    // A heat map says first what it shows, which is the title.
    let subtitle = it.figure.subtitle().rsplit(": ").next().unwrap_or_default();
    format!("{}: {} ({subtitle}).", section.title, it.title)
}
