//! Calls on their way through any stack, under any course of events.

use patternbench_policies::backoff::{Backoff, Jitter};
use patternbench_policies::outcome::{Failure, Failures, Kind, Outcome};
use patternbench_policies::shared::Scope;
use patternbench_policies::stack::{Call, Decision, Policy, Stack, Turn, Why, idle_budgets, most_attempts};
use patternbench_policies::{breaker, budget, bulkhead, deadline, hedge, rate_limit, retry, timeout};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

const BUSY: u16 = 503;

fn retry(max_attempts: u32, delay_us: u64) -> Policy {
    Policy::Retry(retry::Config {
        max_attempts,
        backoff: Backoff::Fixed { delay_us },
        jitter: Jitter::None,
        on: Failures::all(),
        retry_after_max_us: Some(1_000),
    })
}

fn breaker_of(calls: u32) -> Policy {
    breaker_with(calls, 1)
}

fn breaker_probing(half_open_calls: u32) -> Policy {
    breaker_with(1, half_open_calls)
}

fn breaker_with(calls: u32, half_open_calls: u32) -> Policy {
    let config = breaker::Config {
        failure_rate: 50.0,
        slow_call: None,
        window: breaker::Window::Calls(calls),
        minimum_calls: calls,
        open_for_us: 100,
        half_open_calls,
    };
    Policy::CircuitBreaker(Scope::Client, config, Failures::all())
}

/// A breaker that opens with the first failure that it counts.
fn breaker_on(counted: Failures) -> Policy {
    let Policy::CircuitBreaker(scope, config, _) = breaker_of(1) else {
        unreachable!("it is one")
    };
    Policy::CircuitBreaker(scope, config, counted)
}

fn bulkhead(max_concurrent: u32, max_waiting: u32, max_wait_us: Option<u64>) -> Policy {
    let config = bulkhead::Config {
        max_concurrent,
        max_waiting,
        max_wait_us,
    };
    Policy::Bulkhead(Scope::Client, config)
}

fn budget_of(ratio: f64, capacity: u32) -> Policy {
    let config = budget::Config {
        ratio,
        min_per_s: 0,
        capacity,
    };
    Policy::RetryBudget(Scope::Client, config)
}

fn rate_limit(calls: u32, per_us: u64, burst: u32, max_wait_us: u64) -> Policy {
    let config = rate_limit::Config {
        calls,
        per_us,
        burst,
        max_wait_us,
    };
    Policy::RateLimit(Scope::Client, config)
}

fn hedge(max_attempts: u32, delay_us: u64) -> Policy {
    Policy::Hedge(hedge::Config {
        max_attempts,
        delay_us,
    })
}

fn timeout(after_us: u64) -> Policy {
    Policy::Timeout(timeout::Config { after_us })
}

fn deadline(after_us: u64) -> Policy {
    Policy::Deadline(deadline::Config { after_us })
}

fn busy() -> Outcome {
    Outcome::failed(Kind::Status(BUSY))
}

fn busy_until(retry_after_us: u64) -> Outcome {
    let kind = Kind::Status(BUSY);
    Outcome::Failed(Failure {
        kind,
        retry_after_us: Some(retry_after_us),
    })
}

/// A client with several calls, whose attempts end as a test says.
struct Client {
    stack: Stack,
    calls: Vec<Call>,
    now_us: u64,
    rng: Pcg64Mcg,
    /// The attempts on their way, as calls and frames.
    flying: Vec<(usize, u32)>,
    sent: Vec<u32>,
    sent_at_us: Vec<u64>,
    done: Vec<Vec<Outcome>>,
    cancelled: Vec<Why>,
}

impl Client {
    fn new(policies: Vec<Policy>, calls: usize) -> Self {
        Self {
            stack: Stack::new(policies),
            calls: (0..calls).map(|who| Call::new(who as u64, who as u64)).collect(),
            now_us: 0,
            rng: Pcg64Mcg::seed_from_u64(1),
            flying: Vec::new(),
            sent: vec![0; calls],
            sent_at_us: Vec::new(),
            done: vec![Vec::new(); calls],
            cancelled: Vec::new(),
        }
    }

