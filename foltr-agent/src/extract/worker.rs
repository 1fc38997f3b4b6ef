//! One worker, as its parent sees it: started, asked, watched and killed.

use std::fs::File;
use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::frame::{self, HEADER, Hello, Tag};
use super::parse::Request;
use super::{Limits, Program, Reason};
use crate::document::Text;

/// Bytes that are read at once: a worker's word is believed for no more.
const PIECE: usize = 1 << 16;
/// What a dying process says last is what matters.
const MOST_SAID: usize = 4 << 10;
/// A process that has closed its socket is given that long to end by itself, which tells why.
const TIME_TO_END: Duration = Duration::from_millis(500);

pub(super) struct Worker {
    process: Child,
    socket: UnixStream,
    errors: ChildStderr,
    /// The end of what it printed.
    said: Vec<u8>,
    /// What was received and is not yet used.
    received: Vec<u8>,
    n_files: u32,
}

/// How a worker ended its work on a file.
pub(super) enum End {
    Done,
    Skipped(Reason),
    /// The receiver of texts wants no more; the worker is in the middle of its answer.
    Stopped,
}

/// Why a worker is of no use any more.
pub(super) enum Failure {
    Slow,
    Malformed,
    Gone,
}

impl Worker {
    pub fn start(program: &Program, limits: &Limits) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).env_clear().envs(program.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let errors = process.stderr.take().expect("a pipe was asked for");
        let worker = Self { process, socket, errors, said: Vec::new(), received: Vec::new(), n_files: 0 };
        let mut message = Vec::new();
        frame::write_json(&mut message, Tag::Hello, &Hello { version: frame::VERSION, limits: limits.clone() });
        worker.send(&message, None)?;
        Ok(worker)
    }

    pub fn is_fresh(&self) -> bool {
        self.n_files <= 1
    }

    /// Whether it should make room for another.
    pub fn is_worn(&self, limits: &Limits, size: u64) -> bool {
        // Only large files, and many, make it grow.
        let may_have_grown = size > 1 << 20 || self.n_files.is_multiple_of(64);
        self.n_files >= limits.files_of_worker || (may_have_grown && self.resident_memory() > limits.worn_memory)
    }

    fn resident_memory(&self) -> u64 {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.process.id())).ok();
        let pages = pages.and_then(|pages| pages.split(' ').nth(1)?.parse::<u64>().ok());
        pages.unwrap_or(0) * rustix::param::page_size() as u64
    }

    /// Whether it has ended by itself, once its socket is closed as when the parent dies.
    #[cfg(test)]
    pub fn ends_without_parent(&mut self) -> bool {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        self.process.try_wait().expect("a process").is_some()
    }

    /// Has the file parsed. `total` is the time that all answers may take, without the time that `give` takes.
    pub fn ask(
        &mut self,
        (request, file): (&Request, &File),
        total: Duration,
        limits: &Limits,
        give: &mut dyn FnMut(Text) -> ControlFlow<()>,
    ) -> Result<End, Failure> {
        self.n_files += 1;
        self.must_be_silent()?;
        let mut message = Vec::new();
        frame::write_json(&mut message, Tag::Request, request);
        self.send(&message, Some(file)).map_err(|_| Failure::Gone)?;
        let (mut total, mut n_texts) = (total, 0);
        loop {
            let start = Instant::now();
            let (tag, payload) = self.message(start + limits.time.min(total), frame::most_answer(limits.text))?;
            total = total.saturating_sub(start.elapsed());
            match tag {
                Tag::Text if n_texts < limits.texts => {
                    n_texts += 1;
                    let text = frame::text(&payload).filter(|text| text.body.len() <= limits.text);
                    if give(text.ok_or(Failure::Malformed)?).is_break() {
                        return Ok(End::Stopped);
                    }
                }
                Tag::Done => return Ok(End::Done),
                Tag::Skipped => {
                    let reason = serde_json::from_slice::<Reason>(&payload).map_err(|_| Failure::Malformed)?;
                    return Ok(End::Skipped(reason.checked()));
                }
                Tag::Text | Tag::Hello | Tag::Request => return Err(Failure::Malformed),
            }
        }
    }

    /// What it says before it is asked is no answer.
    fn must_be_silent(&mut self) -> Result<(), Failure> {
        let mut sources = [PollFd::new(&self.socket, PollFlags::IN)];
        let speaks = poll(&mut sources, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0);
        if speaks && matches!(self.socket.read(&mut [0]), Ok(0) | Err(_)) {
            return Err(Failure::Gone);
        }
        if speaks || !self.received.is_empty() { Err(Failure::Malformed) } else { Ok(()) }
    }

    /// Messages to a worker are shorter than the buffer of its socket, which is empty whenever one is sent.
    fn send(&self, message: &[u8], file: Option<&File>) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let files = file.map(|file| [file.as_fd()]);
        if let Some(files) = &files {
            beside.push(SendAncillaryMessage::ScmRights(files));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let n_sent = sendmsg(&self.socket, &[IoSlice::new(message)], &mut beside, flags)?;
        if n_sent == message.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn message(&mut self, deadline: Instant, most: usize) -> Result<(Tag, Vec<u8>), Failure> {
        self.receive(HEADER, deadline)?;
        let header = self.received[..HEADER].try_into().expect("so many bytes were received");
        let (tag, length) = frame::header(header, most).ok_or(Failure::Malformed)?;
        self.receive(HEADER + length, deadline)?;
        let behind = self.received.split_off(HEADER + length);
        let mut message = std::mem::replace(&mut self.received, behind);
        message.drain(..HEADER);
        Ok((tag, message))
    }

    /// Waits until there are so many bytes.
    fn receive(&mut self, n: usize, deadline: Instant) -> Result<(), Failure> {
        while self.received.len() < n {
            let left = deadline.checked_duration_since(Instant::now()).ok_or(Failure::Slow)?;
            let mut sources = [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.errors, PollFlags::IN)];
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            match poll(&mut sources, Some(&left)) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return Err(Failure::Gone),
                Ok(_) => {}
            }
            let [has_answer, has_words] = sources.each_ref().map(|source| !source.revents().is_empty());
            // A worker that has closed its errors has ended, or is none.
            let has_ended = has_words && !self.read_errors();
            if has_answer {
                let place = self.received.len();
                self.received.resize(place + PIECE, 0);
                let n_read = self.socket.read(&mut self.received[place..]);
                self.received.truncate(place + *n_read.as_ref().unwrap_or(&0));
                match n_read {
                    Ok(0) | Err(_) => return Err(Failure::Gone),
                    Ok(_) => {}
                }
            } else if has_ended {
                return Err(Failure::Gone);
            }
        }
        Ok(())
    }

    /// Reads what it printed, if there is something. Returns whether there may be more.
    fn read_errors(&mut self) -> bool {
        let mut piece = [0; MOST_SAID];
        let n = self.errors.read(&mut piece).unwrap_or(0);
        self.said.extend_from_slice(&piece[..n]);
        let surplus = self.said.len().saturating_sub(MOST_SAID);
        self.said.drain(..surplus);
        n > 0
    }

    /// Why it ended, for the owner of the file.
    pub fn reason(mut self, failure: &Failure, limits: &Limits) -> Reason {
        match failure {
            Failure::Slow => return Reason::TooSlow(limits.time),
            Failure::Malformed => return Reason::ParserFailed("it answered nonsense".into()),
            Failure::Gone => {}
        }
        let deadline = Instant::now() + TIME_TO_END;
        let status = loop {
            match self.process.try_wait() {
                Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(1)),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        if status.is_some() {
            self.read_all_errors(deadline);
        }
        let said = String::from_utf8_lossy(&self.said);
        if said.contains("memory allocation of") {
            return Reason::TooMuchMemory(limits.memory);
        }
        if said.contains("overflowed its stack") {
            return Reason::TooDeep;
        }
        Reason::ParserFailed(match status {
            None => "it stopped answering".to_owned(),
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("it was ended by signal {signal}"),
                (None, code) => format!("it ended with code {}", code.unwrap_or_default()),
            },
        })
    }

    /// Whoever else has the pipe may keep it open.
    fn read_all_errors(&mut self, deadline: Instant) {
        while Instant::now() < deadline {
            let mut sources = [PollFd::new(&self.errors, PollFlags::IN)];
            let is_ready = poll(&mut sources, Some(&Timespec { tv_sec: 0, tv_nsec: 1_000_000 })).is_ok_and(|n| n > 0);
            if !is_ready || !self.read_errors() {
                return;
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
