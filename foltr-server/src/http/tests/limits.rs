use std::time::Instant;

use super::*;

const SHORT: Duration = Duration::from_millis(200);

#[test]
fn slow_headers_are_refused_and_a_silent_connection_is_closed() {
    let running = start(Limits { header_time: SHORT, ..Limits::default() }, echo);
    let began = Instant::now();
    let mut slow = Client::connect(running.address());
    let mut silent = Client::connect(running.address());
    for byte in "GET / HTTP/1.1\r\nhost: localhost\r\nx: and so on for a very long time".bytes() {
        if began.elapsed() > 3 * SHORT || !slow.try_send([byte]) {
            break;
        }
        std::thread::sleep(SHORT / 20);
    }
    slow.reply().assert_problem("too-slow", 408);
    assert!(slow.is_closed() && silent.is_closed());
    assert!(began.elapsed() >= SHORT);
}

#[test]
fn an_idle_connection_has_more_time_than_headers_and_not_for_ever() {
    let limits = Limits { header_time: SHORT, idle_time: 5 * SHORT, ..Limits::default() };
    let running = start(limits, echo);
    let mut client = Client::connect(running.address());
    assert_eq!(client.ask(get("/1")).status, 200);
    std::thread::sleep(2 * SHORT);
    assert_eq!(client.ask(get("/2")).status, 200);
    let began = Instant::now();
    assert!(client.is_closed());
    assert!(began.elapsed() >= 4 * SHORT && began.elapsed() < PATIENCE / 2);
}

