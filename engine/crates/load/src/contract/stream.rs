//! A round while it runs, and its rows on their way out.

use super::round::Round;
use super::rows::{MOST_ROWS, batch_line, end_line, error_line};
use crate::run::clock::process_cpu;
use crate::run::{Finished, RunError, run as drive};
use patternbench_attemptlog::{AttemptLog, LogError, Observer, Row, Settings};
use patternbench_wire::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rows that may wait to be read by the other side; more means that it does not read.
const MOST_WAITING: usize = 5_000_000;
const UNREAD: &str = "the rows are not read fast enough";
const OUT_OF_SOCKETS: &str = "the client has no file descriptors or local ports left: raise ulimit -n, use fewer users, \
     or wait a minute for ports of earlier connections";

/// The reader of a stream's lines. Its clones are the same reader.
pub trait Audience: Clone + Send + 'static {
    /// Hands over a line with its number of rows, and does not wait until it is read.
    fn send(&self, line: String, rows: usize);
    /// How many rows wait to be read.
    fn waiting(&self) -> usize;
    /// Whether no one reads any more.
    fn has_left(&self) -> bool;
}

/// Drives a round to its end, or until its audience has left; its last line, which is for the caller to send.
pub fn run(round: Round, audience: &impl Audience) -> String {
    match drive_round(round, audience) {
        Ok(line) => line,
        Err(message) => error_line(&message),
    }
}

fn drive_round(round: Round, audience: &impl Audience) -> Result<String, String> {
    let job = round.into_job()?;
    let (stop, unread) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let stream = Stream {
        audience: audience.clone(),
        stop: stop.clone(),
        unread: unread.clone(),
    };
    let settings = Settings {
        file: None,
        groups: job.groups.iter().map(|group| group.name.clone()).collect(),
        steps: job.step_names.clone(),
        journeys: false,
        observer: Some(Box::new(stream)),
    };
    let before = process_cpu();
    let log = AttemptLog::start(settings).map_err(|LogError(message)| message)?;
    let finished = drive(job, log, &stop).map_err(|RunError(message)| message)?;
    if unread.load(Ordering::Relaxed) {
        return Err(UNREAD.to_owned());
    }
    last_line(&finished, process_cpu().saturating_sub(before))
}

fn last_line(finished: &Finished, cpu: Duration) -> Result<String, String> {
    if finished.totals.failed(Failure::Exhausted) > 0 {
        return Err(OUT_OF_SOCKETS.to_owned());
    }
    Ok(end_line(finished.written.rows, finished.elapsed, cpu))
}

/// Writes rows as they come; ends the round when no one reads them.
struct Stream<A> {
    audience: A,
    stop: Arc<AtomicBool>,
    unread: Arc<AtomicBool>,
}

impl<A: Audience> Observer for Stream<A> {
    fn rows(&mut self, rows: &[Row]) {
        for chunk in rows.chunks(MOST_ROWS) {
            self.audience.send(batch_line(chunk), chunk.len());
        }
        if self.audience.waiting() > MOST_WAITING {
            self.unread.store(true, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn tick(&mut self, _elapsed_us: u64, _in_flight: u64) {
        if self.audience.has_left() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
