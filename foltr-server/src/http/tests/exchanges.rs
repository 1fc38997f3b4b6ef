use std::sync::{Arc, Mutex};

use super::*;
use crate::call::Method;

#[test]
fn a_call_has_method_path_headers_and_body() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&calls);
    let running = start(Limits::default(), move |call| {
        seen.lock().expect("no panic").push(call.clone());
        Answer::empty(204)
    });
    let mut client = Client::connect(running.address());
    for method in ["GET", "PUT", "POST"] {
        let request = format!(
            "{method} /v1/federations/a%20b/task?shard=1&x=%2f HTTP/1.1\r\nHost: x\r\nFoltr-Device: d\r\nfoltr-signature: \
             s\r\nIf-None-Match: \"e\"\r\nAuthorization: Bearer t\r\nCookie: a=b; c=d\r\ncontent-length: 3\r\n\r\nb\0y"
        );
        assert_eq!(client.ask(request).status, 204);
    }
    let calls = calls.lock().expect("no panic");
    assert_eq!(calls.iter().map(|call| call.method).collect::<Vec<_>>(), [Method::Get, Method::Put, Method::Post]);
    for call in calls.iter() {
        assert_eq!(call.path, "/v1/federations/a%20b/task?shard=1&x=%2f", "as it was signed");
        assert_eq!((call.device.as_str(), call.signature.as_str()), ("d", "s"));
        assert_eq!((call.if_none_match.as_str(), call.authorization.as_str()), ("\"e\"", "Bearer t"));
        assert_eq!((call.cookie.as_str(), call.body.as_slice()), ("a=b; c=d", b"b\0y".as_slice()));
    }
}

#[test]
fn an_answer_has_its_headers_and_those_of_every_answer() {
    let running = start(Limits::default(), |call| match call.path.as_str() {
        "/page" => {
            let mut page = Answer::html("<p>".into());
            page.headers = vec![
                ("content-security-policy", "default-src 'self'".into()),
                ("set-cookie", "a=1".into()),
                ("set-cookie", "b=2".into()),
            ];
            page
        }
        "/release" => Answer { is_immutable: true, etag: Some("\"r\"".into()), ..Answer::bytes(200, vec![1, 2]) },
        "/task" => Answer { etag: Some("\"t\"".into()), retry_after: Some(7), ..Answer::bytes(200, vec![1]) },
        "/broken" => Answer { etag: Some("\r\nset-cookie: x".into()), ..Answer::bytes(200, vec![]) },
        _ => Answer::default(),
    });
    let page = ask(&running, get("/page"));
    assert_eq!(page.header("content-security-policy"), Some("default-src 'self'"));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.head.matches("set-cookie: ").count(), 2);
    assert_eq!((page.header("cache-control"), page.body.as_str()), (Some("no-store"), "<p>"));

    let release = ask(&running, get("/release"));
    assert_eq!(release.header("cache-control"), Some("private, max-age=31536000, immutable"));
    assert_eq!(release.header("content-security-policy"), Some("default-src 'none'; frame-ancestors 'none'"));
    assert_eq!(release.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(release.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(release.header("strict-transport-security"), None, "this is plain HTTP");

    let task = ask(&running, get("/task"));
    assert_eq!(task.header("cache-control"), Some("private, no-cache"));
    assert_eq!((task.header("etag"), task.header("retry-after")), (Some("\"t\""), Some("7")));

    ask(&running, get("/broken")).assert_problem("internal", 500);
    ask(&running, get("/status-of-0")).assert_problem("internal", 500);
}

#[test]
fn head_is_get_without_a_body() {
    let running = start(Limits::default(), echo);
    let mut client = Client::connect(running.address());
    client.send("HEAD /x HTTP/1.1\r\nhost: x\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.header("content-length")), (200, Some("8")));
    assert_eq!(client.ask(get("/y")).body, "GET /y 0", "no byte of a body came before");
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let running = start(Limits::default(), echo);
    let mut client = Client::connect(running.address());
    client.send([get("/1"), put("/2", "two"), get("/3")].concat());
    assert_eq!([client.reply().body, client.reply().body, client.reply().body], ["GET /1 0", "PUT /2 3", "GET /3 0"]);
}

#[test]
fn a_body_may_wait_for_permission_and_come_in_chunks() {
    let running = start(Limits { body_bytes: 10, ..Limits::default() }, echo);
    let mut client = Client::connect(running.address());
    let expecting =
        |n: usize| format!("PUT /x HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {n}\r\n\r\n");
    assert_eq!(client.ask(expecting(5)).status, 100);
    assert_eq!(client.ask("hello").body, "PUT /x 5");
    let chunked = "PUT /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n";
    assert_eq!(client.ask(chunked).body, "PUT /x 8");
    client.ask(expecting(11)).assert_problem("too-large", 413);
    assert!(client.is_closed());
}

#[test]
fn a_panic_fails_one_request() {
    let running = start(Limits::default(), |call| {
        assert!(call.path != "/panic", "this panic is part of a test");
        echo(call)
    });
    let mut client = Client::connect(running.address());
    client.ask(get("/panic")).assert_problem("internal", 500);
    assert_eq!(client.ask(get("/after")).body, "GET /after 0", "on the same connection");
}

#[test]
fn monitoring_needs_no_token() {
    let running = start(Limits::default(), echo);
    let mut client = Client::connect(running.address());
    assert_eq!(client.ask(get("/healthz")).body, "alive\n");
    assert_eq!(client.ask(get("/readyz")).body, "ready\n");
    assert_eq!(client.ask(get("/v1/federations/wards/plans/0123")).status, 200);
    let metrics = client.ask(get("/metrics"));
    assert!(metrics.header("content-type").expect("one").starts_with("application/openmetrics-text"));
    for line in [
        "devices 7\n",
        "foltr_http_requests_total{route=\"/v1/federations/{federation}/plans/{hash}\",status=\"200\"} 1\n",
        "foltr_http_request_seconds_count{route=\"/readyz\"} 1\n",
        "foltr_http_connections 1\n",
        "foltr_http_calls_in_flight 0\n",
    ] {
        assert!(metrics.body.contains(line), "{line}{}", metrics.body);
    }
    assert!(metrics.body.ends_with("# EOF\n") && metrics.body.matches("# EOF").count() == 1);
    let description = client.ask(get("/openapi.json"));
    assert_eq!(description.body, crate::openapi::description());
    let refused = client.ask(put("/healthz", ""));
    refused.assert_problem("method-not-allowed", 405);
    assert_eq!(refused.header("allow"), Some("GET, HEAD"));
}

#[test]
fn metrics_can_be_switched_off_and_readiness_tells_no_secrets() {
    let fake = Fake { handle: echo, readiness: Err("no route to db.internal".into()) };
    let config = Config { metrics: false, ..config(Limits::default()) };
    let running = Running::start(config, Arc::new(fake)).expect("loopback can be bound");
    ask(&running, get("/metrics")).assert_problem("not-found", 404);
    let ready = ask(&running, get("/readyz"));
    ready.assert_problem("unavailable", 503);
    assert!(ready.header("retry-after").is_some() && !ready.body.contains("db.internal"));
    assert_eq!(ask(&running, get("/healthz")).status, 200);
}
