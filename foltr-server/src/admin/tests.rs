use std::sync::Mutex;

use super::*;
use crate::operator::{Done, ExportedModel, FederationOverview, Overview};

const NOW: u64 = 1_000_000;

#[derive(Default)]
struct Recorder(Mutex<Vec<Action>>);

impl Operator for Recorder {
    fn overview(&self) -> Result<Overview, OperatorError> {
        let federation = FederationOverview { name: "wards".into(), ..FederationOverview::default() };
        Ok(Overview { now: NOW, version: "1", federations: vec![federation] })
    }

    fn act(&self, federation: &str, action: &Action) -> Result<Done, OperatorError> {
        match (federation, action) {
            ("wards", Action::CloseRound) => Err(OperatorError::Refused("no round is open".into())),
            ("wards", Action::RotateKey) => Err(OperatorError::Unavailable("the database is away".into())),
            ("wards", _) => {
                self.0.lock().expect("no test panics here").push(action.clone());
                Ok(Done::Invitation { id: 3, invitation: "secret".into() })
            }
            _ => Err(OperatorError::UnknownFederation(federation.into())),
        }
    }

    fn export(&self, federation: &str, version: Option<u32>) -> Result<ExportedModel, OperatorError> {
        let version = version.ok_or(OperatorError::Refused("nothing is published".into()))?;
        Ok(ExportedModel { file_name: format!("{federation}-{version}.safetensors"), bytes: vec![7] })
    }
}

fn authority() -> (Authority, String) {
    let (token, hash) = Authority::new_token().expect("random bytes");
    (Authority::new(vec![hash]), token.to_string())
}

fn send(admin: &Admin, authorization: &str, method: Method, path: &str, body: &str) -> (u16, String) {
    let (path, authorization) = (path.to_owned(), authorization.to_owned());
    let call = Call { method, path, authorization, body: body.into(), ..Call::default() };
    let answer = admin.handle_at(&call, NOW).expect("a path of the API");
    assert!(answer.headers.contains(&("cache-control", "no-store".into())));
    (answer.status, String::from_utf8(answer.body).expect("text"))
}

#[test]
fn a_token_is_64_digits_and_known_by_its_hash_only() {
    let (token, hash) = Authority::new_token().expect("random bytes");
    assert!(token.len() == 64 && token.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert_ne!(token.as_str(), hash.to_string());
    assert_eq!(Authority::hash_of(&token), hash);
    let (other, other_hash) = Authority::new_token().expect("random bytes");
    let authority = Authority::new(vec![hash, other_hash]);
    assert_eq!((authority.check(&token, NOW), authority.check(&other, NOW)), (Ok(()), Ok(())));
    // The hash opens nothing.
    for wrong in ["", "x", &token[..63], &hash.to_string(), &token.to_uppercase(), &format!("{} ", *token)] {
        assert_eq!(authority.check(wrong, NOW), Err(TokenRefused::Wrong), "{wrong}");
    }
    assert_eq!(Authority::new(Vec::new()).check("", NOW), Err(TokenRefused::Wrong));
}

#[test]
fn wrong_tokens_are_limited_and_never_lock_out_the_right_one() {
    let (authority, token) = authority();
    for _ in 0..10 {
        assert_eq!(authority.check("wrong", NOW + 3), Err(TokenRefused::Wrong));
    }
    for _ in 0..1000 {
        assert_eq!(authority.check("wrong", NOW + 20), Err(TokenRefused::TooMany { retry_after: 43 }));
        assert_eq!(authority.check(&token, NOW + 20), Ok(()));
    }
    assert_eq!(authority.check("wrong", NOW + 63), Err(TokenRefused::Wrong));
    // A clock that goes back must not keep the door shut.
    assert_eq!(authority.check("wrong", 5), Err(TokenRefused::Wrong));
}

#[test]
fn a_session_works_on_every_replica_until_it_expires_or_the_token_goes() {
    let (token, hash) = Authority::new_token().expect("random bytes");
    let (other, other_hash) = Authority::new_token().expect("random bytes");
    let value = Authority::new(vec![hash]).log_in(&token, NOW).expect("the right token");
    let replica = Authority::new(vec![other_hash, hash]);
    assert!(replica.session(&value, NOW).is_some());
    assert!(replica.session(&value, NOW + SESSION_SECONDS - 1).is_some());
    assert!(replica.session(&value, NOW + SESSION_SECONDS).is_none());
    assert!(Authority::new(vec![other_hash]).session(&value, NOW).is_none());
    assert_eq!(replica.log_in("wrong", NOW), Err(TokenRefused::Wrong));
    assert_ne!(replica.log_in(&other, NOW), replica.log_in(&other, NOW));
}

#[test]
fn a_session_with_one_changed_digit_is_none() {
    let (authority, token) = authority();
    let value = authority.log_in(&token, NOW).expect("the right token");
    for idx in 0..value.len() {
        let mut digits = value.clone().into_bytes();
        digits[idx] = if digits[idx] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8(digits).expect("digits");
        assert!(authority.session(&changed, NOW).is_none(), "digit {idx}");
    }
    for wrong in ["", "0", &value[2..], &format!("{value}00"), &"é".repeat(80)] {
        assert!(authority.session(wrong, NOW).is_none(), "{wrong}");
    }
}

#[test]
fn a_token_that_was_replaced_is_taken_no_longer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("operator.token");
    let (old, old_hash) = Authority::new_token().expect("random bytes");
    let (new, new_hash) = Authority::new_token().expect("random bytes");
    std::fs::write(&file, format!("{old_hash}\n")).expect("a file");
    let authority = Authority::of_file(file.clone()).expect("hashes");
    let session = authority.log_in(&old, NOW).expect("the right token");
    std::fs::write(&file, format!("{new_hash}\n")).expect("a file");
    assert!(authority.session(&session, NOW).is_none());
    assert_eq!((authority.check(&old, NOW), authority.check(&new, NOW)), (Err(TokenRefused::Wrong), Ok(())));
    std::fs::write(&file, "half a ha").expect("a file");
    assert_eq!(authority.check(&new, NOW), Ok(()), "what cannot be read changes nothing");
    assert!(matches!(Authority::of_file(file), Err(TokenFileError::Content(_))));
}

