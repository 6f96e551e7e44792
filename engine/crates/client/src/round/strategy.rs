//! The pattern that a round's users follow.

use crate::fields::Fields;
use patternbench_policies::backoff::{Backoff, Jitter};
use patternbench_policies::breaker::{Config, SlowCall, Window};
use serde_json::Value;

/// The pattern that users follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strategy {
    /// One attempt a call.
    Baseline,
    /// Several attempts a call.
    Retry {
        /// The first one included.
        max_attempts: u64,
        /// The delays between them.
        backoff: Backoff,
        /// What chance does to the delays.
        jitter: Jitter,
    },
    /// One attempt a call, unless a breaker rejects it.
    CircuitBreaker {
        /// Of each breaker.
        config: Config,
        /// Who shares one.
        scope: Scope,
    },
}

/// Who shares a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Each user has its own.
    User,
    /// All users of the round share one.
    Client,
}

pub(super) fn read_strategy(fields: Fields) -> Option<Strategy> {
    let name = fields.choice(&["baseline", "retry", "circuit_breaker"]);
    let strategy = name.and_then(|name| {
        let inside = fields.inside(name)?;
        match name {
            "baseline" => {
                inside.end();
                Some(Strategy::Baseline)
            }
            "retry" => read_retry(inside),
            _ => read_breaker(inside),
        }
    });
    fields.end();
    strategy
}

fn read_retry(fields: Fields) -> Option<Strategy> {
    let max_attempts = fields.whole("max_attempts", 1, u64::from(u32::MAX));
    let backoff = fields.object("backoff").and_then(read_backoff);
    let jitter = fields.get(
        "jitter",
        "none, full, equal, or a number above 0 and at most 1",
        read_jitter,
    );
    fields.end();
    Some(Strategy::Retry {
        max_attempts: max_attempts?,
        backoff: backoff?,
        jitter: jitter?,
    })
}

fn read_backoff(fields: Fields) -> Option<Backoff> {
    let name = fields.choice(&["fixed", "linear", "exponential"]);
    let backoff = name.and_then(|name| {
        let inside = fields.inside(name)?;
        match name {
            "fixed" => read_fixed(inside),
            "linear" => read_linear(inside),
            _ => read_exponential(inside),
        }
    });
    fields.end();
    backoff
}

fn read_fixed(fields: Fields) -> Option<Backoff> {
    let delay_us = fields.whole("delay_us", 0, u64::MAX);
    fields.end();
    Some(Backoff::Fixed { delay_us: delay_us? })
}

fn read_linear(fields: Fields) -> Option<Backoff> {
    let initial_us = fields.whole("initial_us", 0, u64::MAX);
    let increment_us = fields.whole("increment_us", 0, u64::MAX);
    let max_us = fields.whole_or_null("max_us", 1, u64::MAX);
    fields.end();
    Some(Backoff::Linear {
        initial_us: initial_us?,
        increment_us: increment_us?,
        max_us: max_us?,
    })
}

fn read_exponential(fields: Fields) -> Option<Backoff> {
    let initial_us = fields.whole("initial_us", 0, u64::MAX);
    let multiplier = fields.get("multiplier", "a number of at least 1", |value| {
        value.as_f64().filter(|m| *m >= 1.0)
    });
    let max_us = fields.whole_or_null("max_us", 1, u64::MAX);
    fields.end();
    Some(Backoff::Exponential {
        initial_us: initial_us?,
        multiplier: multiplier?,
        max_us: max_us?,
    })
}

fn read_jitter(value: &Value) -> Option<Jitter> {
    match value.as_str() {
        Some("none") => Some(Jitter::None),
        Some("full") => Some(Jitter::Full),
        Some("equal") => Some(Jitter::Equal),
        Some(_) => None,
        None => value
            .as_f64()
            .filter(|j| *j > 0.0 && *j <= 1.0)
            .map(Jitter::Proportional),
    }
}

fn read_breaker(fields: Fields) -> Option<Strategy> {
    let failure_rate = fields.percent("failure_rate");
    let slow_call = fields.object_or_null("slow_call").and_then(read_slow_call);
    let window = fields.object("window").and_then(read_window);
    let minimum_calls = fields.whole("minimum_calls", 1, most_minimum(window));
    let open_for_us = fields.whole("open_for_us", 1, u64::MAX);
    let half_open_calls = fields.whole("half_open_calls", 1, u64::from(u32::MAX));
    let scope = fields.get("scope", "user or client", |value| match value.as_str()? {
        "user" => Some(Scope::User),
        "client" => Some(Scope::Client),
        _ => None,
    });
    fields.end();
    let config = Config {
        failure_rate: failure_rate?,
        slow_call: slow_call?,
        window: window?,
        minimum_calls: minimum_calls? as u32,
        open_for_us: open_for_us?,
        half_open_calls: half_open_calls? as u32,
    };
    Some(Strategy::CircuitBreaker {
        config,
        scope: scope?,
    })
}

/// A breaker that waits for more results than its window holds would never open.
fn most_minimum(window: Option<Window>) -> u64 {
    match window {
        Some(Window::Calls(calls)) => u64::from(calls),
        _ => u64::from(u32::MAX),
    }
}

/// `None` stands for a problem, `Some(None)` for a breaker that does not look at slow calls.
fn read_slow_call(fields: Option<Fields>) -> Option<Option<SlowCall>> {
    let Some(fields) = fields else {
        return Some(None);
    };
    let rate = fields.percent("rate");
    let duration_us = fields.whole("duration_us", 1, u64::MAX);
    fields.end();
    Some(Some(SlowCall {
        rate: rate?,
        duration_us: duration_us?,
    }))
}

fn read_window(fields: Fields) -> Option<Window> {
    let window = fields.choice(&["calls", "time_us"]).and_then(|name| match name {
        "calls" => fields
            .whole("calls", 1, u64::from(u32::MAX))
            .map(|calls| Window::Calls(calls as u32)),
        _ => fields.whole("time_us", 1, u64::MAX).map(Window::TimeUs),
    });
    fields.end();
    window
}
