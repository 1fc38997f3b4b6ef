//! Clients that send too much, too slowly, or too often.

use std::io::Write as _;
use std::time::{Duration, Instant};

use super::world::{World, reply};
use crate::page::server::Limits;

fn hurried() -> Limits {
    Limits {
        connections: 8,
        header_time: Duration::from_millis(400),
        request_time: Duration::from_millis(600),
        drain_time: Duration::from_millis(300),
        ..Limits::default()
    }
}

#[test]
fn bodies_and_headers_have_a_largest_size() {
    let world = World::with(&[]);
    let json = "content-type: application/json\r\n";
    let large = world.request("POST", "api/search", json, &"x".repeat(100_000));
    assert!(matches!(large.status, 413 | 0), "{}", large.status);
    let said = world.request("POST", "api/search", json, &"x".repeat((64 << 10) + 1));
    assert!(said.status == 413 && said.error().contains("at most 65536 bytes"), "{said:?}");
    let token = &world.token;
    let claimed = format!(
        "POST /{token}/api/search HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n{json}content-length: 99999999999\r\n\r\n",
        world.port
    );
    let reply = world.send(&claimed);
    assert_eq!(reply.status, 413, "its body is not waited for: {reply:?}");
    let header = format!("x-long: {}\r\n", "x".repeat(20_000));
    assert!(matches!(world.request("GET", "", &header, "").status, 431 | 0));
    let many = "x: y\r\n".repeat(200);
    assert!(matches!(world.request("GET", "", &many, "").status, 431 | 0));
    assert_eq!(world.get("api/status").status, 200);
}

#[test]
fn slow_clients_are_left() {
    let world = World::served(&[], hurried());
    let begun = Instant::now();
    // No request, half a header, half a body.
    let silent = world.connect();
    let mut headers = world.connect();
    headers.write_all(b"GET /x HTTP/1.1\r\nhost: ").expect("sent");
    let mut body = world.connect();
    let (port, token) = (world.port, &world.token);
    let half = format!(
        "POST /{token}/api/search HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{{"
    );
    body.write_all(half.as_bytes()).expect("sent");
    let answer = reply(body);
    assert!(matches!(answer.status, 408), "{answer:?}");
    assert_eq!((reply(silent).status, reply(headers).body), (0, String::new()));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(world.get("api/status").status, 200);
}

#[test]
fn many_connections_only_make_others_wait() {
    let world = World::served(&[], hurried());
    let idle: Vec<_> = (0..40).map(|_| world.connect()).collect();
    let begun = Instant::now();
    assert_eq!(world.get("api/status").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(idle);
}

#[test]
fn a_connection_ends_also_for_a_client_that_always_asks() {
    let world = World::served(&[], Limits { connection_time: Duration::from_secs(2), ..hurried() });
    let mut stream = world.connect();
    let request = format!("GET /{}/api/status HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", world.token, world.port);
    let begun = Instant::now();
    while stream.write_all(request.as_bytes()).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is still served");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());
}
