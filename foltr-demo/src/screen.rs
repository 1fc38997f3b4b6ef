//! What is shown in the terminal: a line each round, with a bar where somebody looks.

use std::io::{self, IsTerminal as _, Write};

use foltr_server::operator::RoundLine;

/// Characters of a bar that stands for nDCG 1.
const BAR: f64 = 50.0;

pub struct Screen {
    out: Box<dyn Write>,
    pub is_terminal: bool,
}

impl Screen {
    pub fn new() -> Self {
        Self { out: Box::new(io::stdout()), is_terminal: io::stdout().is_terminal() }
    }

    pub fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }

    pub fn heading(&mut self) -> io::Result<()> {
        self.say("\nround  messages  nDCG@10 on queries that nobody has searched")
    }

    /// The model that a round made; the first one without a round.
    pub fn round(&mut self, round: Option<&RoundLine>, ndcg: f64) -> io::Result<()> {
        // Counted from 0, as on the dashboard.
        let number = round.map_or("start".into(), |it| it.round.to_string());
        let messages = match round.map(|it| it.n_contributions) {
            None => String::new(),
            Some(None) => "hidden".into(),
            Some(Some(messages)) => messages.to_string(),
        };
        let bar = if self.is_terminal { format!("  {}", bar(ndcg)) } else { String::new() };
        let problem = round.filter(|it| it.step_norm.is_none()).map_or(String::new(), |it| format!("  {}", it.outcome));
        self.say(&format!("{number:>5}  {messages:>8}  {ndcg:>7.4}{bar}{problem}"))
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}

fn bar(value: f64) -> String {
    let eighths = (value.clamp(0.0, 1.0) * BAR * 8.0).round() as usize;
    let last = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{last}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_an_eighth_of_a_character() {
        assert_eq!([bar(0.0), bar(0.021), bar(0.0025), bar(f64::NAN)], ["", "█", "▏", ""].map(String::from));
        assert_eq!(bar(7.0), bar(1.0));
        assert_eq!(bar(1.0).chars().count(), 50);
    }
}
