//! A line of JSON four times a second, for whoever draws a live view.

use patternbench_attemptlog::{Histogram, Observer, Outcome, Row, histogram, percentile, record};
use serde_json::json;
use std::io::Write;

/// What happened since the last line, and since the start.
pub struct Progress<W> {
    sink: W,
    at_us: u64,
    sent: u64,
    errors: u64,
    dropped: u64,
    interval: Histogram,
    ended: u64,
}

impl<W: Write + Send> Progress<W> {
    /// Writes to `sink`.
    pub fn new(sink: W) -> Self {
        let interval = histogram();
        Self {
            sink,
            at_us: 0,
            sent: 0,
            errors: 0,
            dropped: 0,
            interval,
            ended: 0,
        }
    }

    fn add(&mut self, row: &Row) {
        self.dropped += u64::from(row.outcome == Outcome::Dropped);
        if row.outcome.was_sent() {
            self.sent += 1;
            self.ended += 1;
            self.errors += u64::from(!row.success);
            record(&mut self.interval, row.end_us - row.intended_us);
        }
    }
}

impl<W: Write + Send> Observer for Progress<W> {
    fn rows(&mut self, rows: &[Row]) {
        rows.iter().for_each(|row| self.add(row));
    }

    fn tick(&mut self, elapsed_us: u64, in_flight: u64) {
        let seconds = elapsed_us.saturating_sub(self.at_us) as f64 / 1e6;
        let at = |percent| percentile(&self.interval, percent).map(|us| us as f64 / 1000.0);
        let line = json!({"progress": {
            "elapsed_us": elapsed_us, "requests": self.sent, "errors": self.errors, "dropped": self.dropped,
            "in_flight": in_flight, "rate_per_s": if seconds > 0.0 { self.ended as f64 / seconds } else { 0.0 },
            "response_ms": {"p50": at(50.0), "p90": at(90.0), "p99": at(99.0), "max": at(100.0)},
        }});
        // When nobody reads any more, the round still goes on.
        let _ = writeln!(self.sink, "{line}").and_then(|()| self.sink.flush());
        (self.at_us, self.ended) = (elapsed_us, 0);
        self.interval.reset();
    }
}
