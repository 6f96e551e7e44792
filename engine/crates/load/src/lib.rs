//! Drives the workloads of a job: virtual users, arrivals, journeys and client policies.
//!
//! [`job::Job::parse`] checks everything that can be known beforehand, [`run()`] drives the load in one thread with an
//! event loop, and [`command`] does both for `patternbench-engine load`, with the files of `contracts/load/README.md`.

pub mod contract;
pub mod job;

mod command;
mod doubts;
mod jar;
mod limits;
mod progress;
mod redirect;
mod run;
mod start;
mod summary;
mod template;
mod unite;
mod units;

pub use command::{CommandError, check, command, command_begun_by, command_in, listed};
pub use doubts::Doubt;
pub use job::policies::client_policies;
pub use patternbench_schedule::Problem;
pub use redirect::Refusal;
pub use run::{Epoll, Exchange, Finished, RunError, Runtime, Totals, run, run_from, run_in};
pub use unite::unite;
pub use units::Nanos;
