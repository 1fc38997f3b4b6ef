//! What the calls answer.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::world::World;

const FILES: &[(&str, &str)] = &[
    ("lease.md", "# Lease of the flat\n\nThe rent is due on the first day of a month."),
    ("notes/rent.txt", "ask about the rent for the boat"),
    ("boat.txt", "a boat on the lake"),
];

#[test]
fn a_search_is_seen_explained_opened_and_left() {
    let world = World::with(FILES);
    let answer = world.search("rent");
    assert_eq!((answer["n_matches"].as_u64(), answer["hits"].as_array().map(Vec::len)), (Some(2), Some(2)));
    let (list, document) = (answer["list"].clone(), answer["hits"][1]["document"].clone());
    assert_eq!(world.call("seen", &json!({ "list": list })), json!({}));
    let why = world.get(&format!("api/why?list={list}&document={document}")).json();
    assert_eq!(why["rank_shown"], 2);
    let other = world.get(&format!("api/why?list={list}&document={}", answer["hits"][0]["document"])).json();
    assert!([why, other].iter().any(|it| it["shares"][0]["feature"].is_string()));
    let path = answer["hits"][1]["path"].as_str().expect("a path");
    let opened = world.call("opened", &json!({ "list": list, "document": document, "launch": true }));
    assert_eq!(opened, json!({ "path": path, "launched": true, "problem": null }));
    assert_eq!(world.opened(1), [format!("1 {path}")]);
    let quiet = world.call("opened", &json!({ "list": list, "document": document, "launch": false }));
    assert_eq!(quiet["launched"], false);
    world.call("left", &json!({ "list": list }));
    let over = world.post("left", &json!({ "list": list }));
    assert_eq!((over.status, over.error().as_str()), (410, "this list is over; search again"));
    let status = world.get("api/status").json();
    assert_eq!(status["agent"]["learned"]["n_openings"], 2);
    assert_eq!(status["agent"]["measured"]["n_with_opening"], 1);
    assert_eq!(status["indexing"]["is_running"], false);
    assert_eq!(world.get("api/export").json()["openings"][0]["query"], "rent");
}

#[test]
fn filters_and_a_list_in_place_of_another_reach_the_agent() {
    let world = World::with(FILES);
    let find = |body| world.call("search", &body)["hits"].as_array().expect("hits").len();
    assert_eq!(find(json!({ "words": "rent", "kinds": ["markdown"] })), 1);
    assert_eq!(find(json!({ "words": "rent", "kinds": [], "folder": world.files.join("notes") })), 1);
    assert_eq!(find(json!({ "words": "rent", "changed_since": 4_000_000_000_i64 })), 0);
    assert_eq!(find(json!({ "words": "rent", "changed_before": 4_000_000_000_i64, "most": 1 })), 1);
    let first = world.search("ren")["list"].clone();
    world.call("search", &json!({ "words": "rent", "instead_of": first }));
    assert_eq!(world.post("seen", &json!({ "list": first })).status, 410);
}

#[test]
fn the_owner_pauses_resumes_and_forgets() {
    let world = World::with(FILES);
    let paused = |world: &World| world.get("api/status").json()["agent"]["is_paused"].clone();
    world.call("pause", &json!({}));
    assert_eq!(paused(&world), true);
    world.call("resume", &json!({}));
    assert_eq!(paused(&world), false);
    let answer = world.search("rent");
    let document = answer["hits"][0]["document"].clone();
    world.call("opened", &json!({ "list": answer["list"], "document": document }));
    let last_search = world.service.agent.home().last_search();
    std::fs::write(&last_search, "rent").expect("written");
    world.call("forget", &json!({}));
    assert!(!last_search.exists(), "the words of a command stay");
    assert_eq!(world.get("api/status").json()["agent"]["learned"]["n_openings"], 0);
    assert_eq!(world.post("left", &json!({ "list": answer["list"] })).status, 410, "lists are forgotten, too");
}

#[test]
fn folders_are_added_and_removed_whole() {
    let world = World::with(&[]);
    let folder = world.files.clone();
    assert_eq!(world.call("folders", &json!({ "add": folder }))["folder"], json!(folder));
    assert_eq!(world.call("folders", &json!({ "remove": folder })), json!({}));
    assert_eq!(world.post("folders", &json!({ "remove": folder })).status, 404);
    world.write("file.txt", "text");
    let wrong = [
        (json!({ "add": "Documents" }), "the whole path"),
        (json!({ "add": "../../etc" }), "the whole path"),
        (json!({ "add": folder.join("nowhere") }), "no such folder"),
        (json!({ "add": folder.join("file.txt") }), "it is no folder"),
        (json!({ "add": other_users(&world) }), "another user"),
        (json!({ "add": world.service.agent.home().folder() }), "own folder"),
    ];
    for (body, words) in wrong {
        let reply = world.post("folders", &body);
        assert!(reply.status == 422 && reply.error().contains(words), "{body}: {}", reply.body);
    }
    assert_eq!(world.post("folders", &json!({})).status, 400);
    assert_eq!(world.post("folders", &json!({ "add": folder, "remove": folder })).status, 400);
    assert!(world.service.agent.folders().expect("read").is_empty());
}

/// A folder that this user can read and does not own.
fn other_users(world: &World) -> std::path::PathBuf {
    if !rustix::process::geteuid().is_root() {
        return "/".into();
    }
    let folder = world.files.join("of-nobody");
    std::fs::create_dir(&folder).expect("made");
    std::os::unix::fs::chown(&folder, Some(65_534), None).expect("given away");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("set");
    folder
}

