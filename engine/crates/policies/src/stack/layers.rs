//! The policies of a stack as they are at work, and what calls share of them.

use super::policy::Policy;
use crate::breaker::{self, Breaker};
use crate::budget::{self, Budget};
use crate::bulkhead::{self, Bulkhead};
use crate::outcome::Failures;
use crate::rate_limit::{self, RateLimit};
use crate::shared::Shared;
use crate::{deadline, hedge, retry, timeout};

/// A call that waits in a bulkhead: the caller's number for it, and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiter {
    /// The caller's number for the call.
    pub who: u64,
    /// What to hand to [`super::Call::granted`].
    pub frame: u32,
}

/// The policies of a client, outermost first, and what its calls share.
pub struct Stack {
    pub(super) layers: Vec<Layer>,
    pub(super) acted: Vec<u64>,
    pub(super) granted: Vec<Waiter>,
}

pub(super) enum Layer {
    Timeout(timeout::Config),
    Deadline(deadline::Config),
    Retry(retry::Config),
    Budget(Shared<budget::Config, Budget>),
    Breaker(Shared<breaker::Config, Breaker>, Failures),
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
            Policy::CircuitBreaker(scope, config, counted) => {
                Self::Breaker(Shared::new(scope, config, Breaker::new), counted)
            }
            Policy::Bulkhead(scope, config) => {
                Self::Bulkhead(Shared::new(scope, config, Bulkhead::new), config.max_wait_us)
            }
            Policy::Hedge(config) => Self::Hedge(config),
            Policy::RateLimit(scope, config) => Self::RateLimit(Shared::new(scope, config, RateLimit::new)),
        }
    }
}

impl Stack {
    /// Policies that no one has used yet.
    #[must_use]
    pub fn new(policies: Vec<Policy>) -> Self {
        Self {
            acted: vec![0; policies.len()],
            layers: policies.into_iter().map(Layer::new).collect(),
            granted: Vec::new(),
        }
    }

    /// How often each policy acted: timeouts and deadlines that ended something, further attempts of retries and
    /// hedges, rejections of the others.
    #[must_use]
    pub fn acted(&self) -> &[u64] {
        &self.acted
    }

    /// A waiter that has been given a place in a bulkhead since this was last asked; its call must be notified.
    pub fn next_granted(&mut self) -> Option<Waiter> {
        (!self.granted.is_empty()).then(|| self.granted.remove(0))
    }

    /// Whether there is such a waiter.
    #[must_use]
    pub fn has_granted(&self) -> bool {
        !self.granted.is_empty()
    }
}
