//! Source code: its headings are the lines that define something.

use super::parse::{Bounded, short};
use crate::document::Text;

const DEFINITIONS: &[&str] = &[
    "class",
    "contract",
    "data",
    "def",
    "defmodule",
    "defn",
    "enum",
    "extension",
    "fn",
    "fun",
    "func",
    "function",
    "impl",
    "instance",
    "interface",
    "library",
    "macro_rules!",
    "mod",
    "module",
    "namespace",
    "object",
    "package",
    "proc",
    "procedure",
    "protocol",
    "record",
    "struct",
    "sub",
    "subroutine",
    "trait",
    "type",
    "typedef",
    "union",
];

const BEFORE_DEFINITIONS: &[&str] = &[
    "abstract",
    "actor",
    "async",
    "case",
    "const",
    "data",
    "default",
    "export",
    "extern",
    "final",
    "inline",
    "internal",
    "local",
    "open",
    "override",
    "partial",
    "private",
    "protected",
    "pub",
    "public",
    "sealed",
    "static",
    "unsafe",
    "virtual",
];

/// Words that stand before a parenthesis and define nothing.
const STATEMENTS: &[&str] =
    &["catch", "else", "elif", "for", "foreach", "if", "return", "switch", "unless", "until", "while"];

/// Bytes of a line that may be a heading: longer ones were written by a program.
const MOST_LINE: usize = 200;

pub(super) fn of(text: Text, name: &str) -> Text {
    let mut headings = Bounded::headings();
    for line in text.body.lines().filter(|line| line.len() <= MOST_LINE && defines(line)) {
        headings.push_line(line.trim_end_matches(['{', ':', ' ', '\t']));
        if headings.is_cut() {
            break;
        }
    }
    Text { title: short(name), headings: headings.into_string(), ..text }
}

fn defines(line: &str) -> bool {
    let is_modifier =
        |word: &&str| BEFORE_DEFINITIONS.contains(word) || word.starts_with("pub(") || word.starts_with('"');
    let mut words = line.split_whitespace().skip_while(is_modifier);
    // `data` is both.
    let is_definition = match words.next() {
        Some(word) => DEFINITIONS.contains(&word) && words.next().is_some(),
        None => false,
    };
    is_definition || line.starts_with("data ") || is_function_of_c(line)
}

/// A function of C and its descendants: a name before a parenthesis at the very beginning of a line.
fn is_function_of_c(line: &str) -> bool {
    let Some((before, _)) = line.split_once('(') else { return false };
    let mut words = before.split_whitespace();
    let has_type = words.clone().count() >= 2;
    let is_name =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '*' | '&' | ':' | '<' | '>' | ',' | ' ' | '\t' | '~');
    has_type
        && line.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && before.chars().all(is_name)
        && line.trim_end().ends_with([')', '{'])
        && words.next().is_some_and(|first| !STATEMENTS.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_lines_that_define() {
        let body = "use a::b;\npub(crate) struct Plan {\n    x: u8,\n}\nimpl Plan {\n    pub fn go(&self) -> u8 {\n        if (a) {\n\
                    int main(int argc, char **argv)\nstatic void stop(void) {\nelse if (x) {\ncall(me);\nprint(1)\nclass A(B):\n  def \
                    f(self):\nexport default function App() {\nlet type = 3;\n";
        let text = of(Text { body: body.into(), ..Text::default() }, "plan.rs");
        assert_eq!(text.title, "plan.rs");
        let expected = "pub(crate) struct Plan\nimpl Plan\npub fn go(&self) -> u8\nint main(int argc, char **argv)\n\
                        static void stop(void)\nclass A(B)\ndef f(self)\nexport default function App()";
        assert_eq!(text.headings, expected);
    }
}
