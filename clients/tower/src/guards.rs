//! tower's layers as guards: each is a service whose request is what is to be done.

use crate::delays::Delays;
use patternbench_client_kit::{
    After, Answer, Bulkhead, Guard, Guarded, Outcome, RateLimit as Limit, Retry, Seeds,
};
use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower::limit::rate::Rate;
use tower::limit::{ConcurrencyLimit, RateLimit};
use tower::load_shed::LoadShed;
use tower::retry::Policy;
use tower::timeout::Timeout;
use tower::{Service, ServiceExt};

type Done = Pin<Box<dyn Future<Output = Result<Outcome, Infallible>>>>;

/// The service inside each layer: it does what it is asked to.
#[derive(Clone)]
pub(crate) struct Do;

impl Service<Guarded> for Do {
    type Response = Outcome;
    type Error = Infallible;
    type Future = Done;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, guarded: Guarded) -> Done {
        Box::pin(async move { Ok(guarded().await) })
    }
}

/// A layer that can be cloned for each call, and what its error means: it can have but one.
pub(crate) struct Layered<S> {
    service: S,
    on_error: Outcome,
}

impl<S> Guard for Layered<S>
where
    S: Service<Guarded, Response = Outcome> + Clone + 'static,
{
    fn call(&self, guarded: Guarded) -> Answer {
        let (service, on_error) = (self.service.clone(), self.on_error);
        Box::pin(async move { service.oneshot(guarded).await.unwrap_or(on_error) })
    }
}

/// Ends what it guards `after_us` after it was entered.
pub(crate) fn timeout(after: &After) -> Layered<Timeout<Do>> {
    let service = Timeout::new(Do, Duration::from_micros(after.after_us));
    Layered {
        service,
        on_error: Outcome::Timeout,
    }
}

/// Lets at most `max_concurrent` calls in at once. Without waiting places load is shed; with them, calls enter
/// in the order in which they came.
pub(crate) fn bulkhead(bulkhead: &Bulkhead) -> Rc<dyn Guard> {
    let places = Arc::new(Semaphore::new(bulkhead.max_concurrent));
    let limit = ConcurrencyLimit::with_semaphore(Do, places);
    let on_error = Outcome::Rejected;
    if bulkhead.max_waiting == 0 {
        Rc::new(Layered {
            service: LoadShed::new(limit),
            on_error,
        })
    } else {
        Rc::new(Layered {
            service: limit,
            on_error,
        })
    }
}

/// One call each interval; load beyond that is shed. The layer cannot be cloned, so that all calls share it.
pub(crate) struct RateLimited(Rc<RefCell<LoadShed<RateLimit<Do>>>>);

impl RateLimited {
    pub(crate) fn new(limit: &Limit) -> Self {
        let rate = Rate::new(1, interval(limit));
        Self(Rc::new(RefCell::new(LoadShed::new(RateLimit::new(Do, rate)))))
    }
}

/// The time between two calls.
pub(crate) fn interval(limit: &Limit) -> Duration {
    Duration::from_nanos(limit.per_us.saturating_mul(1000) / limit.calls)
}

impl Guard for RateLimited {
    fn call(&self, guarded: Guarded) -> Answer {
        let service = Rc::clone(&self.0);
        Box::pin(async move {
            let begun = poll_fn(|cx| {
                let mut service = service.borrow_mut();
                let ready = ready!(Service::<Guarded>::poll_ready(&mut *service, cx));
                Poll::Ready(ready.map(|()| service.call(Rc::clone(&guarded))))
            });
            match begun.await {
                Ok(call) => call.await.unwrap_or(Outcome::Rejected),
                Err(_) => Outcome::Rejected,
            }
        })
    }
}

/// tower's retry: a policy of our own says what is tried again, and how often, as the library wants it.
pub(crate) struct Retrying {
    retry: Rc<Retry>,
    seeds: Seeds,
}

impl Retrying {
    pub(crate) fn new(retry: Retry, seed: u64) -> Self {
        Self {
            retry: Rc::new(retry),
            seeds: Seeds::new(seed),
        }
    }
}

impl Guard for Retrying {
    fn call(&self, guarded: Guarded) -> Answer {
        let attempts = Attempts {
            left: self.retry.max_attempts - 1,
            delays: Delays::of(&self.retry, self.seeds.draw()),
            retry: Rc::clone(&self.retry),
        };
        let service = tower::retry::Retry::new(attempts, Do);
        Box::pin(async move {
            match service.oneshot(guarded).await {
                Ok(outcome) => outcome,
                Err(never) => match never {},
            }
        })
    }
}

/// The further attempts of one call.
#[derive(Clone)]
struct Attempts {
    left: u32,
    delays: Delays,
    retry: Rc<Retry>,
}

impl Policy<Guarded, Outcome, Infallible> for Attempts {
    type Future = Pin<Box<dyn Future<Output = ()>>>;

