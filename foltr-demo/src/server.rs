//! A server on a free port of this machine, in a folder that `foltr-server run` could serve as well.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use foltr_client::{FeatureSchema, Normalisation, OsNoise};
use foltr_federation::{FederationPlan, Fingerprint};
use foltr_rank::{Params, Shape};
use foltr_server::admin::Authority;
use foltr_server::application::{Application, Closer, system_clock};
use foltr_server::folder::{Folder, KEY_FILE, SERVER_FILE, SETTINGS_FILE, ServerSettings, TOKEN_FILE};
use foltr_server::http::{Config, Running};
use foltr_server::model_file::params_of;
use foltr_server::operator::{Action, Done, FederationOverview, Operator as _};
use foltr_server::plan_file::{self, PLAN_FILE};
use foltr_server::publishing;
use foltr_server::service::{Clock, Service};
use foltr_server::settings::FederationSettings;
use rand::Rng as _;
use serde::Serialize;

const NAME: &str = "demo";
/// Who is not there after so many seconds is not waited for.
const ROUND_SECONDS: u64 = 30;
/// For as long as a demonstration may be looked at.
const INVITATION_SECONDS: u64 = 7 * 86_400;

/// What is served until it is stopped.
pub struct DemoServer {
    pub address: SocketAddr,
    /// With which the operator logs in.
    pub token: String,
    pub features: FeatureSchema,
    pub shape: Shape,
    pub service: Arc<Service>,
    running: Running,
    closer: Closer,
}

/// `plan.toml`.
#[derive(Serialize)]
struct PlanToml<'a> {
    features: FeaturesToml,
    plan: &'a FederationPlan,
}

#[derive(Serialize)]
struct FeaturesToml {
    n_features: usize,
    normalise: Normalisation,
}

impl DemoServer {
    /// Makes the folder, with a federation of documents with so many features, and serves it.
    pub fn start(path: &Path, plan: &FederationPlan, n_features: usize) -> Result<Self> {
        Self::with_clock(path, plan, n_features, ROUND_SECONDS, system_clock())
    }

    /// By another clock than this machine's, and with rounds of other lengths.
    pub fn with_clock(
        path: &Path,
        plan: &FederationPlan,
        n_features: usize,
        round_seconds: u64,
        clock: Clock,
    ) -> Result<Self> {
        let address = free_address()?;
        let token = write_folder(path, address, plan, n_features, round_seconds)?;
        let folder = Folder::open(path)?;
        let source = plan_file::read(&folder.federation(NAME))?;
        let pool = folder.pool()?;
        let (initial, key, now) = (source.initial()?, folder.key(NAME)?, clock() / 1_000);
        pool.write(|tables| publishing::create(tables, NAME, &source.plan, &initial, &key, now))?;
        let service = Arc::new(folder.service(pool, clock)?);
        let authority = Arc::new(Authority::new(vec![Authority::hash_of(&token)]));
        let application = Arc::new(Application::new(Arc::clone(&service), authority, false));
        let running = Running::start(Config::new(address), application)?;
        let closer = Closer::start(Arc::clone(&service))?;
        Ok(Self { address, token, features: source.features, shape: source.plan.shape(), service, running, closer })
    }

    /// An invitation for so many devices.
    pub fn invite(&self, uses: u32) -> Result<String> {
        let action = Action::NewInvitation { uses, seconds: INVITATION_SECONDS, note: "the demonstration".into() };
        match self.service.act(NAME, &action)? {
            Done::Invitation { invitation, .. } => Ok(invitation),
            other => bail!("{other:?} instead of an invitation"),
        }
    }

    pub fn overview(&self) -> Result<FederationOverview> {
        let overview = self.service.overview()?;
        overview.federations.into_iter().next().context("there is no federation")
    }

    /// The ranker of a release.
    pub fn ranker(&self, version: u32) -> Result<(Shape, Params)> {
        let file = self.service.export(NAME, Some(version))?;
        Ok((self.shape, params_of(&file.bytes, self.shape, self.features.normalise)?))
    }

    /// Answers what is in flight, finishes what it does, and stops.
    pub fn stop(self) -> Result<()> {
        let stopped = self.running.stop();
        drop(self.closer);
        Ok(stopped?)
    }
}

/// A port that nobody listens on, as far as one can know.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free on this machine")?;
    Ok(listener.local_addr()?)
}

/// Says the operator's token.
fn write_folder(
    path: &Path,
    address: SocketAddr,
    plan: &FederationPlan,
    n_features: usize,
    round_seconds: u64,
) -> Result<String> {
    let own = path.join("federations").join(NAME);
    std::fs::create_dir_all(&own).with_context(|| own.display().to_string())?;
    let (token, hash) = Authority::new_token()?;
    let server = ServerSettings { listen: address.to_string(), ..ServerSettings::default() };
    let settings = FederationSettings {
        address: format!("http://{address}/v1/federations/{NAME}"),
        round_seconds,
        minimum_devices: u32::try_from(plan.n_clients).context("fewer devices")?,
        // People here search all day, and nobody waits for them.
        retry_seconds: 1,
        device_burst: 10_000,
        device_per_minute: 100_000,
        ..FederationSettings::default()
    };
    let plan = PlanToml { features: FeaturesToml { n_features, normalise: Normalisation::Query }, plan };
    write(&path.join(SERVER_FILE), &toml::to_string(&server)?)?;
    write(&path.join(TOKEN_FILE), &format!("{hash}\n"))?;
    write(&own.join(SETTINGS_FILE), &toml::to_string(&settings)?)?;
    write(&own.join(PLAN_FILE), &toml::to_string(&plan)?)?;
    let mut secret = [0; 32];
    OsNoise::default().fill_bytes(&mut secret);
    write(&own.join(KEY_FILE), &format!("{}\n", Fingerprint::from_bytes(secret)))?;
    Ok(token.to_string())
}

/// A new file that only its owner reads.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| path.display().to_string())
}
