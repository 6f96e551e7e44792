//! A row for every attempt, streamed to a compressed columnar file by a thread of its own.
