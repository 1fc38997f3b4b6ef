use std::time::Instant;

use super::*;

#[test]
fn what_is_in_flight_is_answered_and_nothing_new_is_taken() {
    let door = Arc::new(Door::default());
    let held = Arc::clone(&door);
    let running = start(Limits::default(), move |call| {
        if call.path == "/slow" {
            held.pass();
        }
        echo(call)
    });
    let address = running.address();
    let mut idle = Client::connect(address);
    assert_eq!(idle.ask(get("/")).status, 200);
    let mut in_flight = Client::connect(address);
    in_flight.send(get("/slow"));
    door.wait_for(1);
    let stopped = std::thread::spawn(move || running.stop());
    assert!(idle.is_closed(), "an idle connection is not needed any more");
    // Another thread stops to listen.
    let began = Instant::now();
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(began.elapsed() < Duration::from_secs(10), "somebody listens");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!stopped.is_finished());
    door.open();
    let reply = in_flight.reply();
    assert_eq!((reply.body.as_str(), reply.header("connection")), ("GET /slow 0", Some("close")));
    assert!(in_flight.is_closed());
    drop(in_flight);
    stopped.join().expect("no panic").expect("a clean end");
}

#[test]
fn draining_is_bounded() {
    let door = Arc::new(Door::default());
    let held = Arc::clone(&door);
    let limits = Limits { drain_time: Duration::from_millis(200), ..Limits::default() };
    let running = start(limits, move |call| {
        held.pass();
        echo(call)
    });
    let mut client = Client::connect(running.address());
    client.send(get("/"));
    door.wait_for(1);
    let began = Instant::now();
    running.stop().expect("a clean end");
    assert!(began.elapsed() < PATIENCE / 2 && client.is_closed());
    door.open();
}

#[test]
fn a_second_signal_stops_at_once() {
    let door = Arc::new(Door::default());
    let held = Arc::clone(&door);
    let limits = Limits { drain_time: Duration::from_secs(600), ..Limits::default() };
    let fake = Fake { handle: move |_: &Call| (held.pass(), Answer::empty(204)).1, readiness: Ok(()) };
    let (stopper, shutdown) = crate::http::shutdown();
    let runtime = crate::http::runtime(&limits).expect("threads");
    let server = runtime.block_on(crate::http::Server::bind(config(limits))).expect("loopback can be bound");
    let mut client = Client::connect(server.local_addr().expect("bound"));
    let thread = std::thread::spawn(move || {
        let ended = runtime.block_on(server.run(Arc::new(fake), shutdown));
        runtime.shutdown_background();
        ended
    });
    client.send(get("/"));
    door.wait_for(1);
    stopper.stop();
    std::thread::sleep(Duration::from_millis(100));
    assert!(!thread.is_finished(), "it drains");
    stopper.stop();
    assert!(client.is_closed());
    thread.join().expect("no panic").expect("a clean end");
    door.open();
}

#[test]
fn plain_http_is_for_loopback_unless_it_is_allowed() {
    let everywhere = Config { addresses: vec!["0.0.0.0:0".parse().expect("an address")], ..config(Limits::default()) };
    let fake = || Arc::new(Fake { handle: echo, readiness: Ok(()) });
    let refused = Running::start(everywhere.clone(), fake()).err().expect("no TLS").to_string();
    assert!(refused.contains("0.0.0.0:0 is not a loopback address"), "{refused}");
    Running::start(Config { allow_plain_http: true, ..everywhere }, fake())
        .expect("allowed")
        .stop()
        .expect("a clean end");
    let nowhere = Config { addresses: vec![], ..config(Limits::default()) };
    assert!(Running::start(nowhere, fake()).is_err());
}
