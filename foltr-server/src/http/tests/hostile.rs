use super::*;

fn start_echo() -> Running {
    start(Limits::default(), echo)
}

#[test]
fn what_is_no_request_is_refused_by_name() {
    let running = start_echo();
    let malformed: [&[u8]; 12] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / FTP/1.1\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\n\r\n",
        b"GET /\xff\x00 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nna me: x\r\n\r\n",
        b"PUT / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"PUT / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    for request in malformed {
        let mut client = Client::connect(running.address());
        let reply = client.ask(request);
        reply.assert_problem("bad-request", 400);
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(client.is_closed());
    }
    assert_eq!(ask(&running, get("/")).status, 200);
}

#[test]
fn a_second_request_that_is_none_is_refused_by_name() {
    let running = start_echo();
    let mut client = Client::connect(running.address());
    assert_eq!(client.ask(get("/")).status, 200);
    client.ask("nonsense\r\n\r\n").assert_problem("bad-request", 400);
    assert!(client.is_closed());
}

#[test]
fn what_asks_for_no_path_of_ours_is_refused() {
    let running = start_echo();
    ask(&running, "GET * HTTP/1.1\r\nhost: x\r\n\r\n").assert_problem("bad-request", 400);
    ask(&running, get(&format!("/{}", "x".repeat(2 << 10)))).assert_problem("bad-request", 400);
    for method in ["DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let reply = ask(&running, format!("{method} /v1/federations/wards/task HTTP/1.1\r\nhost: x\r\n\r\n"));
        reply.assert_problem("method-not-allowed", 405);
        assert_eq!(reply.header("allow"), Some("GET, HEAD"));
    }
    let reply = ask(&running, "DELETE / HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(reply.header("allow"), Some("GET, HEAD, POST, PUT"));
    ask(&running, "CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n").assert_problem("method-not-allowed", 405);
}

#[test]
fn headers_that_could_be_read_in_two_ways_are_refused() {
    let running = start_echo();
    for header in ["foltr-device", "foltr-signature", "if-none-match", "authorization", "cookie"] {
        let twice = format!("GET / HTTP/1.1\r\nhost: x\r\n{header}: a\r\n{header}: a\r\n\r\n");
        ask(&running, twice).assert_problem("bad-request", 400);
        let mut other = format!("GET / HTTP/1.1\r\nhost: x\r\n{header}: ").into_bytes();
        other.extend_from_slice(b"\xe4\xb8\r\n\r\n");
        ask(&running, other).assert_problem("bad-request", 400);
    }
}

#[test]
fn a_body_of_two_lengths_ends_the_connection() {
    let running = start_echo();
    let mut client = Client::connect(running.address());
    let smuggled = "PUT /1 HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /2 \
                    HTTP/1.1\r\n\r\n";
    let reply = client.ask(smuggled);
    assert_eq!((reply.body.as_str(), reply.header("connection")), ("PUT /1 0", Some("close")));
    assert!(client.is_closed(), "what follows is no request");
}

#[test]
fn wrong_chunks_and_bodies_cut_off_reach_no_handler() {
    let running = start(Limits::default(), |_| panic!("the body is not complete"));
    let chunked = "PUT / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let reply = ask(&running, format!("{chunked}zz\r\n"));
    reply.assert_problem("bad-request", 400);
    assert_eq!(reply.header("connection"), Some("close"));
    let mut client = Client::connect(running.address());
    client.send("PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf");
    client.0.shutdown(std::net::Shutdown::Write).expect("open");
    client.reply().assert_problem("bad-request", 400);
    assert!(client.is_closed());
}

#[test]
fn too_large_is_refused_before_it_has_come() {
    let limits = Limits { header_bytes: 4 << 10, headers: 10, body_bytes: 100, ..Limits::default() };
    let running = start(limits, echo);
    let request = |headers: &str| format!("PUT / HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
    let long = request(&format!("x: {}\r\n", "y".repeat(5 << 10)));
    ask(&running, long).assert_problem("headers-too-large", 431);
    let many: String = (0..20).map(|n| format!("x-{n}: y\r\n")).collect();
    ask(&running, request(&many)).assert_problem("headers-too-large", 431);
    ask(&running, request("content-length: 101\r\n")).assert_problem("too-large", 413);
    ask(&running, request("content-length: 99999999999999999\r\n")).assert_problem("too-large", 413);

    let mut client = Client::connect(running.address());
    client.send(request("transfer-encoding: chunked\r\n"));
    let chunk = format!("40\r\n{}\r\n", "z".repeat(64));
    assert!(client.try_send(&chunk) && client.try_send(&chunk));
    client.reply().assert_problem("too-large", 413);
}

#[test]
fn the_answer_is_not_lost_while_the_client_still_sends() {
    let running = start(Limits { body_bytes: 100, ..Limits::default() }, echo);
    let body = "z".repeat(8 << 20);
    let mut client = Client::connect(running.address());
    assert!(client.try_send(put("/", &body)), "the server takes what it does not want");
    client.reply().assert_problem("too-large", 413);
}