#[test]
fn refusals_of_a_federation_come_as_sentences() {
    let world = World::with(FILES);
    let join =
        |invitation: &str, consent: &str| world.post("join", &json!({ "invitation": invitation, "consent": consent }));
    let reply = join("nonsense", "no-promise");
    assert!(reply.status == 422 && reply.error().contains("this is no invitation"), "{}", reply.body);
    let reply = join("nonsense", "yes");
    assert!(
        reply.status == 400 && reply.error().contains("protected-messages, trusted-server, no-promise"),
        "{}",
        reply.body
    );
    let page = world.form("join", "invitation=nonsense&consent=protected-messages");
    assert!(page.status == 422 && page.body.contains("this is no invitation"), "{}", page.body);
}

#[test]
fn malformed_calls_are_refused_with_a_reason() {
    let world = World::with(FILES);
    let cases = [
        ("search", "{\"words\": \"a\"", 400),
        ("search", "{}", 400),
        ("search", "{\"words\": \"a\", \"path\": \"/etc\"}", 400),
        ("search", "{\"words\": \"a\", \"kinds\": [\"exe\"]}", 400),
        ("search", "{\"words\": \"a\", \"folder\": \"../..\"}", 400),
        ("seen", "{\"list\": -1}", 400),
        ("seen", "{\"list\": \"1\"}", 400),
        ("opened", "{\"list\": 99, \"document\": 1}", 410),
        ("nothing", "{}", 404),
    ];
    for (call, body, status) in cases {
        let reply = world.request("POST", &format!("api/{call}"), "content-type: application/json\r\n", body);
        assert!(reply.status == status && !reply.error().is_empty(), "{call} {body}: {} {}", reply.status, reply.body);
    }
    let long = world.post("search", &json!({ "words": "a ".repeat(600) }));
    assert_eq!(long.status, 400, "{}", long.body);
    assert_eq!(world.get("api/why?list=a&document=1").status, 400);
    assert_eq!(world.get("api/why?list=1").status, 400);
    assert_eq!(world.get("api/search").status, 405);
    assert_eq!(world.post("status", &json!({})).status, 405);
}

#[test]
fn a_call_stops_it_after_it_was_answered() {
    let mut world = World::with(&[]);
    assert_eq!(world.post("stop", &json!({})).status, 200);
    let begun = std::time::Instant::now();
    world.join();
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    assert!(std::net::TcpStream::connect(("127.0.0.1", world.port)).is_err(), "it still listens");
}

#[test]
fn pages_work_without_scripts() {
    let world = World::with(FILES);
    let page = world.get("?q=rent&kind=markdown&folder=&days=7");
    assert!(page.body.contains("<mark>rent</mark>") && page.body.contains("1 match in"), "{}", page.body);
    assert!(page.body.contains("value=\"markdown\" selected") && page.body.contains("value=\"rent\""));
    let list = page.body.split("data-list=\"").nth(1).and_then(|it| it.split('"').next()).expect("a list");
    let document =
        page.body.split("name=\"document\" value=\"").nth(1).and_then(|it| it.split('"').next()).expect("a row");
    let opened = world.form("open", &format!("list={list}&document={document}"));
    assert!(opened.status == 200 && opened.body.contains("Opened "), "{}", opened.body);
    assert_eq!(world.opened(1), [format!("1 {}", world.files.join("lease.md").display())]);
    assert_eq!(world.form("open", &format!("list={list}&document=999")).status, 404);

    let privacy = world.get("privacy").body;
    for words in
        ["lease.md", "rent", "3 documents", "Nothing. This agent learns alone", "Too few lists to say", "Forget"]
    {
        assert!(privacy.contains(words), "{words}: {privacy}");
    }
    let paused = world.form("pause", "");
    let to = paused.header("location").expect("an address");
    assert_eq!((paused.status, to), (303, format!("/{}/privacy?done=paused", world.token).as_str()));
    assert!(world.get("privacy?done=paused").body.contains("Paused: nothing is recorded"));
    assert_eq!(world.form("resume", "").status, 303);
    let question = world.get("forget").body;
    assert!(question.contains("1 opening") && question.contains("This stays"), "{question}");
    assert_eq!(world.form("forget", "").status, 303);
    let removed = world.form("remove", &format!("folder={}", world.files.display()));
    assert_eq!(removed.status, 303);
    assert!(world.get("").body.contains("What would you like to find again?"));
    let again = world.form("add", &format!("folder={}", world.files.display()));
    assert_eq!(again.header("location"), Some(format!("/{}/?done=added", world.token).as_str()));
    let wrong = world.form("add", "folder=nowhere&page=privacy");
    assert!(wrong.status == 422 && wrong.body.contains("the whole path"), "{}", wrong.body);
}

#[test]
fn where_it_is_said_only_the_owner_can_read() {
    let world = World::with(&[]);
    let home = world.service.agent.home();
    let (port, token) = (world.port, world.token.clone());
    assert_eq!(token.len(), 48);
    home.write_address(&crate::home::Address { port, token: token.clone(), process: 1 }).expect("written");
    let mode = |path: &std::path::Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&home.folder().join("address.json")), mode(home.folder())), (0o600, 0o700));
    let line = std::fs::read_to_string("/proc/self/cmdline").expect("read");
    assert!(!line.contains(&token));
    assert_ne!(World::with(&[]).token, token);
}
