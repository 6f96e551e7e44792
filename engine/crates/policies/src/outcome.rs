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
