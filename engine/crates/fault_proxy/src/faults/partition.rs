//! Nothing passes, in either direction; what was sent meanwhile arrives when the partition is over.

use super::fate::{Fault, Link};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {}

impl Fault for Partition {
    fn on_link(&self, link: &mut Link) {
        link.cut = true;
    }
}
