//! The operator's pages: made on the server, and complete without a script.

mod action;
mod chart;
mod moment;
mod page;
#[cfg(test)]
mod tests;
mod view;

use std::sync::Arc;

use foltr_federation::Fingerprint;

use crate::admin::form::{self, Form};
use crate::admin::{self, Authority, SESSION_SECONDS, Session};
use crate::call::{Answer, Call, Method};
use crate::operator::{Done, FederationOverview, Operator};
use crate::problem::{Name, Problem};
use page::{Confirm, Frame, Login, Message, Notice, Part};
use view::{FederationView, ListView};

const COOKIE: &str = "foltr_session";

/// The dashboard at `/`.
pub struct Dashboard {
    operator: Arc<dyn Operator>,
    authority: Arc<Authority>,
    has_tls: bool,
}

/// What was asked for, and by whom.
struct Visit<'a> {
    call: &'a Call,
    query: &'a str,
    session: Session,
    /// Of the session, for the forms.
    csrf: String,
}

impl Dashboard {
    /// `has_tls` says whether operators reach the server by `https`, also where a proxy ends it: cookies are then sent
    /// in no other way.
    pub fn new(operator: Arc<dyn Operator>, authority: Arc<Authority>, has_tls: bool) -> Self {
        Self { operator, authority, has_tls }
    }

    /// Nothing for a path that is not the dashboard's.
    pub fn handle(&self, call: &Call) -> Option<Answer> {
        self.handle_at(call, admin::now())
    }

    fn handle_at(&self, call: &Call, now: u64) -> Option<Answer> {
        let path = form::split_path(&call.path).0;
        let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let answer = match segments.as_slice() {
            ["dashboard.css"] => Ok(file(call, "text/css; charset=utf-8", include_str!("../templates/dashboard.css"))),
            ["dashboard.js"] => {
                Ok(file(call, "text/javascript; charset=utf-8", include_str!("../templates/dashboard.js")))
            }
            ["dashboard.svg"] => Ok(file(call, "image/svg+xml", include_str!("../templates/dashboard.svg"))),
            ["login"] => self.log_in(call, now),
            [""] | ["logout"] | ["federations", _] | ["federations", _, "actions" | "model"] => {
                self.visit(call, &segments, now)
            }
            _ => return None,
        };
        Some(page::secured(answer.unwrap_or_else(|problem| Message::of(&problem).answer(&problem))))
    }

    fn visit(&self, call: &Call, segments: &[&str], now: u64) -> Result<Answer, Problem> {
        let query = form::split_path(&call.path).1;
        let Some(session) = self.session(call, now) else {
            return match Form::parse(query.as_bytes()) {
                Ok(query) if query.get("part").is_some() => {
                    Ok(Problem::new(Name::NotAuthorised, "the session has ended; log in again").into())
                }
                _ => Ok(redirect("/login")),
            };
        };
        let csrf = session.form_token();
        let visit = Visit { call, query, session, csrf };
        match (call.method, segments) {
            (Method::Get, [""]) => self.list(&visit),
            (Method::Post, ["logout"]) => self.log_out(&visit),
            (Method::Get, ["logout"]) => Ok(redirect("/")),
            (Method::Get, ["federations", name]) => self.federation(&visit, &admin::segment(name)?),
            (Method::Get, ["federations", name, "model"]) => {
                admin::model(self.operator.as_ref(), &admin::segment(name)?, query)
            }
            (Method::Post, ["federations", name, "actions"]) => self.act(&visit, &admin::segment(name)?),
            // Where a browser asks for the address of a page that was the answer to a form.
            (Method::Get, ["federations", name, "actions"]) => Ok(redirect(&view::path_of(&admin::segment(name)?))),
            _ => Err(admin::not_allowed(call)),
        }
    }

    fn session(&self, call: &Call, now: u64) -> Option<Session> {
        let cookies = call.cookie.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        cookies.filter(|(name, _)| *name == COOKIE).find_map(|(_, value)| self.authority.session(value, now))
    }

    fn log_in(&self, call: &Call, now: u64) -> Result<Answer, Problem> {
        match call.method {
            Method::Get if self.session(call, now).is_some() => Ok(redirect("/")),
            Method::Get => Ok(Answer::html(Login { refusal: None }.page())),
            Method::Post => {
                let form = parse(&call.body)?;
                match self.authority.log_in(form.get("token").unwrap_or_default(), now) {
                    Ok(value) => Ok(with_cookie(redirect("/"), &value, SESSION_SECONDS, self.has_tls)),
                    Err(refused) => {
                        let problem = Problem::from(refused);
                        let page = Login { refusal: Some(&problem.detail) }.page();
                        Ok(Answer {
                            status: problem.name.status(),
                            retry_after: problem.retry_after,
                            ..Answer::html(page)
                        })
                    }
                }
            }
            Method::Put => Err(admin::not_allowed(call)),
        }
    }

    /// The cookie is taken back. A copy of it would work until it expires, or until the token is replaced.
    fn log_out(&self, visit: &Visit) -> Result<Answer, Problem> {
        visit.own_form()?;
        Ok(with_cookie(redirect("/login"), "", 0, self.has_tls))
    }

