//! The dashboard on a loopback port: an HTTP server that is good enough for one browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;

/// What the browser runs beside the page's own script.
const DRIVER: &str = include_str!("driver.js");
const JUDGE: &str = include_str!("judge.js");

pub(super) struct Served {
    pub(super) address: String,
    /// What the driver reports at its end.
    pub(super) verdicts: Receiver<String>,
}

struct Server {
    site: Site,
    verdicts: Mutex<Sender<String>>,
}

impl Served {
    /// Ends with the process.
    pub(super) fn start(site: Site) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, verdicts) = channel();
        let server = Arc::new(Server { site, verdicts: Mutex::new(sender) });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        Self { address, verdicts }
    }
}

impl Server {
    /// One request a connection. A browser that goes away is no matter.
    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let call = read_call(&stream)?;
        let answer = self.answer(&call);
        let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !answer.kind.is_empty() {
            head.push_str(&format!("content-type: {}\r\n", answer.kind));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
        stream.write_all(&[head.as_bytes(), &answer.body].concat()).ok()
    }

    fn answer(&self, call: &Call) -> Answer {
        let (path, query) = form::split_path(&call.path);
        match path {
            // Logs in without a form, for a picture.
            "/test/session" => {
                let body = format!("token={}", self.site.token).into_bytes();
                let call = Call { method: Method::Post, path: "/login".into(), body, ..Call::default() };
                let answer = self.site.dashboard.handle(&call).expect("a page");
                let cookie = header(&answer, "set-cookie").expect("a cookie").replace("; Secure", "");
                let headers = vec![("location", query.to_owned()), ("set-cookie", cookie)];
                return Answer { headers, ..Answer::empty(303) };
            }
            "/test/driver.js" => {
                let script = format!("const TOKEN = \"{}\";\n{DRIVER}", self.site.token);
                return Answer { kind: "text/javascript", ..Answer::bytes(200, script.into()) };
            }
            // A window of the browser is never as narrow as a phone.
            "/test/frame" => {
                let (width, page) = query.split_once('&').expect("a width and a path");
                let style = "border:0;position:absolute;inset:0 auto auto 0;height:100%";
                let frame =
                    format!("<!DOCTYPE html><iframe style=\"{style}\" width=\"{width}\" src=\"{page}\"></iframe>");
                return Answer::html(frame);
            }
            // The answer to a form.
            "/test/form" => {
                let mut answer = self.site.act(query);
                answer.headers.clear();
                append_script(&mut answer, "judge");
                return answer;
            }
            "/test/judge.js" => return Answer { kind: "text/javascript", ..Answer::bytes(200, JUDGE.into()) },
            "/test/verdict" => {
                let verdict = String::from_utf8_lossy(&call.body).into_owned();
                // Nobody waits for it while pictures are taken.
                let _ = self.verdicts.lock().expect("no panic").send(verdict);
                return Answer::empty(204);
            }
            _ => {}
        }
        let mut answer = self.site.dashboard.handle(call).unwrap_or_else(|| Answer::empty(404));
        for (name, value) in &mut answer.headers {
            match *name {
                "set-cookie" => *value = value.replace("; Secure", ""),
                "content-security-policy" => *value = value.replace("frame-ancestors 'none'; ", ""),
                _ => {}
            }
        }
        if call.cookie.contains("driven=1") || query.contains("driven") {
            append_script(&mut answer, "driver");
            answer.headers.push(("set-cookie", "driven=1; Path=/".into()));
        }
        if query.contains("judged") {
            append_script(&mut answer, "judge");
        }
        answer
    }
}

fn append_script(answer: &mut Answer, name: &str) {
    let page = String::from_utf8_lossy(&answer.body).into_owned();
    let script = format!("<script src=\"/test/{name}.js\" defer></script></body>");
    answer.body = page.replace("</body>", &script).into_bytes();
}

fn read_call(stream: &TcpStream) -> Option<Call> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let method = match words.next()? {
        "GET" => Method::Get,
        "POST" => Method::Post,
        _ => return None,
    };
    let mut call = Call { method, path: words.next()?.to_owned(), ..Call::default() };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "cookie" => call.cookie = value.to_owned(),
            "if-none-match" => call.if_none_match = value.to_owned(),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    call.body = vec![0; length];
    reader.read_exact(&mut call.body).ok()?;
    Some(call)
}
