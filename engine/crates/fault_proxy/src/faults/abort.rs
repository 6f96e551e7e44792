//! A share of requests is answered with an error at once; the service hears nothing of them.

use super::fate::{End, Fate, Fault};
use crate::dice::{Dice, Percentage};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abort {
    percentage: Percentage,
    status: u16,
}

impl Fault for Abort {
    fn on_request(&self, fate: &mut Fate, dice: &mut Dice) -> bool {
        dice.falls_in(self.percentage) && fate.ends(End::Aborted(self.status))
    }
}
