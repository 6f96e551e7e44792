//! What a client does about slow and failing calls, as pure decisions.
//!
//! One file per policy, each usable alone; [`stack`] lets a call go through several of them in a stated order.
//!
//! Nothing here reads a clock, sleeps, or owns a random source: the time and the draws are arguments, and what comes
//! back is a decision that the caller carries out. All times are whole microseconds on any monotonic clock, as in the
//! client contract (`contracts/client/README.md`), whose semantics of back-off and breaker these are.

#![forbid(unsafe_code)]

pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod bulkhead;
pub mod deadline;
pub mod hedge;
pub mod outcome;
pub mod rate_limit;
pub mod retry;
pub mod shared;
pub mod stack;
pub mod timeout;
