//! Being forgotten: here at once, then by the server, whose receipt stays.

use foltr_federation::protocol::{ForgetRequest, PublicKey};
use foltr_federation::{Fingerprint, Receipt};
use foltr_rank::bytes::{BytesError, Reader, Writer};

use super::event::{Answer, Outcome, Synced};
use super::joining::unreadable;
use super::local::Local;
use super::membership::{Address, DeviceKey, Standing};
use super::sync::{Asked, Next};
use super::{Core, FederationError, LoadError, Refused};
use crate::item::{Item, Records, State, Write};
use crate::randomness::Randomness;

const NAME: &str = "foltr forgetting 1";

/// A request to a server, until its receipt comes.
#[derive(Debug)]
pub(super) struct Forgetting {
    pub address: Address,
    pub key: DeviceKey,
    /// Signs for the federation.
    federation: PublicKey,
    number: u32,
    plan: Fingerprint,
}

impl Forgetting {
    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        out.text(self.address.as_str()).bytes(self.key.secret()).bytes(self.federation.as_bytes());
        out.u32(self.number).bytes(self.plan.as_bytes());
        out.0
    }

    pub fn load(records: &Records) -> Result<Option<Self>, LoadError> {
        let record = records.get(&Item::State(State::Forgetting));
        let forgetting = record.map(|record| Self::decode(&record.bytes)).transpose();
        forgetting.map_err(|error| LoadError::damaged(State::Forgetting.name(), error))
    }

    fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        let name = input.text()?;
        input.require(name == NAME, "not a request of this version")?;
        let address = Address::stored(input.text()?);
        let key = DeviceKey::new(input.array()?);
        let federation = PublicKey::from_bytes(input.array()?).map_err(|_| input.wrong("no public key"))?;
        let (number, plan) = (input.u32()?, Fingerprint::from_bytes(input.array()?));
        input.finish()?;
        Ok(Self { address, key, federation, number, plan })
    }
}

impl Core {
    /// Deletes what was learnt and what was stored, but for ledgers, which would be lower otherwise than what was spent.
    /// The shell deletes whatever is not among the writes.
    pub(super) fn forget(&mut self, random: &mut dyn Randomness) -> Result<Outcome, Refused> {
        let next = self.next_impression();
        let alone = &self.options.alone;
        // Its options were good enough for the present one.
        self.local = Local::new(alone, self.features.len(), random).expect("the options of this device");
        self.local.session.continue_from(next);
        if let Some(membership) = self.membership.take() {
            let enrolled = match &membership.standing {
                Standing::Invited(_) => None,
                Standing::Enrolled(it) => Some((it.key, it.number, it.plan)),
                Standing::Member(it) => Some((it.chain.key(), it.number, it.chain.plan())),
            };
            let (address, key) = (membership.address, membership.key);
            self.forgetting = enrolled
                .map(|(federation, number, plan)| Forgetting { address, key, federation, number, plan })
                .or(self.forgetting.take());
        }
        (self.adoption, self.leaving, self.visit, self.problem) = (None, None, None, None);
        self.list_times.clear();
        self.schedule.succeed();
        self.is_erasing = true;
        self.write_setup();
        self.write_switches();
        self.reserve_ids(next.0);
        self.ledgers.write(&mut self.writes);
        let request = self.forgetting.as_ref().map(|it| Write::put(Item::State(State::Forgetting), it.encode()));
        self.writes.extend(request);
        let receipt = self.deletion_receipt.clone();
        self.writes.extend(receipt.map(|bytes| Write::put(Item::State(State::DeletionReceipt), bytes)));
        Ok(Outcome::Done)
    }

    pub(super) fn next_of_forgetting(&self) -> Option<Next> {
        let visit = self.visit.as_ref()?;
        match visit.forgetting {
            Some(synced) => Some(Next::Done(synced)),
            None => self.forgetting.as_ref().map(|_| Next::Ask(Asked::Forget)),
        }
    }

    pub(super) fn forget_body(&self) -> Vec<u8> {
        let request = self.forgetting.as_ref().map(|it| ForgetRequest { device: it.key.id, plan: it.plan });
        request.map_or_else(Vec::new, |request| request.encode())
    }

    pub(super) fn take_deletion(
        &mut self,
        answer: &Answer,
        now: u64,
        random: &mut dyn Randomness,
    ) -> Result<(), FederationError> {
        let is_unknown = answer.problem().as_deref() == Some("unknown-device");
        let synced = match answer.status {
            202 => {
                self.schedule.later(now, answer.retry_after.unwrap_or(60 * 60));
                self.write_switches();
                Synced::ForgettingAsked
            }
            200..=299 => {
                self.check_deletion(&answer.body)?;
                self.writes.push(Write::put(Item::State(State::DeletionReceipt), answer.body.clone()));
                self.deletion_receipt = Some(answer.body.clone());
                Synced::Forgotten
            }
            // There is nothing to forget.
            404 | 410 if is_unknown => Synced::Forgotten,
            _ => return Err(self.refusal(Asked::Forget, answer, now, random)),
        };
        if synced == Synced::Forgotten {
            self.forgetting = None;
            self.writes.push(Write::delete(Item::State(State::Forgetting)));
            self.must_be_durable = true;
        }
        if let Some(visit) = &mut self.visit {
            visit.forgetting = Some(synced);
        }
        Ok(())
    }

    fn check_deletion(&self, body: &[u8]) -> Result<(), FederationError> {
        let Some(forgetting) = &self.forgetting else { return Err(FederationError::NotAsked) };
        let receipt: Receipt = serde_json::from_slice(body).map_err(|error| unreadable("deletion receipt", &error))?;
        receipt.verify(forgetting.federation.as_bytes()).map_err(FederationError::DeletionReceipt)?;
        match receipt.claim.leavers.contains(&forgetting.number) {
            true => Ok(()),
            false => Err(FederationError::DeletionOfOthers { number: forgetting.number }),
        }
    }
}
