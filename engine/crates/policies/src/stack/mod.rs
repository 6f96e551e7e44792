//! Calls on their way through several policies, in a stated order.
//!
//! A [`Stack`] holds the policies, outermost first, and what calls share. A [`Call`] is told what happens and when, and
//! answers with [`Decision`]s. Inside it is a tree of *frames*: entering a policy makes one, and it goes when what it
//! guards has ended. Only hedging makes the tree branch.
//!
//! - A policy guards all that stand after it: a timeout before a retry bounds all attempts together, after it each of them.
//! - A rejection is never tried again. A call that was rejected after a failed attempt ends with that failure.
//! - A pause that would outlast a timeout or deadline around it is not begun: the call ends at once.
//! - A breaker counts what a timeout or deadline around it ended as a failure; rejections further in, and attempts that
//!   lost against another, don't count for it.

mod call;
mod decision;
mod ending;
mod entering;
mod policy;

pub use call::Call;
pub use decision::{Decision, Turn, Waiter, Why};
pub use policy::{MOST_ATTEMPTS, Policy, idle_budgets, most_attempts};

use crate::breaker::{self, Breaker};
use crate::budget::{self, Budget};
use crate::bulkhead::{self, Bulkhead};
use crate::rate_limit::{self, RateLimit};
use crate::shared::Shared;
use crate::{deadline, hedge, retry, timeout};

/// The policies of a client, outermost first, and what its calls share.
pub struct Stack {
    layers: Vec<Layer>,
    acted: Vec<u64>,
    granted: Vec<Waiter>,
}

enum Layer {
    Timeout(timeout::Config),
    Deadline(deadline::Config),
    Retry(retry::Config),
    Budget(Shared<budget::Config, Budget>),
    Breaker(Shared<breaker::Config, Breaker>),
    Bulkhead(Shared<bulkhead::Config, Bulkhead<Waiter>>, Option<u64>),
    Hedge(hedge::Config),
    RateLimit(Shared<rate_limit::Config, RateLimit>),
}

impl Layer {
    fn new(policy: Policy) -> Self {
        match policy {
            Policy::Timeout(config) => Self::Timeout(config),
            Policy::Deadline(config) => Self::Deadline(config),
            Policy::Retry(config) => Self::Retry(config),
            Policy::RetryBudget(scope, config) => Self::Budget(Shared::new(scope, config, Budget::new)),
            Policy::CircuitBreaker(scope, config) => Self::Breaker(Shared::new(scope, config, Breaker::new)),
            Policy::Bulkhead(scope, config) => {
                Self::Bulkhead(Shared::new(scope, config, Bulkhead::new), config.max_wait_us)
            }
            Policy::Hedge(config) => Self::Hedge(config),
            Policy::RateLimit(scope, config) => Self::RateLimit(Shared::new(scope, config, RateLimit::new)),
        }
    }
}

impl Stack {
    /// Policies that nobody has used yet.
    #[must_use]
    pub fn new(policies: Vec<Policy>) -> Self {
        Self {
            acted: vec![0; policies.len()],
            layers: policies.into_iter().map(Layer::new).collect(),
            granted: Vec::new(),
        }
    }

    /// How often each policy acted: timeouts and deadlines that ended something, further attempts of retries and hedges,
    /// rejections of the others.
    #[must_use]
    pub fn acted(&self) -> &[u64] {
        &self.acted
    }

    /// A waiter that has been given a place in a bulkhead since this was last asked; its call must be told.
    pub fn next_granted(&mut self) -> Option<Waiter> {
        (!self.granted.is_empty()).then(|| self.granted.remove(0))
    }

    /// Whether there is such a waiter.
    #[must_use]
    pub fn has_granted(&self) -> bool {
        !self.granted.is_empty()
    }
}
