//! What is wrong with an input, where, and what would be right.

/// One thing that is wrong with an input, in the four parts that every error of the project has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is, as a path of keys and indices: `groups[0].workload.open.schedule.rate`.
    pub path: String,
    /// What stood there, as text.
    pub value: String,
    /// What is allowed instead.
    pub allowed: String,
    /// What is wrong with it, in a sentence.
    pub message: String,
}

impl Problem {
    /// Names a problem at `path`.
    pub fn new(
        path: impl Into<String>,
        value: impl ToString,
        allowed: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            value: value.to_string(),
            allowed: allowed.into(),
            message: message.into(),
        }
    }

    /// The same problem, seen from further out: `parent` is put before its path.
    #[must_use]
    pub fn under(mut self, parent: &str) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{parent}{joint}{}", self.path);
        self
    }
}
