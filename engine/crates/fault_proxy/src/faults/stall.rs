//! A share of requests is accepted and never answered; the service hears nothing of them.

use super::fate::{End, Fate, Fault};
use crate::dice::{Dice, Percentage};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    percentage: Percentage,
}

impl Fault for Stall {
    fn on_request(&self, fate: &mut Fate, dice: &mut Dice) -> bool {
        dice.falls_in(self.percentage) && fate.ends(End::Stalled)
    }
}
