//! The agent that runs in a folder, or the folder itself where none does.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agent::{Agent, AgentStatus, Settings};
use crate::answer::{Answer, DocumentId, Filter, ListId, Request, Why};
use crate::home::{Address, Home, HomeError};
use crate::service::Indexing;

/// A search takes milliseconds; visits to a server of a federation take longer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What answers commands.
pub(super) enum Reach {
    Running(Client),
    Here(Box<Agent>),
}

/// A running agent, over HTTP.
pub(super) struct Client {
    base: String,
    http: ureq::Agent,
}

#[derive(serde::Deserialize, Serialize)]
pub(super) struct FullStatus {
    pub agent: AgentStatus,
    /// Absent where no agent runs.
    pub indexing: Option<Indexing>,
}

impl Reach {
    pub fn of(home: Home) -> Result<Self> {
        if let Some(client) = home.address().map(Client::new).filter(Client::answers) {
            return Ok(Self::Running(client));
        }
        match Agent::open(home, Settings::default()) {
            Ok(agent) => Ok(Self::Here(Box::new(agent))),
            Err(crate::agent::AgentError::Home(error @ HomeError::InUse { .. })) => {
                Err(error).context("the agent that runs does not answer; wait a moment, or stop it")
            }
            Err(error) => Err(error.into()),
        }
    }

    pub fn search(&self, request: &Request) -> Result<Answer> {
        match self {
            Self::Here(agent) => Ok(agent.search(request)?),
            Self::Running(client) => {
                let Filter { kinds, folder, changed_since, changed_before } = &request.filter;
                client.post(
                    "search",
                    &json!({ "words": request.words, "kinds": kinds, "folder": folder,
                    "changed_since": changed_since, "changed_before": changed_before, "most": request.most }),
                )
            }
        }
    }

    pub fn seen(&self, list: ListId) -> Result<()> {
        match self {
            Self::Here(agent) => Ok(agent.seen(list)?),
            Self::Running(client) => client.post::<Value>("seen", &json!({ "list": list })).map(drop),
        }
    }

    /// Returns the path of the file.
    pub fn opened(&self, list: ListId, document: DocumentId) -> Result<String> {
        match self {
            Self::Here(agent) => Ok(agent.opened(list, document)?.to_string_lossy().into_owned()),
            Self::Running(client) => {
                let opened: Value =
                    client.post("opened", &json!({ "list": list, "document": document, "launch": false }))?;
                Ok(opened["path"].as_str().unwrap_or_default().to_owned())
            }
        }
    }

    pub fn left(&self, list: ListId) -> Result<()> {
        match self {
            Self::Here(agent) => Ok(agent.left(list)?),
            Self::Running(client) => client.post::<Value>("left", &json!({ "list": list })).map(drop),
        }
    }

    pub fn why(&self, list: ListId, document: DocumentId) -> Result<Why> {
        match self {
            Self::Here(agent) => Ok(agent.why(list, document)?),
            Self::Running(client) => client.get(&format!("why?list={}&document={}", list.0, document.0)),
        }
    }

    pub fn status(&self) -> Result<FullStatus> {
        match self {
            Self::Here(agent) => Ok(FullStatus { agent: agent.status()?, indexing: None }),
            Self::Running(client) => client.get("status"),
        }
    }
}

impl Client {
    fn new(address: Address) -> Self {
        let config =
            ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).proxy(None).http_status_as_error(false);
        let base = format!("http://127.0.0.1:{}/{}/api/", address.port, address.token);
        Self { base, http: config.build().into() }
    }

    /// Whether an agent with this token is there.
    fn answers(&self) -> bool {
        self.get::<Value>("status").is_ok()
    }

    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let response = self.http.get(format!("{}{path}", self.base)).call().map_err(without_token)?;
        read(response)
    }

    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        let body = serde_json::to_vec(body)?;
        let request = self.http.post(format!("{}{path}", self.base)).header("content-type", "application/json");
        read(request.send(&body[..]).map_err(without_token)?)
    }
}

/// Errors of the library name the address, and with it the token.
fn without_token(_: ureq::Error) -> anyhow::Error {
    anyhow::anyhow!("the agent that runs does not answer")
}

fn read<T: DeserializeOwned>(mut response: ureq::http::Response<ureq::Body>) -> Result<T> {
    let status = response.status();
    let text = response.body_mut().read_to_string().map_err(without_token)?;
    if !status.is_success() {
        let error: Value = serde_json::from_str(&text).unwrap_or_default();
        bail!("{}", error["error"].as_str().unwrap_or("the agent that runs refused this"));
    }
    let text = if text.is_empty() { "null" } else { &text };
    serde_json::from_str(text).context("the agent that runs is of another version; restart it")
}
