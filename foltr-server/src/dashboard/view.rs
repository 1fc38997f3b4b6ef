//! What the templates show of an overview.

use askama::Template;

use super::action::{LONGEST_NOTE, MOST_DAYS, MOST_USES};
use super::chart::{Participation, StepNorms};
use super::moment::Moment;
use super::page::Part;
use crate::admin::form::percent_encode;
use crate::operator::{FederationOverview, ForgetLine, InvitationLine, Overview, ReleaseLine};
use crate::problem::Name;

/// Releases that are seen at once; the others are below a heading that opens.
const N_RELEASES: usize = 8;

pub(super) fn path_of(federation: &str) -> String {
    format!("/federations/{}", percent_encode(federation))
}

/// With commas between thousands.
pub(super) fn count(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Of a whole, in percent with one decimal.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    ((1000.0 * part as f64 / whole as f64).round() / 10.0).min(100.0)
}

/// All federations of the server.
#[derive(Template)]
#[template(path = "list.html")]
pub(super) struct ListView<'a> {
    cards: Vec<Card<'a>>,
}

struct Card<'a> {
    federation: &'a FederationOverview,
    path: String,
    progress: Progress,
    n_devices: String,
    /// The newest.
    released: Option<Moment>,
}

impl<'a> ListView<'a> {
    pub(super) fn of(overview: &'a Overview) -> Self {
        let card = |federation: &'a FederationOverview| Card {
            federation,
            path: path_of(&federation.name),
            progress: Progress::of(federation),
            n_devices: count(federation.n_devices),
            released: federation.releases.first().map(|release| Moment { at: release.created_at, now: overview.now }),
        };
        Self { cards: overview.federations.iter().map(card).collect() }
    }

    pub(super) fn part(&self) -> Part {
        Part::of(self)
    }
}

/// How far the round and the plan are.
struct Progress {
    came: String,
    wanted: String,
    came_share: f64,
    n_rounds: String,
    round_share: f64,
}

impl Progress {
    fn of(federation: &FederationOverview) -> Self {
        Self {
            came: count(federation.n_contributions),
            wanted: count(federation.n_wanted),
            came_share: share(federation.n_contributions.into(), federation.n_wanted.into()),
            n_rounds: count(federation.n_rounds),
            round_share: share(federation.round.into(), federation.n_rounds.into()),
        }
    }
}

/// One federation.
#[derive(Template)]
#[template(path = "federation.html")]
pub(super) struct FederationView<'a> {
    it: &'a FederationOverview,
    csrf: &'a str,
    /// For its forms.
    path: String,
    /// Where the page is.
    live_path: &'a str,
    /// Whether the server has no other one.
    is_only: bool,
    progress: Progress,
    opened: Option<Moment>,
    deadline: Option<Moment>,
    staged: Option<Moment>,
    n_devices: String,
    n_refused: String,
    participation: Option<Participation>,
    step_norms: Option<StepNorms>,
    refusals: Vec<Refusal<'a>>,
    has_shards: bool,
    releases: Vec<Release<'a>>,
    earlier: Vec<Release<'a>>,
    invitations: Vec<Invitation<'a>>,
    forgets: Vec<Forget<'a>>,
}

struct Refusal<'a> {
    name: &'a str,
    meaning: &'static str,
    count: String,
    share: f64,
}

struct Release<'a> {
    line: &'a ReleaseLine,
    hash: &'a str,
    created: Moment,
    is_current: bool,
}

struct Invitation<'a> {
    line: &'a InvitationLine,
    created: Moment,
    expires: Moment,
    has_expired: bool,
    is_open: bool,
    /// Why nobody can join with it.
    state: &'static str,
}

struct Forget<'a> {
    line: &'a ForgetLine,
    device: &'a str,
    asked: Moment,
    class: &'static str,
}

impl<'a> FederationView<'a> {
    /// On the page at `live_path`.
    pub(super) fn of(it: &'a FederationOverview, overview: &Overview, csrf: &'a str, live_path: &'a str) -> Self {
        let now = overview.now;
        let moment = |at: u64| Moment { at, now };
        let mut releases: Vec<Release> = it.releases.iter().map(|line| release(it, line, now)).collect();
        let earlier = releases.split_off(releases.len().min(N_RELEASES));
        let n_refused: u64 = it.refusals.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count));
        Self {
            it,
            csrf,
            path: path_of(&it.name),
            live_path,
            is_only: overview.federations.len() == 1,
            progress: Progress::of(it),
            opened: it.opened_at.map(moment),
            deadline: it.deadline.map(moment),
            staged: it.staged_until.filter(|until| *until > now).map(moment),
            n_devices: count(it.n_devices),
            n_refused: count(n_refused),
            participation: Participation::of(it, now),
            step_norms: StepNorms::of(&it.rounds, now),
            refusals: refusals(it),
            has_shards: it.releases.iter().any(|release| release.shard > 0),
            releases,
            earlier,
            invitations: it.invitations.iter().map(|line| invitation(line, now)).collect(),
            forgets: it.forget_requests.iter().map(|line| forget(line, now)).collect(),
        }
    }

    pub(super) fn part(&self) -> Part {
        Part::of(self)
    }
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn refusals<'a>(federation: &'a FederationOverview) -> Vec<Refusal<'a>> {
    let most = federation.refusals.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut refusals: Vec<&(String, u64)> = federation.refusals.iter().filter(|(_, count)| *count > 0).collect();
    refusals.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), name));
    let meaning = |name: &str| Name::ALL.iter().find(|known| known.name() == name).map_or("", |known| known.meaning());
    let view = |(name, n): &'a (String, u64)| Refusal {
        name,
        meaning: meaning(name),
        count: count(*n),
        share: share(*n, most),
    };
    refusals.into_iter().map(view).collect()
}

fn release<'a>(federation: &FederationOverview, line: &'a ReleaseLine, now: u64) -> Release<'a> {
    let of_shard = federation.releases.iter().filter(|other| other.shard == line.shard);
    let newest = of_shard.map(|other| other.version).max();
    Release {
        line,
        hash: short(&line.hash),
        created: Moment { at: line.created_at, now },
        is_current: newest == Some(line.version),
    }
}

fn invitation(line: &InvitationLine, now: u64) -> Invitation<'_> {
    let state = if line.is_revoked {
        "revoked"
    } else if line.expires_at <= now {
        "expired"
    } else if line.uses_left == 0 {
        "used up"
    } else {
        ""
    };
    let (created, expires) = (Moment { at: line.created_at, now }, Moment { at: line.expires_at, now });
    let has_expired = line.expires_at <= now;
    Invitation { line, created, expires, has_expired, is_open: state.is_empty(), state }
}

fn forget(line: &ForgetLine, now: u64) -> Forget<'_> {
    let class = match line.state.as_str() {
        "done" => "good",
        "queued" => "plain",
        _ => "bad",
    };
    Forget { line, device: short(&line.device), asked: Moment { at: line.asked_at, now }, class }
}
