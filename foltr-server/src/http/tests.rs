//! Over real sockets on loopback, with a handler that the test states.

mod exchanges;
mod hostile;
mod limits;
mod log;
mod stopping;
mod tls;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::{Config, Limits, Running};
use crate::call::{Answer, Call, Handler};

/// Longer than any test takes if it succeeds.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Fake<F> {
    handle: F,
    readiness: Result<(), String>,
}

impl<F: Fn(&Call) -> Answer + Send + Sync + 'static> Handler for Fake<F> {
    fn handle(&self, call: &Call) -> Answer {
        (self.handle)(call)
    }

    fn readiness(&self) -> Result<(), String> {
        self.readiness.clone()
    }

    fn metrics(&self) -> String {
        "# TYPE devices gauge\ndevices 7\n# EOF\n".into()
    }
}

fn config(limits: Limits) -> Config {
    Config { limits, ..Config::new("127.0.0.1:0".parse().expect("an address")) }
}

fn start_with(config: Config, handle: impl Fn(&Call) -> Answer + Send + Sync + 'static) -> Running {
    Running::start(config, Arc::new(Fake { handle, readiness: Ok(()) })).expect("loopback can be bound")
}

fn start(limits: Limits, handle: impl Fn(&Call) -> Answer + Send + Sync + 'static) -> Running {
    start_with(config(limits), handle)
}

/// Answers with method, path and length of the body.
fn echo(call: &Call) -> Answer {
    Answer::bytes(200, format!("{} {} {}", call.method.name(), call.path, call.body.len()).into_bytes())
}

struct Client(TcpStream);

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let values: Vec<_> = self.head.lines().filter_map(|line| line.strip_prefix(&format!("{name}: "))).collect();
        assert!(values.len() <= 1, "{name} is given {} times", values.len());
        values.first().copied()
    }

    #[track_caller]
    fn assert_problem(&self, name: &str, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(problem["type"], format!("urn:foltr:problem:{name}"), "{self:?}");
        assert_eq!(problem["status"], status, "{self:?}");
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
    }
}

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        Self(stream)
    }

    fn send(&mut self, text: impl AsRef<[u8]>) {
        self.0.write_all(text.as_ref()).expect("the server reads");
    }

    /// For what the server may refuse before it has come.
    fn try_send(&mut self, text: impl AsRef<[u8]>) -> bool {
        self.0.write_all(text.as_ref()).is_ok()
    }

    fn head(&mut self) -> Reply {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            let n = self.0.read(&mut byte).expect("an answer in time");
            assert_eq!(n, 1, "closed after {:?}", String::from_utf8_lossy(&head));
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("ASCII");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Reply { status, head, body: String::new() }
    }

    fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        let length = reply.header("content-length").map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("the whole body");
        reply.body = String::from_utf8_lossy(&body).into_owned();
        reply
    }

    fn ask(&mut self, text: impl AsRef<[u8]>) -> Reply {
        self.send(text);
        self.reply()
    }

    /// Whether the server closes the connection without another byte, in time.
    fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.0.read(&mut byte) {
            Ok(n) => n == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn ask(running: &Running, text: impl AsRef<[u8]>) -> Reply {
    Client::connect(running.address()).ask(text)
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

fn put(path: &str, body: &str) -> String {
    format!("PUT {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A door that calls wait at until the test opens it.
#[derive(Default)]
struct Door {
    state: std::sync::Mutex<(bool, usize)>,
    changed: std::sync::Condvar,
}

impl Door {
    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.1 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.0).expect("no panic"));
    }

    fn open(&self) {
        self.state.lock().expect("no panic").0 = true;
        self.changed.notify_all();
    }

    /// Waits until so many calls have come to it.
    fn wait_for(&self, n_calls: usize) {
        let state = self.state.lock().expect("no panic");
        let (_state, waited) =
            self.changed.wait_timeout_while(state, PATIENCE, |state| state.1 < n_calls).expect("no panic");
        assert!(!waited.timed_out(), "{n_calls} calls did not come");
    }
}
