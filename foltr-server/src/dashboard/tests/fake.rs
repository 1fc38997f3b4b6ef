//! An operator over made-up federations, whose numbers grow each time somebody looks.

use std::sync::Mutex;

use crate::operator::{
    Action, Done, ExportedModel, FederationOverview, ForgetLine, InvitationLine, Operator, OperatorError, Overview,
    ReleaseLine, RoundLine,
};

pub(super) const NOW: u64 = 1_763_440_000;
pub(super) const HOSTILE: &str = "<script>hostile=1</script>\"'><img src=x onerror=hostile=1>";
pub(super) const INVITATION: &str = "https://search.example.org:8443/v1/federations/wards#\
     9f0c41a7be5c6d1e2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8090.\
     11223344556677889900aabbccddeeff11223344556677889900aabbccddeeff";

pub(super) struct FakeOperator(Mutex<State>);

struct State {
    overview: Overview,
    n_looks: u32,
    done: Vec<(String, Action)>,
}

impl FakeOperator {
    pub(super) fn new(federations: Vec<FederationOverview>) -> Self {
        let overview = Overview { now: NOW, version: "0.1.0", federations };
        Self(Mutex::new(State { overview, n_looks: 0, done: Vec::new() }))
    }

    pub(super) fn done(&self) -> Vec<(String, Action)> {
        self.0.lock().expect("no test panics here").done.clone()
    }
}

impl Operator for FakeOperator {
    fn overview(&self) -> Result<Overview, OperatorError> {
        let mut state = self.0.lock().expect("no test panics here");
        state.n_looks += 1;
        let mut overview = state.overview.clone();
        overview.now += u64::from(state.n_looks);
        for federation in overview.federations.iter_mut().filter(|federation| federation.n_wanted > 0) {
            federation.n_contributions = (federation.n_contributions + state.n_looks) % federation.n_wanted;
            let n_missing = federation.n_wanted - federation.n_contributions;
            if !federation.is_held {
                federation.waits_for = format!("It waits for {n_missing} more contributions, or for its deadline.");
            }
        }
        Ok(overview)
    }

    fn act(&self, name: &str, action: &Action) -> Result<Done, OperatorError> {
        let mut state = self.0.lock().expect("no test panics here");
        let found = state.overview.federations.iter_mut().find(|federation| federation.name == name);
        let federation = found.ok_or_else(|| OperatorError::UnknownFederation(name.to_owned()))?;
        let done = match action {
            Action::Hold | Action::Resume => {
                federation.is_held = *action == Action::Hold;
                federation.waits_for = "The operator holds it: no task is given out.".to_owned();
                Done::Done
            }
            Action::NewInvitation { note, .. } => {
                let id = 1 + federation.invitations.len() as u64;
                federation.invitations.push(invitation(id, note));
                Done::Invitation { id, invitation: INVITATION.to_owned() }
            }
            Action::RollBack { version: 0 } => {
                return Err(OperatorError::Refused("release 0 <b>is</b> the oldest".to_owned()));
            }
            Action::RollBack { .. } | Action::RotateKey => Done::Release { version: 18 },
            _ => Done::Done,
        };
        state.done.push((name.to_owned(), action.clone()));
        Ok(done)
    }

    fn export(&self, federation: &str, version: Option<u32>) -> Result<ExportedModel, OperatorError> {
        let file_name = format!("{federation}-{}.safetensors\r\n\"", version.unwrap_or(17));
        Ok(ExportedModel { file_name, bytes: vec![1, 2, 3] })
    }
}

fn invitation(id: u64, note: &str) -> InvitationLine {
    let (created_at, expires_at) = (NOW - 7200 * id, NOW + 600_000);
    InvitationLine { id, note: note.to_owned(), created_at, expires_at, uses_left: 20, is_revoked: false }
}

fn round(round: u32) -> RoundLine {
    let came = 40 - (round * 7) % 13 % (1 + round % 5);
    let is_lost = round % 23 == 9;
    RoundLine {
        round,
        opened_at: NOW - u64::from(58 - round) * 900,
        closed_at: NOW - u64::from(57 - round) * 900,
        n_contributions: Some(if is_lost { 11 } else { came }),
        n_wanted: 40,
        step_norm: (!is_lost).then(|| 0.42 / (1.0 + f64::from(round) / 9.0) + 0.02 * f64::from(round * 37 % 11) / 11.0),
        outcome: if is_lost { "11 contributions, at least 20 are needed".into() } else { "closed".into() },
    }
}

fn release(version: u32) -> ReleaseLine {
    let cause = match version {
        41 => "rollback to 38".to_owned(),
        52 => "new key".to_owned(),
        _ => format!("round {version}"),
    };
    ReleaseLine {
        version,
        shard: 0,
        created_at: NOW - u64::from(57 - version) * 900,
        cause,
        hash: foltr_federation::Fingerprint::of(&version.to_le_bytes()).to_string(),
        has_parameters: version > 44,
    }
}

/// A federation with everything in it.
pub(super) fn rich() -> FederationOverview {
    let refusal = |name: &str, count| (name.to_owned(), count);
    let forget = |digit: &str, age, state: &str| ForgetLine {
        device: digit.repeat(64),
        asked_at: NOW - age,
        state: state.to_owned(),
    };
    FederationOverview {
        name: "wards".into(),
        address: "https://search.example.org:8443/v1/federations/wards".into(),
        plan: "5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592".into(),
        state: "Round 57 is open".into(),
        round: 57,
        n_rounds: 200,
        opened_at: Some(NOW - 420),
        deadline: Some(NOW + 480),
        staged_until: Some(NOW + 3000),
        n_contributions: 12,
        n_wanted: 40,
        n_devices: 1412,
        n_revoked: 3,
        n_forgotten: 1,
        rounds: (1..57).map(round).collect(),
        refusals: vec![refusal("bad-signature", 3), refusal("round-closed", 214), refusal("update-refused", 41)],
        privacy: vec![
            "Observer of the releases: epsilon 4.5 at delta 1e-5 over 200 rounds, for all clicks of a device.".into(),
            "Spent after 56 rounds: epsilon 2.31.".into(),
            "The server sees single updates without noise.".into(),
        ],
        forget_requests: vec![forget("a", 500, "queued"), forget("c", 86_400 * 3, "done")],
        releases: (37..57).rev().map(release).collect(),
        invitations: vec![
            invitation(1, "Ward 3, second floor"),
            InvitationLine { is_revoked: true, ..invitation(2, HOSTILE) },
            InvitationLine { expires_at: NOW - 60, ..invitation(3, "Pilot") },
        ],
        ..FederationOverview::default()
    }
}

/// A federation on its first day.
pub(super) fn fresh() -> FederationOverview {
    FederationOverview {
        name: "clinic".into(),
        address: "https://search.example.org:8443/v1/federations/clinic".into(),
        plan: "6d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592".into(),
        state: "No round is open".into(),
        waits_for: "It waits for 10 devices to join; none has.".into(),
        n_rounds: 50,
        ..FederationOverview::default()
    }
}
