//! What a connection is doing, and until when it may.
//!
//! hyper measures one time for "idle until the next request" and "slow to send its headers", and refuses what is no HTTP
//! with an empty answer. So the stream under hyper reports what it reads and writes: each phase has a time of its
//! own, and what hyper writes when no request was made is held back for a problem by name.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::limits::Limits;

/// Later than anything: a request has times of its own.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Between an answer and the next request.
    Idle,
    /// No byte of the first request has come.
    Silent,
    /// A request has begun and its headers are not complete.
    Headers,
    /// A request is read or handled.
    Call,
    /// An answer is written.
    Answer { n_written: usize, is_complete: bool },
}

struct State {
    phase: Phase,
    since: Instant,
    is_at_end: bool,
}

pub(super) struct Activity {
    state: Mutex<State>,
    evicted: Notify,
}

impl Activity {
    pub fn new() -> Arc<Self> {
        let state = State { phase: Phase::Silent, since: Instant::now(), is_at_end: false };
        Arc::new(Self { state: Mutex::new(state), evicted: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        let mut state = self.state();
        state.phase = phase;
        state.since = Instant::now();
    }

    pub fn phase(&self) -> Phase {
        self.state().phase
    }

    pub fn begin_call(&self) {
        self.enter(Phase::Call);
    }

    pub fn begin_answer(self: &Arc<Self>, bytes: Bytes) -> AnswerBody {
        self.enter(Phase::Answer { n_written: 0, is_complete: false });
        AnswerBody { bytes, activity: Arc::clone(self) }
    }

    pub fn deadline(&self, limits: &Limits) -> Instant {
        let state = self.state();
        let time = match state.phase {
            Phase::Idle => limits.idle_time,
            Phase::Silent | Phase::Headers => limits.header_time,
            Phase::Call => FAR,
            Phase::Answer { n_written, .. } => limits.transfer_time(limits.answer_time, n_written),
        };
        state.since + time
    }

    /// Since when the headers of a request have been awaited, on a connection that is neither idle nor at work.
    pub fn stalled_since(&self) -> Option<Instant> {
        let state = self.state();
        matches!(state.phase, Phase::Silent | Phase::Headers).then_some(state.since)
    }

    /// Since when the connection waits for a next request, if it does.
    pub fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.phase == Phase::Idle).then_some(state.since)
    }

    /// Whether the client has closed its side.
    pub fn is_at_end(&self) -> bool {
        self.state().is_at_end
    }

    /// Makes room for another connection.
    pub fn evict(&self) {
        self.evicted.notify_one();
    }

    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }

    fn has_read(&self, n_bytes: usize) {
        let mut state = self.state();
        if n_bytes == 0 {
            state.is_at_end = true;
        } else if matches!(state.phase, Phase::Idle | Phase::Silent) {
            state.phase = Phase::Headers;
            state.since = Instant::now();
        }
    }

    fn has_written(&self, n_bytes: usize) {
        if let Phase::Answer { n_written, .. } = &mut self.state().phase {
            *n_written += n_bytes;
        }
    }

    pub fn has_flushed(&self) {
        if matches!(self.phase(), Phase::Answer { is_complete: true, .. }) {
            self.enter(Phase::Idle);
        }
    }

    /// Whether what hyper writes now is not the answer to any request.
    fn has_no_request(&self) -> bool {
        matches!(self.phase(), Phase::Idle | Phase::Silent | Phase::Headers)
    }
}

/// The bytes of an answer. hyper drops it when all of them are in its buffer.
pub(super) struct AnswerBody {
    bytes: Bytes,
    activity: Arc<Activity>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        if let Phase::Answer { is_complete, .. } = &mut self.activity.state().phase {
            *is_complete = true;
        }
    }
}

/// A stream that tells an [`Activity`] what passes.
pub(super) struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
}

impl<S> Watched<S> {
    pub fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }

    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.activity.has_read(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.activity.has_no_request() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let n = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.activity.has_written(n);
        Poll::Ready(Ok(n))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.activity.has_no_request() {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let n = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, slices))?;
        self.activity.has_written(n);
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.activity.has_flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
