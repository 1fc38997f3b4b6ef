//! The page of an agent, and the calls that it and the commands make: HTTP on this machine only.
//!
//! Whoever knows the token of the address may search and change everything, so the address is never given away: no other
//! page may ask (`guard`), nothing is loaded from elsewhere, and no path is taken from a request but a folder to add.

mod api;
mod body;
mod files;
mod form;
mod guard;
mod launch;
mod refusal;
mod search;
mod server;
mod site;
mod view;
pub(crate) mod words;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use crate::service::Service;
use launch::Launcher;
use server::Limits;
use site::Site;

/// Bytes of chance in the address.
const TOKEN_BYTES: usize = 24;

pub struct Page {
    listener: TcpListener,
    site: Site,
    limits: Limits,
}

impl Page {
    /// Takes a port of this machine, or any that is free for 0.
    pub fn bind(service: Arc<Service>, port: u16) -> io::Result<Self> {
        let suggested = dirs::document_dir().filter(|folder| folder.is_dir());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        assert!(address.ip().is_loopback(), "{address} can be reached from other machines");
        let (port, token) = (address.port(), token()?);
        let site = Site { service, port, token, launcher: Launcher::default(), suggested };
        Ok(Self { listener, site, limits: Limits::default() })
    }

    pub fn port(&self) -> u16 {
        self.site.port
    }

    pub fn token(&self) -> &str {
        &self.site.token
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.site.port, self.site.base())
    }

    /// Answers until the service is stopped.
    pub fn serve(self) -> io::Result<()> {
        let service = Arc::clone(&self.site.service);
        let router = site::router(Arc::new(self.site), self.limits.request_time);
        server::serve(self.listener, router, self.limits, &move || service.is_stopped())
    }
}

fn token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
