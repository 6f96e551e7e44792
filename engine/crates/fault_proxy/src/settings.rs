//! How a proxy works.

use patternbench_timing::Nanos;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How a proxy works.
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The address for orders; port 0 takes a free one.
    pub admin: SocketAddr,
    /// Where it passes connections on to; without it, each to where it was meant for before the kernel redirected it.
    pub to: Option<SocketAddr>,
    /// How long it holds every byte, in each direction.
    pub latency: Nanos,
    /// Of what it draws.
    pub seed: u64,
    /// The network in which it listens and connects, a file of `/proc/PID/ns`; orders still come to that of its start.
    pub network: Option<PathBuf>,
    /// The mark of its own connections (`SO_MARK`), by which the kernel's rules tell them from others; 0 for none.
    pub mark: u32,
}
