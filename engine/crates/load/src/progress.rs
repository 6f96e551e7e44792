//! A line of JSON four times per second, for live views.

use crate::summary::statuses;
use patternbench_attemptlog::{
    Histogram, Observer, Outcome, Row, count_status, histogram, percentile, record,
};
use serde_json::json;
use std::io::Write;

/// What happened since the last line, and since the start.
pub struct Progress<W> {
    sink: W,
    at_us: u64,
    sent: u64,
    errors: u64,
    dropped: u64,
    statuses: [u64; 10],
    interval: Histogram,
    lateness: Histogram,
    ended: u64,
    measured_from_us: Option<u64>,
}

impl<W: Write + Send> Progress<W> {
    /// Writes to `sink`.
    pub fn new(sink: W) -> Self {
        let (interval, lateness) = (histogram(), histogram());
        Self {
            sink,
            at_us: 0,
            sent: 0,
            errors: 0,
            dropped: 0,
            statuses: [0; 10],
            interval,
            lateness,
            ended: 0,
            measured_from_us: None,
        }
    }

    fn add(&mut self, row: &Row) {
        self.dropped += u64::from(row.outcome == Outcome::Dropped);
        if row.outcome.was_sent() {
            self.sent += 1;
            self.ended += 1;
            self.errors += u64::from(!row.success);
            record(&mut self.interval, row.end_us - row.intended_us);
            count_status(&mut self.statuses, row);
        }
        if row.attempt == 1 {
            record(&mut self.lateness, i64::from(row.lateness_us));
        }
    }
}

impl<W: Write + Send> Observer for Progress<W> {
    fn rows(&mut self, rows: &[Row]) {
        rows.iter().for_each(|row| self.add(row));
    }

    fn measures_from(&mut self, us: u64) {
        self.measured_from_us = Some(us);
    }

    fn tick(&mut self, elapsed_us: u64, in_flight: u64) {
        let seconds = elapsed_us.saturating_sub(self.at_us) as f64 / 1e6;
        let ms = |times: &Histogram, percent| percentile(times, percent).map(|us| us as f64 / 1000.0);
        let at = |percent| ms(&self.interval, percent);
        let late = |percent| ms(&self.lateness, percent);
        let line = json!({"progress": {
            "elapsed_us": elapsed_us, "measured_from_us": self.measured_from_us, "requests": self.sent, "errors": self.errors, "dropped": self.dropped,
            "in_flight": in_flight, "rate_per_s": if seconds > 0.0 { self.ended as f64 / seconds } else { 0.0 },
            "response_ms": {"p50": at(50.0), "p90": at(90.0), "p99": at(99.0), "max": at(100.0)},
            "statuses": statuses(&self.statuses),
            "lateness_ms": {"p50": late(50.0), "p99": late(99.0), "max": late(100.0)},
        }});
        // When no one reads any more, the round still continues.
        let _ = writeln!(self.sink, "{line}").and_then(|()| self.sink.flush());
        (self.at_us, self.ended) = (elapsed_us, 0);
        self.interval.reset();
        self.lateness.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn row(status: u16, lateness_us: u32) -> Row {
        Row {
            user: 0,
            group: 0,
            step: 0,
            call: 0,
            attempt: 1,
            status,
            outcome: if status == 0 {
                Outcome::Timeout
            } else {
                Outcome::Answered
            },
            success: status == 200,
            warm_up: false,
            intended_us: 0,
            start_us: i64::from(lateness_us),
            first_byte_us: -1,
            end_us: 5000,
            bytes: if status == 0 { Row::NO_BYTES } else { 1 },
            lateness_us,
            call_response_us: 5000,
            call_success: status == 200,
            redirects: 0,
            journey: 0,
            ends_journey: false,
            items: 0,
            failed_items: 0,
        }
    }

    fn lines(ticks: &[&[Row]]) -> Vec<Value> {
        let sink = Sink::default();
        let mut progress = Progress::new(sink.clone());
        for (number, rows) in (1..).zip(ticks) {
            progress.rows(rows);
            progress.tick(number * 250_000, 0);
        }
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let inner = |line: &str| serde_json::from_str::<Value>(line).unwrap()["progress"].clone();
        text.lines().map(inner).collect()
    }

    #[test]
    fn statuses_count_from_the_start_and_times_since_the_line_before() {
        let lines = lines(&[&[row(200, 100), row(503, 2000), row(0, 0)], &[row(200, 300)], &[]]);
        assert_eq!(lines[0]["statuses"], json!({"2xx": 1, "5xx": 1}));
        assert_eq!(
            lines[0]["lateness_ms"],
            json!({"p50": 0.1, "p99": 2.0, "max": 2.0})
        );
        assert_eq!(lines[1]["statuses"], json!({"2xx": 2, "5xx": 1}));
        assert_eq!(
            lines[1]["lateness_ms"],
            json!({"p50": 0.3, "p99": 0.3, "max": 0.3})
        );
        assert_eq!(
            (&lines[2]["statuses"], &lines[2]["lateness_ms"]["max"]),
            (&lines[1]["statuses"], &Value::Null)
        );
        assert_eq!(
            (&lines[2]["requests"], &lines[2]["errors"]),
            (&json!(4), &json!(2))
        );
    }
}
