//! Rare events by splitting, against what is known exactly and against plain simulation.
#![allow(missing_docs)]

mod common;

use common::jobs;
use patternbench_simulation::{
    Effort, Followed, LevelEstimate, Model, Question, RareEvent, Walk, estimate, estimate_at,
};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const ONE_WORKER: &str = r#"{"model": 1, "service": {"workers": 1, "times": {"exponential_us": 10000}}}"#;

/// The number of requests in an M/M/1, from the arrival at an empty system until it is empty again, or full.
struct BusyPeriod {
    /// How probable it is that the next change is an arrival.
    up: f64,
}

impl Walk for BusyPeriod {
    fn follow(&self, levels: &[u64], seeds: &[u64]) -> Result<Followed, String> {
        let (mut place, mut highest, mut crossed) = (1, 1, 0);
        let mut random = Pcg64::seed_from_u64(seeds[0]);
        while place > 0 {
            while levels.get(crossed).is_some_and(|level| place >= *level) {
                crossed += 1;
                let Some(seed) = seeds.get(crossed) else {
                    return Ok(Followed {
                        reached: true,
                        highest,
                    });
                };
                random = Pcg64::seed_from_u64(*seed);
            }
            let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            place = if uniform < self.up { place + 1 } else { place - 1 };
            highest = highest.max(place);
        }
        Ok(Followed {
            reached: false,
            highest,
        })
    }
}

/// The probability that an M/M/1 at a load reaches a number before it is empty again: of the gambler's ruin.
fn before_empty(load: f64, top: i32) -> f64 {
    let odds = 1.0 / load;
    (odds - 1.0) / (odds.powi(top) - 1.0)
}

fn holds(found: &LevelEstimate, exact: f64) -> bool {
    found.low <= exact && found.high.is_some_and(|high| exact <= high)
}

fn effort(paths: usize, seed: u64) -> Effort {
    Effort {
        paths,
        seed,
        cores: 2,
    }
}

fn found<W: Walk>(walk: &W, threshold: u64, effort: Effort) -> LevelEstimate {
    let done = estimate(walk, threshold, effort, &AtomicBool::new(false), &|_| {}).unwrap();
    *done.levels.last().unwrap()
}

#[test]
fn intervals_hold_the_exact_probability_as_often_as_they_say() {
    // At 95 % each, 88 or fewer of 100 come up less than once in two hundred times.
    let (load, top) = (0.5f64, 20);
    let exact = before_empty(load, top);
    let walk = BusyPeriod {
        up: load / (1.0 + load),
    };
    let all: Vec<LevelEstimate> = (1..=100).map(|seed| found(&walk, 20, effort(20, seed))).collect();
    let hits = all.iter().filter(|one| holds(one, exact)).count();
    assert!(hits >= 89, "{hits} of 100 hold {exact}");
    let mean = all.iter().map(|one| one.probability).sum::<f64>() / 100.0;
    assert!((mean / exact - 1.0).abs() < 0.1, "{mean} is not {exact}: biased");
    let width = |one: &LevelEstimate| one.high.unwrap_or(f64::INFINITY) / one.low;
    assert!(
        all.iter().filter(|one| width(one) < 5.0).count() > 80,
        "intervals that say nothing hold everything"
    );
}

#[test]
fn the_same_seed_gives_the_same_estimate_on_any_number_of_threads() {
    let walk = BusyPeriod { up: 0.4 };
    let with = |cores: usize, seed: u64| {
        let effort = Effort {
            cores,
            ..effort(20, seed)
        };
        format!("{:?}", found(&walk, 15, effort))
    };
    assert_eq!(with(1, 7), with(3, 7));
    assert_ne!(with(1, 7), with(1, 8));
}

#[test]
fn where_the_pilot_comes_no_further_the_estimate_ends_with_what_it_reached() {
    struct Wall;
    impl Walk for Wall {
        fn follow(&self, levels: &[u64], seeds: &[u64]) -> Result<Followed, String> {
            let inner = BusyPeriod { up: 0.4 };
            let highest = inner.follow(levels, seeds)?.highest.min(8);
            let reached = levels[seeds.len() - 1] <= highest;
            Ok(Followed { reached, highest })
        }
    }
    let last = found(&Wall, 100, effort(20, 1));
    assert!(last.level <= 8, "{last:?}");
    assert!(last.high.is_some());
}

#[test]
fn an_event_that_never_comes_near_has_no_upper_end_and_no_estimate() {
    struct Nowhere;
    impl Walk for Nowhere {
        fn follow(&self, _: &[u64], _: &[u64]) -> Result<Followed, String> {
            Ok(Followed {
                reached: false,
                highest: 0,
            })
        }
    }
    let never = found(&Nowhere, 5, effort(10, 1));
    assert_eq!((never.level, never.probability, never.high), (5, 0.0, None));
}

/// Calls by chance for some seconds.
fn load(rate: f64, seconds: f64, policies: Value) -> String {
    let open = json!({"open": {"schedule": {"constant": {"rate": rate}}, "spacing": "poisson", "max_in_flight": 100_000}});
    let times = json!({"duration_us": (seconds * 1e6) as u64, "drain_us": 1_000_000});
    jobs::of(open, policies, 1, times).to_string()
}

