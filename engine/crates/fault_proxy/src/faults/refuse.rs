//! No one listens: connections are refused, and those that were open are reset.

use super::fate::{Fault, Link};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refuse {}

impl Fault for Refuse {
    fn on_link(&self, link: &mut Link) {
        link.refused = true;
    }
}
