//! Units that all parts share.

/// Nanoseconds, from the round's start or as a length of time.
pub type Nanos = u64;
