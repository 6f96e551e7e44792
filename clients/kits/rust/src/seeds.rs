//! Seeds for whatever a library draws.

use std::cell::Cell;

/// A row of seeds that follows from one: each call draws from its own source.
///
/// SplitMix64 (Steele, Lea and Flood, 2014): neighbours among its seeds have nothing in common.
#[derive(Debug)]
pub struct Seeds(Cell<u64>);

impl Seeds {
    /// The row that begins with `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next of the row.
    pub fn draw(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
