//! An agent with a few files, its page on a port of this machine, and a client that sends exactly what a test says.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, Settings};
use crate::extract::{Extractor, Limits as ExtractLimits, test_program};
use crate::home::Home;
use crate::page::Page;
use crate::page::server::Limits;
use crate::scan::{Scanner, Surroundings};
use crate::service::Service;

const PATIENCE: Duration = Duration::from_secs(30);

struct Quiet;

impl Surroundings for Quiet {
    fn is_on_battery(&self) -> bool {
        false
    }

    fn load(&self) -> f32 {
        0.0
    }
}

pub(super) struct World {
    folder: tempfile::TempDir,
    pub files: PathBuf,
    pub service: Arc<Service>,
    pub port: u16,
    pub token: String,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl World {
    /// Files with these names and texts, looked at already.
    pub fn with(files: &[(&str, &str)]) -> Self {
        Self::served(files, Limits::default())
    }

    pub fn served(files: &[(&str, &str)], limits: Limits) -> Self {
        let world = Self::start(limits);
        if files.is_empty() {
            return world;
        }
        for (name, text) in files {
            world.write(name, text);
        }
        world.service.agent.add_folder(&world.files).expect("added");
        world.scan();
        world
    }

    fn start(limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = folder.path().join("Documents");
        fs::create_dir_all(&files).expect("made");
        let files = files.canonicalize().expect("there");
        let home = Home::open(Some(&folder.path().join("agent"))).expect("a home");
        let agent = Agent::open(home, Settings { no_comparison: true, ..Settings::default() }).expect("an agent");
        let extractor = Extractor::new(test_program("real"), ExtractLimits::default());
        let service = Arc::new(Service::new(agent, extractor, Box::new(Quiet)));
        let mut page = Page::bind(Arc::clone(&service), 0).expect("a port");
        page.limits = limits;
        page.site.launcher.program = Some(opener(folder.path()));
        page.site.suggested = Some(files.clone());
        let (port, token) = (page.port(), page.token().to_owned());
        let threads = vec![std::thread::spawn(move || page.serve().expect("served"))];
        Self { folder, files, service, port, token, threads }
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.files.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub fn scan(&self) {
        let (stop, extractor) =
            (AtomicBool::new(false), Extractor::new(test_program("real"), ExtractLimits::default()));
        let scanner = Scanner { extractor: &extractor, surroundings: &Quiet, share: 1.0, stop: &stop };
        scanner.scan(&self.service.agent, &mut |_| {}).expect("looked at");
    }

    /// Looks at files in the background from now on.
    pub fn work(&mut self) {
        let service = Arc::clone(&self.service);
        self.threads.push(std::thread::spawn(move || service.work()));
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Waits until all threads have ended by themselves.
    pub fn join(&mut self) {
        self.threads.drain(..).for_each(|thread| thread.join().expect("ended"));
    }

    /// The files that were opened so far, when there are so many of them.
    pub fn opened(&self, n: usize) -> Vec<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = fs::read_to_string(self.folder.path().join("opened")).unwrap_or_default();
            let files: Vec<String> = text.lines().map(str::to_owned).collect();
            if files.len() >= n || Instant::now() > deadline {
                return files;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    /// Sends these bytes on a connection of their own.
    pub fn send(&self, request: &str) -> Reply {
        let mut stream = self.connect();
        // What is refused early is not read to its end.
        let _ = stream.write_all(request.as_bytes());
        reply(stream)
    }

    /// `path` begins behind the token.
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        let (port, token, length) = (self.port, &self.token, body.len());
        self.send(&format!(
            "{method} /{token}/{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\
             content-length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.request("GET", path, "", "")
    }

    pub fn post(&self, call: &str, body: &Value) -> Reply {
        self.request("POST", &format!("api/{call}"), "content-type: application/json\r\n", &body.to_string())
    }

    /// A call that succeeds.
    pub fn call(&self, call: &str, body: &Value) -> Value {
        let reply = self.post(call, body);
        assert_eq!(reply.status, 200, "{call}: {}", reply.body);
        reply.json()
    }

    pub fn search(&self, words: &str) -> Value {
        self.call("search", &json!({ "words": words }))
    }

    /// As the page's own form is sent by a browser.
    pub fn form(&self, path: &str, body: &str) -> Reply {
        let headers =
            "content-type: application/x-www-form-urlencoded\r\norigin: null\r\nsec-fetch-site: same-origin\r\n";
        self.request("POST", &format!("do/{path}"), headers, body)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.service.stop();
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(std::thread::panicking() || ended.is_ok(), "a thread of the service failed");
        }
    }
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    pub fn error(&self) -> String {
        self.json()["error"].as_str().expect("a sentence").to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

/// All that comes until the end. A server that closes with bytes unread resets the connection.
pub(super) fn reply(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while let Ok(n) = stream.read(&mut part)
        && n > 0
    {
        bytes.extend_from_slice(&part[..n]);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

/// A program that writes down what it is asked to open. Another process makes it: a file that is open for writing in this
/// one cannot be started.
fn opener(folder: &std::path::Path) -> PathBuf {
    let (program, log) = (folder.join("xdg-open"), folder.join("opened"));
    let script =
        "printf '#!/bin/sh\\nprintf \"%%s %%s\\\\n\" \"$#\" \"$1\" >> \"%s\"\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
    let made = Command::new("sh").args(["-c", script, "sh"]).arg(&program).arg(&log).status().expect("a shell");
    assert!(made.success());
    program
}
