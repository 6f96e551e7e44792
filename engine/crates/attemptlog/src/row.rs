//! One attempt.

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// An answer came, with any status.
    Answered,
    /// The answer did not come in time.
    Timeout,
    /// The connection failed, or the bytes weren't an answer.
    ConnectionError,
    /// A policy at the client did not let the call out.
    Rejected,
    /// The workload did not send it: too many were in flight, or the time was over.
    Dropped,
    /// An answer came, and was not what the step expects.
    ExpectationFailed,
    /// The caller no longer wanted the answer: another attempt of the same call was faster, or the call was over.
    Cancelled,
}

impl Outcome {
    /// Every outcome, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Answered,
        Self::Timeout,
        Self::ConnectionError,
        Self::Rejected,
        Self::Dropped,
        Self::ExpectationFailed,
        Self::Cancelled,
    ];

    /// The name in the records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Timeout => "timeout",
            Self::ConnectionError => "connection_error",
            Self::Rejected => "rejected",
            Self::Dropped => "dropped",
            Self::ExpectationFailed => "expectation_failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether anything was sent for it.
    #[must_use]
    pub fn was_sent(self) -> bool {
        !matches!(self, Self::Rejected | Self::Dropped)
    }
}

/// One attempt, or one call that never became one. Times are whole microseconds from the round's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Virtual user, from 0.
    pub user: u32,
    /// Group, as an index into the names given to the log.
    pub group: u16,
    /// Step, as an index into the names given to the log.
    pub step: u16,
    /// Number of the call of this user, from 0.
    pub call: u32,
    /// From 1; 0 when nothing was sent.
    pub attempt: u16,
    /// Status of the answer, or 0 when there was none.
    pub status: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it was good.
    pub success: bool,
    /// Whether it belongs to the warm-up.
    pub warm_up: bool,
    /// When the schedule said.
    pub intended_us: i64,
    /// When it was sent, a new connection's set-up included in what follows.
    pub start_us: i64,
    /// When the answer began, or -1 when none did.
    pub first_byte_us: i64,
    /// Last byte, or the moment of the failure.
    pub end_us: i64,
    /// Bytes of the answer's body, or `u32::MAX` when there was no answer.
    pub bytes: u32,
    /// How late the generator itself was, in microseconds; not written to the file.
    pub lateness_us: u32,
    /// When this row ends its call: the time from the intended start of the call's first attempt, in microseconds;
    /// -1 for other rows. Not written to the file.
    pub call_response_us: i64,
    /// When this row ends its call: whether the call was good. Not written to the file.
    pub call_success: bool,
    /// How many redirects were followed before this answer. Not written to the file.
    pub redirects: u8,
    /// The journey that it belongs to, by its number in the round. This and what follows is written where
    /// [`crate::Settings::journeys`] says so.
    pub journey: u32,
    /// Whether the journey ends with it.
    pub ends_journey: bool,
    /// How many items its call carries, and how many of them failed by the answer; 0 without items.
    pub items: u32,
    /// See `items`.
    pub failed_items: u32,
}

impl Row {
    /// What [`Row::bytes`] says when there was no answer.
    pub const NO_BYTES: u32 = u32::MAX;
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn what_was_rejected_or_dropped_was_never_sent_and_everything_else_was() {
        let unsent = Outcome::ALL.into_iter().filter(|outcome| !outcome.was_sent());
        assert_eq!(
            unsent.map(Outcome::name).collect::<Vec<_>>(),
            ["rejected", "dropped"]
        );
    }
}
