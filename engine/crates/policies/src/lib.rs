//! Back-off and circuit breaker as pure decisions.
//!
//! Nothing here reads a clock, sleeps, or owns a random source: the time and the draws are arguments, and what comes
//! back is a decision that the caller carries out. All times are whole microseconds on any monotonic clock, as in the
//! client contract (`contracts/client/README.md`), whose semantics these are.

#![forbid(unsafe_code)]

pub mod backoff;
pub mod breaker;
