//! How what a policy guards can end.

/// The end of an attempt, or of everything inside a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As wanted.
    Good,
    /// Not as wanted.
    Failed(Failure),
    /// A policy did not let it out.
    Rejected,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// In which way.
    pub kind: Kind,
    /// How long the server asks to be left alone, when it says so.
    pub retry_after_us: Option<u64>,
}

/// The ways to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An answer with a status that was not expected.
    Status(u16),
    /// An answer that was not expected for another reason.
    Unexpected,
    /// No answer in time.
    Timeout,
    /// No answer, because the connection failed.
    Connection,
}

/// Some of the ways to fail: those that a policy acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// Ranges of statuses, both ends included.
    pub statuses: Vec<(u16, u16)>,
    /// Answers that were not expected for another reason than their status.
    pub unexpected: bool,
    /// Attempts without an answer in time.
    pub timeouts: bool,
    /// Attempts whose connection failed.
    pub connection_errors: bool,
}

impl Failures {
    /// Every failure.
    #[must_use]
    pub fn all() -> Self {
        Self {
            statuses: vec![(0, u16::MAX)],
            unexpected: true,
            timeouts: true,
            connection_errors: true,
        }
    }

    /// Whether a failure of this kind is one of them.
    #[must_use]
    pub fn includes(&self, kind: Kind) -> bool {
        match kind {
            Kind::Status(status) => self
                .statuses
                .iter()
                .any(|(low, high)| (*low..=*high).contains(&status)),
            Kind::Unexpected => self.unexpected,
            Kind::Timeout => self.timeouts,
            Kind::Connection => self.connection_errors,
        }
    }
}

impl Outcome {
    /// A failure without a word from the server.
    #[must_use]
    pub fn failed(kind: Kind) -> Self {
        Self::Failed(Failure {
            kind,
            retry_after_us: None,
        })
    }
}
