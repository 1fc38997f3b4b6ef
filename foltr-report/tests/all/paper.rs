//! Tables and figures as files, and a folder that a LaTeX document includes as it is.

use std::path::Path;
use std::process::Command;

use crate::fabricated::{HOSTILE, level, report, report_of};
use foltr_report::plot::Format;
use foltr_report::report::{Choices, Page, Report};
use foltr_test::ExperimentFile;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page(report: &Report) -> Page {
    Page::of(report, &Choices::default()).expect("a page")
}

/// Labels with everything that LaTeX minds.
fn hostile_labels() -> Report {
    let axis = r#"[grid.axis.method]
"100 % of_a & {b} \\x $y #1 ~^ \"é\" 中" = { "learner.learning_rate" = 0.2 }
"<c> | ε" = { "learner.learning_rate" = 0.3 }
"#;
    let file = ExperimentFile::fpdgd().set("seeds", "[1, 2, 3]").and(axis);
    report_of(&file, |setting, seed| {
        let value = 0.7 - 0.1 * setting as f64 + 0.001 * seed as f64;
        [level("test-ndcg@10", (0, 5), value), level("online-ndcg@10", (1, 5), value)].concat()
    })
}

#[test]
fn every_table_is_latex_csv_and_markdown() {
    let folder = tempfile::tempdir().expect("a folder");
    page(&report(4)).write_tables(folder.path()).expect("written");
    let text = |name: &str| read(&folder.path().join(name));
    let latex = text("final-ranker.tex");
    assert!(latex.contains("\\begin{tabular}{lllr}\n\\toprule\ndata & users & method &"), "{latex}");
    assert!(latex.contains("\\shortstack[r]{nDCG@10\\\\on test queries} \\\\\n\\midrule"), "{latex}");
    assert_eq!(latex.matches("\\midrule").count(), 6, "between users and data\n{latex}");
    assert_eq!(latex.matches("\\makebox[1.3em][l]{$^{\\blacktriangledown}$}").count(), 18, "{latex}");
    assert_eq!(latex.matches("\\textbf{").count(), 6, "{latex}");
    assert!(
        latex.starts_with("% Final ranker, on held-out queries: means over 5 runs, ± half of Student's 95 %"),
        "{latex}"
    );
    assert!(latex.contains("Bonferroni-corrected") && latex.contains("Needs \\usepackage{booktabs}"), "{latex}");
    assert!(!latex.contains(HOSTILE) && latex.contains("\\textless{}script\\textgreater{}"), "{latex}");
    let csv = text("final-ranker.csv");
    assert_eq!(csv.lines().count(), 25);
    let header = "data,users,method,nDCG@10 on test queries,nDCG@10 on test queries: half interval,";
    assert!(csv.starts_with(header), "{csv}");
    let markdown = text("online.md");
    assert!(markdown.starts_with("| data | users | method | online nDCG@10, discounted by round |"), "{markdown}");
    assert_eq!(markdown.lines().filter(|line| line.starts_with('|')).count(), 26);
}

#[test]
fn a_latex_document_includes_the_folder_as_it_is() {
    for (name, report) in [("usual", report(40)), ("hostile", hostile_labels())] {
        let folder = tempfile::tempdir().expect("a folder");
        let paper = folder.path();
        assert!(page(&report).write_paper(paper, &Format::default()).expect("written"));
        let example = read(&paper.join("main.tex"));
        let included = |command: &str| {
            let rest = example.split(command).skip(1).filter_map(|rest| rest.split('}').next());
            rest.map(str::to_owned).collect::<Vec<_>>()
        };
        let (tables, figures) = (included("\\input{"), included("\\includegraphics{"));
        assert!(tables.contains(&"tables/final-ranker".to_owned()), "{tables:?}");
        assert!(figures.contains(&"figures/curves-test-ndcg-10.pdf".to_owned()), "{figures:?}");
        assert!(tables.iter().all(|table| paper.join(format!("{table}.tex")).is_file()));
        assert!(figures.iter().all(|figure| paper.join(figure).is_file()));
        assert!(example.contains("Bonferroni-corrected") && example.contains("\\usepackage{booktabs}"), "{example}");
        std::fs::write(paper.join("main.tex"), example.replace("An example:", "My paper:")).expect("written");
        assert!(!page(&report).write_paper(paper, &Format::default()).expect("written"));
        assert!(read(&paper.join("main.tex")).contains("My paper:"), "a document that is there is left alone");
        if foltr_test::latex().is_none() {
            return;
        }
        let mut latex = Command::new("pdflatex");
        latex.args(["-halt-on-error", "-interaction=nonstopmode", "main.tex"]).current_dir(paper);
        let output = latex.output().expect("LaTeX starts");
        assert!(output.status.success(), "{name}:\n{}", String::from_utf8_lossy(&output.stdout));
        let log = read_lossy(&paper.join("main.log"));
        assert!(!log.contains("Missing character") && !log.contains("Overfull \\hbox (1"), "{name}:\n{log}");
        let pages = Command::new("pdftoppm").args(["-r", "30", "-png", "main.pdf", "page"]).current_dir(paper).output();
        assert!(pages.expect("pdftoppm starts").status.success() && paper.join("page-1.png").exists());
    }
}

fn read_lossy(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).expect("a log")).into_owned()
}

#[test]
fn figures_have_the_size_and_the_names_that_were_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let y_labels = vec![("test-ndcg@10".to_owned(), "quality".to_owned())];
    let choices = Choices { y_labels, ..Choices::default() };
    let format = Format {
        width: "17.4cm".parse().ok(),
        font_size: Some(9.0),
        without_title: true,
        x_label: Some("queries".into()),
        ..Format::default()
    };
    let page = Page::of(&report(8), &choices).expect("a page");
    let files = page.write_figures(folder.path(), &format).expect("written");
    assert_eq!(std::fs::read_dir(folder.path()).expect("files").count(), files.len());
    let svg = read(&folder.path().join("curves-test-ndcg-10.svg"));
    assert!(svg.contains("width=\"493.228pt\"") && svg.contains(">quality</text>") && svg.contains(">queries</text>"));
    assert!(!svg.contains(">Learning curves") && !svg.contains("5 runs with"), "a title");
    let other = read(&folder.path().join("curves-online-ndcg-10.svg"));
    assert!(other.contains(">online nDCG@10</text>") && !other.contains("quality"));
    let unknown = Choices { y_labels: vec![("test-map".into(), "x".into())], ..Choices::default() };
    let refusal = Page::of(&report(2), &unknown).err().expect("refused").to_string();
    assert_eq!(refusal, "these results have no metric `test-map` (metrics: test-ndcg@10, online-ndcg@10)");
}
