//! `foltr report`: which folders, what is compared with what, and how figures are set.

use std::path::PathBuf;

use clap::Args;
use foltr_report::plot::{Format, Length};
use foltr_report::report::Choices;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Result folders of `foltr run`.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// What a folder is called, one for each folder in the same order; by default its name.
    #[arg(long = "label", value_name = "TEXT")]
    pub labels: Vec<String>,
    /// Folder for the report; by default the result folder itself, if there is one only.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also write a folder for a LaTeX document: tables to \input, figures to \includegraphics, and main.tex, a document
    /// that has all of them. Figures have no title, and the width of a column or a page unless --width says otherwise.
    #[arg(long, value_name = "DIR")]
    pub paper: Option<PathBuf>,
    /// What everything is compared with, such as method=FPDGD; by default the first label of the axis of methods.
    #[arg(long, value_name = "AXIS=LABEL", value_parser = two_parts)]
    baseline: Option<(String, String)>,
    /// Axis whose labels are panels side by side; by default that of users.
    #[arg(long, value_name = "AXIS")]
    columns: Option<String>,
    /// Axis whose labels are rows of panels; by default that of data.
    #[arg(long, value_name = "AXIS")]
    rows: Option<String>,
    /// Width of figures on paper, such as 8.5cm or 3.3in; as wide as they need when absent.
    #[arg(long, value_name = "LENGTH")]
    width: Option<Length>,
    /// Height of figures on paper.
    #[arg(long, value_name = "LENGTH")]
    height: Option<Length>,
    /// Size of letters in figures, in points [default: 8 for figures with a size]. They are smaller where a figure has more
    /// in it than its width allows.
    #[arg(long, value_name = "POINTS", value_parser = points)]
    font_size: Option<f64>,
    /// Figures without title and subtitle.
    #[arg(long)]
    no_title: bool,
    /// Name of the horizontal axis of learning curves.
    #[arg(long, value_name = "TEXT")]
    x_label: Option<String>,
    /// Name of the vertical axis in figures of a metric, such as test-ndcg@10=nDCG@10; may be given several times.
    #[arg(long = "y-label", value_name = "METRIC=TEXT", value_parser = two_parts)]
    y_labels: Vec<(String, String)>,
}

impl ReportArgs {
    pub fn choices(&self) -> Choices {
        let Self { baseline, columns, rows, y_labels, .. } = self;
        let (baseline, columns, rows, y_labels) = (baseline.clone(), columns.clone(), rows.clone(), y_labels.clone());
        Choices { baseline, columns, rows, y_labels }
    }

    pub fn format(&self) -> Format {
        Format {
            width: self.width,
            height: self.height,
            font_size: self.font_size,
            without_title: self.no_title,
            x_label: self.x_label.clone(),
            y_label: None,
        }
    }
}

/// `method=FPDGD`: what stands before and after the first equals sign.
fn two_parts(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    parts.map(|(name, value)| (name.into(), value.into())).ok_or_else(|| "expected NAME=VALUE".into())
}

fn points(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches("pt").parse::<f64>().ok().filter(|size| (1.0..=100.0).contains(size));
    number.ok_or_else(|| "expected a number of points between 1 and 100, such as 9".into())
}
