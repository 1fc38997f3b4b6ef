//! Explanations as text: one section for settings that differ in numbers only.

use foltr_federation::Guarantee;

use super::{Explained, Explanation, Observer, ObserverGuarantee};
use foltr_federation::privacy::{self, Noise, Unit};
use foltr_report::distinct;
use foltr_report::table::grouped;

const WIDTH: usize = 100;
/// Labels that are named one by one.
const MOST_NAMED: usize = 4;

const HEADER: [&str; 4] = ["epsilon, or (epsilon, delta), of", "an interaction", "a message", "a client, whole run"];

impl Explained {
    pub fn render(&self) -> String {
        let mut sections: Vec<Vec<&Explanation>> = Vec::new();
        for explanation in &self.explanations {
            let is_alike = |section: &&mut Vec<&Explanation>| {
                section[0].words == explanation.words && section[0].adjacency == explanation.adjacency
            };
            match sections.iter_mut().find(is_alike) {
                Some(section) => section.push(explanation),
                None => sections.push(vec![explanation]),
            }
        }
        let axes = self.differing_axes();
        let sections: Vec<String> = sections.iter().map(|section| render(section, &axes)).collect();
        let has_numbers = self.explanations.iter().any(|one| !one.guarantees.is_empty());
        sections.join("\n") + if has_numbers { "\nnone: nothing is hidden, or nothing is proven\n" } else { "" }
    }

    fn differing_axes(&self) -> Vec<&str> {
        let all = self.explanations.iter().flat_map(|one| one.settings.iter().flatten());
        let differs =
            |axis: &&str| self.explanations.iter().any(|it| it.labels(axis) != self.explanations[0].labels(axis));
        distinct(all.map(|(axis, _)| axis.as_str())).into_iter().filter(differs).collect()
    }
}

impl Explanation {
    fn labels(&self, axis: &str) -> Vec<&str> {
        let of_axis = self.settings.iter().flatten().filter(|(known, _)| known == axis);
        distinct(of_axis.map(|(_, label)| label.as_str()))
    }

