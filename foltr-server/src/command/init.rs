//! `foltr-server init`: a folder with everything that a server needs.

use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use foltr_federation::protocol::{Invitation, SecretKey};

use super::say;
use crate::admin::Authority;
use crate::application::system_clock;
use crate::database::DatabaseError;
use crate::folder::{Folder, KEY_FILE, SERVER_FILE, SETTINGS_FILE, TOKEN_FILE};
use crate::plan_file::{self, DEPLOY_FILE, MODEL_FILE, PLAN_FILE, PlanAndModel};
use crate::publishing::{self, PublishError};
use crate::randomness::secret;
use crate::signing_key;
use crate::store::federations::{self, FederationRow};

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The server's folder; made if there is none. A second federation may be added to one that is there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A finished run of the laboratory, such as out/my/runs/KEY: its plan and its model.
    #[arg(long, value_name = "RUN")]
    from: Option<PathBuf>,
    /// Name of the federation, in addresses.
    #[arg(long, value_name = "NAME", default_value = "main")]
    federation: String,
    /// Where devices reach the server [default: http://127.0.0.1:8080].
    #[arg(long, value_name = "URL")]
    address: Option<String>,
    /// `sqlite:FILE` or `postgres://...`; only for a new folder.
    #[arg(long, value_name = "STORE", default_value = "sqlite:foltr.db")]
    store: String,
}

pub fn run(arguments: &InitArgs) -> Result<()> {
    let InitArgs { folder, federation, .. } = arguments;
    let source = arguments.from.as_deref().map(plan_file::read).transpose()?;
    let address = address(arguments)?;
    let is_new = !folder.join(SERVER_FILE).exists();
    ensure!(
        is_new || arguments.address.is_some() || !folder.join("federations").join(federation).exists(),
        "{} has a federation {federation:?} already",
        folder.display()
    );
    private_folder(folder)?;
    if is_new {
        write(&folder.join(SERVER_FILE), &server_toml(&arguments.store))?;
    }
    let own = folder.join("federations").join(federation);
    ensure!(!own.exists(), "{} has a federation {federation:?} already", folder.display());
    private_folder(&own)?;
    write(&own.join(SETTINGS_FILE), &settings_toml(&address))?;
    signing_key::create(&own.join(KEY_FILE), &secret())?;
    match (&source, &arguments.from) {
        (Some(_), Some(from)) => {
            copy(&from.join(DEPLOY_FILE), &own.join(DEPLOY_FILE))?;
            if from.join(MODEL_FILE).is_file() {
                copy(&from.join(MODEL_FILE), &own.join(MODEL_FILE))?;
            }
        }
        _ => write(&own.join(PLAN_FILE), DEFAULT_PLAN)?,
    }
    let opened = Folder::open(folder)?;
    if is_new {
        new_token(&opened)?;
    }
    say(&format!("{} is ready.", folder.display()))?;
    if source.is_none() {
        say(&format!("Look at {} before the first start: devices agree to it.", own.join(PLAN_FILE).display()))?;
    }
    say(&format!("Start: foltr-server run {0}\nInvite devices: foltr-server invite new {0}", folder.display()))
}

/// The address of the federation, which invitations name.
fn address(arguments: &InitArgs) -> Result<String> {
    ensure!(!arguments.federation.contains('/'), "{:?} cannot be a name: it has a slash", arguments.federation);
    let base = arguments.address.as_deref().unwrap_or("http://127.0.0.1:8080").trim_end_matches('/');
    let address = format!("{base}/v1/federations/{}", arguments.federation);
    let key = SecretKey::from_bytes(&[1; 32]).public_key().fingerprint();
    Invitation::new(address.clone(), key, [0; 32]).with_context(|| format!("{address:?} cannot be an address"))?;
    Ok(address)
}

