//! The place of the one round that a client drives at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The place of a round that runs. It is free again when this is dropped, whatever ended the round.
#[derive(Debug)]
pub struct Place(Arc<AtomicBool>);

/// Whether there is a place for a round.
#[derive(Debug, Default)]
pub(crate) struct Places(Arc<AtomicBool>);

impl Places {
    /// The place, unless another round has it.
    pub(crate) fn take(&self) -> Option<Place> {
        let taken = self.0.swap(true, Ordering::AcqRel);
        (!taken).then(|| Place(Arc::clone(&self.0)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_once_and_free_again_when_its_round_is_over() {
        let places = Places::default();
        let first = places.take();
        assert!(first.is_some() && places.take().is_none());
        drop(first);
        assert!(places.take().is_some());
    }
}
