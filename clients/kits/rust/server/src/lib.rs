//! The server of the client contract (`contracts/client`): HTTP on one thread, one round at a time.
//!
//! A client implements [`Client`]: who it is, how it reads a round, and how it drives one. The load engine and every
//! client of a library in Rust are served by this crate.

mod place;
mod server;
mod stream;

pub use place::Place;
pub use server::{Client, serve};
pub use stream::Stream;