/// Puts federations that have a folder and are not in the database there, with their plans. Says which.
pub fn create_missing(folder: &Folder) -> Result<Vec<String>> {
    let (pool, now) = (folder.pool()?, system_clock()() / 1_000);
    let rows: Vec<FederationRow> = pool.read(|tables| federations::all(tables))?;
    let mut made = Vec::new();
    let (there, missing): (Vec<_>, Vec<_>) =
        folder.names()?.into_iter().partition(|name| rows.iter().any(|row| row.name == *name));
    there.iter().try_for_each(|name| note_begun(folder, name))?;
    for name in missing {
        let begun = folder.federation(&name).join(BEGUN_FILE);
        ensure!(
            !begun.exists(),
            "federation {name:?} has begun ({}) and is not in the database: is `store` in {SERVER_FILE} the right one? \
             Restore a backup of it. To begin anew, with devices that must join again, make a federation of another name.",
            begun.display()
        );
        let source: PlanAndModel = plan_file::read(&folder.federation(&name))?;
        let (initial, key) = (source.initial()?, folder.key(&name)?);
        let created = pool.write(|tables| publishing::create(tables, &name, &source.plan, &initial, &key, now));
        match created {
            Ok(_) => {
                note_begun(folder, &name)?;
                made.push(name);
            }
            // Another replica was faster.
            Err(PublishError::Refused(_) | PublishError::Database(DatabaseError::Statement(_))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(made)
}

/// In a federation's folder once it is in the database: it never begins a second time, which would fork its releases.
const BEGUN_FILE: &str = "begun";

fn note_begun(folder: &Folder, name: &str) -> Result<()> {
    let file = folder.federation(name).join(BEGUN_FILE);
    if file.exists() {
        return Ok(());
    }
    std::fs::write(&file, "This federation is in the database. Its releases go on from there.\n")
        .and_then(|()| signing_key::sync_folder(&file))
        .with_context(|| file.display().to_string())
}

/// A new token; earlier ones are not accepted any more.
pub fn new_token(folder: &Folder) -> Result<()> {
    let (token, hash) = Authority::new_token()?;
    let (file, next) = (folder.path().join(TOKEN_FILE), folder.path().join("operator.token.new"));
    drop(std::fs::remove_file(&next));
    let mut open = std::fs::OpenOptions::new();
    let mut written =
        open.write(true).create_new(true).mode(0o600).open(&next).with_context(|| next.display().to_string())?;
    writeln!(written, "{hash}")?;
    written.sync_all()?;
    std::fs::rename(&next, &file).with_context(|| file.display().to_string())?;
    signing_key::sync_folder(&file)?;
    say(&format!("The operator's token, shown only now: {}", *token))
}

fn private_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| path.display().to_string())?;
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(path, private).with_context(|| path.display().to_string())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{} is there already", path.display()),
        file => file.with_context(|| path.display().to_string())?,
    };
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(|| path.display().to_string())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).map(drop).with_context(|| format!("{} to {}", from.display(), to.display()))
}

fn server_toml(store: &str) -> String {
    format!(
        "# Where the server listens. Without a certificate only on this machine, unless a proxy in front speaks TLS.\n\
         listen = \"127.0.0.1:8080\"\n\
         # certificate = \"fullchain.pem\"\n\
         # certificate_key = \"privkey.pem\"\n\
         # allow_plain_http = true\n\n\
         # sqlite:FILE for one machine, or postgres://USER@HOST/DATABASE for any number of equal servers.\n\
         store = {store:?}\n\n\
         # text or json. Addresses of devices are logged only when switched on.\n\
         log = \"text\"\n\
         log_addresses = false\n"
    )
}

fn settings_toml(address: &str) -> String {
    format!(
        "# Where devices reach this federation; invitations name it.\n\
         address = {address:?}\n\n\
         # A round closes at the latest after so many seconds.\n\
         round_seconds = 3600\n\
         # No round opens before so many devices are enrolled.\n\
         minimum_devices = 3\n\n\
         # A new release goes to a share of the devices first: 0.1 and 86400 are a tenth for a day.\n\
         stage_share = 1.0\n\
         stage_seconds = 0\n\n\
         # Receipts are given out for so long; then their rows are deleted.\n\
         receipt_days = 90\n\
         # Parameters of so many releases are stored, to roll back to.\n\
         stored_releases = 100\n\
         # Devices that were not seen for so many days are revoked; 0 is never.\n\
         idle_days = 0\n"
    )
}

/// Explained key by key, since devices agree to it and it never changes.
const DEFAULT_PLAN: &str = include_str!("init/plan.toml");