/// The probability that an M/M/1 which begins empty has `top` requests at once within a time: by the chain of its
/// numbers of requests, in which the last one is not left again, at the moments of a Poisson process of both rates.
fn within(arrivals: f64, served: f64, top: usize, seconds: f64) -> f64 {
    let (rate, mut now) = (arrivals + served, vec![0.0; top + 1]);
    now[0] = 1.0;
    let mut weight = (-rate * seconds).exp();
    let mut sum = 0.0;
    for step in 1..5_000 {
        sum += weight * now[top];
        weight *= rate * seconds / f64::from(step);
        let mut next = vec![0.0; top + 1];
        next[top] = now[top];
        for place in 0..top {
            next[place + 1] += now[place] * arrivals / rate;
            next[place.saturating_sub(1)] += now[place] * served / rate;
        }
        now = next;
    }
    sum
}

#[test]
fn the_chain_is_right_where_its_probability_is_known() {
    assert!(
        within(60.0, 100.0, 2, 3.0) > 0.999,
        "two at once are certain in the long run"
    );
    // One at once is the first arrival.
    assert!((within(60.0, 100.0, 1, 0.01) - (1.0 - (-0.6f64).exp())).abs() < 1e-9);
}

fn question<'a>(job: &'a str, model: &'a Model, event: &Value) -> Question<'a> {
    Question {
        job,
        folder: Path::new("/nowhere"),
        model,
        event: RareEvent::parse(&event.to_string(), model).unwrap(),
    }
}

#[test]
fn a_queue_reaches_a_number_within_a_round_as_often_as_its_chain_says() {
    let (job, model) = (load(60.0, 0.5, json!([])), Model::parse(ONE_WORKER).unwrap());
    let exact = within(60.0, 100.0, 17, 0.5);
    assert!(exact < 1e-3, "{exact} is not rare");
    // Of 17 in all, 16 wait.
    let event = json!({"waiting": {"reaches": 16}});
    let walk = question(&job, &model, &event);
    let all: Vec<LevelEstimate> = (1..=4).map(|seed| found(&walk, 16, effort(10, seed))).collect();
    let hits = all.iter().filter(|one| holds(one, exact)).count();
    assert!(hits >= 3, "{hits} of 4 hold {exact}: {all:?}");
}

#[test]
fn calls_stay_away_for_as_long_as_a_poisson_process_lets_them() {
    // Without a gap of g in a time of 2 g: at least one call in the first g, and then each within g of the one before.
    // The probability of a gap is exp(-rate g) (1 + rate g).
    let model = r#"{"model": 1, "service": {"workers": 1000, "times": {"fixed_us": 0}}}"#;
    let (job, model) = (load(16.0, 1.0, json!([])), Model::parse(model).unwrap());
    let exact = (-8.0f64).exp() * 9.0;
    let walk = question(&job, &model, &json!({"no_success": {"for_us": 500_000}}));
    let all: Vec<LevelEstimate> = (1..=4)
        .map(|seed| found(&walk, 500_000_000, effort(30, seed)))
        .collect();
    let hits = all.iter().filter(|one| holds(one, exact)).count();
    assert!(hits >= 3, "{hits} of 4 hold {exact}: {all:?}");
}

#[test]
fn splitting_and_plain_simulation_agree_where_policies_and_a_fault_decide() {
    let model = r#"{"model": 1, "service": {"workers": 2, "times": {"exponential_us": 10000}},
        "faults": [{"kind": {"freeze": {}}, "from_us": 300000, "to_us": 340000}]}"#;
    let again = json!([{"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 5_000}}, "jitter": "full"}},
        {"timeout": {"after_us": 60_000}}]);
    let (job, model) = (load(120.0, 1.0, again), Model::parse(model).unwrap());
    let walk = question(&job, &model, &json!({"in_flight": {"reaches": 24}}));
    let split = estimate_at(&walk, &[8, 13, 18, 24], effort(25, 1)).unwrap();
    let plain = estimate_at(&walk, &[24], effort(50, 2)).unwrap();
    let (split, plain) = (split[3], plain[0]);
    assert!(plain.probability > 0.0, "plain simulation sees it, too");
    assert!(
        split.low <= plain.high.unwrap() && plain.low <= split.high.unwrap(),
        "{split:?} {plain:?}"
    );
}

#[test]
fn whoever_follows_the_seeds_of_a_path_comes_to_the_same_state() {
    let again = json!([{"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 5_000}}, "jitter": "full"}},
        {"timeout": {"after_us": 60_000}}]);
    let (job, model) = (load(90.0, 2.0, again), Model::parse(ONE_WORKER).unwrap());
    let walk = question(&job, &model, &json!({"waiting": {"reaches": 9}}));
    let goes = |seeds: &[u64]| walk.follow(&[3, 1_000], seeds).unwrap();
    let first = (1..50)
        .find(|seed| goes(&[*seed]).reached)
        .expect("a path that comes to the first level");
    let highest: Vec<u64> = (0..20).map(|seed| goes(&[first, seed]).highest).collect();
    assert!(
        highest.iter().all(|value| *value >= 3),
        "{highest:?}: each comes there again"
    );
    assert!(
        highest.iter().any(|value| *value != highest[0]),
        "{highest:?}: each goes on in its own way"
    );
    assert_eq!(goes(&[first, 5]), goes(&[first, 5]));
}
