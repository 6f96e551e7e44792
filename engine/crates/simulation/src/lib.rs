//! A service in simulated time: time jumps from one event to the next, and nothing is sent anywhere.
//!
//! Users, policies and schedules are those of `patternbench-load`, unchanged: this crate is another [`World`] for them.
//! [`Model`] says what the service is: workers, a queue, service times, and when it stands still, is down, or is slower.
//! The same model, job and seed give the same attempts, to the nanosecond.
//!
//! [`World`]: patternbench_load::World

mod faults;
mod model;
mod service;
mod times;
mod world;

pub use model::{Model, ModelError};
pub use world::Simulated;

/// Nanoseconds since the round began.
pub type Nanos = patternbench_load::Nanos;