    fn tell(&mut self, call: usize, event: impl FnOnce(&mut Call, &mut Turn<'_, Pcg64Mcg>)) {
        let mut decisions = Vec::new();
        let mut turn = Turn {
            stack: &mut self.stack,
            now_us: self.now_us,
            rng: &mut self.rng,
            decisions: &mut decisions,
        };
        event(&mut self.calls[call], &mut turn);
        decisions
            .into_iter()
            .for_each(|decision| self.carry_out(call, decision));
    }

    fn carry_out(&mut self, call: usize, decision: Decision) {
        match decision {
            Decision::Send { frame } => {
                self.sent[call] += 1;
                self.sent_at_us.push(self.now_us);
                self.flying.push((call, frame));
            }
            Decision::Cancel { frame, why } => {
                let place = self.flying.iter().position(|known| *known == (call, frame));
                self.flying
                    .remove(place.expect("only what is on its way is cancelled"));
                self.cancelled.push(why);
            }
            Decision::Done(outcome) => self.done[call].push(outcome),
        }
    }

    fn begin(&mut self, call: usize) {
        self.begin_late(call, self.now_us);
    }

    fn begin_late(&mut self, call: usize, intended_us: u64) {
        self.tell(call, |call, turn| call.begin(turn, intended_us));
        self.hand_over();
    }

    /// Lets the attempt that was sent first end.
    fn end(&mut self, outcome: Outcome) {
        self.end_at(0, outcome);
    }

    fn end_at(&mut self, place: usize, outcome: Outcome) {
        let (call, frame) = self.flying.remove(place);
        self.tell(call, |call, turn| call.ended(turn, frame, outcome));
        self.hand_over();
    }

    fn hand_over(&mut self) {
        while let Some(waiter) = self.stack.next_granted() {
            self.tell(waiter.who as usize, |call, turn| call.granted(turn, waiter.frame));
        }
    }

    /// Lets time pass, and wakes everything that is due meanwhile.
    fn pass_until(&mut self, at_us: u64) {
        while let Some((due_us, call)) = self.next_wake().filter(|(due_us, _)| *due_us <= at_us) {
            self.now_us = self.now_us.max(due_us);
            self.tell(call, |call, turn| call.wake(turn));
            self.hand_over();
        }
        self.now_us = self.now_us.max(at_us);
    }

    fn next_wake(&self) -> Option<(u64, usize)> {
        let wakes = self.calls.iter().enumerate();
        wakes
            .filter_map(|(index, call)| Some((call.wake_at_us()?, index)))
            .min()
    }
}

#[test]
fn without_policies_a_call_is_one_attempt() {
    let mut client = Client::new(vec![], 1);
    client.begin(0);
    client.end(busy());
    assert_eq!((client.sent[0], &client.done[0]), (1, &vec![busy()]));
}

#[test]
fn a_retry_tries_again_after_its_pause_until_it_goes_well() {
    let mut client = Client::new(vec![retry(5, 10)], 1);
    client.begin(0);
    client.end(busy());
    client.pass_until(9);
    assert_eq!(client.sent[0], 1);
    client.pass_until(10);
    client.end(busy());
    client.pass_until(20);
    client.end(Outcome::Good);
    assert_eq!((client.sent[0], &client.done[0]), (3, &vec![Outcome::Good]));
    assert_eq!(client.stack.acted(), [2]);
}

#[test]
fn a_retry_gives_up_after_its_last_attempt() {
    let mut client = Client::new(vec![retry(2, 0)], 1);
    client.begin(0);
    client.end(busy());
    client.end(busy());
    assert_eq!((client.sent[0], &client.done[0]), (2, &vec![busy()]));
}

#[test]
fn a_server_that_asks_for_more_time_gets_it_and_one_that_asks_for_too_much_is_left_alone() {
    let mut client = Client::new(vec![retry(2, 10)], 2);
    client.begin(0);
    client.end(busy_until(1_000));
    client.pass_until(999);
    assert_eq!(client.sent[0], 1);
    client.pass_until(1_000);
    assert_eq!(client.sent[0], 2);
    client.begin(1);
    client.end_at(1, busy_until(1_001));
    assert_eq!((client.sent[1], client.done[1].len()), (1, 1));
}

#[test]
fn a_timeout_before_a_retry_bounds_all_attempts_and_after_it_each_of_them() {
    let mut outside = Client::new(vec![timeout(100), retry(9, 0)], 1);
    outside.begin(0);
    outside.pass_until(60);
    outside.end(busy());
    outside.pass_until(100);
    assert_eq!(outside.done[0], [Outcome::failed(Kind::Timeout)]);
    assert_eq!(
        (outside.sent[0], outside.cancelled.as_slice()),
        (2, [Why::TimedOut].as_slice())
    );
    let mut inside = Client::new(vec![retry(3, 0), timeout(100)], 1);
    inside.begin(0);
    inside.pass_until(299);
    assert_eq!((inside.sent[0], inside.done[0].len()), (3, 0));
    inside.pass_until(300);
    assert_eq!(inside.done[0], [Outcome::failed(Kind::Timeout)]);
}

#[test]
fn a_deadline_counts_from_the_intended_start() {
    let mut client = Client::new(vec![deadline(100)], 2);
    client.now_us = 60;
    client.begin_late(0, 0);
    client.pass_until(99);
    assert!(client.done[0].is_empty());
    client.pass_until(100);
    assert_eq!(client.done[0], [Outcome::failed(Kind::Timeout)]);
    client.begin_late(1, 0);
    assert_eq!((client.sent[1], &client.done[1]), (0, &vec![Outcome::Rejected]));
}

#[test]
fn a_pause_that_would_outlast_the_deadline_is_not_begun() {
    let mut client = Client::new(vec![deadline(100), retry(5, 40)], 1);
    client.begin(0);
    client.pass_until(60);
    client.end(busy());
    assert_eq!((client.sent[0], &client.done[0]), (1, &vec![busy()]));
}

#[test]
fn a_budget_allows_a_share_of_retries() {
    let calls = 100;
    let mut client = Client::new(vec![retry(2, 0), budget_of(0.2, 1)], calls);
    for call in 0..calls {
        client.begin(call);
        while !client.flying.is_empty() {
            client.end(busy());
        }
    }
    // One that was saved up, and one in five; the first call's share came when the bucket was full.
    assert_eq!(client.sent.iter().sum::<u32>(), 100 + 1 + 19);
    assert!(client.done.iter().all(|done| done == &[busy()]));
}

#[test]
fn an_open_breaker_rejects_and_then_probes() {
    let mut client = Client::new(vec![breaker_of(1)], 4);
    client.begin(0);
    client.end(busy());
    client.begin(1);
    assert_eq!((client.sent[1], &client.done[1]), (0, &vec![Outcome::Rejected]));
    client.pass_until(100);
    client.begin(2);
    client.begin(3);
    assert_eq!((client.sent[2], client.sent[3]), (1, 0));
}

#[test]
fn a_probe_that_loses_against_another_attempt_leaves_its_place() {
    let mut client = Client::new(vec![hedge(2, 5), breaker_probing(2)], 3);
    client.begin(0);
    client.end(busy());
    client.pass_until(100);
    client.begin(1);
    client.pass_until(105);
    assert_eq!(client.sent[1], 2);
    client.end(Outcome::Good);
    client.begin(2);
    assert_eq!(
        client.sent[2], 1,
        "one of two probes has a result, the other's place is free"
    );
}

#[test]
fn a_probe_that_a_policy_further_in_rejects_leaves_its_place() {
    let mut client = Client::new(vec![breaker_of(1), rate_limit(1, 1_000_000, 1, 0)], 3);
    client.begin(0);
    client.end(busy());
    client.pass_until(100);
    client.begin(1);
    client.begin(2);
    assert_eq!(client.stack.acted(), [0, 2]);
}

#[test]
fn a_breaker_opens_on_the_failures_that_it_counts_and_on_no_other() {
    let servers_own = Failures {
        statuses: vec![(500, 599)],
        timeouts: false,
        ..Failures::all()
    };
    for (ending, rejects) in [
        (Outcome::failed(Kind::Status(429)), false),
        (Outcome::failed(Kind::Status(503)), true),
        (Outcome::failed(Kind::Connection), true),
    ] {
        let mut client = Client::new(vec![breaker_on(servers_own.clone())], 2);
        client.begin(0);
        client.end(ending);
        client.begin(1);
        assert_eq!(client.sent[1] == 0, rejects, "{ending:?}");
    }
    let mut client = Client::new(vec![timeout(10), breaker_on(servers_own)], 2);
    client.begin(0);
    client.pass_until(10);
    client.begin(1);
    assert_eq!(client.sent[1], 1, "a time-out is not counted");
}

#[test]
fn a_probe_that_fails_as_is_not_counted_closes_the_breaker() {
    let counted = Failures {
        statuses: vec![(500, 599)],
        ..Failures::all()
    };
    let mut client = Client::new(vec![breaker_on(counted)], 4);
    client.begin(0);
    client.end(busy());
    client.pass_until(100);
    client.begin(1);
    client.end(Outcome::failed(Kind::Status(429)));
    client.begin(2);
    client.begin(3);
    assert_eq!((client.sent[2], client.sent[3]), (1, 1));
}

#[test]
fn what_a_timeout_ends_is_a_failure_for_the_breaker_inside_of_it() {
    let mut client = Client::new(vec![timeout(10), breaker_of(1)], 2);
    client.begin(0);
    client.pass_until(10);
    client.begin(1);
    assert_eq!(client.done[1], [Outcome::Rejected]);
}

#[test]
fn a_rejection_after_a_failure_ends_the_call_with_the_failure() {
    let mut client = Client::new(vec![retry(3, 0), breaker_of(1)], 1);
    client.begin(0);
    client.end(busy());
    assert_eq!((client.sent[0], &client.done[0]), (1, &vec![busy()]));
    assert_eq!(client.stack.acted(), [1, 1]);
}

#[test]
fn a_bulkhead_lets_those_who_wait_in_by_turn() {
    let mut client = Client::new(vec![bulkhead(1, 2, Some(50))], 4);
    (0..4).for_each(|call| client.begin(call));
    assert_eq!(
        (client.sent.as_slice(), client.done[3].as_slice()),
        ([1, 0, 0, 0].as_slice(), [Outcome::Rejected].as_slice())
    );
    client.pass_until(30);
    client.end(Outcome::Good);
    assert_eq!(client.sent, [1, 1, 0, 0]);
    client.pass_until(50);
    assert_eq!(client.done[2], [Outcome::Rejected]);
}

#[test]
fn the_first_good_answer_of_hedged_attempts_counts_and_the_others_are_cancelled() {
    let mut client = Client::new(vec![hedge(3, 10)], 1);
    client.begin(0);
    client.pass_until(20);
    assert_eq!(client.sent[0], 3);
    client.end_at(1, busy());
    assert!(client.done[0].is_empty());
    client.end_at(1, Outcome::Good);
    assert_eq!(client.done[0], [Outcome::Good]);
    assert_eq!(
        (client.cancelled.as_slice(), client.flying.len()),
        ([Why::Superseded].as_slice(), 0)
    );
}

#[test]
fn a_hedged_call_whose_attempt_failed_is_a_failure_though_another_was_turned_away_later() {
    let mut client = Client::new(vec![hedge(2, 5), bulkhead(1, 3, Some(20))], 2);
    client.begin(0);
    client.begin(1); // which gets the place of the first attempt, before the second one
    client.pass_until(6);
    client.end_at(0, busy());
    assert!(client.done[0].is_empty());
    client.pass_until(30);
    assert_eq!(client.done[0], [busy()]);
}

#[test]
fn a_rate_limit_lets_some_wait_and_rejects_those_whose_turn_is_too_far_away() {
    let mut client = Client::new(vec![rate_limit(1, 10, 2, 10)], 4);
    (0..4).for_each(|call| client.begin(call));
    assert_eq!(client.sent, [1, 1, 0, 0]);
    assert_eq!(client.done[3], [Outcome::Rejected]);
    client.pass_until(9);
    assert_eq!(client.sent[2], 0);
    client.pass_until(10);
    assert_eq!(client.sent[2], 1);
}

#[test]
fn a_turn_that_would_come_after_the_timeout_is_not_waited_for() {
    let mut client = Client::new(vec![timeout(10), rate_limit(1, 10, 1, 100)], 2);
    client.begin(0);
    client.begin(1);
    assert_eq!(client.done[1], [Outcome::Rejected]);
}

#[test]
fn whoever_stopped_waiting_is_given_no_place() {
    let mut client = Client::new(vec![bulkhead(1, 2, Some(50))], 4);
    client.begin(0);
    client.begin(1);
    client.pass_until(20);
    client.begin(2);
    client.pass_until(60);
    client.end(Outcome::Good);
    assert_eq!(client.sent, [1, 0, 1, 0]);
    client.end(Outcome::Good);
    client.begin(3);
    assert_eq!(client.sent[3], 1);
}

#[test]
fn a_budget_that_stands_before_every_retry_is_idle() {
    assert_eq!(
        idle_budgets(&[budget_of(0.1, 1), retry(2, 0), budget_of(0.1, 1)]),
        [0]
    );
    assert_eq!(idle_budgets(&[budget_of(0.1, 1)]), [0]);
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        (1..200u64).prop_map(timeout),
        (1..400u64).prop_map(deadline),
        (1..4u32, 0..40u64).prop_map(|(attempts, delay)| retry(attempts, delay)),
        (0.0..1.0f64, 1..4u32).prop_map(|(ratio, capacity)| budget_of(ratio, capacity)),
        (1..4u32).prop_map(breaker_of),
        (1..3u32, 0..3u32, proptest::option::of(1..60u64))
            .prop_map(|(places, waiting, wait)| bulkhead(places, waiting, wait)),
        (1..4u32, 0..40u64).prop_map(|(attempts, delay)| hedge(attempts, delay)),
        (1..4u32, 1..100u64, 1..3u32, 0..80u64)
            .prop_map(|(calls, per, burst, wait)| rate_limit(calls, per, burst, wait)),
    ]
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Begin(usize),
    End(usize, Outcome),
    Pass(u64),
}