#[test]
fn a_slow_body_is_refused_and_one_that_keeps_the_rate_is_not() {
    let limits = Limits { body_time: SHORT, rate: 1_000, ..Limits::default() };
    let running = start(limits, echo);
    let head = "PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
    let mut stalled = Client::connect(running.address());
    stalled.send(head);
    stalled.send("begun");
    let reply = stalled.reply();
    reply.assert_problem("too-slow", 408);
    assert_eq!(reply.header("connection"), Some("close"));

    let began = Instant::now();
    let mut steady = Client::connect(running.address());
    steady.send(head);
    for _ in 0..10 {
        steady.send("x".repeat(100));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(steady.reply().body, "PUT / 1000");
    assert!(began.elapsed() > 2 * SHORT, "longer than any body may take without a rate");
}

#[test]
fn a_client_that_does_not_read_its_answer_is_cut_off() {
    let limits = Limits { answer_time: SHORT, rate: usize::MAX, ..Limits::default() };
    let running = start(limits, |_| Answer::bytes(200, vec![0; 64 << 20]));
    let mut client = Client::connect(running.address());
    client.send(get("/"));
    std::thread::sleep(3 * SHORT);
    let mut read = Vec::new();
    let ended = client.0.read_to_end(&mut read);
    assert!(ended.is_err() || read.len() < 64 << 20, "{} bytes", read.len());
    assert!(ask(&running, get("/metrics")).body.contains("reason=\"answer not read\"} 1\n"));
}

#[test]
fn bodies_in_memory_are_bounded_together() {
    let door = Arc::new(Door::default());
    let held = Arc::clone(&door);
    let running = start(Limits { body_memory: 64 << 10, ..Limits::default() }, move |call| {
        held.pass();
        echo(call)
    });
    let body = "x".repeat(60 << 10);
    let mut first = Client::connect(running.address());
    first.send(put("/v1/federations/a/1", &body));
    door.wait_for(1);
    let refused = ask(&running, put("/v1/federations/a/2", &body));
    refused.assert_problem("unavailable", 503);
    assert!(refused.header("retry-after").is_some());
    door.open();
    assert_eq!(first.reply().status, 200);
    assert_eq!(ask(&running, put("/v1/federations/a/3", &body)).status, 200, "the memory is free again");
}

#[test]
fn an_address_has_its_share_of_connections() {
    let running = start(Limits { connections_per_address: 2, ..Limits::default() }, echo);
    let mut first = Client::connect(running.address());
    let mut second = Client::connect(running.address());
    assert_eq!((first.ask(get("/")).status, second.ask(get("/")).status), (200, 200));
    assert!(Client::connect(running.address()).is_closed());
    let metrics = first.ask(get("/metrics")).body;
    assert!(metrics.contains("reason=\"too many of one address\"} 1\n"), "{metrics}");
}

#[test]
fn a_new_connection_takes_the_place_of_the_longest_idle_one() {
    let door = Arc::new(Door::default());
    let held = Arc::clone(&door);
    let running = start(Limits { connections: 3, ..Limits::default() }, move |call| {
        if call.path == "/busy" {
            held.pass();
        }
        echo(call)
    });
    let mut busy = Client::connect(running.address());
    busy.send(get("/busy"));
    door.wait_for(1);
    let mut old = Client::connect(running.address());
    assert_eq!(old.ask(get("/")).status, 200);
    // A client may have its answer before the server knows that it is written.
    std::thread::sleep(SHORT);
    let mut new = Client::connect(running.address());
    assert_eq!(new.ask(get("/")).status, 200);
    std::thread::sleep(SHORT);
    assert_eq!(ask(&running, get("/late")).status, 200, "the oldest made room");
    assert!(old.is_closed());
    door.open();
    assert_eq!(busy.reply().status, 200, "who is busy stays");
}

#[test]
fn when_all_connections_are_busy_new_ones_are_closed() {
    let running = start(Limits { connections: 2, ..Limits::default() }, echo);
    let mut unfinished: Vec<_> = (0..2).map(|_| Client::connect(running.address())).collect();
    unfinished.iter_mut().for_each(|client| client.send("GET / HTTP/1.1\r\n"));
    std::thread::sleep(SHORT);
    assert!(Client::connect(running.address()).is_closed());
    assert_eq!(unfinished[0].ask("host: x\r\n\r\n").status, 200);
}

#[test]
fn a_full_queue_refuses_newcomers_and_serves_those_who_read() {
    let door = Arc::new(Door::default());
    let held = Arc::clone(&door);
    let limits = Limits { calls: 8, waiting_calls: 3, waiting_time: PATIENCE, ..Limits::default() };
    let running = start(limits, move |call| {
        if call.method == crate::call::Method::Put {
            held.pass();
        }
        echo(call)
    });
    let upload = put("/v1/federations/a/rounds/1/contributions/d", "update");
    let send = || {
        let mut client = Client::connect(running.address());
        client.send(&upload);
        client
    };
    // 8 calls, of which 2 are for readers and 1 for operators.
    let mut served: Vec<_> = (0..5).map(|_| send()).collect();
    door.wait_for(5);
    served.extend((0..3).map(|_| send()));
    let mut reader = Client::connect(running.address());
    let until = Instant::now() + PATIENCE;
    while !reader.ask(get("/metrics")).body.contains("foltr_http_calls_waiting 3\n") {
        assert!(Instant::now() < until, "three uploads wait");
    }
    for _ in 0..20 {
        let refused = send().reply();
        refused.assert_problem("unavailable", 503);
        let seconds: u32 = refused.header("retry-after").expect("one").parse().expect("a number");
        assert!((5..=30).contains(&seconds));
        assert_eq!(reader.ask(get("/v1/federations/a/task?shard=0")).status, 200, "readers do not wait");
        assert_eq!(reader.ask(get("/")).status, 200, "nor operators");
    }
    door.open();
    assert!(served.iter_mut().all(|client| client.reply().status == 200), "all who were let in are served");
}

#[test]
fn who_waits_too_long_for_a_turn_is_refused() {
    let door = Arc::new(Door::default());
    let held = Arc::clone(&door);
    let running = start(Limits { calls: 3, waiting_time: SHORT, ..Limits::default() }, move |call| {
        held.pass();
        echo(call)
    });
    let upload = put("/v1/federations/a/forget", "update");
    let mut first = Client::connect(running.address());
    first.send(&upload);
    door.wait_for(1);
    ask(&running, &upload).assert_problem("unavailable", 503);
    door.open();
    assert_eq!(first.reply().status, 200);
}
