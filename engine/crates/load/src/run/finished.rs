//! What comes of a round, or why nothing does.

use super::placement::Placement;
use super::totals::Totals;
use patternbench_attemptlog::{LogError, Written};
use std::time::Duration;

/// Why a round could not continue, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError(pub String);

impl From<LogError> for RunError {
    fn from(LogError(message): LogError) -> Self {
        Self(message)
    }
}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self(format!(
            "the operating system refuses to wait for sockets: {error}"
        ))
    }
}

/// What came of a round.
pub struct Finished {
    /// What was logged.
    pub written: Written,
    /// From the end of the warm-up to the end of the last attempt.
    pub duration: Duration,
    /// Wall-clock time of the whole round.
    pub elapsed: Duration,
    /// How long the round continued after its planned end and all waiting for answers.
    pub overrun: Duration,
    /// What was counted in addition to attempts.
    pub totals: Totals,
    /// The thread that drove the load, where it ran on a machine.
    pub generator: Generator,
    /// Connections that were opened.
    pub connections: u64,
    /// How long the warm-up was.
    pub warm_up: Duration,
    /// How many answers were missing when the time of the warm-up was over.
    pub warm_up_missing: u64,
    /// Whether the service was still getting faster when the time of the warm-up was over.
    pub warm_up_unsettled: bool,
    /// The report of the first attempts, if the job asks for it.
    pub told: Option<Vec<serde_json::Value>>,
    /// How often each policy acted, outermost first.
    pub acted: Vec<(&'static str, u64)>,
    /// Whether it was stopped from outside.
    pub interrupted: bool,
}

/// The thread that drove a round's load; nothing of it in simulated time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Generator {
    /// CPU time that it used while it drove the load.
    pub cpu: Duration,
    /// How long it drove the load, by the machine's monotonic clock.
    pub wall: Duration,
    /// Where and how urgently it ran.
    pub placement: Placement,
    /// When the round began, on the machine's monotonic clock.
    pub began: Duration,
}
