//! A table whose cells are texts, such as that of a `[[figure]]`: on the terminal, and as LaTeX, CSV and Markdown.

use std::path::Path;

use anyhow::{Context, Result};

use super::table;
use crate::report::latex::escape;

#[derive(Clone, Debug, PartialEq)]
pub struct TextTable {
    pub caption: String,
    /// The first column has the names of the rows.
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    pub fn render(&self) -> String {
        let header: Vec<&str> = self.header.iter().map(String::as_str).collect();
        format!("{}\n{}\n", self.caption, table(&header, 1, self.rows.clone()))
    }

    /// Writes `STEM.tex`, `STEM.csv` and `STEM.md`.
    pub fn write(&self, stem: &Path) -> Result<()> {
        for (ending, text) in [("tex", self.latex()), ("csv", self.csv()?), ("md", self.markdown())] {
            // Not `with_extension`, which would take the end off a stem such as `figure-3.1`.
            let mut path = stem.as_os_str().to_owned();
            path.push(format!(".{ending}"));
            std::fs::write(&path, text).with_context(|| format!("{} cannot be written", Path::new(&path).display()))?;
        }
        Ok(())
    }

    /// A `tabular` with rules of booktabs, to be put into a document by `\input`.
    fn latex(&self) -> String {
        let line = |cells: &[String]| cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" & ") + " \\\\\n";
        let columns = "r".repeat(self.header.len().saturating_sub(1));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!(
            "% {}\n% Needs \\usepackage{{booktabs}}.\n\\begin{{tabular}}{{l{columns}}}\n\\toprule\n{}\\midrule\n{rows}\
             \\bottomrule\n\\end{{tabular}}\n",
            self.caption.replace('\n', " "),
            line(&self.header)
        )
    }

    fn csv(&self) -> Result<String> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        [&self.header].into_iter().chain(&self.rows).try_for_each(|row| csv.write_record(row))?;
        Ok(String::from_utf8(csv.into_inner()?)?)
    }

    fn markdown(&self) -> String {
        let escaped = |text: &String| text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;");
        let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(escaped).collect::<Vec<_>>().join(" | "));
        let rules = "|---|".to_owned() + &"---:|".repeat(self.header.len().saturating_sub(1));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{rules}\n{rows}\n{}\n", line(&self.header), self.caption)
    }
}

#[test]
fn a_table_of_texts_is_set_by_every_program() {
    let texts = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let table = TextTable {
        caption: "50 % left".into(),
        header: texts(&["", "a_b"]),
        rows: vec![texts(&["x | y", "0.5 ± 0.1"]), texts(&["none", "-"])],
    };
    let latex = table.latex();
    assert!(latex.starts_with("% 50 % left\n"), "{latex}");
    assert!(
        latex.contains("{lr}\n\\toprule\n & a\\_b \\\\\n\\midrule\nx \\textbar{} y & 0.5 $\\pm$ 0.1 \\\\\n"),
        "{latex}"
    );
    assert_eq!(table.csv().expect("CSV"), ",a_b\nx | y,0.5 ± 0.1\nnone,-\n");
    assert!(table.markdown().starts_with("|  | a_b |\n|---|---:|\n| x \\| y | 0.5 ± 0.1 |\n"), "{}", table.markdown());
    assert!(table.render().starts_with("50 % left\n"));
}
