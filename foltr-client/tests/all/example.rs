//! Programs of `examples/`, run as a person would run them.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// `cargo test` puts examples beside the folder of the tests.
pub fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.parent().and_then(Path::parent).expect("tests are in `deps`");
    let program: PathBuf = target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let built = program.display();
    assert!(
        program.exists(),
        "{built} is missing: `cargo test --test` builds no examples, `cargo build --examples` does"
    );
    Command::new(program)
}

/// A program that asks, and waits for answers.
pub struct Conversation {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Conversation {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the example starts");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Self { child, input, output }
    }

    /// What it says until it asks, which it does with `> ` at the end.
    pub fn listen(&mut self) -> String {
        let mut said = Vec::new();
        let mut byte = [0];
        while !said.ends_with(b"> ") {
            self.output.read_exact(&mut byte).expect("the example asks");
            said.push(byte[0]);
        }
        String::from_utf8(said).expect("text")
    }

    pub fn say(&mut self, answer: &str) -> String {
        writeln!(self.input, "{answer}").expect("the example listens");
        self.listen()
    }

    /// Its last words after this answer, or after none; it must end well.
    pub fn end(mut self, answer: Option<&str>) -> String {
        if let Some(answer) = answer {
            writeln!(self.input, "{answer}").expect("the example listens");
        }
        drop(self.input);
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("text");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}: {said}");
        said
    }

    /// It must end well even if nobody reads what it says.
    pub fn end_unheard(mut self, answer: &str) {
        drop(self.output);
        writeln!(self.input, "{answer}").expect("the example listens");
        drop(self.input);
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }
}