fn any_event() -> impl Strategy<Value = Event> {
    let outcome = prop_oneof![
        Just(Outcome::Good),
        Just(busy()),
        (0..2_000u64).prop_map(busy_until),
        Just(Outcome::failed(Kind::Connection)),
    ];
    prop_oneof![
        (0..5usize).prop_map(Event::Begin),
        (0..9usize, outcome).prop_map(|(place, outcome)| Event::End(place, outcome)),
        (0..60u64).prop_map(Event::Pass),
    ]
}

/// Plays events, then lets everything that is still on its way end badly.
fn play(client: &mut Client, events: &[Event], mut look: impl FnMut(&Client)) -> Vec<u32> {
    let mut begun = vec![0; client.calls.len()];
    for event in events {
        match *event {
            Event::Begin(call) if !client.calls[call].is_active() => {
                begun[call] += 1;
                client.sent[call] = 0;
                client.begin(call);
            }
            Event::End(place, outcome) if !client.flying.is_empty() => {
                client.end_at(place % client.flying.len(), outcome);
            }
            Event::Pass(time) => client.pass_until(client.now_us + time),
            _ => {}
        }
        look(client);
    }
    while let Some(next) = next_end(client) {
        match next {
            None => client.end(busy()),
            Some(at_us) => client.pass_until(at_us),
        }
    }
    begun
}