    fn list(&self, visit: &Visit) -> Result<Answer, Problem> {
        let overview = self.operator.overview()?;
        if let [federation] = overview.federations.as_slice() {
            let view = FederationView::of(federation, &overview, &visit.csrf, "/");
            return visit.show(&federation.name, "/", overview.version, view.part());
        }
        let view = ListView::of(&overview);
        visit.show("Federations", "/", overview.version, view.part())
    }

    fn federation(&self, visit: &Visit, name: &str) -> Result<Answer, Problem> {
        self.show_federation(visit, name, visit.notice())
    }

    fn show_federation(&self, visit: &Visit, name: &str, notice: Option<Notice>) -> Result<Answer, Problem> {
        let overview = self.operator.overview()?;
        let federation = find(&overview.federations, name)?;
        let path = view::path_of(name);
        let view = FederationView::of(federation, &overview, &visit.csrf, &path);
        visit.show_with(name, &path, overview.version, view.part(), notice)
    }

    fn act(&self, visit: &Visit, name: &str) -> Result<Answer, Problem> {
        let form = visit.own_form()?;
        let refused = |problem: &Problem| -> Result<Answer, Problem> {
            let notice = Notice::Refused(problem.detail.clone());
            let page = self.show_federation(visit, name, Some(notice))?;
            Ok(Answer { status: problem.name.status(), retry_after: problem.retry_after, ..page })
        };
        let asked = match action::of(&form) {
            Ok(asked) => asked,
            Err(error) => return refused(&Problem::new(Name::Malformed, error.to_string())),
        };
        if let Some(question) = action::question(&asked).filter(|_| form.get("confirmed") != Some("yes")) {
            let overview = self.operator.overview()?;
            find(&overview.federations, name)?;
            let path = view::path_of(name);
            let confirm = Confirm { name, path: &path, csrf: &visit.csrf, question: &question, fields: form.fields() };
            return Ok(Answer::html(confirm.page(overview.version)));
        }
        match self.operator.act(name, &asked) {
            Ok(Done::Done) => Ok(redirect(&format!("{}?done={}", view::path_of(name), action::name(&asked)))),
            Ok(Done::Release { version }) => {
                Ok(redirect(&format!("{}?done={}&version={version}", view::path_of(name), action::name(&asked))))
            }
            Ok(Done::Invitation { id, invitation }) => {
                self.show_federation(visit, name, Some(Notice::Invitation { id, invitation }))
            }
            Err(error) => refused(&Problem::from(error)),
        }
    }
}

impl Visit<'_> {
    /// The form that was sent, if one of this session's own pages sent it.
    fn own_form(&self) -> Result<Form, Problem> {
        let form = parse(&self.call.body)?;
        if self.session.is_form_token(form.get("csrf").unwrap_or_default()) {
            return Ok(form);
        }
        Err(Problem::new(Name::Forbidden, "the form is not of this session; go back, load the page anew and try again"))
    }

    /// What a redirection says about what was done.
    fn notice(&self) -> Option<Notice> {
        let query = Form::parse(self.query.as_bytes()).ok()?;
        let text = action::done_text(query.get("done")?)?;
        Some(Notice::Done { text, version: query.get("version").and_then(|version| version.parse().ok()) })
    }

    fn show(&self, title: &str, path: &str, version: &str, part: Part) -> Result<Answer, Problem> {
        self.show_with(title, path, version, part, self.notice())
    }

    /// The page, or only its live part where the page's script asks for it.
    fn show_with(
        &self,
        title: &str,
        path: &str,
        version: &str,
        part: Part,
        notice: Option<Notice>,
    ) -> Result<Answer, Problem> {
        let query = Form::parse(self.query.as_bytes()).unwrap_or_default();
        if query.get("part") == Some("live") {
            return Ok(Answer::html(part.0));
        }
        let frame = Frame { title, path, version, csrf: Some(&self.csrf), notice: notice.as_ref(), body: &part.0 };
        Ok(Answer::html(frame.page()))
    }
}

fn parse(body: &[u8]) -> Result<Form, Problem> {
    Form::parse(body).map_err(|error| Problem::new(Name::Malformed, error.to_string()))
}

fn find<'a>(federations: &'a [FederationOverview], name: &str) -> Result<&'a FederationOverview, Problem> {
    let unknown = || Problem::new(Name::UnknownFederation, format!("there is no federation {name:?}"));
    federations.iter().find(|federation| federation.name == name).ok_or_else(unknown)
}

fn redirect(path: &str) -> Answer {
    Answer { headers: vec![("location", path.to_owned())], ..Answer::empty(303) }
}

fn with_cookie(mut answer: Answer, value: &str, seconds: u64, has_tls: bool) -> Answer {
    let secure = if has_tls { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    answer.headers.push(("set-cookie", cookie));
    answer
}

/// A file that is part of the program.
fn file(call: &Call, kind: &'static str, text: &'static str) -> Answer {
    if call.method != Method::Get {
        return admin::not_allowed(call).into();
    }
    let etag = format!("\"{}\"", Fingerprint::of(text.as_bytes()));
    let is_known = call.if_none_match.split(',').any(|known| known.trim() == etag);
    let answer = if is_known { Answer::empty(304) } else { Answer::bytes(200, text.into()) };
    Answer { kind, etag: Some(etag), ..answer }
}
