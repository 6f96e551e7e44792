//! Services in simulated time: time jumps from one event to the next, and nothing is sent anywhere.
//!
//! Users, policies and schedules are those of `patternbench-load`, unchanged, on another [`Runtime`].
//! [`Model`] says what the services are: workers, a queue, service times, calls to each other, and when one stands still,
//! is down, or is slower. Calls to each other go through policies, too, which are those of `patternbench-policies`.
//! The same model, job and seed give the same attempts, to the nanosecond.
//!
//! [`Runtime`]: patternbench_load::Runtime

mod agenda;
mod cluster;
mod downstream;
mod faults;
mod model;
mod rare;
mod runtime;
mod service;
mod splitting;
mod times;
mod watch;

pub use model::{Model, ModelError};
pub use rare::Question;
pub use runtime::Simulated;
pub use splitting::{Effort, Estimate, Followed, LevelEstimate, REPETITIONS, Walk, estimate, estimate_at};
pub use watch::{RareEvent, Watched};

/// Nanoseconds since the round began.
pub type Nanos = patternbench_load::Nanos;
