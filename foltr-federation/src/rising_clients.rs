//! Numbers of clients as saved states have them: each once, in rising order, and known to the federation.

use foltr_rank::bytes::{BytesError, Reader};

pub(crate) struct RisingClients {
    n_clients: u32,
    before: Option<u32>,
}

impl RisingClients {
    pub(crate) const fn new(n_clients: u32) -> Self {
        Self { n_clients, before: None }
    }

    pub(crate) fn read(&mut self, input: &mut Reader<'_>) -> Result<u32, BytesError> {
        let client = input.u32()?;
        let is_next = client < self.n_clients && self.before.is_none_or(|before| before < client);
        input.require(is_next, "clients that are unknown, or out of order")?;
        self.before = Some(client);
        Ok(client)
    }
}
