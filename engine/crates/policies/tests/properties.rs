//! What holds for every configuration and every course of events.

use patternbench_policies::backoff::{Backoff, Jitter};
use patternbench_policies::breaker::{Admission, Breaker, Config, SlowCall, State, Ticket, Window};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

const HOUR_US: u64 = 3_600_000_000;

fn any_backoff() -> impl Strategy<Value = (Backoff, Option<u64>)> {
    let max = proptest::option::of(1..HOUR_US);
    prop_oneof![
        (0..HOUR_US).prop_map(|delay_us| (Backoff::Fixed { delay_us }, None)),
        (any::<u64>(), any::<u64>(), max.clone()).prop_map(|(initial_us, increment_us, max_us)| {
            (
                Backoff::Linear {
                    initial_us,
                    increment_us,
                    max_us,
                },
                max_us,
            )
        }),
        (any::<u64>(), 1.0..1e6f64, max).prop_map(|(initial_us, multiplier, max_us)| {
            (
                Backoff::Exponential {
                    initial_us,
                    multiplier,
                    max_us,
                },
                max_us,
            )
        }),
    ]
}

proptest! {
    #[test]
    fn a_delay_is_never_above_its_cap((backoff, max_us) in any_backoff(), attempts in any::<u32>()) {
        prop_assert!(backoff.delay_us(attempts) <= max_us.unwrap_or(u64::MAX));
    }

    #[test]
    fn delays_never_shrink((backoff, _) in any_backoff(), attempts in 1..10_000u32) {
        prop_assert!(backoff.delay_us(attempts) <= backoff.delay_us(attempts + 1));
    }

    #[test]
    fn nothing_is_waited_for_before_the_first_attempt((backoff, _) in any_backoff()) {
        prop_assert_eq!(backoff.delay_us(0), 0);
    }

    #[test]
    fn jitter_stays_within_its_bounds(delay in 0..HOUR_US, j in 0.0..=1.0f64, seed in any::<u64>()) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let within = |found: u64, low: f64, high: f64| low - 1.0 <= found as f64 && found as f64 <= high + 1.0;
        let d = delay as f64;
        prop_assert_eq!(Jitter::None.apply_us(delay, &mut rng), delay);
        prop_assert!(within(Jitter::Full.apply_us(delay, &mut rng), 0.0, d));
        prop_assert!(within(Jitter::Equal.apply_us(delay, &mut rng), d / 2.0, d));
        prop_assert!(within(Jitter::Proportional(j).apply_us(delay, &mut rng), d * (1.0 - j), d * (1.0 + j)));
    }

    #[test]
    fn the_same_seed_gives_the_same_delays(delay in 0..HOUR_US, seed in any::<u64>()) {
        let draw = |seed| {
            let mut rng = Pcg64Mcg::seed_from_u64(seed);
            [0; 20].map(|_| Jitter::Full.apply_us(delay, &mut rng))
        };
        prop_assert_eq!(draw(seed), draw(seed));
        prop_assert!(delay < 1_000 || draw(seed) != draw(seed ^ 1));
    }
}

#[test]
fn jitter_fills_its_whole_range_evenly() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for (jitter, low, high) in [
        (Jitter::Full, 0.0, 1000.0),
        (Jitter::Equal, 500.0, 1000.0),
        (Jitter::Proportional(0.25), 750.0, 1250.0),
    ] {
        let draws: Vec<f64> = (0..20_000)
            .map(|_| jitter.apply_us(1000, &mut rng) as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let (least, most) = draws
            .iter()
            .fold((f64::MAX, 0.0f64), |(a, b), &d| (a.min(d), b.max(d)));
        assert!((mean - (low + high) / 2.0).abs() < 5.0, "{jitter:?}: mean {mean}");
        assert!(
            least < low + 5.0 && most > high - 5.0,
            "{jitter:?}: from {least} to {most}"
        );
    }
}

fn any_config() -> impl Strategy<Value = Config> {
    let slow = proptest::option::of((1.0..=100.0f64, 1..2_000u64))
        .prop_map(|slow| slow.map(|(rate, duration_us)| SlowCall { rate, duration_us }));
    let window = prop_oneof![
        (1..20u32).prop_map(Window::Calls),
        (1..20_000u64).prop_map(Window::TimeUs)
    ];
    (1.0..=100.0f64, slow, window, 1..10u32, 1..5_000u64, 1..5u32).prop_map(
        |(failure_rate, slow_call, window, minimum_calls, open_for_us, half_open_calls)| Config {
            failure_rate,
            slow_call,
            window,
            minimum_calls: match window {
                Window::Calls(calls) => minimum_calls.min(calls),
                Window::TimeUs(_) => minimum_calls,
            },
            open_for_us,
            half_open_calls,
        },
    )
}

/// One thing that happens: time passes, then a call wants to go out or one of those that are out ends.
#[derive(Debug, Clone, Copy)]
struct Event {
    after_us: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Ask,
    End {
        which: usize,
        duration_us: u64,
        success: bool,
    },
}

fn any_event() -> impl Strategy<Value = Event> {
    let end =
        (any::<usize>(), 0..4_000u64, any::<bool>()).prop_map(|(which, duration_us, success)| Kind::End {
            which,
            duration_us,
            success,
        });
    (0..3_000u64, prop_oneof![Just(Kind::Ask), end]).prop_map(|(after_us, kind)| Event { after_us, kind })
}

/// What an observer from outside knows of a breaker.
#[derive(Default)]
struct Watcher {
    opened_at_us: Option<u64>,
    /// Tickets out, with the number of changes of state that the observer had seen when they were given.
    out: Vec<(Ticket, u64)>,
    changes: u64,
    probes: u32,
}

