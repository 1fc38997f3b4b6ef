//! Everything that a server answers, and the thread that closes rounds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::admin::{Admin, Authority};
use crate::call::{Answer, Call, Handler};
use crate::dashboard::Dashboard;
use crate::operator::Operator;
use crate::problem::{Name, Problem};
use crate::service::{Clock, Service};

/// How often a server looks whether something is due, beside when it is told.
const TICK: Duration = Duration::from_millis(200);

/// Bytes of any body but a contribution: enrolments, requests to be forgotten, forms and actions of the operator.
const LONGEST_FORM: usize = 64 << 10;

pub struct Application {
    service: Arc<Service>,
    admin: Admin,
    dashboard: Dashboard,
}

impl Application {
    pub fn new(service: Arc<Service>, authority: Arc<Authority>, has_tls: bool) -> Self {
        let operator: Arc<dyn Operator> = Arc::clone(&service) as Arc<dyn Operator>;
        let admin = Admin::new(Arc::clone(&operator), Arc::clone(&authority));
        Self { service, admin, dashboard: Dashboard::new(operator, authority, has_tls) }
    }
}

impl Handler for Application {
    fn handle(&self, call: &Call) -> Answer {
        if call.path.starts_with("/v1/federations/") {
            return self.service.answer(call);
        }
        let answer = self.admin.handle(call).or_else(|| self.dashboard.handle(call));
        answer.unwrap_or_else(|| Problem::new(Name::NotFound, "there is nothing at this path").into())
    }

    fn longest_body(&self) -> usize {
        self.service.longest_contribution().max(LONGEST_FORM)
    }

    fn readiness(&self) -> Result<(), String> {
        self.service.readiness()
    }

    fn metrics(&self) -> String {
        self.service.metrics()
    }
}

/// The time of this machine.
pub fn system_clock() -> Clock {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    Arc::new(now)
}

/// Opens and closes rounds, forgets and collects, until it is dropped.
pub struct Closer {
    stop: Option<SyncSender<bool>>,
    thread: Option<JoinHandle<()>>,
}

impl Closer {
    pub fn start(service: Arc<Service>) -> std::io::Result<Self> {
        let (sender, due) = sync_channel::<bool>(1);
        let wake = sender.clone();
        // One that waits already is enough.
        service.on_due(move || drop(wake.try_send(true)));
        let run = move || {
            loop {
                match due.recv_timeout(TICK) {
                    Ok(true) | Err(RecvTimeoutError::Timeout) => {
                        // A thread that is gone would be noticed by nobody, and no round would close any more.
                        if catch_unwind(AssertUnwindSafe(|| service.tick())).is_err() {
                            tracing::error!("what was due panicked, and is tried again");
                        }
                    }
                    Ok(false) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let thread = std::thread::Builder::new().name("closer".into()).spawn(run)?;
        Ok(Self { stop: Some(sender), thread: Some(thread) })
    }
}

impl Drop for Closer {
    /// Waits until what it does is done.
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            drop(stop.send(false));
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
