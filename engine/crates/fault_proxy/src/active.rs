//! The faults that act at this moment, and what they have done so far.

use crate::dice::Dice;
use crate::faults::{End, Fate, Kind, Link};
use crate::line::Held;
use patternbench_timing::Nanos;
use serde_json::{Value, json};

/// A fault that acts.
struct Active {
    id: u32,
    name: String,
    kind: Kind,
    /// Requests that it fell on.
    requests: u64,
    holds: u64,
    late: Nanos,
    latest: Nanos,
}

/// What was decided on a request, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decision {
    pub fate: Fate,
    /// The last fault that holds it back.
    pub held_by: u32,
    /// The fault that ends it.
    pub ended_by: u32,
}

/// All faults that act.
pub struct Faults {
    active: Vec<Active>,
    dice: Dice,
    begun: u32,
}

impl Faults {
    pub fn new(seed: u64) -> Self {
        let active = Vec::new();
        Self {
            active,
            dice: Dice::new(seed),
            begun: 0,
        }
    }

    /// Lets a fault act under a name.
    ///
    /// # Errors
    /// One sentence, when one of that name acts already.
    pub fn begin(&mut self, name: String, kind: Kind) -> Result<(), String> {
        if self.active.iter().any(|active| active.name == name) {
            return Err(format!("a fault named {name} acts already"));
        }
        self.begun += 1;
        let (id, requests, holds, late, latest) = (self.begun, 0, 0, 0, 0);
        self.active.push(Active {
            id,
            name,
            kind,
            requests,
            holds,
            late,
            latest,
        });
        Ok(())
    }

    /// Ends the fault of a name; returns its number and what it did.
    ///
    /// # Errors
    /// One sentence, when there is none.
    pub fn end(&mut self, name: &str) -> Result<(u32, Value), String> {
        let place = self.active.iter().position(|active| active.name == name);
        let place = place.ok_or_else(|| format!("no fault named {name} acts"))?;
        let ended = self.active.remove(place);
        Ok((ended.id, ended.deeds()))
    }

    /// Ends all of them; returns their numbers.
    pub fn clear(&mut self) -> Vec<u32> {
        self.active.drain(..).map(|active| active.id).collect()
    }

    /// Decides on a request that has just begun.
    pub fn decide(&mut self) -> Decision {
        let mut decision = Decision::default();
        for active in &mut self.active {
            let before = decision.fate;
            active.requests += u64::from(active.kind.fault().on_request(&mut decision.fate, &mut self.dice));
            if decision.fate.hold != before.hold {
                decision.held_by = active.id;
            }
            if before.end == End::Answered && decision.fate.end != End::Answered {
                decision.ended_by = active.id;
            }
        }
        decision
    }

    /// What the link is like.
    pub fn link(&self) -> Link {
        let mut link = Link::default();
        for active in &self.active {
            active.kind.fault().on_link(&mut link);
        }
        link
    }

    /// Takes note of when a request that was held back continued.
    pub fn released(&mut self, held: Held, now: Nanos) {
        if let Some(active) = self.active.iter_mut().find(|active| active.id == held.by) {
            let late = now.saturating_sub(held.until);
            active.holds += 1;
            active.late += late;
            active.latest = active.latest.max(late);
        }
    }
}

impl Active {
    fn deeds(&self) -> Value {
        let late = self
            .late
            .checked_div(self.holds)
            .map(|mean| json!({"mean_ns": mean, "max_ns": self.latest}));
        json!({"requests": self.requests, "late": late})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(order: Value) -> Kind {
        serde_json::from_value(order).unwrap()
    }

    #[test]
    fn a_fault_counts_what_it_did_and_says_so_at_its_end() {
        let mut faults = Faults::new(1);
        faults
            .begin(
                "one".into(),
                kind(json!({"delay": {"percentage": 100, "duration_us": 5}})),
            )
            .unwrap();
        let decision = faults.decide();
        assert_eq!((decision.fate.hold, decision.held_by), (5_000, 1));
        faults.released(Held { by: 1, until: 100 }, 130);
        faults.released(Held { by: 1, until: 100 }, 110);
        let (id, deeds) = faults.end("one").unwrap();
        assert_eq!(
            (id, deeds),
            (1, json!({"requests": 1, "late": {"mean_ns": 20, "max_ns": 30}}))
        );
        assert_eq!(faults.decide(), Decision::default());
    }

    #[test]
    fn a_name_acts_once_at_a_time() {
        let mut faults = Faults::new(1);
        let cut = || kind(json!({"partition": {}}));
        faults.begin("a".into(), cut()).unwrap();
        assert!(
            faults
                .begin("a".into(), cut())
                .unwrap_err()
                .contains("acts already")
        );
        assert!(faults.end("b").unwrap_err().contains("no fault named b"));
        assert!(faults.link().cut);
        assert_eq!(faults.clear(), [1]);
        assert!(!faults.link().cut);
    }
}
