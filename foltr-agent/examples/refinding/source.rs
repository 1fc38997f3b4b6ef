//! Where the documents come from: Cranfield and NFCorpus, manual pages, Rust's documentation, and some made by code.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use xxhash_rust::xxh3::xxh3_64;

use super::chance::{draw, stream};
use super::collection::{Collection, Document, words};

/// Documents of a folder, where a collection has no folders of its own.
const OF_A_FOLDER: usize = 100;
/// Of Rust's documentation.
const MOST_PAGES: usize = 1_500;

/// Which manual pages: those that are learnt from, or those that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Learnt,
    Judged,
}

pub fn cranfield(data: &Path) -> io::Result<Collection> {
    let text = fs::read_to_string(data.join("cranfield/cran.all.1400.xml"))?;
    let documents = text.split("<doc>").skip(1).enumerate().map(|(at, doc)| {
        let of = |tag: &str| {
            let rest = doc.split_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
            rest.split("</").next().unwrap_or_default().trim().to_owned()
        };
        let title = of("title").replace('\n', " ");
        let text = of("text");
        let body = text.strip_prefix(&of("title")).unwrap_or(&text).trim_start_matches(['.', ' ', '\n']).to_owned();
        paper(at, &title, &body)
    });
    Ok(Collection::new("Cranfield", documents.collect()))
}

pub fn nfcorpus(data: &Path) -> io::Result<Collection> {
    let mut lines: Vec<String> = Vec::new();
    for part in ["dev", "test"] {
        let text = fs::read_to_string(data.join("nfcorpus").join(part).join("d-collection.docs"))?;
        lines.extend(text.lines().map(str::to_owned));
    }
    lines.sort();
    lines.dedup();
    let documents = lines.iter().enumerate().filter_map(|(at, line)| {
        let (_, text) = line.split_once('\t')?;
        let (title, body) = text.split_once(" pubmed ncbi ").unwrap_or((text, text));
        let title: Vec<&str> = title.split(' ').take(16).collect();
        Some(paper(at, &title.join(" "), body.strip_prefix("abstract ").unwrap_or(body)))
    });
    Ok(Collection::new("NFCorpus", documents.collect()))
}

/// A document of a collection without files: named after its title, in a folder with its neighbours.
fn paper(at: usize, title: &str, body: &str) -> Document {
    let name: Vec<String> = words(title).take(3).collect();
    let extension = if at.is_multiple_of(3) { "txt" } else { "md" };
    Document {
        folder: format!("papers-{:02}", at / OF_A_FOLDER),
        name: format!("{}-{at}.{extension}", name.join("-")),
        title: title.trim_end_matches(['.', ' ']).to_owned(),
        body: body.to_owned(),
        age: 0.0,
    }
}

/// Manual pages below a folder with `man1`, `man2` and so on, packed or not.
pub fn manual(root: &Path, half: Half) -> io::Result<Collection> {
    let mut documents = Vec::new();
    for file in files(root)? {
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_page = folder.strip_prefix("man").is_some_and(|it| it.len() == 1) && !file.is_symlink();
        let is_learnt = xxh3_64(name.trim_end_matches(".gz").as_bytes()).is_multiple_of(2);
        if is_page && is_learnt == (half == Half::Learnt) {
            let mut bytes = fs::read(&file)?;
            if name.ends_with(".gz") {
                let mut text = Vec::new();
                GzDecoder::new(&bytes[..]).read_to_end(&mut text)?;
                bytes = text;
            }
            documents.push(page(&folder, name.trim_end_matches(".gz"), &String::from_utf8_lossy(&bytes)));
        }
    }
    let name = if half == Half::Learnt { "manual pages, first half" } else { "manual pages, second half" };
    Ok(Collection::new(name, documents))
}

