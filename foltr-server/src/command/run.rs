//! `foltr-server run`.

use std::net::ToSocketAddrs as _;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::init::create_missing;
use super::{FolderArg, say};
use crate::admin::Authority;
use crate::application::{Application, Closer, system_clock};
use crate::call::Handler;
use crate::folder::{Folder, LogFormat, TOKEN_FILE};
use crate::http::{Config, Limits, Server, Shutdown, TlsOptions, runtime};
use crate::logging::{Format, LogOptions};
use crate::verifying;

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    folder: FolderArg,
    /// Listen here instead of where server.toml says.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// error, warn, info, debug or trace [default: info].
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
}

pub fn run(arguments: &RunArgs) -> Result<()> {
    let folder = Folder::open(&arguments.folder.folder)?;
    let format = match folder.settings.log {
        LogFormat::Text => Format::Text,
        LogFormat::Json => Format::Json,
    };
    LogOptions::new(arguments.log_level.as_deref(), format)?.start()?;
    let authority = Arc::new(Authority::of_file(folder.path().join(TOKEN_FILE))?);
    for name in create_missing(&folder)? {
        tracing::info!(federation = name, "the federation begins with its first release");
    }
    let service = Arc::new(folder.service(folder.pool()?, system_clock())?);
    let problems = verifying::before_start(&service)?;
    if !problems.is_empty() {
        bail!(
            "the store is damaged, and nothing was started:\n  {}\nRestore a backup, or ask `foltr-server verify`.",
            problems.join("\n  ")
        );
    }
    let config = config(&folder, arguments.listen.as_deref())?;
    // A proxy in front may speak TLS in place of this server.
    let has_tls = config.tls.is_some() || service.is_reached_by_tls();
    let runtime = runtime(&config.limits)?;
    let server = runtime.block_on(Server::bind(config))?;
    let address = server.local_addr()?;
    let closer = Closer::start(Arc::clone(&service))?;
    let application: Arc<dyn Handler> = Arc::new(Application::new(service, authority, has_tls));
    let scheme = if folder.settings.certificate.is_some() { "https" } else { "http" };
    say(&format!("listening on {scheme}://{address} (the dashboard is at /)"))?;
    let ended = runtime.block_on(async {
        let shutdown = Shutdown::on_signals()?;
        server.run(application, shutdown).await
    });
    drop(closer);
    tracing::info!("stopped");
    Ok(ended?)
}

fn config(folder: &Folder, listen: Option<&str>) -> Result<Config> {
    let settings = &folder.settings;
    let listen = listen.unwrap_or(&settings.listen);
    let addresses = listen.to_socket_addrs().with_context(|| format!("listen = {listen:?}"))?.collect();
    let path = |file: &std::path::PathBuf| folder.path().join(file);
    let tls = settings.certificate.as_ref().zip(settings.certificate_key.as_ref());
    let limits = Limits {
        connections: settings.most_connections,
        connections_per_address: settings.most_connections_of_one_address,
        ..Limits::default()
    };
    Ok(Config {
        addresses,
        tls: tls.map(|(certificate, key)| TlsOptions::new(path(certificate), path(key))),
        allow_plain_http: settings.allow_plain_http,
        limits,
        metrics: true,
        log_addresses: settings.log_addresses,
    })
}
