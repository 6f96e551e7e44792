//! How a proxy works.

use patternbench_timing::Nanos;
use std::net::SocketAddr;

/// How a proxy works.
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The address for orders; port 0 takes a free one.
    pub admin: SocketAddr,
    /// Where it passes connections on to.
    pub to: SocketAddr,
    /// How long it holds every byte, in each direction.
    pub distance: Nanos,
    /// Of what it draws.
    pub seed: u64,
}
