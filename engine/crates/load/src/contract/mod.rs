//! Rounds of the client contract (`contracts/client`), driven as any other job of the engine.
//!
//! [`read`] checks a round, [`run`] makes a job of it, drives that, and streams every attempt back.

mod request;
mod round;
mod rows;
mod stream;
#[cfg(test)]
mod tests;

pub use round::{Round, read};
pub use stream::{Audience, run};
