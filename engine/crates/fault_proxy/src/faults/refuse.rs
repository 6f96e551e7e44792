//! No one listens: connections are refused, and those that were open are reset.

use super::fate::{Fault, Way};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refuse {}

impl Fault for Refuse {
    fn on_way(&self, way: &mut Way) {
        way.refused = true;
    }
}
