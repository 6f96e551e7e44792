//! The native client: puts the load of one round on a target and says what happened to every attempt.
//!
//! It speaks version 1 of the client contract (`contracts/client`). Virtual users are threads with blocking connections of
//! their own, decisions come from `patternbench-policies`, and rows are streamed back in batches.

#![forbid(unsafe_code)]

mod connection;
mod fields;
mod round;
mod rows;
mod running;
mod server;
mod user;

pub use server::serve;
