//! Arrivals that someone recorded, replayed.

use crate::Problem;

/// How many problems of one trace are listed; a file that is wrong in a million lines says so shortly.
const LISTED_PROBLEMS: usize = 20;

/// One recorded arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// When it is due, in nanoseconds from the start.
    pub at: u64,
    /// The virtual user that it belongs to, when the trace says so.
    pub user: Option<u32>,
    /// The step to send, as an index into [`Trace::steps`], when the trace says so.
    pub step: Option<u16>,
}

/// Arrivals in order of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// The arrivals, none earlier than the one before it.
    pub arrivals: Vec<Arrival>,
    /// The names of steps that the arrivals refer to.
    pub steps: Vec<String>,
}

/// Where the columns of a trace are.
struct Columns {
    at: usize,
    user: Option<usize>,
    step: Option<usize>,
}

impl Trace {
    /// Reads a CSV text with a header: `at_us` (whole microseconds from the start), and optionally `user` and `step`.
    ///
    /// # Errors
    /// All that is wrong (at most twenty lines of it), each with its line: times out of order, what is not a number,
    /// columns that mean nothing, a trace without arrivals.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let header = reader.headers().cloned().unwrap_or_default();
        let columns = columns(&header)?;
        let mut trace = Self::default();
        let mut problems = Vec::new();
        for record in reader.records() {
            match record {
                Ok(record) => trace.add(&columns, &record, &mut problems),
                Err(error) => problems.push(unreadable(&error)),
            }
            if problems.len() >= LISTED_PROBLEMS {
                break;
            }
        }
        if trace.arrivals.is_empty() && problems.is_empty() {
            problems.push(Problem::new(
                "",
                "no lines",
                "at least one arrival",
                "this trace sends nothing",
            ));
        }
        if problems.is_empty() {
            Ok(trace)
        } else {
            Err(problems)
        }
    }

    fn add(&mut self, columns: &Columns, record: &csv::StringRecord, problems: &mut Vec<Problem>) {
        let line = record.position().map_or(0, csv::Position::line);
        match self.arrival(columns, record, line) {
            Ok(arrival) => self.arrivals.push(arrival),
            Err(problem) => problems.push(problem),
        }
    }

    fn arrival(
        &mut self,
        columns: &Columns,
        record: &csv::StringRecord,
        line: u64,
    ) -> Result<Arrival, Problem> {
        let at_us: u64 = number(record, columns.at, "at_us", line)?;
        let at = at_us.saturating_mul(1000);
        if self.arrivals.last().is_some_and(|last| last.at > at) {
            let message = "this arrival is earlier than the one before it: sort the trace by at_us";
            return Err(Problem::new(
                format!("line {line}"),
                at_us,
                "times that never go back",
                message,
            ));
        }
        let user = columns
            .user
            .map(|column| number(record, column, "user", line))
            .transpose()?;
        let step = columns
            .step
            .and_then(|column| record.get(column))
            .map(|name| self.step(name));
        Ok(Arrival { at, user, step })
    }

    fn step(&mut self, name: &str) -> u16 {
        let known = self.steps.iter().position(|step| step == name);
        let index = known.unwrap_or_else(|| {
            self.steps.push(name.to_owned());
            self.steps.len() - 1
        });
        // More than 65,535 names fall together in one that no journey knows, and are refused there.
        u16::try_from(index).unwrap_or(u16::MAX)
    }
}

fn columns(header: &csv::StringRecord) -> Result<Columns, Vec<Problem>> {
    let allowed = "at_us, user, step";
    let place = |name: &str| header.iter().position(|column| column == name);
    let mut problems: Vec<Problem> = header
        .iter()
        .filter(|column| !["at_us", "user", "step"].contains(column))
        .map(|column| Problem::new("line 1", column, allowed, "no column of a trace has this name"))
        .collect();
    let Some(at) = place("at_us") else {
        problems.push(Problem::new(
            "line 1",
            header.iter().collect::<Vec<_>>().join(","),
            allowed,
            "a trace needs the column at_us",
        ));
        return Err(problems);
    };
    if problems.is_empty() {
        Ok(Columns {
            at,
            user: place("user"),
            step: place("step"),
        })
    } else {
        Err(problems)
    }
}

fn number<T: std::str::FromStr>(
    record: &csv::StringRecord,
    column: usize,
    name: &str,
    line: u64,
) -> Result<T, Problem> {
    let text = record.get(column).unwrap_or_default();
    let message = format!("{name} is not a whole number of zero or more");
    text.parse()
        .map_err(|_| Problem::new(format!("line {line}"), text, "0, 1, 2, ...", message))
}

fn unreadable(error: &csv::Error) -> Problem {
    let line = error.position().map_or(0, csv::Position::line);
    Problem::new(
        format!("line {line}"),
        error,
        "one value per column",
        "this line is not CSV of the header's width",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_trace_keeps_times_users_and_steps() {
        let trace = Trace::parse("at_us,user,step\n0,3,buy\n1500,4,look\n1500,3,buy\n").unwrap();
        let arrival = |at, user, step| Arrival {
            at,
            user: Some(user),
            step: Some(step),
        };
        assert_eq!(
            trace.arrivals,
            [
                arrival(0, 3, 0),
                arrival(1_500_000, 4, 1),
                arrival(1_500_000, 3, 0)
            ]
        );
        assert_eq!(trace.steps, ["buy", "look"]);
    }

    #[test]
    fn a_trace_out_of_order_names_the_line() {
        let problems = Trace::parse("at_us\n5\n4\n").unwrap_err();
        assert_eq!((problems.len(), problems[0].path.as_str()), (1, "line 3"));
    }

    #[test]
    fn all_wrong_lines_are_listed_at_once() {
        let problems = Trace::parse("at_us,user\n-5,1\n7,x\nnan,2\n").unwrap_err();
        assert_eq!(
            problems
                .iter()
                .map(|problem| problem.path.as_str())
                .collect::<Vec<_>>(),
            ["line 2", "line 3", "line 4"]
        );
    }

    #[test]
    fn a_column_that_means_nothing_is_refused() {
        assert_eq!(Trace::parse("at_us,usr\n1,2\n").unwrap_err()[0].value, "usr");
    }

    #[test]
    fn an_empty_trace_is_refused() {
        assert!(Trace::parse("at_us\n").is_err() && Trace::parse("").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = Trace::parse(&format!("at_us,user,step\n{text}"));
            let _ = Trace::parse(&text);
        }
    }
}
