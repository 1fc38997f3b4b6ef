//! Text that a terminal shows as it is: no control characters, no endless lines.

/// Characters of a line of a message; the longest of ours, a list of all names that a key may have, are shorter.
const LONGEST_LINE: usize = 1600;
/// Characters that stay at the end of a line that is cut: what would be right is said there.
const END: usize = 400;

/// Escapes what would move the cursor, change colours or the direction of writing. Newlines and tabs stay.
pub fn without_control_characters(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if turns || letter.is_control() && !matches!(letter, '\n' | '\t') {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// A line without its middle, if it is too long to be read.
pub fn one_line(line: &str) -> String {
    let n_letters = line.chars().count();
    if n_letters <= LONGEST_LINE {
        return line.to_owned();
    }
    let head: String = line.chars().take(LONGEST_LINE - END).collect();
    let tail: String = line.chars().skip(n_letters - END).collect();
    format!("{head} ... ({} characters) ... {tail}", n_letters - LONGEST_LINE)
}

#[test]
fn control_characters_are_escaped_and_text_stays() {
    assert_eq!(without_control_characters("a\tb\nc é 数"), "a\tb\nc é 数");
    assert_eq!(without_control_characters("\x1b[31mred\r\x07"), "\\u{1b}[31mred\\r\\u{7}");
    assert_eq!(without_control_characters("\u{9b}1m \u{202e}txt"), "\\u{9b}1m \\u{202e}txt");
}

#[test]
fn long_lines_lose_their_middle() {
    let line = "x".repeat(1700) + "end";
    assert_eq!(one_line(&line), "x".repeat(1200) + " ... (103 characters) ... " + &"x".repeat(397) + "end");
    assert_eq!(one_line(&line[..1600]), line[..1600]);
}
