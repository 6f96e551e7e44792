//! The kinds of fault, one file each: what a fault does to a request, or to the link as a whole.

mod abort;
mod delay;
mod fate;
mod partition;
mod refuse;
mod reset;
mod slow;
mod stall;

pub use fate::{End, Fate, Fault, Link};

use serde::Deserialize;

/// A fault as it is ordered: its kind, and the settings of that kind.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Abort(abort::Abort),
    Delay(delay::Delay),
    Partition(partition::Partition),
    Refuse(refuse::Refuse),
    Reset(reset::Reset),
    Slow(slow::Slow),
    Stall(stall::Stall),
}

impl Kind {
    /// What it does.
    pub fn fault(&self) -> &dyn Fault {
        match self {
            Self::Abort(fault) => fault,
            Self::Delay(fault) => fault,
            Self::Partition(fault) => fault,
            Self::Refuse(fault) => fault,
            Self::Reset(fault) => fault,
            Self::Slow(fault) => fault,
            Self::Stall(fault) => fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use serde_json::{from_value, json};

    fn refusal(order: serde_json::Value) -> String {
        from_value::<Kind>(order).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_order_is_refused_in_words() {
        assert!(
            refusal(json!({"abort": {"percentage": 101, "status": 503}})).contains("101 is not a percentage")
        );
        assert!(refusal(json!({"delay": {"percentage": 5}})).contains("duration_us"));
        assert!(refusal(json!({"slow": {"bytes_per_s": 0}})).contains("more than 0"));
        assert!(refusal(json!({"stall": {"percentage": 5, "after": 1}})).contains("after"));
        assert!(refusal(json!({"explode": {}})).contains("explode"));
    }

    #[test]
    fn the_first_fault_that_ends_a_request_decides_and_both_hold_it() {
        let mut dice = Dice::new(1);
        let mut fate = Fate::default();
        for order in [
            json!({"delay": {"percentage": 100, "duration_us": 250}}),
            json!({"stall": {"percentage": 100}}),
            json!({"abort": {"percentage": 100, "status": 500}}),
        ] {
            from_value::<Kind>(order)
                .unwrap()
                .fault()
                .on_request(&mut fate, &mut dice);
        }
        assert_eq!(
            fate,
            Fate {
                hold: 250_000,
                end: End::Stalled
            }
        );
    }
}
