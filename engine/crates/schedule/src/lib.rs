//! When the calls of a workload are intended to start: pure, seeded, without a clock.
//!
//! A [`Curve`] says how many arrivals are expected by a moment; a [`Schedule`] places them on it, either evenly
//! or as a Poisson process. A [`Trace`] replays the moments that someone recorded. A [`Part`] says what of them falls
//! to one of several generators. All of them only compute: the caller holds the clock, and passes the random source in.

mod curve;
mod part;
mod problem;
mod schedule;
mod trace;

pub use curve::{Curve, Segment, Sine};
pub use part::Part;
pub use problem::Problem;
pub use schedule::{Schedule, Spacing};
pub use trace::{Arrival, Trace};
