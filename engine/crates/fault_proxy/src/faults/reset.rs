//! A share of requests ends with a reset connection, after the first half of the first piece of the answer.

use super::fate::{End, Fate, Fault};
use crate::dice::{Dice, Percentage};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    percentage: Percentage,
}

impl Fault for Reset {
    fn on_request(&self, fate: &mut Fate, dice: &mut Dice) -> bool {
        dice.falls_in(self.percentage) && fate.ends(End::Reset)
    }
}