/// A manual page without its markup. Large sections have a folder for some first letters.
fn page(section: &str, name: &str, source: &str) -> Document {
    let (mut body, mut title, mut is_name) = (String::new(), String::new(), false);
    for line in source.lines().filter(|line| !line.starts_with(".\\\"") && !line.starts_with("'\\\"")) {
        let (request, rest) = match line.strip_prefix('.') {
            Some(request) => request.split_once(' ').unwrap_or((request, "")),
            None => ("", line),
        };
        let text = plain(rest);
        match request {
            "SH" => {
                is_name = text.eq_ignore_ascii_case("name");
                body += &format!("\n## {text}\n\n");
            }
            "SS" => body += &format!("\n### {text}\n\n"),
            "" | "B" | "I" | "BR" | "RB" | "IR" | "RI" | "BI" | "IB" | "IP" | "SM" => {
                if is_name && !text.is_empty() {
                    title = format!("{title} {text}").trim().to_owned();
                }
                body += &format!("{text}\n");
            }
            "PP" | "P" | "TP" | "LP" => body.push('\n'),
            _ => {}
        }
    }
    let is_large = section == "man2" || section == "man3";
    let letters = match name.chars().next().unwrap_or('_').to_ascii_lowercase() {
        _ if !is_large => "",
        'a'..='f' => "/a-f",
        'g'..='l' => "/g-l",
        'm'..='r' => "/m-r",
        _ => "/s-z",
    };
    Document { folder: format!("{section}{letters}"), name: format!("{name}.md"), title, body, age: 0.0 }
}

fn plain(roff: &str) -> String {
    let mut text = roff.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\").replace(['"'], "");
    for font in ["\\fB", "\\fI", "\\fR", "\\fP", "\\&", "\\c", "\\/", "\\,"] {
        text = text.replace(font, "");
    }
    text.trim().to_owned()
}

/// Pages of the books on Rust, and some of its libraries, of a folder with HTML files.
pub fn rust_documentation(root: &Path) -> io::Result<Collection> {
    let mut pages: Vec<(u64, PathBuf)> = Vec::new();
    for file in files(root)? {
        let inside = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        let is_page = inside.ends_with(".html") && inside.contains('/') && !inside.ends_with("print.html");
        if is_page && !["core/", "alloc/", "src/", "std/arch", "std/simd"].iter().any(|it| inside.starts_with(it)) {
            // Books first: the library has many times more pages.
            let is_library = inside.starts_with("std") || inside.starts_with("proc_macro");
            pages.push(((u64::from(is_library) << 63) | (xxh3_64(inside.as_bytes()) >> 1), file));
        }
    }
    pages.sort();
    pages.truncate(MOST_PAGES);
    let mut documents = Vec::new();
    for (_, file) in pages {
        let inside = file.strip_prefix(root).unwrap_or(&file).to_owned();
        let html = fs::read_to_string(&file)?;
        let title = between(&html, "<title>", "</title>").split(" - ").next().unwrap_or_default().trim();
        let main = between(&html, "<main>", "</main>");
        let stem = inside.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        documents.push(Document {
            folder: inside.components().next().map_or_else(String::new, |it| it.as_os_str().to_string_lossy().into()),
            name: format!(
                "{}-{stem}.md",
                inside.parent().map_or(0, |it| xxh3_64(it.as_os_str().as_encoded_bytes()) % 997)
            ),
            title: without_tags(title),
            body: without_tags(if main.is_empty() { &html } else { main }),
            age: 0.0,
        });
    }
    Ok(Collection::new("Rust's documentation", documents))
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let rest = text.split_once(begin).map_or("", |(_, rest)| rest);
    rest.split_once(end).map_or("", |(inside, _)| inside)
}

fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text += piece.split_once('>').map_or(piece, |(_, rest)| rest);
        text.push(' ');
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}

fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// Documents of made-up words, some of which belong to the folder.
pub fn made(n_folders: usize, n_files: usize) -> Collection {
    let word = |number: usize| -> String {
        let syllables = ["ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu"];
        [number / 100, number / 10, number].map(|it| syllables[it % 10]).concat()
    };
    let mut documents = Vec::new();
    for (folder, file) in (0..n_folders).flat_map(|folder| (0..n_files).map(move |file| (folder, file))) {
        let random = &mut stream(7, "made", folder * n_files + file);
        // Zipf's law over 600 words, and 30 of the folder's own.
        let zipf = (1..=600).map(|rank| 1.0 / f64::from(rank));
        let own = (0..30).map(|_| 0.05);
        let mut text = |n: usize| -> Vec<String> {
            let drawn = (0..n).filter_map(|_| draw(random, zipf.clone().chain(own.clone())));
            drawn.map(|at| word(if at < 600 { at } else { 600 + folder * 30 + at - 600 })).collect()
        };
        let (title, body) = (text(4), text(80).join(" "));
        documents.push(Document {
            folder: format!("folder-{folder}"),
            name: format!("{}-{file}.md", title[0]),
            title: title.join(" "),
            body,
            age: 0.0,
        });
    }
    Collection::new("made by code", documents)
}
