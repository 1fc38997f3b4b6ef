//! Explanations as text: one section for settings that differ in numbers only.

use foltr_federation::Guarantee;

use super::{Explained, Explanation, Held, Observer};
use crate::table::{grouped, table};

/// Columns of a line of text.
const WIDTH: usize = 100;
/// Settings that are named one by one.
const MOST_NAMED: usize = 4;

impl Explained {
    /// All of it, for the terminal.
    pub fn told(&self) -> String {
        let mut sections: Vec<Vec<&Explanation>> = Vec::new();
        for explanation in &self.explanations {
            match sections.iter_mut().find(|section| section[0].reads_like(explanation)) {
                Some(section) => section.push(explanation),
                None => sections.push(vec![explanation]),
            }
        }
        sections.iter().map(|section| told(section)).collect::<Vec<_>>().join("\n")
    }
}

impl Explanation {
    /// Whether only numbers differ.
    fn reads_like(&self, other: &Self) -> bool {
        let line = |explanation: &Self| explanation.line();
        self.words == other.words && self.learner == other.learner && line(self) == line(other)
    }

    fn line(&self) -> String {
        let params = self.n_params.map(|n| format!("{} parameters", grouped(n as u64)));
        let messages = (self.messages > 0).then(|| {
            let (interactions, messages) = (self.interactions, grouped(self.messages as u64));
            format!("{interactions} interactions a message, at most {messages} messages of a client")
        });
        params.into_iter().chain(messages).collect::<Vec<_>>().join("; ")
    }

    /// Its settings in a few words; empty where there is only one.
    fn name(&self) -> String {
        let mut axes: Vec<(&str, Vec<&str>)> = Vec::new();
        for (axis, label) in self.settings.iter().flatten() {
            let known = axes.iter().position(|(known, _)| known == axis);
            let labels = &mut match known {
                Some(idx) => &mut axes[idx],
                None => {
                    axes.push((axis, Vec::new()));
                    let last = axes.len() - 1;
                    &mut axes[last]
                }
            }
            .1;
            if !labels.contains(&label.as_str()) {
                labels.push(label);
            }
        }
        axes.iter().map(|(axis, labels)| format!("{axis} = {}", shortened(labels))).collect::<Vec<_>>().join(", ")
    }
}

fn shortened(labels: &[&str]) -> String {
    match labels {
        few if few.len() <= MOST_NAMED => few.join(" | "),
        many => format!("{} values", many.len()),
    }
}

/// One section.
fn told(section: &[&Explanation]) -> String {
    let first = section[0];
    let mut text = format!("{} ({})\n", first.words.summary, first.mechanism);
    let mut line = |words: String| text.extend([wrapped("  ", "  ", &words), "\n".into()]);
    if !first.line().is_empty() {
        line(first.line());
    }
    if let [only] = section
        && !only.name().is_empty()
    {
        line(only.name());
    }
    if section.iter().any(|explanation| !explanation.guarantees.is_empty()) {
        text += &format!("{}\n", numbers(section));
    }
    if !first.words.neighbours.is_empty() {
        text.extend([wrapped("  compared with: ", "    ", &first.words.neighbours), "\n".into()]);
    }
    for (title, sentences) in [("  holds only if:\n", &first.words.assumptions), ("", &first.words.remarks)] {
        if !sentences.is_empty() {
            text += title;
        }
        let bullet = if title.is_empty() { "  " } else { "    - " };
        for sentence in sentences {
            text.extend([wrapped(bullet, if title.is_empty() { "    " } else { "      " }, sentence), "\n".into()]);
        }
    }
    text
}

/// The table of a section.
fn numbers(section: &[&Explanation]) -> String {
    let (named, claimed) = (section.len() > 1, section.iter().any(|one| one.claim.is_some()));
    let by = section.iter().find_map(|one| one.claim.as_ref()).map_or("", |claim| claim.by);
    let said = format!("epsilon ({by})");
    let mut header: Vec<&str> = Vec::new();
    header.extend(named.then_some("setting"));
    header.extend(claimed.then_some(said.as_str()));
    header.push("what holds against");
    let n_words = header.len();
    header.extend(["an interaction", "a message", "a client, whole run"]);
    let mut rows = Vec::new();
    for explanation in section {
        for (i, (observers, held)) in merged(&explanation.guarantees).into_iter().enumerate() {
            let mut row = Vec::new();
            let once = |text: String| if i == 0 { text } else { String::new() };
            row.extend(named.then(|| once(explanation.name())));
            row.extend(claimed.then(|| once(explanation.claim.as_ref().map_or_else(String::new, claim))));
            row.push(observers);
            row.extend([held.interaction, held.message].map(|one| one.map_or_else(|| "none".into(), pair)));
            row.push(whole(&held));
            rows.push(row);
        }
    }
    table(&header, n_words, rows)
}

fn claim(claim: &super::Claim) -> String {
    pair(Guarantee { epsilon: claim.epsilon, delta: claim.delta })
}

/// Observers against whom the same holds share a line.
fn merged(guarantees: &[Held]) -> Vec<(String, Held)> {
    let mut lines: Vec<(String, Held)> = Vec::new();
    for held in guarantees {
        let same = |line: &&mut (String, Held)| Held { against: held.against, sees: held.sees, ..line.1 } == *held;
        match lines.iter_mut().find(same) {
            // Whoever sees models sees less than whoever sees sums.
            Some((names, _)) if held.against == Observer::OtherClients => *names += ", other clients",
            Some((names, _)) => *names += ", anybody else",
            None => lines.push((observer(held), *held)),
        }
    }
    lines
}

fn observer(held: &Held) -> String {
    match held.against {
        Observer::Server => format!("the server, which sees {}", held.sees),
        Observer::SumsAndModels => format!("who sees {}", held.sees),
        Observer::OtherClients => format!("other clients, who see {}", held.sees),
    }
}

/// The whole run, with and without a delta where both say something.
fn whole(held: &Held) -> String {
    match (held.run, held.run_without_delta) {
        (Some(run), Some(added_up)) if run.delta > 0.0 => format!("{} or {}", number(added_up), pair(run)),
        (Some(run), _) => pair(run),
        (None, _) => "none".into(),
    }
}

/// Epsilon alone, or with its delta.
pub(super) fn pair(Guarantee { epsilon, delta }: Guarantee) -> String {
    if delta == 0.0 { number(epsilon) } else { format!("({}, {delta:e})", number(epsilon)) }
}

/// Three digits or more, thousands divided.
fn number(epsilon: f64) -> String {
    match epsilon {
        e if e >= 1000.0 => grouped(e.round() as u64),
        e if e >= 99.95 => format!("{e:.0}"),
        e if e >= 9.995 => format!("{e:.1}"),
        e => format!("{e:.2}"),
    }
}

/// Words in lines of at most [`WIDTH`] columns.
fn wrapped(first: &str, others: &str, text: &str) -> String {
    let mut lines = vec![first.to_owned()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        let is_begun = line.trim_end().len() > first.trim_end().len().min(others.len()) && !line.ends_with(' ');
        if is_begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{others}{word}"));
        } else {
            if is_begun {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}
