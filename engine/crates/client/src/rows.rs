//! What happened to each attempt, and how that is written to the stream.

use std::fmt::Write;

/// The most rows of a batch that the contract allows.
pub const MOST_ROWS: usize = 10_000;

/// One attempt, or one rejected call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// From 0.
    pub user: u32,
    /// Of this user, from 0.
    pub call: u64,
    /// Of this call, from 1; 0 for a rejected call.
    pub attempt: u64,
    /// From the start of the round.
    pub start_us: u64,
    /// To the last byte of the answer; 0 for a rejected call.
    pub duration_us: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered, with this status.
    Status(u16),
    /// Not answered in time.
    Timeout,
    /// No connection, or one that broke, or an answer that is none.
    ConnectionError,
    /// Not sent: a breaker was open.
    Rejected,
}

impl Outcome {
    /// Whether a call that ends like this is successful.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Status(200..=399))
    }
}

/// A line of the stream with these rows.
pub fn batch_line(rows: &[Row]) -> String {
    let mut line = String::with_capacity(64 + rows.len() * 40);
    line.push_str("{\"batch\":{");
    column(&mut line, "user", rows, |line, row| {
        number(line, u64::from(row.user))
    });
    column(&mut line, "call", rows, |line, row| number(line, row.call));
    column(&mut line, "attempt", rows, |line, row| number(line, row.attempt));
    column(&mut line, "start_us", rows, |line, row| {
        number(line, row.start_us)
    });
    column(&mut line, "duration_us", rows, |line, row| {
        number(line, row.duration_us)
    });
    column(&mut line, "outcome", rows, |line, row| outcome(line, row.outcome));
    line.pop();
    line.push_str("}}\n");
    line
}

/// The last line of a round that went well.
pub fn end_line(rows: u64, duration_us: u64, cpu_us: u64) -> String {
    format!("{{\"end\":{{\"rows\":{rows},\"duration_us\":{duration_us},\"cpu_us\":{cpu_us}}}}}\n")
}

/// The last line of a round that could not go on.
pub fn error_line(message: &str) -> String {
    format!("{}\n", serde_json::json!({"error": message}))
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

fn number(line: &mut String, number: u64) {
    let _ = write!(line, "{number}");
}

fn outcome(line: &mut String, outcome: Outcome) {
    match outcome {
        Outcome::Status(status) => number(line, u64::from(status)),
        Outcome::Timeout => line.push_str("\"timeout\""),
        Outcome::ConnectionError => line.push_str("\"connection_error\""),
        Outcome::Rejected => line.push_str("\"rejected\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_written_as_in_the_contract() {
        let row = |user, attempt, start_us, duration_us, outcome| Row {
            user,
            call: 0,
            attempt,
            start_us,
            duration_us,
            outcome,
        };
        let rows = [
            row(0, 1, 12, 3050, Outcome::Status(503)),
            row(0, 2, 23100, 2990, Outcome::Timeout),
            row(1, 1, 15, 3010, Outcome::ConnectionError),
            row(1, 0, 20, 0, Outcome::Rejected),
        ];
        let wanted = r#"{"batch":{"user":[0,0,1,1],"call":[0,0,0,0],"attempt":[1,2,1,0],"start_us":[12,23100,15,20],"duration_us":[3050,2990,3010,0],"outcome":[503,"timeout","connection_error","rejected"]}}"#;
        assert_eq!(batch_line(&rows), format!("{wanted}\n"));
    }

    #[test]
    fn the_last_line_is_an_end_or_an_error() {
        assert_eq!(
            end_line(3, 26100, 4100),
            "{\"end\":{\"rows\":3,\"duration_us\":26100,\"cpu_us\":4100}}\n"
        );
        assert_eq!(error_line("no \"x\""), "{\"error\":\"no \\\"x\\\"\"}\n");
    }

    #[test]
    fn answers_from_200_to_399_are_successes() {
        for (outcome, wanted) in [
            (Outcome::Status(199), false),
            (Outcome::Status(200), true),
            (Outcome::Status(399), true),
            (Outcome::Status(400), false),
            (Outcome::Timeout, false),
            (Outcome::ConnectionError, false),
            (Outcome::Rejected, false),
        ] {
            assert_eq!(outcome.is_success(), wanted, "{outcome:?}");
        }
    }
}
