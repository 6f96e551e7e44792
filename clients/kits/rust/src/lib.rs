//! What every client of a library in Rust shares: rounds, users and rows, on one thread of tokio.
//!
//! The contract's server is a crate of its own below, `server`, which the load engine is served by as well.

mod adapter;
mod alarm;
mod clock;
mod connection;
mod library;
mod outcome;
mod problem;
mod refusals;
mod round;
mod rows;
mod running;
mod seeds;
mod serve;
mod target;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod user;

pub use adapter::{Adapter, Answer, Description, Entry, Guard, Guarded};
pub use outcome::Outcome;
pub use problem::{Problem, Problems};
pub use refusals::problems;
pub use round::{
    After, Backoff, Bulkhead, CircuitBreaker, Failure, Hedge, Jitter, Policy, RateLimit, Request, Retry,
    RetryBudget, Round, Scope, SlowCall, Spread, Strategy, Window,
};
pub use seeds::Seeds;
pub use serve::serve;
