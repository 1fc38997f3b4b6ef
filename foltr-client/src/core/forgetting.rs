//! Being forgotten: here at once, then by the server, whose receipt stays.

use foltr_federation::protocol::{ForgetRequest, PublicKey};
use foltr_federation::{Fingerprint, Receipt};
use foltr_rank::bytes::{BytesError, Reader, Writer};

use super::event::{Answer, Outcome, Synced};
use super::joining::unreadable;
use super::local::Local;
use super::membership::{Address, DeviceKey, Membership, Standing};
use super::sync::Asked;
use super::time::Schedule;
use super::{Core, FederationError, LoadError, Refused};
use crate::item::{Item, Records, State, Write};
use crate::randomness::Randomness;

const NAME: &str = "foltr forgetting 1";
/// Requests that wait for their receipts at most. The oldest goes: its server has been silent for as many federations.
const MOST: usize = 16;
/// Seconds after which a receipt is asked for, if the server does not say.
const USUAL_WAIT: u64 = 60 * 60;

/// A request to a server, until its receipt comes.
#[derive(Debug)]
pub(super) struct Forgetting {
    pub address: Address,
    pub key: DeviceKey,
    /// Signs for the federation.
    federation: PublicKey,
    number: u32,
    plan: Fingerprint,
    schedule: Schedule,
}

impl Forgetting {
    fn of(membership: Membership) -> Option<Self> {
        let (federation, number, plan) = match &membership.standing {
            // The server knows nothing yet.
            Standing::Invited(_) => return None,
            Standing::Enrolled(it) => (it.key, it.number, it.plan),
            Standing::Member(it) => (it.chain.key(), it.number, it.chain.plan()),
        };
        let Membership { address, key, .. } = membership;
        Some(Self { address, key, federation, number, plan, schedule: Schedule::default() })
    }

    pub fn body(&self) -> Vec<u8> {
        ForgetRequest { device: self.key.id, plan: self.plan }.encode()
    }

    fn write(&self, out: &mut Writer) {
        out.text(self.address.as_str()).bytes(self.key.secret()).bytes(self.federation.as_bytes());
        out.u32(self.number).bytes(self.plan.as_bytes()).u64(self.schedule.next_try).u32(self.schedule.n_failures);
    }

    fn read(input: &mut Reader<'_>) -> Result<Self, BytesError> {
        let address = Address::read(input)?;
        let key = DeviceKey::new(input.array()?);
        let federation = PublicKey::from_bytes(input.array()?).map_err(|_| input.wrong("no public key"))?;
        let (number, plan) = (input.u32()?, Fingerprint::from_bytes(input.array()?));
        let schedule = Schedule { next_try: input.u64()?, n_failures: input.u32()? };
        Ok(Self { address, key, federation, number, plan, schedule })
    }

    pub fn load(records: &Records) -> Result<Vec<Self>, LoadError> {
        let Some(record) = records.get(&Item::State(State::Forgetting)) else { return Ok(Vec::new()) };
        Self::decode_all(&record.bytes).map_err(|error| LoadError::damaged(State::Forgetting.name(), error))
    }

    fn decode_all(bytes: &[u8]) -> Result<Vec<Self>, BytesError> {
        let mut input = Reader::new(bytes);
        let name = input.text()?;
        input.require(name == NAME, "not requests of this version")?;
        let all = (0..input.len(1)?).map(|_| Self::read(&mut input)).collect::<Result<_, _>>()?;
        input.finish()?;
        Ok(all)
    }

    fn check(&self, body: &[u8]) -> Result<(), FederationError> {
        let receipt: Receipt = serde_json::from_slice(body).map_err(|error| unreadable("deletion receipt", &error))?;
        receipt.verify(self.federation.as_bytes()).map_err(FederationError::DeletionReceipt)?;
        match receipt.claim.leavers.contains(&self.number) {
            true => Ok(()),
            false => Err(FederationError::DeletionOfOthers { number: self.number }),
        }
    }
}

