//! The frame of every page, and the small pages.

use askama::Template;

use super::action::Question;
use crate::call::Answer;
use crate::problem::Problem;

/// Nothing from elsewhere, nothing inline, no frame around it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; \
                      connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

const COMPLETE: &str = "writing to memory does not fail";

/// What the page says on top.
pub(super) enum Notice {
    Done { text: &'static str, version: Option<u32> },
    Refused(String),
    Invitation { id: u64, invitation: String },
}

/// HTML that changes while somebody looks at it: one element `div` with the id `live`.
pub(super) struct Part(pub(super) String);

impl Part {
    pub(super) fn of(template: &impl Template) -> Self {
        Self(template.render().expect(COMPLETE))
    }
}

#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    /// What the browser shows as the address, also after a form.
    pub(super) path: &'a str,
    pub(super) version: &'a str,
    /// Nothing for somebody who is not logged in.
    pub(super) csrf: Option<&'a str>,
    pub(super) notice: Option<&'a Notice>,
    /// HTML.
    pub(super) body: &'a str,
}

impl Frame<'_> {
    pub(super) fn page(&self) -> String {
        self.render().expect(COMPLETE)
    }
}

#[derive(Template)]
#[template(path = "login.html")]
pub(super) struct Login<'a> {
    pub(super) refusal: Option<&'a str>,
}

impl Login<'_> {
    pub(super) fn page(&self) -> String {
        let body = self.render().expect(COMPLETE);
        Frame { title: "Log in", path: "/login", version: "", csrf: None, notice: None, body: &body }.page()
    }
}

#[derive(Template)]
#[template(path = "confirm.html")]
pub(super) struct Confirm<'a> {
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    pub(super) csrf: &'a str,
    pub(super) question: &'a Question,
    /// Of the form that is to be confirmed.
    pub(super) fields: &'a [(String, String)],
}

impl Confirm<'_> {
    pub(super) fn page(&self, version: &str) -> String {
        let body = self.render().expect(COMPLETE);
        let (title, csrf) = (&self.question.title, Some(self.csrf));
        Frame { title, path: self.path, version, csrf, notice: None, body: &body }.page()
    }
}

/// Why there is no page.
#[derive(Template)]
#[template(path = "message.html")]
pub(super) struct Message<'a> {
    title: &'a str,
    detail: &'a str,
}

impl<'a> Message<'a> {
    pub(super) fn of(problem: &'a Problem) -> Self {
        Self { title: problem.name.meaning(), detail: &problem.detail }
    }

    pub(super) fn answer(&self, problem: &Problem) -> Answer {
        let body = self.render().expect(COMPLETE);
        let page = Frame { title: self.title, path: "/", version: "", csrf: None, notice: None, body: &body }.page();
        Answer { status: problem.name.status(), retry_after: problem.retry_after, ..Answer::html(page) }
    }
}

/// With what browsers need to know to be careful.
pub(super) fn secured(mut answer: Answer) -> Answer {
    // A file with a tag may be kept, and is asked for again.
    let caching = if answer.etag.is_some() { "no-cache" } else { "no-store" };
    answer.headers.extend([
        ("content-security-policy", POLICY.to_owned()),
        ("x-content-type-options", "nosniff".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
        ("cross-origin-opener-policy", "same-origin".to_owned()),
        ("cache-control", caching.to_owned()),
    ]);
    answer
}
