//! How requests reach the server: HTTPS by `ureq` and rustls.

use std::time::Duration;

use thiserror::Error;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy, http};

use crate::core::{Answer, Request};
use crate::options::Network;

/// Sends a request and waits for its answer.
pub trait Transport: Send {
    fn send(&mut self, request: &Request) -> Result<Answer, NotReached>;
}

/// Why there was no answer, in words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NotReached(pub String);

/// Why there can be no connection with these options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NetworkError {
    #[error("`network.proxy` = {proxy:?}: {why}; expected an address such as http://proxy.example.org:3128")]
    Proxy { proxy: String, why: String },
    #[error("`network.certificate_authority`: {0}; expected certificates in PEM form")]
    Certificates(String),
}

#[derive(Debug)]
pub struct Https {
    agent: Agent,
}

impl Https {
    pub fn new(network: &Network) -> Result<Self, NetworkError> {
        let proxy = network.proxy.as_ref().map(|proxy| {
            Proxy::new(proxy).map_err(|error| NetworkError::Proxy { proxy: proxy.clone(), why: error.to_string() })
        });
        let roots = match &network.certificate_authority {
            Some(pem) => RootCerts::from(certificates(pem)?),
            None => RootCerts::WebPki,
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(Duration::from_secs(network.timeout.max(1))))
            .proxy(proxy.transpose()?)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent("foltr")
            .build();
        Ok(Self { agent: config.into() })
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, NetworkError> {
    let wrong = |why: String| NetworkError::Certificates(why);
    let mut certificates = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(error.to_string()))? {
            certificates.push(certificate.to_owned());
        }
    }
    if certificates.is_empty() { Err(wrong("there is no certificate in it".into())) } else { Ok(certificates) }
}

impl Transport for Https {
    fn send(&mut self, request: &Request) -> Result<Answer, NotReached> {
        let not_reached = |error: &dyn std::fmt::Display| NotReached(error.to_string());
        let built = http::Request::builder()
            .method(request.method.name())
            .uri(format!("{}{}", request.origin, request.path))
            .header("foltr-device", &request.device)
            .header("foltr-signature", &request.signature)
            .body(request.body.as_slice())
            .map_err(|error| not_reached(&error))?;
        let mut response = self.agent.run(built).map_err(|error| not_reached(&error))?;
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(request.most as u64).read_to_vec();
        Ok(Answer { status, body: body.map_err(|error| not_reached(&error))?, retry_after })
    }
}
