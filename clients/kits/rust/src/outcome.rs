//! What became of an attempt, or of a call.

use serde::{Serialize, Serializer};

/// The status of an answer, or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// An answer was read to its last byte; its status.
    Answered(u16),
    /// The attempt took too long, or a policy ended it.
    Timeout,
    /// There was no answer.
    ConnectionError,
    /// A policy let nothing through.
    Rejected,
}

impl Outcome {
    /// Whether a call that ends with this has succeeded: a status from 200 to 399.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Answered(200..=399))
    }

    /// The outcome of a status. One that HTTP does not have counts as a connection error.
    pub(crate) fn of_status(status: u16) -> Self {
        if (100..=599).contains(&status) {
            Self::Answered(status)
        } else {
            Self::ConnectionError
        }
    }

    /// The outcome's name in the contract. An answer has none: it has a status.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Answered(_) => None,
            Self::Timeout => Some("timeout"),
            Self::ConnectionError => Some("connection_error"),
            Self::Rejected => Some("rejected"),
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Answered(status) => serializer.serialize_u16(*status),
            named => serializer.serialize_str(named.name().unwrap_or_default()),
        }
    }
}
