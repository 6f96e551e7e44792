//! Which of several comes next, in proportion to weights.

/// Goes round weighted choices as evenly as whole numbers allow.
///
/// Every choice gains its weight each turn; the one that has most is taken, and pays what all gained together.
/// Over a full turn each is taken exactly as often as its weight, and heavy ones are not taken in a row.
#[derive(Debug, Clone)]
pub struct Spread {
    weights: Vec<i64>,
    gained: Vec<i64>,
    sum: i64,
}

impl Spread {
    /// A spread over choices, at least one of which has a weight above zero.
    pub fn new(weights: impl Iterator<Item = u32>) -> Self {
        let weights: Vec<i64> = weights.map(i64::from).collect();
        Self {
            gained: vec![0; weights.len()],
            sum: weights.iter().sum(),
            weights,
        }
    }

    /// The next choice.
    #[inline]
    pub fn next(&mut self) -> usize {
        if self.weights.len() == 1 {
            return 0;
        }
        let mut best = 0;
        for index in 0..self.weights.len() {
            self.gained[index] += self.weights[index];
            if self.gained[index] > self.gained[best] {
                best = index;
            }
        }
        self.gained[best] -= self.sum;
        best
    }
}

/// What each of numbered users keeps to, dealt out to them in the order of a spread.
#[derive(Debug, Clone)]
pub struct Dealt {
    spread: Spread,
    dealt: Vec<usize>,
}

impl Dealt {
    /// Choices to be dealt out by weight, at least one of which is above zero.
    pub fn new(weights: impl Iterator<Item = u32>) -> Self {
        Self {
            spread: Spread::new(weights),
            dealt: Vec::new(),
        }
    }

    /// The choice of a user, which is always the same.
    #[inline]
    pub fn of(&mut self, user: u32) -> usize {
        let user = user as usize;
        while self.dealt.len() <= user {
            self.dealt.push(self.spread.next());
        }
        self.dealt[user]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_weights_go_round_robin() {
        let mut spread = Spread::new([1, 1, 1].into_iter());
        let taken: Vec<usize> = (0..6).map(|_| spread.next()).collect();
        assert_eq!(taken[..3], taken[3..]);
        assert_eq!(taken[..3].iter().sum::<usize>(), 3);
    }

    proptest! {
        #[test]
        fn over_a_full_turn_each_is_taken_as_often_as_its_weight(weights in proptest::collection::vec(0u32..20, 2..8)) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let mut spread = Spread::new(weights.iter().copied());
            let mut taken = vec![0u32; weights.len()];
            (0..weights.iter().sum::<u32>()).for_each(|_| taken[spread.next()] += 1);
            prop_assert_eq!(taken, weights);
        }

        #[test]
        fn whoever_comes_first_each_user_is_dealt_what_its_turn_would_be(
            weights in proptest::collection::vec(0u32..20, 1..8),
            order in proptest::collection::vec(0u32..100, 1..50),
        ) {
            prop_assume!(weights.iter().any(|weight| *weight > 0));
            let mut spread = Spread::new(weights.iter().copied());
            let turns: Vec<usize> = (0..100).map(|_| spread.next()).collect();
            let mut dealt = Dealt::new(weights.iter().copied());
            for user in order {
                prop_assert_eq!(dealt.of(user), turns[user as usize]);
            }
        }
    }
}
