//! What is left to chance: a seeded source, so that the same requests in the same order suffer the same.

use patternbench_timing::Nanos;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::Deserialize;

/// A share of requests in percent, from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Percentage(f64);

impl TryFrom<f64> for Percentage {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=100.0).contains(&value) {
            return Ok(Self(value));
        }
        Err(format!("{value} is not a percentage: from 0 to 100"))
    }
}

/// The source of chance.
pub struct Dice(Pcg64Mcg);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Whether a request is among a share of all.
    pub fn falls_in(&mut self, share: Percentage) -> bool {
        self.uniform() * 100.0 < share.0
    }

    /// A length of time, uniform within `spread` of `middle`.
    pub fn around(&mut self, middle: Nanos, spread: Nanos) -> Nanos {
        if spread == 0 {
            return middle;
        }
        let low = middle.saturating_sub(spread);
        low + (self.uniform() * (middle + spread - low) as f64).round() as Nanos
    }

    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_falls_on_as_many_as_it_says_and_none_and_all_are_exact() {
        let mut dice = Dice::new(1);
        let count = |dice: &mut Dice, share| (0..10_000).filter(|_| dice.falls_in(Percentage(share))).count();
        assert_eq!((count(&mut dice, 0.0), count(&mut dice, 100.0)), (0, 10_000));
        let fifth = count(&mut dice, 20.0);
        assert!((1_800..2_200).contains(&fifth), "{fifth}");
    }

    #[test]
    fn a_spread_reaches_both_ends_and_never_beyond() {
        let mut dice = Dice::new(1);
        let drawn: Vec<Nanos> = (0..10_000).map(|_| dice.around(1_000, 250)).collect();
        assert!(drawn.iter().all(|held| (750..=1_250).contains(held)));
        assert!(drawn.iter().any(|held| *held < 800) && drawn.iter().any(|held| *held > 1_200));
        assert_eq!(dice.around(1_000, 0), 1_000);
    }
}
