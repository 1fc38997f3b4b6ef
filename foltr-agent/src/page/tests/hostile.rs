//! Files and requests that try to become part of a page or of a head.

use serde_json::json;

use super::world::World;

const NAME: &str = "\"><img src=x onerror=hostile=1>.txt";
const SCRIPT: &str = "<script>hostile=1</script>";

const QUOTES: &str = "'onmouseover='hostile=1'.md";

pub(super) fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        (NAME, "boat </p></li><script>hostile=1</script> boat"),
        ("title.md", "# <script>hostile=1</script> boat\n\nboat &lt;script&gt;"),
        (QUOTES, "boat `${hostile=1}`"),
        ("skipped<script>hostile=1<\u{b7}script>.txt", "binary\0\0\0\0"),
    ]
}

#[test]
fn names_titles_texts_and_queries_stay_text() {
    let world = World::with(&files());
    let list = world.search("boat");
    let hits = list["hits"].as_array().expect("hits");
    assert_eq!(hits.len(), 3);
    for hit in hits {
        world.call("opened", &json!({ "list": list["list"], "document": hit["document"] }));
    }
    let query = "%22%3E%3Cscript%3Ehostile%3D1%3C%2Fscript%3E+boat";
    let pages = [
        world.get("?q=boat").body,
        world.get(&format!("?q={query}&kind={query}&folder={query}&days={query}&done={query}")).body,
        world.get("privacy").body,
        world.get(&format!("privacy?done={query}")).body,
        world.get("forget").body,
        world.form("add", &format!("folder=/{query}")).body,
        world.form("add", &format!("folder=/{query}&page={query}")).body,
        world.form("join", &format!("invitation={query}&consent={query}")).body,
    ];
    for page in pages {
        assert!(page.contains("</html>"), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert_eq!(page.matches("<img").count(), 1, "{page}");
        for text in [NAME, SCRIPT, QUOTES] {
            assert!(!page.contains(text), "{text}: {page}");
        }
    }
}

#[test]
fn what_is_sent_does_not_become_a_header() {
    let world = World::with(&[]);
    let injected = "%0d%0aset-cookie:%20a=b%0d%0a%0d%0a";
    for path in ["?done=", "privacy?done=", "?q=", "files/", "api/why?list="] {
        let reply = world.get(&format!("{path}{injected}"));
        assert!(!reply.head.to_lowercase().contains("set-cookie"), "{path}: {}", reply.head);
    }
    let reply = world.form("add", &format!("folder={}&page={injected}", world.files.display()));
    assert_eq!(reply.status, 303);
    assert!(!reply.head.to_lowercase().contains("set-cookie"), "{}", reply.head);
}

#[test]
fn no_path_of_a_request_is_opened_or_read() {
    let world = World::with(&[("secret/plan.txt", "boat"), ("other.txt", "tree")]);
    let (boat, tree) = (world.search("boat"), world.search("tree"));
    let other = tree["hits"][0]["document"].clone();
    let reply = world.post("opened", &json!({ "list": boat["list"], "document": other, "launch": true }));
    assert_eq!((reply.status, reply.error().as_str()), (404, "this document is not in the list"));
    let why = world.get(&format!("api/why?list={}&document={other}", boat["list"]));
    assert_eq!(why.status, 404);
    for document in [json!("/etc/passwd"), json!("../../etc/passwd"), json!(["1"]), json!(1.5), json!(u64::MAX)] {
        let reply = world.post("opened", &json!({ "list": boat["list"], "document": document, "launch": true }));
        assert!(matches!(reply.status, 400 | 404), "{document}: {}", reply.body);
    }
    let files =
        ["files/../privacy", "files/..%2f..%2fCargo.toml", "files//etc/passwd", "files/%2e%2e/%2e%2e/etc/passwd"];
    for path in files {
        let reply = world.get(path);
        assert!(reply.status == 404 && !reply.body.contains("root:"), "{path}: {}", reply.body);
    }
    for folder in ["/etc", "/", "/../..", "/etc/../etc/passwd"] {
        let answer = world.call("search", &json!({ "words": "root", "folder": folder }));
        assert_eq!(answer["hits"], json!([]), "{folder}");
    }
    assert_eq!(world.opened(0), [""; 0]);
}