    fn retry(&mut self, _: &mut Guarded, result: &mut Result<Outcome, Infallible>) -> Option<Self::Future> {
        let outcome = match result {
            Ok(outcome) => *outcome,
            Err(never) => match *never {},
        };
        if self.left == 0 || !self.retry.is_retried(outcome) {
            return None;
        }
        self.left -= 1;
        let pause = self.delays.pause();
        Some(Box::pin(async move {
            // What is due already needs no timer, which would last until its next millisecond.
            if pause.deadline() > Instant::now() {
                pause.await;
            }
        }))
    }

    fn clone_request(&mut self, guarded: &Guarded) -> Option<Guarded> {
        Some(Rc::clone(guarded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TowerAdapter;
    use patternbench_client_kit::Adapter;
    use patternbench_client_kit::testing::policy;
    use serde_json::{Value, json};
    use std::cell::Cell;
    use tokio::time::{advance, sleep};

    fn guard(one: Value) -> Rc<dyn Guard> {
        TowerAdapter.guard(&policy(json!({"stack": [one]})), 1)
    }

    /// A guarded call: it ends after `ms` and counts how often it was begun.
    fn lasting(ms: u64, outcome: Outcome, begun: &Rc<Cell<u32>>) -> Guarded {
        let begun = Rc::clone(begun);
        Rc::new(move || -> Answer {
            begun.set(begun.get() + 1);
            Box::pin(async move {
                if ms > 0 {
                    sleep(Duration::from_millis(ms)).await;
                }
                outcome
            })
        })
    }

    fn retry(on: Value) -> Value {
        json!({"retry": {"max_attempts": 3, "backoff": {"fixed": {"delay_us": 0}}, "jitter": "none", "on": on}})
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_include_the_first_and_a_call_ends_with_its_last() {
        let begun = Rc::default();
        let fails = lasting(0, Outcome::Answered(503), &begun);
        assert_eq!(
            guard(retry(Value::Null)).call(fails).await,
            Outcome::Answered(503)
        );
        assert_eq!(begun.get(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_chooses_what_it_tries_again_and_never_a_rejection() {
        for (on, outcome) in [
            (json!([404]), Outcome::Answered(503)),
            (Value::Null, Outcome::Rejected),
        ] {
            let begun = Rc::default();
            assert_eq!(guard(retry(on)).call(lasting(0, outcome, &begun)).await, outcome);
            assert_eq!(begun.get(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_out_ends_what_it_guards_and_says_so() {
        let begun = Rc::default();
        let timeout = guard(json!({"timeout": {"after_us": 20_000}}));
        let began = Instant::now();
        assert_eq!(
            timeout.call(lasting(50, Outcome::Answered(200), &begun)).await,
            Outcome::Timeout
        );
        assert!(began.elapsed() < Duration::from_millis(30));
        assert_eq!(
            timeout.call(lasting(5, Outcome::Answered(200), &begun)).await,
            Outcome::Answered(200)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_waiting_places_who_comes_too_many_is_rejected() {
        let begun = Rc::default();
        let bulkhead = guard(json!({"bulkhead": {"max_concurrent": 1, "max_waiting": 0, "scope": "client"}}));
        let slow = lasting(10, Outcome::Answered(200), &begun);
        let both = tokio::join!(bulkhead.call(Rc::clone(&slow)), bulkhead.call(Rc::clone(&slow)));
        assert_eq!(both, (Outcome::Answered(200), Outcome::Rejected));
        assert_eq!(bulkhead.call(slow).await, Outcome::Answered(200));
        assert_eq!(begun.get(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn with_waiting_places_for_all_nobody_is_rejected() {
        let begun = Rc::default();
        let bulkhead = guard(json!({"bulkhead": {"max_concurrent": 1, "max_waiting": 9, "scope": "client"}}));
        let slow = lasting(10, Outcome::Answered(200), &begun);
        let both = tokio::join!(bulkhead.call(Rc::clone(&slow)), bulkhead.call(slow));
        assert_eq!(both, (Outcome::Answered(200), Outcome::Answered(200)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_limit_lets_one_call_out_each_interval_however_long_nobody_came() {
        let begun = Rc::default();
        let limit = json!({"calls": 2, "per_us": 20_000, "burst": 1, "max_wait_us": 0, "scope": "client"});
        let limited = guard(json!({"rate_limit": limit}));
        let call = || limited.call(lasting(0, Outcome::Answered(200), &begun));
        let mut seen = Vec::new();
        for wait_ms in [0, 4, 8, 4, 100, 4, 8] {
            advance(Duration::from_millis(wait_ms)).await;
            seen.push(call().await == Outcome::Answered(200));
        }
        assert_eq!(seen, [true, false, true, false, true, false, true]);
    }
}
