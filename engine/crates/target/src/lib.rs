//! The calibrated target: an HTTP service of which everything that matters is known.
//!
//! It has a set number of workers, each a thread that serves one request at a time for a drawn time, and a queue in front
//! of them. Its response time therefore rises with load as that of a real service does, and its log says to the
//! microsecond when each request was received, started, finished and answered: the truth that measurements are held against.

#![forbid(unsafe_code)]

mod front;
mod log;
mod queue;
mod route;
mod service;
pub mod settings;
mod worker;

pub use front::serve;
