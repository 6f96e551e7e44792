//! Rows on their way from the users to the stream.

use crate::Outcome;
use bytes::Bytes;
use serde::Serialize;
use std::cell::{Cell, RefCell};

/// The most rows of one batch.
const MOST: usize = 10_000;

/// One attempt, or one rejected call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) user: usize,
    pub(crate) call: u64,
    pub(crate) attempt: u64,
    pub(crate) start_us: u64,
    pub(crate) duration_us: u64,
    pub(crate) outcome: Outcome,
}

/// What has come in since the last batch.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    waiting: RefCell<Vec<Row>>,
    taken: Cell<usize>,
}

impl Rows {
    pub(crate) fn add(&self, row: Row) {
        self.waiting.borrow_mut().push(row);
    }

    /// What has come in since the last time.
    pub(crate) fn take(&self) -> Vec<Row> {
        let rows = self.waiting.take();
        self.taken.set(self.taken.get() + rows.len());
        rows
    }

    /// How many rows have been taken so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken.get()
    }
}

#[derive(Serialize)]
struct Line {
    batch: Columns,
}

#[derive(Serialize)]
struct Columns {
    user: Vec<usize>,
    call: Vec<u64>,
    attempt: Vec<u64>,
    start_us: Vec<u64>,
    duration_us: Vec<u64>,
    outcome: Vec<Outcome>,
}

/// The lines of the stream for rows; one empty batch where there are none.
pub(crate) fn lines(rows: &[Row]) -> Vec<Bytes> {
    if rows.is_empty() {
        return vec![line(&[])];
    }
    rows.chunks(MOST).map(line).collect()
}

fn line(rows: &[Row]) -> Bytes {
    let batch = Columns {
        user: rows.iter().map(|row| row.user).collect(),
        call: rows.iter().map(|row| row.call).collect(),
        attempt: rows.iter().map(|row| row.attempt).collect(),
        start_us: rows.iter().map(|row| row.start_us).collect(),
        duration_us: rows.iter().map(|row| row.duration_us).collect(),
        outcome: rows.iter().map(|row| row.outcome).collect(),
    };
    let mut text = serde_json::to_vec(&Line { batch }).expect("numbers and names are JSON");
    text.push(b'\n');
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(attempt: u64, outcome: Outcome) -> Row {
        Row {
            user: 1,
            call: 2,
            attempt,
            start_us: 12,
            duration_us: 34,
            outcome,
        }
    }

    #[test]
    fn a_batch_has_a_list_for_each_column_and_names_for_what_is_no_answer() {
        let rows = [
            row(1, Outcome::Answered(503)),
            row(2, Outcome::Timeout),
            row(0, Outcome::Rejected),
        ];
        let text = String::from_utf8(lines(&rows)[0].to_vec()).unwrap();
        let due = concat!(
            r#"{"batch":{"user":[1,1,1],"call":[2,2,2],"attempt":[1,2,0],"start_us":[12,12,12],"#,
            r#""duration_us":[34,34,34],"outcome":[503,"timeout","rejected"]}}"#,
            "\n"
        );
        assert_eq!(text, due);
    }

    #[test]
    fn a_batch_holds_ten_thousand_rows_at_most_and_none_is_a_batch_too() {
        let rows = vec![row(1, Outcome::Answered(200)); MOST + 1];
        assert_eq!(lines(&rows).len(), 2);
        assert_eq!(lines(&[]).len(), 1);
    }

    #[test]
    fn rows_are_taken_once_and_counted() {
        let rows = Rows::default();
        rows.add(row(1, Outcome::ConnectionError));
        assert_eq!((rows.take().len(), rows.take().len(), rows.taken()), (1, 0, 1));
    }
}