#[test]
fn who_reads_the_stored_hash_cannot_make_a_session() {
    let (token, hash) = Authority::new_token().expect("random bytes");
    let authority = Authority::new(vec![hash]);
    assert!(authority.session(&authority.log_in(&token, NOW).expect("right"), NOW).is_some());
    let guess = zeroize::Zeroizing::new(*hash.as_bytes());
    let forged = Session::begin(guess, &hash, NOW).expect("random bytes");
    assert!(authority.session(&forged, NOW).is_none());
}

#[test]
fn form_tokens_are_of_one_session() {
    let (authority, token) = authority();
    let session = || {
        let value = authority.log_in(&token, NOW).expect("the right token");
        authority.session(&value, NOW).expect("a session")
    };
    let (one, two) = (session(), session());
    assert!(one.is_form_token(&one.form_token()));
    assert!(!one.is_form_token(&two.form_token()) && !one.is_form_token(""));
}

#[test]
fn nothing_is_answered_without_the_token() {
    let (authority, token) = authority();
    let admin = Admin::new(Arc::new(Recorder::default()), Arc::new(authority));
    for wrong in ["", &token, &format!("Basic {token}"), "Bearer ", "Bearer x", &format!("Bearer  {token}")] {
        for path in ["/v1/admin/overview", "/v1/admin", "/v1/admin/", "/v1/admin/nothing"] {
            let (status, body) = send(&admin, wrong, Method::Get, path, "");
            assert!([401, 429].contains(&status) && !body.contains("wards"), "{wrong} {path}");
        }
    }
    let (status, body) = send(&admin, "Bearer y", Method::Get, "/v1/admin/overview", "");
    assert_eq!(status, 429);
    assert!(body.contains("urn:foltr:problem:too-many-requests"));
    assert_eq!(send(&admin, &format!("bearer {token}"), Method::Get, "/v1/admin/overview", "").0, 200);
}

#[test]
fn overview_actions_and_models_are_answered() {
    let operator = Arc::new(Recorder::default());
    let (authority, token) = authority();
    let admin = Admin::new(operator.clone(), Arc::new(authority));
    let bearer = format!("Bearer {token}");
    let get = |path: &str| send(&admin, &bearer, Method::Get, path, "");
    assert!(get("/v1/admin/overview").1.contains("\"name\":\"wards\""));
    let actions = "/v1/admin/federations/wards/actions";
    let body = r#"{"action":"new-invitation","uses":2,"seconds":60}"#;
    let expected = r#"{"done":"invitation","id":3,"invitation":"secret"}"#;
    assert_eq!(send(&admin, &bearer, Method::Post, actions, body), (200, expected.into()));
    let action = Action::NewInvitation { uses: 2, seconds: 60, note: String::new() };
    assert_eq!(*operator.0.lock().expect("no panic"), [action]);
    let model = "/v1/admin/federations/wards/model";
    assert_eq!(get(&format!("{model}?version=4")), (200, "\u{7}".into()));
    assert_eq!(get(model).0, 409);
}

#[test]
fn refusals_have_their_names() {
    let (authority, token) = authority();
    let admin = Admin::new(Arc::new(Recorder::default()), Arc::new(authority));
    let bearer = format!("Bearer {token}");
    let actions = |name: &str| format!("/v1/admin/federations/{name}/actions");
    let cases = [
        (Method::Post, actions("wards"), r#"{"action":"close-round"}"#, 409, "refused"),
        (Method::Post, actions("wards"), r#"{"action":"rotate-key"}"#, 503, "unavailable"),
        (Method::Post, actions("nobody"), r#"{"action":"hold"}"#, 404, "unknown-federation"),
        (Method::Post, actions("%zz"), r#"{"action":"hold"}"#, 400, "bad-request"),
        (Method::Post, actions("wards"), "{}", 400, "malformed"),
        (Method::Post, actions("wards"), r#"{"action":"forget","device":"a","x":1}"#, 400, "malformed"),
        (Method::Get, actions("wards"), "", 405, "method-not-allowed"),
        (Method::Put, "/v1/admin/overview".into(), "", 405, "method-not-allowed"),
        (Method::Get, "/v1/admin/federations/wards/model?version=-1".into(), "", 400, "bad-request"),
        (Method::Get, "/v1/admin/nothing".into(), "", 404, "not-found"),
    ];
    for (method, path, body, status, name) in cases {
        let (answered, json) = send(&admin, &bearer, method, &path, body);
        assert_eq!(answered, status, "{path} {body}");
        assert!(json.contains(&format!("urn:foltr:problem:{name}\"")), "{json}");
    }
    for path in ["/v1/administrator", "/v1/federations/wards/task", "/"] {
        assert_eq!(admin.handle(&Call { path: path.into(), ..Call::default() }), None);
    }
}
