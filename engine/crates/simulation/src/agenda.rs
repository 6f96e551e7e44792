//! What is due when, in the order of its times, and at one time in the order in which it was noted.

use crate::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due at a moment, after how many others it was noted, and what it is.
type Entry<T> = Reverse<(Nanos, u64, T)>;

/// What is to happen, and when.
pub struct Agenda<T> {
    /// What comes before all that is in `later`, if it is not there itself: what happens at once, as two events of three
    /// do where the network takes no time, goes past the heap.
    next: Option<Entry<T>>,
    later: BinaryHeap<Entry<T>>,
    noted: u64,
}

impl<T: Ord> Agenda<T> {
    /// Nothing is due.
    pub fn new() -> Self {
        Self {
            next: None,
            later: BinaryHeap::new(),
            noted: 0,
        }
    }

    /// Notes something for a moment, after all that is due at the same one.
    pub fn note(&mut self, at: Nanos, what: T) {
        let entry = Reverse((at, self.noted, what));
        self.noted += 1;
        if self.due().is_some_and(|due| due <= at) {
            self.later.push(entry);
        } else if let Some(before) = self.next.replace(entry) {
            self.later.push(before);
        }
    }

    /// When the next thing is to happen.
    pub fn due(&self) -> Option<Nanos> {
        let first = self.next.as_ref().or_else(|| self.later.peek());
        first.map(|Reverse((at, ..))| *at)
    }

    /// Takes what is to happen next.
    pub fn take(&mut self) -> Option<T> {
        let first = self.next.take().or_else(|| self.later.pop());
        first.map(|Reverse((_, _, what))| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_due_is_taken_in_the_order_of_times_and_then_as_it_was_noted(
            steps in prop::collection::vec(prop::option::weighted(0.6, 0u64..6), 0..200)
        ) {
            let (mut agenda, mut noted) = (Agenda::new(), Vec::new());
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Some(at) => {
                        agenda.note(at, number);
                        noted.push((at, number));
                    }
                    None => {
                        let first = noted.iter().min().copied();
                        noted.retain(|one| Some(*one) != first);
                        prop_assert_eq!(agenda.due(), first.map(|(at, _)| at));
                        prop_assert_eq!(agenda.take(), first.map(|(_, number)| number));
                    }
                }
            }
        }
    }
}
