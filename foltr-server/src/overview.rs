//! What the operator sees.

use foltr_federation::{Guarantee, Observer, PlanGuarantee};

use crate::federation::Federation;
use crate::operator::{FederationOverview, ForgetLine, OperatorError, ReleaseLine};
use crate::rounds::{NO_DEADLINE, awaited};
use crate::service::Service;
use crate::snapshot::{PlanParts, Snapshot};
use crate::store::federations::{FederationRow, Phase};
use crate::store::{devices, federations, forgetting, invitations, releases, rounds};

const MOST_ROUNDS: u32 = 200;
const MOST_RELEASES: u32 = 50;

impl Service {
    pub(crate) fn federation_overview(&self, federation: &Federation) -> Result<FederationOverview, OperatorError> {
        let snapshot = federation.refresh(&self.pool)?;
        let refusals = self.refusals().into_iter().filter(|((name, _), _)| *name == federation.name);
        let refusals = refusals.map(|((_, name), n)| (name.name().to_owned(), n)).collect();
        let (id, now) = (federation.id, self.now());
        self.pool.read(|tables| {
            let row = federations::find(tables, id)?;
            let [n_devices, n_revoked, n_forgotten] = devices::counts(tables, id)?;
            let requests = forgetting::all(tables, id)?.into_iter().map(forget_line).collect();
            let listed = releases::list(tables, id, MOST_RELEASES)?;
            let is_open = row.phase == Phase::Open;
            let deadline = Some(row.deadline).filter(|deadline| is_open && *deadline != NO_DEADLINE);
            Ok(FederationOverview {
                name: federation.name.clone(),
                address: federation.settings.address.clone(),
                plan: snapshot.parts.hash.to_string(),
                state: state(&row, &snapshot),
                waits_for: waits_for(&row, &snapshot, federation, now),
                is_held: row.is_held,
                round: row.round,
                n_rounds: snapshot.parts.n_rounds,
                opened_at: is_open.then_some(row.opened_at),
                deadline,
                staged_until: Some(row.staged_until).filter(|until| is_open && *until > now),
                n_contributions: row.n_contributions,
                n_wanted: row.n_wanted,
                n_devices,
                n_revoked,
                n_forgotten,
                rounds: rounds::newest(tables, id, MOST_ROUNDS)?.into_iter().map(|row| row.line).collect(),
                refusals: Vec::clone(&refusals),
                privacy: privacy_label(&snapshot.parts),
                forget_requests: requests,
                releases: listed.iter().map(release_line).collect(),
                invitations: invitations::all(tables, id)?,
            })
        })
    }
}

fn forget_line(request: forgetting::ForgetRow) -> ForgetLine {
    let state =
        if request.reason.is_empty() { request.state } else { format!("{}: {}", request.state, request.reason) };
    ForgetLine { device: request.device.to_string(), asked_at: request.asked_at, state }
}

fn release_line(listed: &releases::Listed) -> ReleaseLine {
    let header = listed.header.unverified();
    ReleaseLine {
        version: header.version,
        shard: header.shard,
        created_at: listed.created_at,
        cause: listed.cause.clone(),
        hash: listed.header.hash().to_string(),
        has_parameters: listed.has_params,
    }
}

fn state(row: &FederationRow, snapshot: &Snapshot) -> String {
    let held = if row.is_held { ", and the federation is held" } else { "" };
    match row.phase {
        Phase::Waiting => format!("no round is open{held}"),
        Phase::Open if snapshot.engine.is_asynchronous() => format!("version {} is being learned{held}", row.round + 1),
        Phase::Open => format!("round {} is open{held}", row.round),
        Phase::Closing => format!("round {} is being closed{held}", row.round),
        Phase::Finished => "all rounds of the plan are over".into(),
    }
}

/// Why does no round close?
fn waits_for(row: &FederationRow, snapshot: &Snapshot, federation: &Federation, now: u64) -> String {
    let parts = &snapshot.parts;
    let left = row.deadline.saturating_sub(now);
    match row.phase {
        _ if row.is_held => "The operator holds the federation: no task is given out until it is resumed.".into(),
        Phase::Finished => format!("The plan has {} rounds: publish a new plan to go on.", parts.n_rounds),
        Phase::Waiting => {
            let (n, least) = (row.n_active, federation.settings.minimum_devices);
            format!("A round opens when {least} devices are enrolled (minimum_devices); there are {n}. Invite more.")
        }
        Phase::Closing => format!(
            "A replica closes the round. If it died, another one takes over in {} s.",
            row.lease_until.saturating_sub(now)
        ),
        Phase::Open if snapshot.engine.is_asynchronous() => {
            "A version is published when the buffer is full; there is no deadline.".into()
        }
        Phase::Open if now < row.staged_until => format!(
            "The newest release is shown to {:.0} % of the devices for {} s more; then the round opens to all.",
            federation.settings.stage_share * 100.0,
            row.staged_until - now
        ),
        Phase::Open if row.n_contributions == 0 => format!(
            "Nobody has contributed to round {} yet. At its deadline in {left} s it is {}.",
            row.round,
            if snapshot.engine.hides_who() { "closed all the same" } else { "extended" }
        ),
        Phase::Open => format!(
            "Round {} has {} of {} contributions; it closes when all have come, or at its deadline in {left} s.",
            row.round,
            row.n_contributions,
            awaited(row, parts)
        ),
    }
}

/// What the plan promises, a line for each who looks: the numbers of `foltr privacy explain`.
fn privacy_label(parts: &PlanParts) -> Vec<String> {
    let federation = parts.plan.federation();
    match federation.guarantee(parts.plan.shape().n_params(), federation.delta()) {
        Ok(guarantee) => label_lines(&guarantee),
        Err(error) => vec![format!("no guarantee: {}", error.message)],
    }
}

fn label_lines(guarantee: &PlanGuarantee) -> Vec<String> {
    let words = |guarantee: Option<Guarantee>| match guarantee {
        Some(Guarantee { epsilon, delta }) if delta > 0.0 => format!("({epsilon:.3}, {delta:e})"),
        Some(Guarantee { epsilon, .. }) => format!("{epsilon:.3}"),
        None => "none".into(),
    };
    let mut lines = vec![guarantee.words.summary.clone()];
    for observer in &guarantee.observers {
        let who = match observer.against {
            Observer::Server => "the server",
            Observer::SumsAndModels => "who sees sums and models",
            Observer::OtherClients => "other devices",
        };
        lines.push(match (observer.message, observer.run) {
            (None, None) => format!("Against {who} ({}): no protection by noise.", observer.sees),
            (message, run) => format!(
                "Against {who} ({}): epsilon {} for a message, {} for all rounds of a device.",
                observer.sees,
                words(message),
                words(run)
            ),
        });
    }
    lines.extend(guarantee.words.remarks.iter().cloned());
    lines
}
