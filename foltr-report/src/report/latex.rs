//! Text as LaTeX sets it, whatever is in it.

/// Letters that a plain document cannot set as they are.
const LETTERS: [(char, &str); 28] = [
    ('\\', "\\textbackslash{}"),
    ('&', "\\&"),
    ('%', "\\%"),
    ('$', "\\$"),
    ('#', "\\#"),
    ('_', "\\_"),
    ('{', "\\{"),
    ('}', "\\}"),
    ('~', "\\textasciitilde{}"),
    ('^', "\\textasciicircum{}"),
    ('<', "\\textless{}"),
    ('>', "\\textgreater{}"),
    ('|', "\\textbar{}"),
    ('"', "{''}"),
    ('±', "$\\pm$"),
    ('×', "$\\times$"),
    ('–', "--"),
    ('−', "$-$"),
    ('’', "'"),
    ('△', "$\\triangle$"),
    ('▽', "$\\triangledown$"),
    ('▲', "$\\blacktriangle$"),
    ('▼', "$\\blacktriangledown$"),
    ('†', "$\\dagger$"),
    ('‡', "$\\ddagger$"),
    ('ε', "$\\varepsilon$"),
    ('δ', "$\\delta$"),
    ('…', "..."),
];

/// The last letter that every LaTeX knows by itself.
const LAST_KNOWN: char = '\u{17f}';

pub fn escape(text: &str) -> String {
    let letter = |letter: char| match LETTERS.iter().find(|(known, _)| *known == letter) {
        Some((_, set)) => (*set).to_owned(),
        None if letter.is_control() => " ".into(),
        None if letter > LAST_KNOWN || ('\u{80}'..'\u{c0}').contains(&letter) => format!("U+{:04X}", u32::from(letter)),
        None => letter.into(),
    };
    text.chars().map(letter).collect()
}

/// Marks within mathematics.
pub fn marks(marks: &str) -> String {
    escape(marks).replace('$', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_a_command() {
        assert_eq!(
            escape(r"50 % of a_b & {c} \d #1 $x^2~"),
            r"50 \% of a\_b \& \{c\} \textbackslash{}d \#1 \$x\textasciicircum{}2\textasciitilde{}"
        );
        assert_eq!(escape("é < 中\n"), "é \\textless{} U+4E2D ");
        assert_eq!(marks("▼‡"), "\\blacktriangledown\\ddagger");
    }
}