    fn name(&self, axes: &[&str]) -> String {
        let named = axes.iter().map(|axis| (axis, self.labels(axis))).filter(|(_, labels)| !labels.is_empty());
        let words = named.map(|(axis, labels)| match labels.len() {
            n if n > MOST_NAMED => format!("{axis} = {n} values"),
            _ => format!("{axis} = {}", labels.join(" | ")),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn numbers(&self) -> String {
        let params = self.n_params.map(|n| format!("{} parameters", grouped(n as u64)));
        let messages = (self.messages > 0).then(|| {
            let (interactions, messages) = (grouped(self.interactions as u64), grouped(self.messages as u64));
            format!("{interactions} interactions a message, at most {messages} messages of a client")
        });
        let replayed = (self.replayed > 0).then(|| format!("{} more in replays", grouped(self.replayed as u64)));
        params.into_iter().chain(messages).chain(replayed).collect::<Vec<_>>().join(", ")
    }

    fn noise(&self) -> String {
        match self.noise {
            Noise::None => String::new(),
            Noise::Sum { law, deviation } => format!("{law} noise of deviation {deviation:.3} on the sum of a round"),
            Noise::Message { deviation } => format!("noise of deviation {deviation:.3} in a message"),
            Noise::Reward { deviation } => format!("noise of deviation {deviation:.3} on the mean reward of a message"),
            Noise::Answer { truth } => format!("true answers with probability {truth:.3}"),
        }
    }

    fn scope(&self) -> String {
        self.defence.map_or_else(String::new, |scope| scope.words())
    }
}

fn render(section: &[&Explanation], axes: &[&str]) -> String {
    let words = &section[0].words;
    let mut lines = vec![wrapped("", "  ", &format!("{} ({})", words.summary, section[0].mechanism))];
    let facts = [Explanation::numbers, Explanation::noise, Explanation::scope];
    let is_shared = facts.map(|fact| section.iter().all(|one| fact(one) == fact(section[0])));
    let shared = facts.iter().zip(is_shared).filter(|(_, is_shared)| *is_shared).map(|(fact, _)| fact(section[0]));
    lines.extend(shared.filter(|words| !words.is_empty()).map(|words| wrapped("  ", "  ", &words)));
    let mut rows: Vec<[String; 4]> = vec![HEADER.map(str::to_owned)];
    for one in section.iter().filter(|one| !one.guarantees.is_empty()) {
        let own = facts.iter().zip(is_shared).filter(|(_, is_shared)| !is_shared).map(|(fact, _)| fact(one));
        let own = own.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ");
        let heading = [one.name(axes), own].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        rows.extend(rows_of(one, heading));
    }
    if rows.len() > 1 {
        lines.push(String::new());
        lines.extend(aligned(&rows));
    }
    if *words != (privacy::Explanation { summary: words.summary.clone(), ..Default::default() }) {
        lines.push(String::new());
    }
    if !section[0].neighbours.is_empty() {
        lines.push(wrapped("  adjacent runs: ", "    ", section[0].neighbours));
    }
    let of_server = section[0].guarantees.iter().find(|it| it.against == Observer::Server).and_then(|it| it.adjacency);
    if let Some(adjacency) = of_server.filter(|_| of_server != section[0].adjacency) {
        lines.push(wrapped("  against the server, which sees who takes part: ", "    ", adjacency.words()));
    }
    if !words.assumptions.is_empty() {
        lines.push("  holds only if".into());
        lines.extend(words.assumptions.iter().map(|sentence| wrapped("  - ", "    ", sentence)));
    }
    if !words.remarks.is_empty() {
        lines.push("  note".into());
        lines.extend(words.remarks.iter().map(|sentence| wrapped("  - ", "    ", sentence)));
    }
    lines.join("\n") + "\n"
}

fn rows_of(explanation: &Explanation, heading: String) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    let indent = if heading.is_empty() { "" } else { "  " };
    if !heading.is_empty() {
        rows.push([heading, String::new(), String::new(), String::new()]);
    }
    if let Some(claim) = &explanation.claim {
        let said = pair(Guarantee { epsilon: claim.epsilon, delta: claim.delta });
        let cell = |unit: Unit| if claim.unit == unit { said.clone() } else { String::new() };
        let cells = [Unit::Interaction, Unit::Message, Unit::Run].map(cell);
        let [interaction, message, run] = cells;
        rows.push([format!("{indent}{} says", claim.by), interaction, message, run]);
    }
    for (observers, guarantee) in merged(&explanation.guarantees) {
        let cell = |one: Option<Guarantee>| one.map_or_else(|| "none".into(), pair);
        rows.push([
            format!("{indent}{observers}"),
            cell(guarantee.interaction),
            cell(guarantee.message),
            whole(&guarantee),
        ]);
        if let Some(leavers) = guarantee.run_of_leavers {
            let words = format!("{indent}  of clients that leave");
            rows.push([words, String::new(), String::new(), pair(leavers)]);
        }
    }
    rows
}

/// Columns under each other: words flush left, numbers flush right. A heading may be longer than its column.
fn aligned(rows: &[[String; 4]]) -> Vec<String> {
    let is_heading = |row: &[String; 4]| row[1..].iter().all(String::is_empty);
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| !is_heading(row)).map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 4]| {
        let [words, a, b, c] = row;
        if is_heading(row) {
            return wrapped("  ", "    ", words);
        }
        let [w, x, y, z] = widths;
        format!("  {words:w$}   {a:>x$}   {b:>y$}   {c:>z$}").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Observers against whom the same holds share a line.
fn merged(guarantees: &[ObserverGuarantee]) -> Vec<(String, ObserverGuarantee)> {
    let same = |a: &ObserverGuarantee, b: &ObserverGuarantee| {
        ObserverGuarantee { against: b.against, sees: b.sees, adjacency: b.adjacency, ..*a } == *b
    };
    match guarantees {
        [server, others, clients] if same(server, others) && same(server, clients) => {
            vec![("anybody, the server included".into(), *server)]
        }
        [server, others, clients] if same(others, clients) => {
            vec![(observer(server), *server), (format!("others (see {})", others.sees), *others)]
        }
        all => all.iter().map(|guarantee| (observer(guarantee), *guarantee)).collect(),
    }
}

fn observer(guarantee: &ObserverGuarantee) -> String {
    match guarantee.against {
        Observer::Server => format!("the server (sees {})", guarantee.sees),
        Observer::SumsAndModels => format!("anybody who sees {}", guarantee.sees),
        Observer::OtherClients => format!("other clients (see {})", guarantee.sees),
    }
}

/// The whole run, with and without a delta where the delta makes a difference.
fn whole(guarantee: &ObserverGuarantee) -> String {
    match (guarantee.run, guarantee.run_without_delta) {
        (Some(run), Some(added_up)) if number(run.epsilon) == number(added_up) => number(added_up),
        (Some(run), Some(added_up)) if run.delta > 0.0 => format!("{} or {}", number(added_up), pair(run)),
        (Some(run), _) => pair(run),
        (None, _) => "none".into(),
    }
}

fn pair(Guarantee { epsilon, delta }: Guarantee) -> String {
    if delta == 0.0 { number(epsilon) } else { format!("({}, {delta:e})", number(epsilon)) }
}

/// Three digits or more, thousands divided.
fn number(epsilon: f64) -> String {
    match epsilon {
        e if e >= 999.5 => grouped(e.round() as u64),
        e if e >= 99.95 => format!("{e:.0}"),
        e if e >= 9.995 => format!("{e:.1}"),
        e => format!("{e:.2}"),
    }
}

fn wrapped(first: &str, others: &str, text: &str) -> String {
    let mut lines = vec![first.to_owned()];
    let mut is_begun = false;
    for word in text.split_whitespace() {
        let n_chars = lines.last().map_or(0, |line| line.chars().count());
        if is_begun && n_chars + 1 + word.chars().count() > WIDTH {
            lines.push(others.to_owned());
            is_begun = false;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if is_begun { " " } else { "" });
            line.push_str(word);
        }
        is_begun = true;
    }
    lines.join("\n")
}
