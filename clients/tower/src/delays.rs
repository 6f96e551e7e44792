//! The delays before further attempts: the library's own back-off where it has it.

use patternbench_client_kit::{Backoff as Wanted, Jitter, Retry, Seeds, Spread};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Sleep, sleep};
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::util::rng::Rng;

/// What tower takes for no longest delay, as its default does.
const ENDLESS: Duration = Duration::from_millis(u64::MAX);
/// What tower's back-off multiplies a delay by.
pub(crate) const FACTOR: f64 = 2.0;

/// The delays of one call.
#[derive(Clone)]
pub(crate) enum Delays {
    /// tower's own back-off.
    Library(ExponentialBackoff<Seeded>),
    /// A delay that tower lets a policy compute.
    Computed(Rc<Retry>, u32),
}

impl Delays {
    pub(crate) fn of(retry: &Rc<Retry>, seed: u64) -> Self {
        let library = maker(retry, seed).map(|mut maker| maker.make_backoff());
        library.map_or_else(|| Self::Computed(Rc::clone(retry), 0), Self::Library)
    }

    /// The delay before the next attempt.
    pub(crate) fn pause(&mut self) -> Sleep {
        match self {
            Self::Library(backoff) => backoff.next_backoff(),
            Self::Computed(retry, failed_attempts) => {
                *failed_attempts += 1;
                sleep(retry.backoff.delay(*failed_attempts))
            }
        }
    }
}

/// tower's back-off, with every parameter set; none where it has no such delays.
fn maker(retry: &Retry, seed: u64) -> Option<ExponentialBackoffMaker<Seeded>> {
    let Wanted::Exponential {
        initial_us,
        multiplier: FACTOR,
        max_us,
    } = retry.backoff
    else {
        return None;
    };
    let (least, spread) = spread(retry.jitter);
    let longest = max_us.map_or(ENDLESS, Duration::from_micros);
    let first = Duration::from_micros(initial_us).mul_f64(least).min(longest);
    let source = Seeded(Rc::new(Seeds::new(seed)));
    ExponentialBackoffMaker::new(first, longest, spread, source).ok()
}

/// The least share of a delay, and how much of that tower may add.
pub(crate) fn spread(jitter: Jitter) -> (f64, f64) {
    match jitter {
        Jitter::Named(Spread::Equal) => (0.5, 1.0),
        Jitter::Share(share) => (1.0 - share, 2.0 * share / (1.0 - share)),
        Jitter::Named(_) => (1.0, 0.0),
    }
}

/// A source of numbers that follow from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Seeded(Rc<Seeds>);

impl Rng for Seeded {
    fn next_u64(&mut self) -> u64 {
        self.0.draw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patternbench_client_kit::Policy;
    use patternbench_client_kit::testing::{policy, vectors};
    use serde_json::{Value, json};
    use tokio::time::Instant;

    fn retry(backoff: &Value, jitter: &Value) -> Rc<Retry> {
        match policy(json!({"retry": {"max_attempts": 6, "backoff": backoff, "jitter": jitter}})) {
            Policy::Retry(retry) => Rc::new(retry),
            other => panic!("{other:?}"),
        }
    }

    fn delay_us(delays: &mut Delays) -> f64 {
        let pause = delays.pause();
        pause.deadline().duration_since(Instant::now()).as_secs_f64() * 1e6
    }

    #[tokio::test(start_paused = true)]
    async fn delays_are_those_of_the_shared_vectors() {
        for case in vectors("backoff") {
            let mut delays = Delays::of(&retry(&case["backoff"], &json!("none")), 1);
            for due_us in case["delays_us"].as_array().unwrap() {
                let late_us = delay_us(&mut delays) - due_us.as_f64().unwrap();
                assert!(late_us.abs() < 1.0, "{}: {late_us}", case["name"]);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_librarys_own_back_off_is_used_where_it_has_it() {
        let grown = |multiplier: f64, max_us: Value| json!({"exponential": {"initial_us": 20_000, "multiplier": multiplier, "max_us": max_us}});
        let used =
            |backoff: &Value| matches!(Delays::of(&retry(backoff, &json!("none")), 1), Delays::Library(_));
        assert!(
            used(&grown(2.0, Value::Null)) && used(&grown(2.0, json!(50_000))) && used(&grown(2.0, json!(1)))
        );
        assert!(!used(&grown(1.5, Value::Null)) && !used(&json!({"fixed": {"delay_us": 1}})));
    }

    #[tokio::test(start_paused = true)]
    async fn jitter_spreads_over_what_the_contract_says() {
        let doubled = json!({"exponential": {"initial_us": 20_000, "multiplier": 2, "max_us": null}});
        for (jitter, low, high) in [(json!("equal"), 20.0, 40.0), (json!(0.5), 20.0, 60.0)] {
            let retry = retry(&doubled, &jitter);
            let second_ms = |seed| {
                let mut delays = Delays::of(&retry, seed);
                drop(delays.pause());
                delay_us(&mut delays) / 1000.0
            };
            let drawn: Vec<f64> = (0..2000).map(second_ms).collect();
            let (least, most) = drawn
                .iter()
                .fold((f64::MAX, 0.0_f64), |(a, b), ms| (a.min(*ms), b.max(*ms)));
            assert!(least >= low && least < low + 2.0, "{jitter}: from {least}");
            assert!(most <= high && most > high - 2.0, "{jitter}: to {most}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_drawn_follows_from_the_seed() {
        let doubled = json!({"exponential": {"initial_us": 20_000, "multiplier": 2, "max_us": null}});
        let retry = retry(&doubled, &json!("equal"));
        let first = |seed| delay_us(&mut Delays::of(&retry, seed));
        assert!((first(7) - first(7)).abs() < 1e-9);
        assert!((first(7) - first(8)).abs() > 1e-9);
    }

    #[test]
    fn every_parameter_of_the_library_is_set() {
        let capped = json!({"exponential": {"initial_us": 20_000, "multiplier": 2, "max_us": 50_000}});
        let told = format!("{:?}", maker(&retry(&capped, &json!("none")), 7).unwrap());
        let due = "ExponentialBackoffMaker { min: 20ms, max: 50ms, jitter: 0.0, rng: Seeded(Seeds(Cell { value: 7 })) }";
        assert_eq!(told, due);
    }
}
