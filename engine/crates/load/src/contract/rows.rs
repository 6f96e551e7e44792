//! How rows are written to the stream.

use patternbench_attemptlog::{Outcome, Row};
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

/// The most rows of a batch that the contract allows.
pub const MOST_ROWS: usize = 10_000;
/// Statuses of answers. An answer with any other status doesn't count as one.
const STATUSES: std::ops::RangeInclusive<u16> = 100..=599;

/// A line of the stream with these rows.
pub fn batch_line(rows: &[Row]) -> String {
    let mut line = String::with_capacity(64 + rows.len() * 40);
    line.push_str("{\"batch\":{");
    column(&mut line, "user", rows, |line, row| number(line, row.user));
    column(&mut line, "call", rows, |line, row| number(line, row.call));
    column(&mut line, "attempt", rows, |line, row| number(line, row.attempt));
    column(&mut line, "start_us", rows, |line, row| {
        number(line, row.start_us)
    });
    column(&mut line, "duration_us", rows, |line, row| {
        number(line, row.end_us - row.start_us)
    });
    column(&mut line, "outcome", rows, outcome);
    line.pop();
    line.push_str("}}\n");
    line
}

/// The last line of a round that went well: its rows, how long it took, and the CPU time of the process in it.
pub fn end_line(rows: u64, took: Duration, cpu: Duration) -> String {
    let (took, cpu) = (took.as_micros() as u64, cpu.as_micros() as u64);
    format!(
        "{}\n",
        json!({"end": {"rows": rows, "duration_us": took, "cpu_us": cpu}})
    )
}

/// The last line of a round that could not continue.
pub fn error_line(message: &str) -> String {
    format!("{}\n", json!({"error": message}))
}

fn column(line: &mut String, name: &str, rows: &[Row], write: impl Fn(&mut String, &Row)) {
    let _ = write!(line, "\"{name}\":[");
    for (place, row) in rows.iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        write(line, row);
    }
    line.push_str("],");
}

fn number(line: &mut String, number: impl std::fmt::Display) {
    let _ = write!(line, "{number}");
}

fn outcome(line: &mut String, row: &Row) {
    match row.outcome {
        _ if STATUSES.contains(&row.status) => number(line, row.status),
        Outcome::Timeout => line.push_str("\"timeout\""),
        Outcome::Rejected => line.push_str("\"rejected\""),
        _ => line.push_str("\"connection_error\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(user: u32, attempt: u16, (start_us, end_us): (i64, i64), outcome: Outcome, status: u16) -> Row {
        Row {
            user,
            group: 0,
            step: 0,
            call: 0,
            attempt,
            status,
            outcome,
            success: false,
            warm_up: false,
            intended_us: start_us,
            start_us,
            first_byte_us: -1,
            end_us,
            bytes: Row::NO_BYTES,
            lateness_us: 0,
            call_response_us: 0,
            call_success: false,
            redirects: 0,
            journey: 0,
            ends_journey: false,
            items: 0,
            failed_items: 0,
        }
    }

    #[test]
    fn a_batch_is_written_as_in_the_contract() {
        let rows = [
            row(0, 1, (12, 3062), Outcome::Answered, 503),
            row(0, 2, (23100, 26090), Outcome::Timeout, 0),
            row(1, 1, (15, 3025), Outcome::ConnectionError, 0),
            row(1, 2, (16, 17), Outcome::Answered, 600),
            row(1, 0, (20, 20), Outcome::Rejected, 0),
        ];
        let wanted = r#"{"batch":{"user":[0,0,1,1,1],"call":[0,0,0,0,0],"attempt":[1,2,1,2,0],"start_us":[12,23100,15,16,20],"duration_us":[3050,2990,3010,1,0],"outcome":[503,"timeout","connection_error","connection_error","rejected"]}}"#;
        assert_eq!(batch_line(&rows), format!("{wanted}\n"));
    }

    #[test]
    fn the_last_line_is_an_end_or_an_error() {
        let end = end_line(3, Duration::from_micros(26100), Duration::from_micros(4100));
        assert_eq!(
            end,
            "{\"end\":{\"rows\":3,\"duration_us\":26100,\"cpu_us\":4100}}\n"
        );
        assert_eq!(error_line("no \"x\""), "{\"error\":\"no \\\"x\\\"\"}\n");
    }
}
