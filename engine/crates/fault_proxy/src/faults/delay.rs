//! A share of requests is held back before the service hears of them.

use super::fate::{Fate, Fault};
use crate::dice::{Dice, Percentage};
use patternbench_timing::US;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    percentage: Percentage,
    duration_us: u64,
    /// How far from `duration_us` the hold may lie, to either side.
    #[serde(default)]
    spread_us: u64,
}

impl Fault for Delay {
    fn on_request(&self, fate: &mut Fate, dice: &mut Dice) -> bool {
        let falls = dice.falls_in(self.percentage);
        if falls {
            fate.hold += dice.around(self.duration_us * US, self.spread_us * US);
        }
        falls
    }
}
