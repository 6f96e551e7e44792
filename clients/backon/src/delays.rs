//! The delays before further attempts: the library's own back-off where it has it.

use backon::{BackoffBuilder, ConstantBackoff, ConstantBuilder, ExponentialBackoff, ExponentialBuilder};
use patternbench_client_kit::{Backoff, Jitter, Retry, Spread};
use std::time::Duration;

/// The delays of one call; there is one less than there are attempts.
pub(crate) enum Delays {
    /// backon's delays of one length.
    Constant(ConstantBackoff),
    /// backon's delays that grow by a factor.
    Exponential(ExponentialBackoff),
    /// Delays that are computed: backon takes any iterator of them.
    Computed {
        backoff: Backoff,
        failed_attempts: u32,
        most: u32,
    },
}

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        match self {
            Self::Constant(backoff) => backoff.next(),
            Self::Exponential(backoff) => backoff.next(),
            Self::Computed {
                backoff,
                failed_attempts,
                most,
            } => {
                *failed_attempts += 1;
                (*failed_attempts <= *most).then(|| backoff.delay(*failed_attempts))
            }
        }
    }
}

impl Delays {
    pub(crate) fn of(retry: &Retry, seed: u64) -> Self {
        let most = retry.max_attempts - 1;
        match &retry.backoff {
            Backoff::Fixed { delay_us } => {
                Self::Constant(constant(*delay_us, retry.jitter, most, seed).build())
            }
            Backoff::Exponential {
                initial_us,
                multiplier,
                max_us,
            } => {
                let config = exponential((*initial_us, *multiplier, *max_us), retry.jitter, most, seed);
                Self::Exponential(config.build())
            }
            linear @ Backoff::Linear { .. } => Self::Computed {
                backoff: linear.clone(),
                failed_attempts: 0,
                most,
            },
        }
    }
}

/// backon's constant back-off, with every parameter set.
fn constant(delay_us: u64, jitter: Jitter, most: u32, seed: u64) -> ConstantBuilder {
    let config = ConstantBuilder::new()
        .with_delay(least(delay_us, jitter))
        .with_max_times(most as usize)
        .with_jitter_seed(seed);
    if jitter == Jitter::NONE {
        config
    } else {
        config.with_jitter()
    }
}

/// backon's exponential back-off, with every parameter set. It spreads after it has cut a delay at the longest.
fn exponential(
    (initial_us, multiplier, max_us): (u64, f64, Option<u64>),
    jitter: Jitter,
    most: u32,
    seed: u64,
) -> ExponentialBuilder {
    let first_us = max_us.map_or(initial_us, |max_us| initial_us.min(max_us));
    let config = ExponentialBuilder::new()
        .with_factor(multiplier as f32)
        .with_min_delay(least(first_us, jitter))
        .with_max_times(most as usize)
        .with_total_delay(None)
        .with_jitter_seed(seed);
    let config = match max_us {
        Some(max_us) => config.with_max_delay(least(max_us, jitter)),
        None => config.without_max_delay(),
    };
    if jitter == Jitter::NONE {
        config
    } else {
        config.with_jitter()
    }
}

/// Whether backon spreads such delays as the contract means: it adds up to a delay to that delay, so half is `equal`.
pub(crate) fn is_spread(retry: &Retry) -> bool {
    retry.jitter == Jitter::Named(Spread::Equal) && !matches!(retry.backoff, Backoff::Linear { .. })
}

/// The least of a delay: half of it when the other half is drawn.
fn least(delay_us: u64, jitter: Jitter) -> Duration {
    let delay = Duration::from_micros(delay_us);
    if jitter == Jitter::NONE { delay } else { delay / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patternbench_client_kit::Policy;
    use patternbench_client_kit::testing::{policy, vectors};
    use serde_json::{Value, json};

    fn delays(backoff: &Value, jitter: &str, seed: u64) -> Delays {
        match policy(json!({"retry": {"max_attempts": 6, "backoff": backoff, "jitter": jitter}})) {
            Policy::Retry(retry) => Delays::of(&retry, seed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn delays_are_those_of_the_shared_vectors_and_one_less_than_attempts() {
        for case in vectors("backoff") {
            let got: Vec<Duration> = delays(&case["backoff"], "none", 1).collect();
            let due = case["delays_us"].as_array().unwrap();
            assert_eq!(got.len(), due.len(), "{}", case["name"]);
            for (delay, due_us) in got.iter().zip(due) {
                let late_us = delay.as_secs_f64() * 1e6 - due_us.as_f64().unwrap();
                assert!(late_us.abs() < 1.0, "{}: {late_us}", case["name"]);
            }
        }
    }

    #[test]
    fn a_first_delay_beyond_the_longest_is_cut_too() {
        let backoff = json!({"exponential": {"initial_us": 50_000, "multiplier": 2, "max_us": 20_000}});
        assert_eq!(
            delays(&backoff, "none", 1).next(),
            Some(Duration::from_millis(20))
        );
    }

    #[test]
    fn jitter_spreads_over_what_the_contract_says() {
        let fixed = json!({"fixed": {"delay_us": 40_000}});
        let capped = json!({"exponential": {"initial_us": 20_000, "multiplier": 3, "max_us": 40_000}});
        for backoff in [fixed, capped] {
            let second_ms = |seed| delays(&backoff, "equal", seed).nth(1).unwrap().as_secs_f64() * 1000.0;
            let drawn: Vec<f64> = (0..2000).map(second_ms).collect();
            let (least, most) = drawn
                .iter()
                .fold((f64::MAX, 0.0_f64), |(a, b), ms| (a.min(*ms), b.max(*ms)));
            assert!(
                (20.0..22.0).contains(&least) && most > 38.0 && most <= 40.001,
                "{least} to {most}"
            );
        }
    }

    #[test]
    fn what_is_drawn_follows_from_the_seed() {
        let fixed = json!({"fixed": {"delay_us": 40_000}});
        let first = |seed| delays(&fixed, "equal", seed).next();
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
    }

    #[test]
    fn every_parameter_of_the_library_is_set() {
        let told = format!("{:?}", constant(20_000, Jitter::NONE, 2, 7));
        assert_eq!(
            told,
            "ConstantBuilder { delay: 20ms, max_times: Some(2), jitter: false, seed: Some(7) }"
        );
        let told = format!(
            "{:?}",
            exponential((20_000, 1.5, Some(50_000)), Jitter::NONE, 2, 7)
        );
        let due = "ExponentialBuilder { jitter: false, factor: 1.5, min_delay: 20ms, max_delay: Some(50ms), \
                   max_times: Some(2), total_delay: None, seed: Some(7) }";
        assert_eq!(told, due);
    }
}