/// What brings a client to its end: an attempt's end, or the passing of time.
fn next_end(client: &Client) -> Option<Option<u64>> {
    if client.flying.is_empty() {
        return client.next_wake().map(|(at_us, _)| Some(at_us));
    }
    Some(None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_call_ends_exactly_once_and_leaves_nothing_behind(policies in proptest::collection::vec(any_policy(), 0..6), events in proptest::collection::vec(any_event(), 0..60)) {
        let mut client = Client::new(policies, 5);
        let begun = play(&mut client, &events, |_| ());
        let ended: Vec<u32> = client.done.iter().map(|done| done.len() as u32).collect();
        prop_assert_eq!(begun, ended);
        prop_assert!(client.calls.iter().all(|call| !call.is_active()));
        prop_assert!(client.flying.is_empty());
    }

    #[test]
    fn no_call_sends_more_than_its_policies_allow(policies in proptest::collection::vec(any_policy(), 0..6), events in proptest::collection::vec(any_event(), 0..60)) {
        let most = most_attempts(&policies);
        let mut client = Client::new(policies, 5);
        play(&mut client, &events, |client| assert!(client.sent.iter().all(|sent| u64::from(*sent) <= most)));
    }

    #[test]
    fn what_is_on_its_way_fits_the_bulkhead_inside_of_which_nothing_branches(before in proptest::collection::vec(any_policy(), 0..4), places in 1..4u32, waiting in 0..4u32, events in proptest::collection::vec(any_event(), 0..80)) {
        let mut policies = before;
        policies.push(bulkhead(places, waiting, None));
        let mut client = Client::new(policies, 5);
        play(&mut client, &events, |client| assert!(client.flying.len() <= places as usize));
    }

    #[test]
    fn a_bulkhead_is_free_again_when_all_calls_have_ended(before in proptest::collection::vec(any_policy(), 0..4), places in 1..4u32, waiting in 0..4u32, wait in proptest::option::of(1..60u64), events in proptest::collection::vec(any_event(), 0..60)) {
        // What may keep a call from coming as far as the bulkhead, or makes two of one, is left out.
        let harmless = |policy: &Policy| matches!(policy, Policy::Timeout(_) | Policy::Retry(_) | Policy::RetryBudget(..));
        let mut policies: Vec<Policy> = before.into_iter().filter(harmless).collect();
        policies.push(bulkhead(places, waiting, wait));
        let mut client = Client::new(policies, 5);
        play(&mut client, &events, |_| ());
        (0..places as usize).for_each(|call| client.begin(call));
        prop_assert_eq!(client.flying.len(), places as usize);
    }

    #[test]
    fn nothing_is_sent_after_the_deadline(mut policies in proptest::collection::vec(any_policy(), 0..4), after in 1..300u64, events in proptest::collection::vec(any_event(), 0..60)) {
        policies.insert(0, deadline(after));
        let mut client = Client::new(policies, 1);
        client.begin(0);
        let events: Vec<Event> = events.into_iter().filter(|event| !matches!(event, Event::Begin(_))).collect();
        play(&mut client, &events, |client| assert!(client.now_us < after || client.done[0].len() == 1));
        prop_assert!(client.sent_at_us.iter().all(|at_us| *at_us < after), "{:?}", client.sent_at_us);
    }

    #[test]
    fn a_rate_limit_keeps_its_rate_over_every_span(calls in 1..20u32, per_us in 1..1_000u64, burst in 1..10u32, max_wait_us in 0..500u64, gaps in proptest::collection::vec(0..100u64, 1..100)) {
        let config = rate_limit::Config { calls, per_us, burst, max_wait_us };
        let mut limit = rate_limit::RateLimit::new(config);
        let mut now = 0;
        let out: Vec<u64> = gaps.iter().filter_map(|gap| { now += gap; limit.reserve(now, u64::MAX) }).collect();
        for (first, from) in out.iter().enumerate() {
            for (count, to) in out[first..].iter().enumerate() {
                // Moments are rounded up to whole microseconds, so that a span may be one shorter than it was meant.
                let room = u128::from(burst) * u128::from(per_us) + u128::from(to - from + 1) * u128::from(calls);
                prop_assert!((count as u128 + 1) * u128::from(per_us) <= room, "{count} from {from} to {to}");
            }
        }
        prop_assert!(out.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_budget_never_allows_more_than_it_was_given(ratio in 0.0..2.0f64, min_per_s in 0..2_000_000u32, capacity in 1..10u32, steps in proptest::collection::vec((any::<bool>(), 0..50u64), 1..200)) {
        let mut budget = budget::Budget::new(budget::Config { ratio, min_per_s, capacity });
        let (mut now, mut first, mut further) = (0u64, 0u32, 0u32);
        for (is_first, gap) in steps {
            now += gap;
            if is_first {
                budget.earn(now);
                first += 1;
            } else {
                further += u32::from(budget.spend(now));
            }
            let given = f64::from(capacity) + ratio * f64::from(first) + f64::from(min_per_s) * now as f64 / 1e6;
            prop_assert!(f64::from(further) <= given + 1e-3);
        }
    }
}

#[test]
fn a_range_of_statuses_includes_both_its_ends_and_nothing_beyond() {
    let some = Failures {
        statuses: vec![(429, 429), (500, 503)],
        unexpected: false,
        timeouts: false,
        connection_errors: false,
    };
    let included: Vec<u16> = (400..600)
        .filter(|&status| some.includes(Kind::Status(status)))
        .collect();
    assert_eq!(included, [429, 500, 501, 502, 503]);
    for kind in [Kind::Unexpected, Kind::Timeout, Kind::Connection] {
        assert!(!some.includes(kind));
        assert!(Failures::all().includes(kind));
    }
}
