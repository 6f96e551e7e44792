//! Drives the workloads of a job: virtual users, arrivals, journeys and client policies.
//!
//! [`job::Job::parse`] checks everything that can be known beforehand, [`run()`] drives the load in one thread with an
//! event loop, and [`command`] does both for `patternbench-engine load`, with the files of `contracts/load/README.md`.

pub mod job;

mod command;
mod doubts;
mod jar;
mod limits;
mod progress;
mod redirect;
mod run;
mod summary;
mod template;

pub use command::{CommandError, command};
pub use doubts::Doubt;
pub use redirect::Refusal;
pub use run::{Finished, RunError, run};
