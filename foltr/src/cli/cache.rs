//! Options of `foltr cache`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Say where parsed data is kept, how much of it, and of which data files.
    ///
    /// LETOR files are parsed once and then mapped from the folder that FOLTR_CACHE names, else from foltr in
    /// XDG_CACHE_HOME or ~/.cache. FOLTR_CACHE=off keeps nothing. Nothing is ever written beside the data.
    Info,
    /// Remove all parsed data; it is made anew when it is needed.
    Clear,
}
