//! The worker's side: reads requests from the socket that is its standard input, and answers there.

use std::fs::File;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::frame::{self, Hello, Tag};
use super::parse::{self, Content, Give, Request};
use super::{Limits, Reason, sandbox};

/// Of the thread that parses, in bytes: some parsers call themselves for every level of a document.
const STACK: usize = 32 << 20;
/// Answers are sent once there are so many bytes, and at the end of a file.
const ANSWER_BUFFER: usize = 1 << 16;

pub(super) type Parser = fn(&Request, &mut dyn Content, &Limits, &mut Give) -> Result<(), Reason>;

/// The hidden subcommand: what [`super::Extractor`] starts. Never prints anything, and ends when the parent does.
pub fn run_child() -> ! {
    serve(parse::parse)
}

pub(super) fn serve(parser: Parser) -> ! {
    std::panic::set_hook(Box::new(|_| {}));
    let Ok(socket) = start() else { exit(2) };
    let mut inbox = socket;
    let Some(limits) = hello(&mut inbox) else { exit(2) };
    sandbox::enter(&limits);
    let Ok(watched) = inbox.try_clone() else { exit(2) };
    let work = move || exit(if answer_all(&mut inbox, parser, &Arc::new(limits)).is_ok() { 0 } else { 2 });
    if thread::Builder::new().stack_size(STACK).spawn(work).is_err() {
        exit(2);
    }
    // The signal that Linux sends when a parent dies comes when the thread ends that started the worker, and threads come
    // and go. The socket closes with the process.
    loop {
        let mut sockets = [PollFd::new(&watched, PollFlags::empty())];
        match poll(&mut sockets, None) {
            Err(rustix::io::Errno::INTR) => {}
            _ => exit(0),
        }
    }
}

fn start() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

fn hello(socket: &mut UnixStream) -> Option<Limits> {
    let (message, _) = receive(socket).ok()??;
    let hello: Hello = serde_json::from_slice(&message).ok()?;
    (hello.version == frame::VERSION).then_some(hello.limits)
}

/// Until the parent closes the socket.
fn answer_all(socket: &mut UnixStream, parser: Parser, limits: &Limits) -> io::Result<()> {
    while let Some((message, file)) = receive(socket)? {
        let malformed = || io::Error::other("malformed request");
        let request: Request = serde_json::from_slice(&message).map_err(|_| malformed())?;
        let mut file = File::from(file.ok_or_else(malformed)?);
        let mut out = Vec::new();
        let mut broken = None;
        let mut give = |text| {
            frame::write_text(&mut out, &text);
            if out.len() >= ANSWER_BUFFER {
                let sent = socket.write_all(&out);
                out.clear();
                // The parent has gone: nobody reads the reason.
                sent.map_err(|error| {
                    broken = Some(error);
                    Reason::ParserFailed(String::new())
                })?;
            }
            Ok(())
        };
        let parsed = catch_unwind(AssertUnwindSafe(|| parser(&request, &mut file, limits, &mut give)));
        if let Some(error) = broken {
            return Err(error);
        }
        match parsed.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok(()) => frame::write(&mut out, Tag::Done, |_| {}),
            Err(reason) => frame::write_json(&mut out, Tag::Skipped, &reason.checked()),
        }
        socket.write_all(&out)?;
    }
    Ok(())
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Reason {
    let text = panic.downcast_ref::<&str>().copied();
    Reason::ParserFailed(text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it gave up").to_owned())
}

/// A message and the file that came with it; none at the end.
fn receive(socket: &mut UnixStream) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let mut header = [0; frame::HEADER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let n = loop {
        match recvmsg(&*socket, &mut [IoSliceMut::new(&mut header)], &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?.bytes,
        }
    };
    if n == 0 {
        return Ok(None);
    }
    let file = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    socket.read_exact(&mut header[n..])?;
    let (_, length) = frame::header(header, frame::MOST_SMALL).ok_or_else(|| io::Error::other("malformed header"))?;
    let mut message = vec![0; length];
    socket.read_exact(&mut message)?;
    Ok(Some((message, file)))
}
