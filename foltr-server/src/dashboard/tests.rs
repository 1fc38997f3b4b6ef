mod browser;
mod fake;
mod served;

use std::sync::Arc;

use super::*;
use crate::operator::Action;
use fake::{FakeOperator, HOSTILE, INVITATION, fresh, rich};

const NOW: u64 = 5_000_000;

struct Site {
    operator: Arc<FakeOperator>,
    dashboard: Dashboard,
    token: String,
    cookie: String,
}

impl Site {
    fn new(federations: Vec<FederationOverview>) -> Self {
        let operator = Arc::new(FakeOperator::new(federations));
        let (token, hash) = Authority::new_token().expect("random bytes");
        let dashboard = Dashboard::new(operator.clone(), Arc::new(Authority::new(vec![hash])), true);
        let mut site = Self { operator, dashboard, token: token.to_string(), cookie: String::new() };
        let answer = site.post("/login", &format!("token={}", site.token));
        let cookie = header(&answer, "set-cookie").expect("a cookie");
        site.cookie = format!("other=1; {}", cookie.split(';').next().expect("a value"));
        site
    }

    fn send(&self, method: Method, path: &str, body: &str) -> Answer {
        let (path, body, cookie) = (path.to_owned(), body.as_bytes().to_vec(), self.cookie.clone());
        let call = Call { method, path, body, cookie, ..Call::default() };
        self.dashboard.handle_at(&call, NOW).expect("a path of the dashboard")
    }

    fn get(&self, path: &str) -> Answer {
        self.send(Method::Get, path, "")
    }

    fn post(&self, path: &str, body: &str) -> Answer {
        self.send(Method::Post, path, body)
    }

    fn csrf(&self) -> String {
        let page = text(&self.get("/"));
        let rest = page.split_once("name=\"csrf\" value=\"").expect("a form").1;
        rest[..64].to_owned()
    }

    fn act(&self, fields: &str) -> Answer {
        self.post("/federations/wards/actions", &format!("csrf={}&{fields}", self.csrf()))
    }
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).expect("text")
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

#[test]
fn who_has_not_logged_in_sees_nothing() {
    let site = Site { cookie: String::new(), ..Site::new(vec![rich()]) };
    for path in ["/", "/federations/wards", "/federations/wards/model", "/federations/nobody", "/logout"] {
        let answer = site.get(path);
        assert_eq!((answer.status, header(&answer, "location")), (303, Some("/login")), "{path}");
        assert!(answer.body.is_empty());
    }
    let answer = site.post("/federations/wards/actions", "action=hold");
    assert_eq!((answer.status, header(&answer, "location")), (303, Some("/login")));
    assert_eq!(site.get("/?part=live").status, 401);
    assert_eq!(site.operator.done(), []);
    assert_eq!(site.get("/login").status, 200);
}

