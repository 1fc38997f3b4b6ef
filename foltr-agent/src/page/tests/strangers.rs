//! Requests that are not of the owner's page or commands.

use super::world::{Reply, World};

const JSON: &str = "content-type: application/json\r\n";

/// All addresses, without the token.
const GETS: [&str; 7] =
    ["", "privacy", "forget", "files/page.css", "api/status", "api/export", "api/why?list=1&document=1"];
const POSTS: [&str; 15] = [
    "api/search",
    "api/seen",
    "api/opened",
    "api/left",
    "api/folders",
    "api/pause",
    "api/resume",
    "api/forget",
    "api/join",
    "api/stop",
    "do/open",
    "do/add",
    "do/pause",
    "do/forget",
    "do/join",
];

fn with_host(world: &World, host: &str, more: &str) -> Reply {
    let token = &world.token;
    world.send(&format!("GET /{token}/api/status HTTP/1.1\r\n{host}connection: close\r\n{more}\r\n"))
}

#[test]
fn without_the_token_there_is_nothing() {
    let world = World::with(&[]);
    let wrong = "0".repeat(world.token.len());
    let (short, long) = (&world.token[1..], format!("{}0", world.token));
    let upper = world.token.to_uppercase();
    let all = GETS.map(|path| ("GET", path)).into_iter().chain(POSTS.map(|path| ("POST", path)));
    for (method, path) in all {
        for token in ["", &wrong, short, &long, &upper, "..", "%2e%2e", &format!("x/../{}", world.token)] {
            let port = world.port;
            let reply = world.send(&format!(
                "{method} /{token}/{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n{JSON}content-length: 2\r\n\r\n{{}}"
            ));
            assert_eq!((reply.status, reply.body.as_str()), (404, ""), "{method} /{token}/{path}");
        }
    }
    for path in ["/", "/favicon.ico", "/robots.txt", "*", "//", "/%00"] {
        let port = world.port;
        let reply = world.send(&format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n"));
        assert!(matches!(reply.status, 400 | 404) && reply.body.is_empty(), "{path}: {reply:?}");
    }
    assert!(!world.service.is_stopped());
}

#[test]
fn other_names_of_this_machine_are_refused() {
    let world = World::with(&[]);
    let port = world.port;
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        assert_eq!(with_host(&world, &format!("host: {host}\r\n"), "").status, 200, "{host}");
    }
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost:{port}.evil.example"),
        format!("0.0.0.0:{port}"),
        format!("[::1]:{port}"),
        format!("evil.example, 127.0.0.1:{port}"),
        String::new(),
    ];
    for host in hosts {
        let reply = with_host(&world, &format!("host: {host}\r\n"), "");
        assert_eq!((reply.status, reply.body.as_str()), (421, ""), "{host}");
    }
    let twice = with_host(&world, &format!("host: 127.0.0.1:{port}\r\nhost: evil.example\r\n"), "");
    assert!(matches!(twice.status, 400 | 421), "{twice:?}");
    assert!(matches!(with_host(&world, "", "").status, 400 | 421));
    let absolute = format!(
        "GET http://evil.example/{}/api/status HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n",
        world.token
    );
    assert_eq!(world.send(&absolute).status, 421);
}

#[test]
fn pages_of_other_sites_are_refused_whatever_they_ask() {
    let world = World::with(&[]);
    let port = world.port;
    let foreign = [
        "origin: https://evil.example\r\n".to_owned(),
        "origin: null\r\n".to_owned(),
        format!("origin: http://127.0.0.1:{}\r\n", port.wrapping_add(1)),
        format!("origin: https://127.0.0.1:{port}\r\n"),
        format!("origin: http://localhost:{port}\r\n"),
        format!("origin: http://127.0.0.1:{port}\r\norigin: https://evil.example\r\n"),
        "sec-fetch-site: cross-site\r\n".to_owned(),
        "sec-fetch-site: same-site\r\n".to_owned(),
        "origin: null\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n"
            .to_owned(),
        format!("origin: http://127.0.0.1:{port}\r\nsec-fetch-site: cross-site\r\n"),
    ];
    for headers in &foreign {
        for path in GETS {
            assert_eq!(world.request("GET", path, headers, "").status, 403, "GET {path} {headers}");
        }
        for path in POSTS {
            let reply = world.request("POST", path, &format!("{headers}{JSON}"), "{}");
            assert_eq!(reply.status, 403, "POST {path} {headers}");
            assert!(reply.error().contains("other sites"));
        }
        assert_eq!(world.request("OPTIONS", "api/search", headers, "").status, 403);
    }
    let own = format!("origin: http://127.0.0.1:{port}\r\nsec-fetch-site: same-origin\r\n{JSON}");
    assert_eq!(world.request("POST", "api/pause", &own, "{}").status, 200);
    assert_eq!(world.request("GET", "", "sec-fetch-site: none\r\n", "").status, 200);
    assert!(!world.service.is_stopped());
}

/// A file of the owner may lead to the first page, and to nothing else.
#[test]
fn somebody_may_be_led_to_the_first_page_only() {
    let world = World::with(&[]);
    let visit = "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\nsec-fetch-dest: document\r\n";
    assert_eq!(world.request("GET", "", visit, "").status, 200);
    for path in ["?q=secret", "privacy", "forget", "api/status", "files/page.css"] {
        assert_eq!(world.request("GET", path, visit, "").status, 403, "{path}");
    }
    let framed = visit.replace("document", "iframe");
    assert_eq!(world.request("GET", "", &framed, "").status, 403);
    let fetched = visit.replace("navigate", "no-cors");
    assert_eq!(world.request("GET", "", &fetched, "").status, 403);
}

#[test]
fn forms_and_texts_of_other_types_are_no_calls() {
    let world = World::with(&[]);
    let types =
        ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"];
    for kind in types {
        let headers = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        for path in POSTS.iter().filter(|path| path.starts_with("api/")) {
            assert_eq!(world.request("POST", path, &headers, "{}").status, 415, "{path} {kind}");
        }
    }
    let twice = "content-type: application/json\r\ncontent-type: text/plain\r\n";
    assert_eq!(world.request("POST", "api/pause", twice, "{}").status, 415);
    assert_eq!(
        world.request("POST", "api/pause", "content-type: Application/JSON; charset=utf-8\r\n", "{}").status,
        200
    );
    // A form without a word of the browser about where it comes from.
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    for path in POSTS.iter().filter(|path| path.starts_with("do/")) {
        assert_eq!(world.request("POST", path, form, "").status, 403, "{path}");
        let own = format!("{JSON}sec-fetch-site: same-origin\r\n");
        assert_eq!(world.request("POST", path, &own, "{}").status, 415, "{path}");
    }
}

#[test]
fn every_answer_tells_browsers_to_be_careful() {
    let world = World::with(&[]);
    let stranger =
        world.send(&format!("GET / HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\r\n", world.port));
    let answers =
        [world.get(""), world.get("privacy"), world.get("files/search.js"), world.get("api/status"), stranger];
    for reply in answers {
        let policy = reply.header("content-security-policy").expect("a policy");
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(reply.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert!(!reply.head.to_lowercase().contains("access-control"), "{}", reply.head);
    }
    let asked = world.request("OPTIONS", "api/search", "access-control-request-method: POST\r\n", "");
    assert!(asked.status == 405 && !asked.head.to_lowercase().contains("access-control"), "{asked:?}");
}
