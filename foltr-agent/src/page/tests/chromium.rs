//! Chromium without a window, driven over a pipe: keys and clicks are those of a person, and what it complains about is
//! kept.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser that hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_secs(60);
const ALT: u32 = 1;

pub(super) struct Chromium {
    child: Child,
    pipe: ChildStdin,
    messages: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// Errors of scripts, and what the policy of a page has refused.
    complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        // It reads from its descriptor 3 and writes to 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--no-proxy-server",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let (sender, messages) = channel();
        let (pipe, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        std::thread::spawn(move || {
            for message in BufReader::new(stdout).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (next, session, complaints) = (0, None, Vec::new());
        let mut browser = Self { child, pipe, messages, next, session, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.pipe.write_all(format!("{message}\0").as_bytes()).expect("the browser reads");
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(answer) if answer["id"] == self.next => {
                    assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                    return answer["result"].clone();
                }
                Ok(event) => self.note(&event),
                Err(RecvTimeoutError::Timeout) => panic!("{method}: nothing within {} s", PATIENCE.as_secs()),
                Err(RecvTimeoutError::Disconnected) => panic!("{method}: the browser has ended"),
            }
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(params["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(params["entry"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(params["args"].to_string()),
            _ => {}
        }
    }

    /// What it has complained about since the last time.
    pub fn complaints(&mut self) -> Vec<String> {
        self.eval("0");
        std::mem::take(&mut self.complaints)
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    pub fn dark(&mut self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.call("Emulation.setEmulatedMedia", features);
    }

    pub fn go(&mut self, url: &str) {
        self.eval("window.isOld = true");
        self.call("Page.navigate", json!({ "url": url }));
        self.until("!window.isOld && document.readyState === 'complete'");
    }

    /// The value of an expression, which may be a promise.
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", asked);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    pub fn is(&mut self, condition: &str) -> bool {
        // A page that is being left has no scripts to answer.
        let asked = json!({ "expression": format!("Boolean({condition})"), "returnByValue": true });
        self.call("Runtime.evaluate", asked)["result"]["value"] == true
    }

    pub fn until(&mut self, condition: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.is(condition) {
            if Instant::now() > deadline {
                let page = self.eval("document.body.innerText");
                panic!("it never came true: {condition}\n{page}\n{:?}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(15));
        }
    }

    pub fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({})?.innerText", json!(selector)));
        text.as_str().unwrap_or_default().to_owned()
    }

    pub fn write(&mut self, text: &str) {
        for character in text.chars() {
            self.key(&character.to_string(), "", 0, &character.to_string(), 0);
        }
    }

    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "ArrowUp" => (38, ""),
            "ArrowDown" => (40, ""),
            "Backspace" => (8, ""),
            other => panic!("{other} is no known key"),
        };
        self.key(key, key, code, text, 0);
    }

    pub fn alt(&mut self, letter: char) {
        let code = u32::from(letter.to_ascii_uppercase());
        self.key(&letter.to_string(), &format!("Key{}", letter.to_ascii_uppercase()), code, "", ALT);
    }

    fn key(&mut self, key: &str, code: &str, number: u32, text: &str, modifiers: u32) {
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let mut event = json!({
            "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number, "text": text, "modifiers": modifiers,
        });
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
    }

    /// In the middle of what a selector finds first.
    pub fn click(&mut self, selector: &str) {
        let script = "(() => { const it = document.querySelector(SELECTOR); it.scrollIntoView({ block: 'center' }); \
                      const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()";
        let at = self.eval(&script.replace("SELECTOR", &json!(selector).to_string()));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    pub fn picture(&mut self, file: &Path) {
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        std::fs::write(file, from_base64(picture["data"].as_str().expect("a picture"))).expect("written");
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut n_bits) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        (bits, n_bits) = (bits << 6 | u32::from(value(byte)), n_bits + 6);
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits) as u8);
            bits &= (1 << n_bits) - 1;
        }
    }
    bytes
}
