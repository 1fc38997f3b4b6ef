//! The page over real sockets and in a real browser.

mod browser;
mod calls;
mod chromium;
mod federation;
mod hostile;
mod limits;
mod pictures;
mod strangers;
mod world;
