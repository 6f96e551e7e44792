//! The link has a bandwidth, which all its connections share, in each direction.

use super::fate::{Fault, Link};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
struct Bandwidth(f64);

impl TryFrom<f64> for Bandwidth {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value.is_finite() && value > 0.0 {
            return Ok(Self(value));
        }
        Err(format!(
            "{value} is not a bandwidth: more than 0 bytes per second"
        ))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    bytes_per_s: Bandwidth,
}

impl Fault for Slow {
    fn on_link(&self, link: &mut Link) {
        let least = link.bytes_per_s.unwrap_or(f64::INFINITY);
        link.bytes_per_s = Some(least.min(self.bytes_per_s.0));
    }
}
