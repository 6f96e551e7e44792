//! When a warm-up is over: after its time, after a number of answers, or once the service no longer gets faster.

use crate::job::WarmUpEnd;
use crate::units::Nanos;

/// Answers whose median service time counts as one figure.
const BATCH: usize = 100;
/// How many of the latest medians are held against as many before them.
const SPAN: usize = 8;
/// How many times as slow the earlier ones may be. A drift below that raises no warning about a round either.
const STILL_FASTER: f64 = 1.1;

/// What still has to come before a warm-up is over.
#[derive(Debug)]
pub enum WarmUp {
    /// Its time alone ends it.
    Time,
    /// This many answers are missing.
    Answers(u64),
    /// The service is getting faster.
    Settling(Settling),
    /// Answers have ended it.
    Over,
}

impl WarmUp {
    pub fn new(end: Option<WarmUpEnd>) -> Self {
        match end {
            None => Self::Time,
            Some(WarmUpEnd::Answers(count)) => Self::Answers(count),
            Some(WarmUpEnd::Settled) => Self::Settling(Settling::default()),
        }
    }

    /// Whether an answer can still end it.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Answers(_) | Self::Settling(_))
    }

    /// Counts an answer with its duration. True if no further one is needed.
    pub fn answered(&mut self, took: Nanos) -> bool {
        match self {
            Self::Time | Self::Over => false,
            Self::Answers(left) => {
                *left = left.saturating_sub(1);
                *left == 0
            }
            Self::Settling(settling) => settling.answered(took),
        }
    }

    /// The answers that are missing.
    pub fn missing(&self) -> u64 {
        if let Self::Answers(left) = self { *left } else { 0 }
    }

    /// Whether it waits for a service that is still getting faster.
    pub fn is_settling(&self) -> bool {
        matches!(self, Self::Settling(_))
    }
}

/// The service times of answers, by which a service is warm once they no longer fall.
///
/// The mean of the logarithms of the latest eight medians of a hundred answers each is held against that of the
/// eight before. How often this ends too early, and how late it ends where nothing falls, is simulated below.
#[derive(Debug, Default)]
pub struct Settling {
    batch: Vec<Nanos>,
    medians: Vec<f64>,
}

impl Settling {
    fn answered(&mut self, took: Nanos) -> bool {
        self.batch.push(took.max(1));
        if self.batch.len() < BATCH {
            return false;
        }
        let (_, median, _) = self.batch.select_nth_unstable(BATCH / 2);
        self.medians.push((*median as f64).ln());
        self.batch.clear();
        self.is_level()
    }

    fn is_level(&self) -> bool {
        let Some(from) = self.medians.len().checked_sub(2 * SPAN) else {
            return false;
        };
        let (before, after) = self.medians[from..].split_at(SPAN);
        let fall = (before.iter().sum::<f64>() - after.iter().sum::<f64>()) / SPAN as f64;
        fall < STILL_FASTER.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg64;

    /// Answers until a service is called warm whose mean service time is `mean(answer)` and varies exponentially.
    fn until_settled(seed: u64, mean: impl Fn(usize) -> f64) -> usize {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut settling = Settling::default();
        (1..100_000)
            .find(|answer| {
                let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                let took = -mean(*answer) * (1.0 - uniform).ln();
                settling.answered(took as Nanos)
            })
            .expect("it settles")
    }

    #[test]
    fn a_steady_service_is_called_warm_within_2400_answers_in_all_but_two_of_a_hundred_rounds() {
        let late = (0..500)
            .filter(|seed| until_settled(*seed, |_| 5e6) > 2400)
            .count();
        assert!(late <= 10, "{late} of 500");
    }

    #[test]
    fn a_service_that_falls_to_a_fifth_is_called_warm_while_it_is_slower_by_half_in_one_of_twenty_rounds_at_most()
     {
        let mean = |answer: usize| 5e6 * (1.0 + 4.0 * (-(answer as f64) / 1000.0).exp());
        let early = (0..500)
            .filter(|seed| mean(until_settled(*seed, mean)) > 1.5 * 5e6)
            .count();
        assert!(early <= 25, "{early} of 500");
    }

    #[test]
    fn sixteen_hundred_answers_are_the_least() {
        let mut settling = Settling::default();
        let first = (1..).find(|_| settling.answered(1_000_000));
        assert_eq!(first, Some(1600));
    }
}
