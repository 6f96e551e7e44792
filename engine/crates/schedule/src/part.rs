//! A part of a load that several generators make together.

/// One of several parts of a whole. Turn `k` of the whole falls to the part with the number `k` modulo that of all parts.
///
/// Turns are whatever is numbered from 0 over the whole load: arrivals, users, requests. Each falls to exactly one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    index: u32,
    of: u32,
}

impl Default for Part {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl Part {
    /// The only part of a whole that isn't split.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// The part with a number, from 0, of as many; `None` where there is no such part.
    #[must_use]
    pub fn new(index: u32, of: u32) -> Option<Self> {
        (index < of).then_some(Self { index, of })
    }

    /// Whether there is no other part.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Its number, from 0.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many parts there are.
    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether a turn of the whole falls to this part.
    #[inline]
    #[must_use]
    pub fn has(self, turn: u64) -> bool {
        turn % u64::from(self.of) == u64::from(self.index)
    }

    /// The turn of the whole that is this part's own one with a number, from 0.
    #[inline]
    #[must_use]
    pub fn turn(self, own: u64) -> u64 {
        own.wrapping_mul(u64::from(self.of))
            .wrapping_add(u64::from(self.index))
    }

    /// How many of the first turns of the whole fall to this part.
    #[must_use]
    pub fn share(self, turns: u64) -> u64 {
        let (whole, rest) = (turns / u64::from(self.of), turns % u64::from(self.of));
        whole + u64::from(rest > u64::from(self.index))
    }

    /// The seed of what a part draws for itself, so that no two parts draw the same.
    #[must_use]
    pub fn own_seed(self, seed: u64) -> u64 {
        if self.is_whole() {
            seed
        } else {
            seed ^ (u64::from(self.index) + 1).wrapping_mul(0xD1B5_4A32_D192_ED03)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(of: u32) -> impl Iterator<Item = Part> {
        (0..of).filter_map(move |index| Part::new(index, of))
    }

    proptest! {
        #[test]
        fn each_turn_falls_to_one_part_and_is_numbered_there_without_gaps(of in 1u32..50, turns in 0u64..500) {
            let mut taken = vec![0; turns as usize];
            for part in parts(of) {
                let own: Vec<u64> = (0..part.share(turns)).map(|own| part.turn(own)).collect();
                prop_assert!(own.iter().all(|turn| part.has(*turn) && *turn < turns));
                own.iter().for_each(|turn| taken[*turn as usize] += 1);
            }
            prop_assert!(taken.iter().all(|times| *times == 1));
        }
    }

    #[test]
    fn there_is_no_part_beyond_the_last() {
        assert_eq!((Part::new(3, 3), Part::new(0, 0)), (None, None));
        assert_eq!(Part::new(0, 1), Some(Part::WHOLE));
    }

    #[test]
    fn no_two_parts_draw_from_one_seed_and_the_whole_keeps_its_own() {
        let mut seeds: Vec<u64> = parts(100).map(|part| part.own_seed(7)).collect();
        seeds.push(Part::WHOLE.own_seed(7));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!((seeds.len(), Part::WHOLE.own_seed(7)), (101, 7));
    }
}
