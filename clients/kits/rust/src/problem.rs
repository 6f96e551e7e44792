//! The problems of a client with a round: by the path of the field, with what would be allowed.

use crate::round::{Bulkhead, Retry, Scope};
use serde::Serialize;
use serde_json::Value;

/// One thing that a client cannot do of a round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// Where in the round, as `strategy.retry.jitter`.
    pub path: String,
    /// What stands there; null when nothing does.
    pub value: Value,
    /// What is wrong with it.
    pub message: String,
    /// What may stand there, if anything may.
    pub allowed: Option<String>,
}

/// The problems of a round, noted one after another.
#[derive(Debug)]
pub struct Problems {
    pub(crate) noted: Vec<Problem>,
    library: &'static str,
    pub(crate) under: String,
}

impl Problems {
    pub(crate) fn new(library: &'static str) -> Self {
        Self {
            noted: Vec::new(),
            library,
            under: String::new(),
        }
    }

    /// Notes that the library cannot express what stands at a path below the policy; an empty one is all of it.
    pub fn refuse(&mut self, path: &str, value: impl Into<Value>, message: impl Into<String>, allowed: &str) {
        let whole = if path.is_empty() || self.under.is_empty() {
            ""
        } else {
            "."
        };
        self.noted.push(Problem {
            path: format!("{}{whole}{path}", self.under),
            value: value.into(),
            message: message.into(),
            allowed: (!allowed.is_empty()).then(|| allowed.to_owned()),
        });
    }

    /// Refuses a policy that the library does not have.
    pub fn lacking(&mut self, allowed: &str) {
        self.refuse("", Value::Null, "this client does not have it", allowed);
    }

    /// Refuses to honour `Retry-After`, which no client of this kit reads.
    pub fn retry_after(&mut self, retry: &Retry) {
        if retry.retry_after_max_us > 0 {
            let why = "this client does not read Retry-After";
            self.refuse("retry_after_max_us", retry.retry_after_max_us, why, "0");
        }
    }

    /// Refuses a bound on how many wait, for libraries without one, unless it is never reached.
    pub fn bounded_waiting(&mut self, bulkhead: &Bulkhead, users: usize) {
        let most = match bulkhead.scope {
            Scope::Client => users.saturating_sub(bulkhead.max_concurrent),
            Scope::User => 0,
        };
        if bulkhead.max_waiting > 0 && bulkhead.max_waiting < most {
            let why = format!(
                "{} does not bound how many wait; of these users {most} may",
                self.library
            );
            self.refuse(
                "max_waiting",
                bulkhead.max_waiting,
                why,
                &format!("0, or at least {most}"),
            );
        }
    }
}
