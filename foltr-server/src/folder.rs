//! The server's folder: `server.toml`, the operator's token (hashed), and a folder for each federation with its settings,
//! plan and key.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use foltr_federation::protocol::SecretKey;
use serde::{Deserialize, Serialize};

use crate::database::{Database, Pool, Postgres, Sqlite};
use crate::federation::Federation;
use crate::plan_file;
use crate::service::{Clock, Service};
use crate::settings::FederationSettings;
use crate::signing_key;
use crate::store::{federations, schema};

pub const SERVER_FILE: &str = "server.toml";
pub const SETTINGS_FILE: &str = "settings.toml";
pub const KEY_FILE: &str = "signing.key";
/// Hashes of the operator's tokens, one a line.
pub const TOKEN_FILE: &str = "operator.token";

/// `server.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// Where the server listens.
    pub listen: String,
    /// Certificate chain and key in PEM form; both or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_key: Option<PathBuf>,
    /// Whether plain HTTP may leave this machine, behind a proxy that speaks TLS.
    pub allow_plain_http: bool,
    /// `sqlite:FILE`, relative to this folder, or `postgres://...`.
    pub store: String,
    /// Connections to the database.
    pub store_connections: usize,
    pub log: LogFormat,
    /// Whether addresses of devices are logged.
    pub log_addresses: bool,
    /// Connections at a time, in all and of one address.
    pub most_connections: usize,
    pub most_connections_of_one_address: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            certificate: None,
            certificate_key: None,
            allow_plain_http: false,
            store: "sqlite:foltr.db".into(),
            store_connections: 4,
            log: LogFormat::Text,
            log_addresses: false,
            most_connections: 10_000,
            most_connections_of_one_address: 1_000,
        }
    }
}

/// The environment variable that may hold the key of a federation in place of its file.
fn key_variable(name: &str) -> String {
    format!("FOLTR_KEY_{}", name.to_uppercase().replace(['-', '.', '~'], "_"))
}

/// A server's folder that exists.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    pub settings: ServerSettings,
}

impl Folder {
    pub fn open(path: &Path) -> Result<Self> {
        let file = path.join(SERVER_FILE);
        let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                anyhow!("{} is no server's folder; make one: foltr-server init {}", path.display(), path.display())
            }
            _ => anyhow!("{}: {error}", file.display()),
        })?;
        let settings: ServerSettings = toml::from_str(&text).with_context(|| file.display().to_string())?;
        ensure!(
            settings.certificate.is_some() == settings.certificate_key.is_some(),
            "{}: `certificate` and `certificate_key` go together",
            file.display()
        );
        Ok(Self { path: path.to_owned(), settings })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn federation(&self, name: &str) -> PathBuf {
        self.path.join("federations").join(name)
    }

    /// Names of the federations, in order.
    pub fn names(&self) -> Result<Vec<String>> {
        let folder = self.path.join("federations");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry.with_context(|| folder.display().to_string())?;
            if entry.path().join(SETTINGS_FILE).is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    pub fn database(&self) -> Result<Arc<dyn Database>> {
        let store = &self.settings.store;
        if let Some(file) = store.strip_prefix("sqlite:") {
            return Ok(Arc::new(Sqlite::open(&self.path.join(file))));
        }
        if store.starts_with("postgres://") || store.starts_with("postgresql://") {
            return Ok(Arc::new(Postgres::new(store)?));
        }
        bail!("{SERVER_FILE}: `store` must be sqlite:FILE or postgres://..., and begins otherwise")
    }

    /// Connections to a database whose tables are up to date.
    pub fn pool(&self) -> Result<Pool> {
        let database = self.database()?;
        schema::migrate(&mut *database.connect()?)?;
        Ok(Pool::new(database, self.settings.store_connections))
    }

    pub fn federation_settings(&self, name: &str) -> Result<FederationSettings> {
        let file = self.federation(name).join(SETTINGS_FILE);
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let settings: FederationSettings = toml::from_str(&text).with_context(|| file.display().to_string())?;
        settings.check().map_err(|why| anyhow!("{}: {why}", file.display()))?;
        Ok(settings)
    }

    /// The key of a federation, from its file or the environment.
    pub fn key(&self, name: &str) -> Result<SecretKey> {
        if let Ok(text) = std::env::var(key_variable(name)) {
            let key = signing_key::parse(&text);
            return key.ok_or_else(|| anyhow!("{} must be 64 hexadecimal digits in lower case", key_variable(name)));
        }
        Ok(signing_key::read(&self.federation(name).join(KEY_FILE))?)
    }

    /// The service of all federations of the folder. Those that are not in the database yet are named in the error.
    pub fn service(&self, pool: Pool, clock: Clock) -> Result<Service> {
        let rows: Vec<federations::FederationRow> = pool.read(|tables| federations::all(tables))?;
        let mut found = Vec::new();
        for name in self.names()? {
            let row = rows.iter().find(|row| row.name == name);
            let row = row.ok_or_else(|| anyhow!("federation {name:?} has a folder and is not in the database"))?;
            let file = self.federation(&name).join(KEY_FILE);
            let key = self.key_in_force(&name, &file, &row.public_key)?;
            let file = file.is_file().then_some(file);
            let mut federation = Federation::new(row.id, name.clone(), self.federation_settings(&name)?, key, file);
            federation.is_key_of_environment = std::env::var_os(key_variable(&name)).is_some();
            federation.features = Some(plan_file::features(&self.federation(&name))?);
            found.push(federation);
        }
        Ok(Service::new(pool, found, clock))
    }

    /// The key that signs now. Completes a rotation that was interrupted after its release was published.
    fn key_in_force(&self, name: &str, file: &Path, public: &[u8; 32]) -> Result<SecretKey> {
        let key = self.key(name)?;
        if key.public_key().as_bytes() == public {
            return Ok(key);
        }
        let next = signing_key::read(&signing_key::next_file(file)).ok();
        match next.filter(|next| next.public_key().as_bytes() == public) {
            Some(next) => {
                signing_key::replace(file)?;
                Ok(next)
            }
            None => bail!(
                "{}: this key does not sign for federation {name:?} any more; copy the present key of another replica here",
                file.display()
            ),
        }
    }
}