impl Core {
    /// Deletes what was learnt and what was stored, but for ledgers, which would be lower otherwise than what was spent.
    /// The shell deletes whatever is not among the writes.
    pub(super) fn forget(&mut self, random: &mut dyn Randomness) -> Result<Outcome, Refused> {
        let next = self.next_impression();
        // Its options were good enough for the present one.
        self.local = Local::new(&self.options.alone, self.features.len(), random).expect("the options of this device");
        self.local.session.continue_from(next);
        self.forgettings.extend(self.membership.take().and_then(Forgetting::of));
        if self.forgettings.len() > MOST {
            self.forgettings.remove(0);
        }
        self.forgettings.iter_mut().for_each(|forgetting| forgetting.schedule.succeed());
        (self.adoption, self.visit, self.problem) = (None, None, None);
        self.list_times.clear();
        self.schedule.succeed();
        self.is_erasing = true;
        self.write_setup();
        self.write_switches();
        self.reserve_ids(next.0);
        self.ledgers.write(&mut self.writes);
        self.write_forgettings();
        let receipt = self.deletion_receipt.clone();
        self.writes.extend(receipt.map(|bytes| Write::put(Item::State(State::DeletionReceipt), bytes)));
        Ok(Outcome::Done)
    }

    fn write_forgettings(&mut self) {
        let bytes = (!self.forgettings.is_empty()).then(|| {
            let mut out = Writer::named(NAME);
            out.len(self.forgettings.len());
            self.forgettings.iter().for_each(|forgetting| forgetting.write(&mut out));
            out.0
        });
        self.writes.push(Write { item: Item::State(State::Forgetting), bytes });
    }

    /// The next request to be forgotten that is due and was not made in this visit.
    pub(super) fn next_forgetting(&mut self, now: u64) -> Option<Asked> {
        let visit = self.visit.as_mut()?;
        let at =
            (visit.n_forgettings..self.forgettings.len()).find(|&at| self.forgettings[at].schedule.wait(now) == 0)?;
        visit.n_forgettings = at + 1;
        Some(Asked::Forget(at))
    }

    /// How a device without a federation stands: a request may wait for its time.
    pub(super) fn alone(&self, now: u64) -> Synced {
        let has_asked = self.visit.as_ref().is_some_and(|visit| visit.forgetting.is_some());
        let waits = self.forgettings.iter().map(|forgetting| forgetting.schedule.wait(now));
        match waits.min().filter(|_| !has_asked) {
            Some(seconds) => Synced::Later { seconds },
            None => Synced::Alone,
        }
    }

    /// The answer to a request to be forgotten. Whatever it is, the visit goes on.
    pub(super) fn take_deletion(&mut self, at: usize, answer: &Answer, now: u64, random: &mut dyn Randomness) {
        let Some(forgetting) = self.forgettings.get_mut(at) else { return };
        let is_unknown = answer.problem().as_deref() == Some("unknown-device");
        let outcome = match answer.status {
            202 => {
                forgetting.schedule.later(now, answer.retry_after.unwrap_or(USUAL_WAIT));
                Ok(Synced::ForgettingAsked)
            }
            200..=299 => forgetting.check(&answer.body).map(|()| Synced::Forgotten),
            // There is nothing to forget.
            404 | 410 if is_unknown => Ok(Synced::Forgotten),
            _ => return self.delay_forgetting(at, Some(answer), now, random),
        };
        match &outcome {
            Ok(Synced::Forgotten) => {
                self.forgettings.remove(at);
                // The next one has taken its place.
                self.visit.iter_mut().for_each(|visit| visit.n_forgettings = at);
                if answer.is_success() {
                    self.writes.push(Write::put(Item::State(State::DeletionReceipt), answer.body.clone()));
                    self.deletion_receipt = Some(answer.body.clone());
                }
                self.must_be_durable = true;
            }
            Ok(_) => {}
            Err(_) => drop(forgetting.schedule.fail(now, None, random.private())),
        }
        if let Some(visit) = &mut self.visit {
            visit.forgetting = Some(outcome);
        }
        self.write_forgettings();
    }

    pub(super) fn delay_forgetting(
        &mut self,
        at: usize,
        answer: Option<&Answer>,
        now: u64,
        random: &mut dyn Randomness,
    ) {
        let (Some(forgetting), Some(visit)) = (self.forgettings.get_mut(at), &mut self.visit) else { return };
        let asked = answer.and_then(|answer| answer.retry_after);
        let seconds = forgetting.schedule.fail(now, asked, random.private());
        visit.forgetting = Some(Err(match answer {
            None => FederationError::NotReached { seconds },
            Some(answer) => {
                let problem = answer.problem().unwrap_or_else(|| "no reason given".into());
                FederationError::Server { status: answer.status, problem, seconds }
            }
        }));
        self.write_forgettings();
    }
}