impl Watcher {
    fn see(&mut self, before: State, after: State, now_us: u64) {
        if before != after {
            self.changes += 1;
            self.probes = 0;
            self.opened_at_us = (after == State::Open).then_some(now_us);
        }
    }
}

proptest! {
    #[test]
    fn a_breaker_keeps_its_promises(config in any_config(), events in prop::collection::vec(any_event(), 1..300)) {
        let mut breaker = Breaker::new(config);
        let mut watcher = Watcher::default();
        let mut now_us = 0;
        for event in events {
            now_us += event.after_us;
            let before = breaker.state();
            match event.kind {
                Kind::Ask => {
                    let admission = breaker.admit(now_us);
                    let waiting = watcher.opened_at_us.is_some_and(|at| now_us - at < config.open_for_us);
                    let after = breaker.state();
                    watcher.see(before, after, now_us);
                    if waiting {
                        prop_assert_eq!(&admission, &Admission::Rejected, "admitted while open");
                    }
                    if after == State::Closed {
                        prop_assert_ne!(&admission, &Admission::Rejected, "rejected while closed");
                    }
                    if let Admission::Admitted(ticket) = admission {
                        if after == State::HalfOpen {
                            watcher.probes += 1;
                            prop_assert!(watcher.probes <= config.half_open_calls, "too many probes");
                        }
                        watcher.out.push((ticket, watcher.changes));
                    }
                }
                Kind::End { .. } if watcher.out.is_empty() => {}
                Kind::End { which, duration_us, success } => {
                    let place = which % watcher.out.len();
                    let (ticket, given_at) = watcher.out.swap_remove(place);
                    breaker.record(ticket, now_us, duration_us, success);
                    let after = breaker.state();
                    if given_at != watcher.changes {
                        prop_assert_eq!(before, after, "a stale result changed the state");
                    }
                    watcher.see(before, after, now_us);
                }
            }
        }
    }

    #[test]
    fn a_breaker_without_failures_or_slow_calls_never_rejects(config in any_config(), gaps in prop::collection::vec(0..3_000u64, 1..200)) {
        let mut breaker = Breaker::new(config);
        let mut now_us = 0;
        for gap in gaps {
            now_us += gap;
            let Admission::Admitted(ticket) = breaker.admit(now_us) else {
                return Err(TestCaseError::fail("rejected"));
            };
            breaker.record(ticket, now_us, 0, true);
        }
    }
}

fn plain(window: Window, minimum_calls: u32, half_open_calls: u32) -> Breaker {
    Breaker::new(Config {
        failure_rate: 50.0,
        slow_call: None,
        window,
        minimum_calls,
        open_for_us: 1_000,
        half_open_calls,
    })
}

fn admitted(breaker: &mut Breaker, now_us: u64) -> Ticket {
    match breaker.admit(now_us) {
        Admission::Admitted(ticket) => ticket,
        Admission::Rejected => panic!("rejected at {now_us}"),
    }
}

#[test]
fn a_result_from_before_the_opening_does_not_count_as_a_probe() {
    let mut breaker = plain(Window::Calls(2), 2, 1);
    let (old, first, second) = (
        admitted(&mut breaker, 0),
        admitted(&mut breaker, 0),
        admitted(&mut breaker, 0),
    );
    breaker.record(first, 10, 10, false);
    breaker.record(second, 10, 10, false);
    let probe = admitted(&mut breaker, 2_000);
    breaker.record(old, 2_001, 2_001, false);
    assert_eq!(
        breaker.state(),
        State::HalfOpen,
        "the stale failure must not end the probing"
    );
    breaker.record(probe, 2_010, 10, true);
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn a_breaker_that_closed_starts_with_an_empty_window() {
    let mut breaker = plain(Window::Calls(2), 2, 1);
    for _ in 0..2 {
        let ticket = admitted(&mut breaker, 0);
        breaker.record(ticket, 0, 0, false);
    }
    let probe = admitted(&mut breaker, 1_000);
    breaker.record(probe, 1_000, 0, true);
    let ticket = admitted(&mut breaker, 1_001);
    breaker.record(ticket, 1_001, 0, false);
    assert_eq!(breaker.state(), State::Closed, "one result is below the minimum");
}

#[test]
fn a_result_leaves_a_time_window_as_soon_as_it_is_that_old() {
    for (second_us, wanted) in [(999, State::Open), (1_000, State::Closed)] {
        let mut breaker = plain(Window::TimeUs(1_000), 2, 1);
        let (first, second) = (admitted(&mut breaker, 0), admitted(&mut breaker, 0));
        breaker.record(first, 0, 0, false);
        breaker.record(second, second_us, 0, false);
        assert_eq!(breaker.state(), wanted, "second failure at {second_us}");
    }
}

#[test]
fn a_call_as_long_as_the_limit_is_not_slow_yet() {
    for (duration_us, wanted) in [(500, State::Closed), (501, State::Open)] {
        let mut breaker = Breaker::new(Config {
            failure_rate: 100.0,
            slow_call: Some(SlowCall {
                rate: 100.0,
                duration_us: 500,
            }),
            window: Window::Calls(1),
            minimum_calls: 1,
            open_for_us: 1_000,
            half_open_calls: 1,
        });
        let ticket = admitted(&mut breaker, 0);
        breaker.record(ticket, duration_us, duration_us, true);
        assert_eq!(breaker.state(), wanted, "{duration_us}");
    }
}
