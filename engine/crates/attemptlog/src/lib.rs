//! A row for every attempt, streamed to a compressed columnar file by its own thread.
//!
//! The caller pushes [`Row`]s; a thread writes them as Parquet with the columns of `contracts/records/README.md`,
//! and keeps counts and HdrHistograms per step and group. Memory is bounded: a row group is written as soon as it is
//! full, and when the thread falls behind the caller waits, which is counted rather than hidden.

mod columns;
mod log;
mod row;
mod tally;

pub use log::{AttemptLog, LogError, Settings, Written};
pub use row::{Outcome, Row};
pub use tally::{
    Cell, Counts, Histogram, Measure, Observer, Tally, count_status, decoded, encoded, histogram, percentile,
    record,
};
