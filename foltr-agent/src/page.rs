//! The page of an agent.

use std::io;
use std::sync::Arc;

use crate::service::Service;

pub struct Page {
    service: Arc<Service>,
}

impl Page {
    pub fn bind(service: Arc<Service>, _port: u16) -> io::Result<Self> {
        Ok(Self { service })
    }

    pub fn port(&self) -> u16 {
        0
    }

    pub fn token(&self) -> &str {
        ""
    }

    pub fn url(&self) -> String {
        String::new()
    }

    pub fn serve(self) -> io::Result<()> {
        while !self.service.is_stopped() {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Ok(())
    }
}
