use std::io;
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;

use super::*;
use crate::logging::{Format, LogOptions};
use crate::problem::{Name, Problem};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is written at the highest level while a current-thread runtime serves requests.
fn log_of(format: Format, log_addresses: bool, requests: &[String]) -> String {
    let captured = Captured::default();
    let writer = captured.clone();
    let options = LogOptions { level: LevelFilter::TRACE, format };
    let subscriber = options.subscriber(move || writer.clone());
    let config = Config { log_addresses, ..config(Limits { body_bytes: 100, ..Limits::default() }) };
    let fake = Fake { handle: refuse_some, readiness: Err("the database does not answer".into()) };
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let server = crate::http::Server::bind(config).await.expect("loopback can be bound");
            let address = server.local_addr().expect("bound");
            let (stopper, shutdown) = crate::http::shutdown();
            let requests = requests.to_vec();
            let ask = move || requests.iter().for_each(|request| drop(Client::connect(address).ask(request)));
            let asked = async {
                let asked = tokio::task::spawn_blocking(ask).await;
                stopper.stop();
                asked.expect("every request is answered");
            };
            let (ended, ()) = tokio::join!(server.run(Arc::new(fake), shutdown), asked);
            ended.expect("a clean end");
        });
    });
    let bytes = captured.0.lock().expect("no panic").clone();
    String::from_utf8(bytes).expect("text")
}

fn refuse_some(call: &Call) -> Answer {
    match call.path.as_str() {
        path if path.ends_with("panic") => panic!("this panic is part of a test"),
        path if path.contains("contributions") => Problem::new(Name::RoundClosed, "SECRET detail").into(),
        _ => Answer::bytes(200, b"SECRET answer".to_vec()),
    }
}

fn requests() -> Vec<String> {
    let headers =
        "foltr-device: SECRET\r\nfoltr-signature: SECRET\r\nauthorization: Bearer SECRET\r\ncookie: s=SECRET\r\n";
    let with_body = |method: &str, path: &str, body: &str| {
        let n = body.len();
        format!("{method} {path} HTTP/1.1\r\nhost: SECRET\r\n{headers}content-length: {n}\r\n\r\n{body}")
    };
    vec![
        with_body("GET", "/v1/federations/SECRET/receipts/SECRET?token=SECRET", ""),
        with_body("PUT", "/v1/federations/SECRET/rounds/1/contributions/SECRET", "SECRET"),
        with_body("PUT", "/v1/federations/SECRET/rounds/1/contributions/SECRET", &"SECRET".repeat(20)),
        with_body("SECRET", "/SECRET", ""),
        with_body("GET", "/SECRET", ""),
        with_body("GET", "/panic", ""),
        with_body("GET", "/readyz", ""),
        "GET /SECRET HTTP/1.1\r\nSECRET SECRET\r\n\r\n".into(),
        format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "SECRET".repeat(5_000)),
    ]
}

#[test]
fn no_secret_reaches_the_log() {
    for format in [Format::Text, Format::Json] {
        let log = log_of(format, false, &requests());
        assert!(!log.contains("SECRET") && !log.contains("127.0.0.1"), "{log}");
        assert!(log.contains("/v1/federations/{federation}/rounds/{round}/contributions/{device}"), "{log}");
        for problem in
            ["round-closed", "too-large", "method-not-allowed", "bad-request", "internal", "headers-too-large"]
        {
            assert!(log.contains(problem), "{problem}: {log}");
        }
        assert!(log.contains("the database does not answer"), "operators are told: {log}");
    }
}

#[test]
fn json_lines_have_the_fields_of_a_request() {
    let log = log_of(Format::Json, true, &requests()[1..2]);
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let line = lines.into_iter().find(|line| line["fields"]["message"] == "refused").expect("a refusal");
    let fields = &line["fields"];
    assert_eq!((&line["level"], &fields["method"]), (&"INFO".into(), &"PUT".into()));
    assert_eq!((&fields["status"], &fields["problem"]), (&409.into(), &"round-closed".into()));
    assert_eq!(fields["received"], 6);
    assert!(fields["milliseconds"].is_number() && fields["sent"].is_number());
    assert!(fields["remote"].as_str().expect("an address").starts_with("127.0.0.1:"));
}

#[test]
fn refusals_without_end_are_not_all_logged() {
    let request =
        "PUT /v1/federations/a/rounds/1/contributions/b HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n"
            .to_owned();
    let log = log_of(Format::Text, false, &vec![request; 200]);
    let (n_info, n_debug) = (log.matches("INFO").count(), log.matches("DEBUG").count());
    assert!((60..100).contains(&n_info) && n_info + n_debug >= 200, "{n_info} and {n_debug}");
}
