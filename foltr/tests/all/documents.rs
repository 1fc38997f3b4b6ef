//! Files and commands of README and guide are run as they stand.
//!
//! A block of TOML that begins with `# NAME.toml` is written to that file; the lines of a block `sh` are run one after the
//! other in a folder with `specs/`. Lines that build the program are left out: this test is a part of them.

use std::path::Path;
use std::process::Command;

use foltr_test::workspace;

use crate::binary::temporary;
use crate::cluster::path_with_foltr;

const NOT_RUN: [&str; 3] = ["cargo ", "./check", "export "];

/// Language and content of every block of code.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        match (line.strip_prefix("```"), is_inside) {
            (Some(language), false) => blocks.push((language.trim().into(), String::new())),
            (None, true) => {
                let (_, content) = blocks.last_mut().expect("a block has begun");
                content.push_str(line);
                content.push('\n');
            }
            (None, false) => continue,
            (Some(_), true) => {}
        }
        is_inside ^= line.starts_with("```");
    }
    blocks
}

fn run_line(line: &str, folder: &Path, page: &str) {
    let mut shell = Command::new("bash");
    shell
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path_with_foltr())
        .env("FOLTR_CACHE", folder.join(".cache"));
    let done = shell.output().expect("a shell");
    let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = done.status.code();
    assert_eq!(code, Some(0), "{page}: {line}\n{}{}", printed(&done.stdout), printed(&done.stderr));
}

/// Runs a page; returns the number of commands.
fn run_page(name: &str) -> usize {
    let text = std::fs::read_to_string(workspace().join(name)).expect("a page");
    let folder = temporary();
    #[cfg(unix)]
    std::os::unix::fs::symlink(workspace().join("specs"), folder.path().join("specs")).expect("linked");
    let mut n_commands = 0;
    for (language, content) in blocks(&text) {
        match language.as_str() {
            "toml" => {
                let first = content.lines().next().unwrap_or_default();
                let file = first.strip_prefix("# ").filter(|name| name.ends_with(".toml"));
                let file = file.unwrap_or_else(|| panic!("{name}: a file without a name: {first}"));
                std::fs::write(folder.path().join(file), &content).expect("written");
            }
            "sh" => {
                let is_run = |line: &&str| !line.is_empty() && NOT_RUN.iter().all(|start| !line.starts_with(start));
                for line in content.lines().filter(is_run) {
                    run_line(line, folder.path(), name);
                    n_commands += 1;
                }
            }
            _ => {}
        }
    }
    n_commands
}

macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page,)*];
        $(
            #[test]
            fn $name() {
                assert!(run_page($page) > 0, "{} has no command", $page);
            }
        )*
    };
}

pages! {
    the_readme: "README.md",
    a_first_experiment: "docs/guide/first-experiment.md",
    comparing_methods: "docs/guide/compare-methods.md",
    privacy: "docs/guide/privacy.md",
    attackers: "docs/guide/attackers.md",
    unlearning: "docs/guide/unlearning.md",
    mimic_learning: "docs/guide/mimic-learning.md",
    many_machines: "docs/guide/cluster.md",
    a_paper: "docs/guide/paper.md",
}

#[test]
fn every_page_of_the_guide_is_run_and_in_its_index() {
    let index = std::fs::read_to_string(workspace().join("docs/guide/README.md")).expect("an index");
    for entry in std::fs::read_dir(workspace().join("docs/guide")).expect("a guide") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        let is_run = PAGES.contains(&format!("docs/guide/{name}").as_str()) && index.contains(&format!("({name})"));
        assert!(name == "README.md" || is_run, "{name}");
    }
}

#[test]
fn the_readme_is_short_and_its_links_lead_somewhere() {
    let mut folders = vec![workspace().to_owned(), workspace().join("docs"), workspace().join("docs/guide")];
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("a page");
    assert!(readme.len() <= 9 * 1024, "{} bytes", readme.len());
    for folder in folders.drain(..) {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|ending| ending != "md") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a page");
            for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
                let file = link.split('#').next().unwrap_or_default();
                let leads = file.is_empty() || link.contains("://") || folder.join(file).exists();
                assert!(leads, "{}: {link}", path.display());
            }
        }
    }
}