#[test]
fn a_wrong_token_is_told_so_and_a_right_one_makes_a_careful_cookie() {
    let site = Site { cookie: String::new(), ..Site::new(vec![rich()]) };
    let answer = site.post("/login", "token=wrong");
    assert_eq!(answer.status, 401);
    assert!(text(&answer).contains("token is wrong"));
    assert_eq!(header(&answer, "set-cookie"), None);
    let answer = site.post("/login", &format!("token=+{}%0A", site.token));
    let cookie = header(&answer, "set-cookie").expect("a cookie");
    assert!(cookie.starts_with("foltr_session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    assert!(!cookie.contains(&site.token));
}

#[test]
fn whoever_logs_out_loses_the_cookie() {
    let site = Site::new(vec![rich()]);
    assert_eq!(site.post("/logout", "").status, 403);
    let answer = site.post("/logout", &format!("csrf={}", site.csrf()));
    assert_eq!(header(&answer, "location"), Some("/login"));
    assert!(
        header(&answer, "set-cookie").is_some_and(|cookie| cookie.starts_with("foltr_session=; Path=/; Max-Age=0"))
    );
}

#[test]
fn a_form_of_somebody_else_does_nothing() {
    let (site, other) = (Site::new(vec![rich()]), Site::new(vec![rich()]));
    let foreign = format!("csrf={}&action=hold", other.csrf());
    for body in ["action=hold", "csrf=&action=hold", foreign.as_str()] {
        assert_eq!(site.post("/federations/wards/actions", body).status, 403, "{body}");
    }
    // Another session of the same operator.
    let answer = site.post("/login", &format!("token={}", site.token));
    let cookie =
        header(&answer, "set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie").to_owned();
    let csrf = site.csrf();
    let site = Site { cookie, ..site };
    assert_eq!(site.post("/federations/wards/actions", &format!("csrf={csrf}&action=hold")).status, 403);
    assert_eq!(site.operator.done(), []);
    assert_eq!(site.act("action=hold").status, 303);
    assert_eq!(site.operator.done(), [("wards".to_owned(), Action::Hold)]);
}

#[test]
fn what_is_done_is_said_after_a_redirection() {
    let site = Site::new(vec![rich(), fresh()]);
    let answer = site.act("action=hold");
    assert_eq!((answer.status, header(&answer, "location")), (303, Some("/federations/wards?done=hold")));
    let page = text(&site.get("/federations/wards?done=hold"));
    assert!(
        page.contains("The federation is held.") && page.contains("id=\"resume\"") && !page.contains("id=\"hold\"")
    );
    let page = text(&site.get("/federations/wards?done=roll-back&version=18"));
    assert!(page.contains("It is release 18."));
    let page = text(&site.get("/federations/wards?done=Send+money&version=<b>"));
    assert!(!page.contains("Send money") && !page.contains("class=\"notice good\""));
}

#[test]
fn dangerous_actions_are_done_only_when_confirmed() {
    let site = Site::new(vec![rich()]);
    let device = "ab".repeat(32);
    let asked = [
        ("action=roll-back&version=50".to_owned(), Action::RollBack { version: 50 }),
        (format!("action=revoke-device&device={device}"), Action::RevokeDevice { device: device.clone() }),
        (format!("action=forget&device=+{}+", device.to_uppercase()), Action::Forget { device }),
        ("action=rotate-key".to_owned(), Action::RotateKey),
    ];
    for (idx, (fields, action)) in asked.iter().enumerate() {
        let answer = site.act(fields);
        assert_eq!(answer.status, 200);
        assert!(text(&answer).contains("name=\"confirmed\" value=\"yes\""), "{fields}");
        assert_eq!(site.operator.done().len(), idx);
        assert_eq!(site.act(&format!("{fields}&confirmed=yes")).status, 303);
        assert_eq!(site.operator.done().last(), Some(&("wards".to_owned(), action.clone())));
    }
}

#[test]
fn an_invitation_is_shown_once() {
    let site = Site::new(vec![rich()]);
    let answer = site.act("action=new-invitation&uses=20&days=7&note=Ward+4+%26+5");
    assert_eq!(answer.status, 200);
    assert!(text(&answer).contains(INVITATION) && text(&answer).contains("Ward 4 &#38; 5"));
    assert_eq!(header(&answer, "cache-control"), Some("no-store"));
    assert!(!text(&site.get("/")).contains(INVITATION));
    let action = Action::NewInvitation { uses: 20, seconds: 7 * 86_400, note: "Ward 4 & 5".into() };
    assert_eq!(site.operator.done(), [("wards".to_owned(), action)]);
}

#[test]
fn wrong_fields_are_named_and_nothing_is_done() {
    let site = Site::new(vec![rich()]);
    let long = format!("action=new-invitation&uses=1&days=1&note={}", "x".repeat(201));
    let wrong = [
        ("action=new-invitation&uses=0&days=7", "expected a whole number from 1 to 1000000"),
        ("action=new-invitation&uses=1&days=99999", "expected a whole number from 1 to 3650"),
        ("action=new-invitation&uses=1", "lacks &#34;days&#34;"),
        (long.as_str(), "the note has 201 letters"),
        ("action=roll-back&version=4294967296", "expected a whole number from 0 to 4294967295"),
        ("action=forget&device=12", "expected 64 hexadecimal digits"),
        ("action=dance", "there is no action &#34;dance&#34;"),
        ("", "lacks &#34;action&#34;"),
    ];
    for (fields, words) in wrong {
        let answer = site.act(fields);
        assert_eq!(answer.status, 400, "{fields}");
        assert!(text(&answer).contains(words), "{fields}");
    }
    for body in ["csrf=%zz", "a=1&a=2", &"&x".repeat(100), "\u{0}=%ff"] {
        assert_eq!(site.post("/federations/wards/actions", body).status, 400, "{body}");
    }
    assert_eq!(site.operator.done(), []);
}

#[test]
fn what_the_operator_refuses_is_said_on_the_page() {
    let site = Site::new(vec![rich()]);
    let answer = site.act("action=roll-back&version=0&confirmed=yes");
    assert_eq!(answer.status, 409);
    assert!(text(&answer).contains("release 0 &#60;b&#62;is&#60;/b&#62; the oldest"));
    assert!(text(&answer).contains("id=\"live\""));
    let answer = site.post("/federations/nobody/actions", &format!("csrf={}&action=hold", site.csrf()));
    assert_eq!(answer.status, 404);
}

#[test]
fn no_text_of_others_becomes_html() {
    let mut federation = rich();
    let hostile = || HOSTILE.to_owned();
    (federation.name, federation.address, federation.plan) = (hostile(), hostile(), hostile());
    (federation.state, federation.privacy) = (hostile(), vec![hostile()]);
    federation.refusals = vec![(hostile(), 3)];
    federation.rounds[3].step_norm = None;
    federation.rounds[3].outcome = hostile();
    federation.releases[0].cause = hostile();
    federation.releases[0].hash = hostile();
    federation.forget_requests[0].device = hostile();
    federation.forget_requests[0].state = hostile();
    let site = Site::new(vec![federation.clone(), fresh()]);
    let path = view::path_of(HOSTILE);
    let confirmed =
        site.post(&format!("{path}/actions"), &format!("csrf={}&action=rotate-key&x=%3Cscript", site.csrf()));
    for answer in [site.get("/"), site.get(&path), site.get("/federations/%3Cscript%3E"), confirmed] {
        let page = text(&answer);
        assert!(!page.contains("<script>") && !page.contains("<img src=x") && !page.contains("\"'>"), "{page}");
        assert!(page.matches("<script").count() == 1 && page.contains("&#60;script"));
    }
}

#[test]
fn one_federation_is_shown_at_once_and_several_as_a_list() {
    let page = text(&Site::new(vec![rich()]).get("/"));
    assert!(page.contains("data-live=\"/?part=live\"") && page.contains("Size of steps"));
    let page = text(&Site::new(vec![rich(), fresh()]).get("/"));
    assert!(page.contains("href=\"/federations/wards\"") && page.contains("href=\"/federations/clinic\""));
    assert!(!page.contains("Size of steps"));
    assert!(text(&Site::new(Vec::new()).get("/")).contains("This server has no federation yet."));
}

#[test]
fn an_empty_federation_says_what_to_do_next() {
    let page = text(&Site::new(vec![fresh()]).get("/"));
    for words in ["No device yet: make an invitation.", "No step yet.", "Nobody has asked", "no promise of privacy"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("NaN") && !page.contains("close-round"));
}

#[test]
fn the_live_part_is_the_page_without_its_frame() {
    let site = Site::new(vec![rich()]);
    let part = text(&site.get("/federations/wards?part=live"));
    assert!(part.starts_with("<div id=\"live\"") && part.ends_with("</div>") && !part.contains("<html"));
}

#[test]
fn a_model_is_a_file_to_save() {
    let answer = Site::new(vec![rich()]).get("/federations/wards/model?version=12");
    assert_eq!((answer.status, answer.body.as_slice()), (200, [1, 2, 3].as_slice()));
    assert_eq!(header(&answer, "content-disposition"), Some("attachment; filename=\"wards-12.safetensors\""));
    assert_eq!(Site::new(vec![rich()]).get("/federations/wards/model?version=x").status, 400);
}

#[test]
fn every_answer_is_guarded_and_files_are_asked_for_once() {
    let site = Site::new(vec![rich()]);
    for path in ["/", "/login", "/dashboard.css", "/dashboard.js", "/dashboard.svg", "/federations/nobody"] {
        let answer = site.get(path);
        let policy = header(&answer, "content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{path}");
        assert!(policy.contains("; frame-ancestors 'none'; "), "{path}");
        assert_eq!(header(&answer, "x-content-type-options"), Some("nosniff"));
    }
    let etag = site.get("/dashboard.css").etag.expect("a tag");
    let call = Call { path: "/dashboard.css".into(), if_none_match: etag, ..Call::default() };
    let answer = site.dashboard.handle(&call).expect("a file");
    assert_eq!((answer.status, answer.body.len()), (304, 0));
}

#[test]
fn other_paths_are_left_to_others() {
    let site = Site::new(vec![rich()]);
    for path in ["/v1/admin/overview", "/metrics", "/federations", "/federations/a/b", "", "x", "/login/"] {
        let call = Call { path: path.into(), ..Call::default() };
        assert_eq!(site.dashboard.handle(&call), None, "{path}");
    }
    assert_eq!(site.send(Method::Put, "/", "").status, 405);
    assert_eq!(site.post("/dashboard.css", "").status, 405);
}
