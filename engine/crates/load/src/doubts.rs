//! Why the numbers of a round may not be trusted, as values with a remedy.

use crate::job::Lateness;
use crate::redirect::Refusal;
use crate::run::{Finished, Generator};
use patternbench_attemptlog::{Counts, Measure, Outcome, percentile};
use patternbench_wire::Failure;
use serde_json::{Value, json};
use std::time::Duration;

/// Above this share of one CPU the thread that drives the load has no room for what comes at once.
const BUSY: f64 = 0.9;
/// A round that lasts longer than this after its end has a generator that was held up for that time.
const OVERRUN: Duration = Duration::from_secs(1);
/// With fewer calls than this the 99th percentile is the slowest of them.
const FEW: u64 = 100;
/// With fewer calls than this the 90th percentile is the slowest of them.
const VERY_FEW: u64 = 10;

/// One reason to doubt a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// Its name.
    pub name: &'static str,
    /// What was measured.
    pub value: f64,
    /// What it may be at most.
    pub bound: f64,
    /// Whether the round is invalid because of it.
    pub invalidates: bool,
    /// What it means, in a sentence.
    pub message: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Doubt {
    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name, "value": self.value, "bound": self.bound, "invalidates": self.invalidates,
            "message": self.message, "remedy": self.remedy,
        })
    }
}

/// All reasons to doubt a round.
#[must_use]
pub fn doubts(finished: &Finished, counts: &Counts, open: bool, allowed: Lateness) -> Vec<Doubt> {
    [
        saturated(finished, open),
        late(finished, allowed),
        held_up(finished),
        dropped(counts),
        exhausted(finished),
        stalled(finished),
        abandoned(finished),
        few_calls(counts.calls),
        never_good(counts.calls, counts.good_calls),
        never_answered(
            counts.sent(),
            counts.statuses.iter().sum(),
            Failure::ALL.into_iter().zip(finished.totals.measured_failures()),
        ),
        without_tls(finished),
        cold(finished),
    ]
    .into_iter()
    .flatten()
    .chain(finished.totals.refused().iter().map(not_followed))
    .collect()
}

/// A warm-up that was to end by answers, and ended by its time.
fn cold(finished: &Finished) -> Option<Doubt> {
    let missing = finished.warm_up_missing;
    let (why, remedy) = if finished.warm_up_unsettled {
        let why = "before the service had settled".to_owned();
        (why, "raise warm_up_us")
    } else {
        let why = format!("with {missing} of its answers missing");
        (why, "raise warm_up_us, or lower warm_up_requests")
    };
    (missing > 0 || finished.warm_up_unsettled).then(|| Doubt {
        name: "warm_up_cut_short",
        value: missing as f64,
        bound: 0.0,
        invalidates: false,
        message: format!(
            "the warm-up was over after {:.1} s, {why}",
            finished.warm_up.as_secs_f64()
        ),
        remedy,
    })
}

/// The share of one CPU that the thread which drives the load has used.
#[must_use]
pub fn cpu_share(finished: &Finished) -> f64 {
    let Generator { cpu, wall, .. } = finished.generator;
    cpu.as_secs_f64() / wall.as_secs_f64().max(1e-9)
}

/// A closed workload without pauses goes as fast as the generator can. That is only doubtful if nothing else limits it.
fn saturated(finished: &Finished, open: bool) -> Option<Doubt> {
    let value = cpu_share(finished);
    (value > BUSY).then(|| Doubt {
        name: "generator_saturated",
        value,
        bound: BUSY,
        invalidates: open,
        message: format!("the generator used {:.0} % of its CPU: times include its queueing", value * 100.0),
        remedy: "lower the rate or the users, or give the generator a core that the system under test doesn't use",
    })
}

/// The generator's lateness at the median, and at the highest percentile that is not just the worst call.
fn late(finished: &Finished, allowed: Lateness) -> Option<Doubt> {
    let tally = &finished.written.tally;
    let service = tally.total(Measure::Service);
    [50.0, tail(tally.lateness().len())]
        .into_iter()
        .find_map(|percent| {
            let value = percentile(tally.lateness(), percent)?;
            let bound = allowed.bound_us(percentile(&service, percent).unwrap_or(0));
            (value > bound).then(|| too_late(percent, value, bound))
        })
}

/// The highest of the percentiles 99, 90 and 50 that this many values distinguish from their maximum.
fn tail(values: u64) -> f64 {
    match values {
        FEW.. => 99.0,
        VERY_FEW.. => 90.0,
        _ => 50.0,
    }
}

fn too_late(percent: f64, value: u64, bound: u64) -> Doubt {
    let (value, bound) = (value as f64 / 1000.0, bound as f64 / 1000.0);
    let one_in = (100.0 / (100.0 - percent)).round();
    Doubt {
        name: "late_schedule",
        value,
        bound,
        invalidates: true,
        message: format!(
            "the generator itself sent one call in {one_in} more than {value:.1} ms late; {bound:.1} ms are allowed"
        ),
        remedy: "stop other work on this machine, give the generator a core that the system under test doesn't use, or allow more lateness",
    }
}

/// Calls that never began have no lateness, so a generator that was frozen until after the end looks punctual.
fn held_up(finished: &Finished) -> Option<Doubt> {
    let value = finished.overrun.as_secs_f64();
    (finished.overrun > OVERRUN).then(|| Doubt {
        name: "generator_held_up",
        value,
        bound: OVERRUN.as_secs_f64(),
        invalidates: true,
        message: format!("the round ended {value:.1} s late: the generator itself was held up"),
        remedy: "find out what else used the machine or stopped the generator, and run the round again",
    })
}

/// A system that is slower than the offered load is a result. Whether the generator was in time is judged separately.
fn dropped(counts: &Counts) -> Option<Doubt> {
    let dropped = counts.of(Outcome::Dropped);
    let value = dropped as f64 / (dropped + counts.sent()).max(1) as f64;
    (dropped > 0).then(|| Doubt {
        name: "dropped_arrivals",
        value,
        bound: 0.0,
        invalidates: false,
        message: format!(
            "{dropped} arrivals ({:.2} %) were not sent because too many were in flight",
            value * 100.0
        ),
        remedy: "the system is slower than the offered load: lower the rate, or raise max_in_flight to let more wait",
    })
}

/// Few calls say little about the slowest of them.
pub fn few_calls(calls: u64) -> Option<Doubt> {
    (1..FEW).contains(&calls).then(|| Doubt {
        name: "few_calls",
        value: calls as f64,
        bound: FEW as f64,
        invalidates: false,
        message: format!("the round had only {calls} calls, so its 99th percentile is the slowest of them"),
        remedy: "make rounds longer, or look at the median",
    })
}

/// A round in which every call failed says more about the test than about the system, unless faults were meant to do
/// it.
pub fn never_good(calls: u64, good: u64) -> Option<Doubt> {
    (calls > 0 && good == 0).then(|| Doubt {
        name: "nothing_succeeded",
        value: calls as f64,
        bound: 0.0,
        invalidates: false,
        message: format!("not one of {calls} calls succeeded"),
        remedy: "look at the statuses, and check path, headers, expectations and the system",
    })
}

fn exhausted(finished: &Finished) -> Option<Doubt> {
    let count = finished.totals.failed(Failure::Exhausted);
    (count > 0).then(|| Doubt {
        name: "out_of_sockets",
        value: count as f64,
        bound: 0.0,
        invalidates: true,
        message: format!("{count} attempts found no free port, descriptor or buffer on this machine"),
        remedy: "keep connections alive, widen net.ipv4.ip_local_port_range, or raise `ulimit -n` and net.core.somaxconn",
    })
}

fn stalled(finished: &Finished) -> Option<Doubt> {
    let value = finished.written.stalled.as_secs_f64() * 1000.0;
    (value > 0.0).then(|| Doubt {
        name: "log_stalled",
        value,
        bound: 0.0,
        invalidates: value > 1.0,
        message: format!("the generator waited {value:.1} ms for its own log to be written"),
        remedy: "write the log to a faster disk, or lower the rate",
    })
}

fn abandoned(finished: &Finished) -> Option<Doubt> {
    let count = finished.totals.abandoned();
    (count > 0).then(|| Doubt {
        name: "unanswered_at_the_end",
        value: count as f64,
        bound: 0.0,
        invalidates: false,
        message: format!(
            "{count} attempts had no answer when the time for waiting was over; their times are lower bounds"
        ),
        remedy: "raise drain_us above the timeout of the steps",
    })
}

/// Redirects that were not followed: their calls have failed, and it is rarely the server's fault.
fn not_followed((refusal, count): &(Refusal, u64)) -> Doubt {
    let (message, remedy) = match refusal {
        Refusal::TooMany => (
            format!("{count} attempts were redirected more often than max_redirects allows"),
            "look for a loop, or raise the step's max_redirects (at most 20)",
        ),
        Refusal::Foreign(origin) => (
            format!(
                "{count} redirects led away from the job's targets, such as to {origin}, and were not followed"
            ),
            "add that server to the targets (weight 0 if it gets no other requests), or expect the redirect itself with max_redirects 0",
        ),
        Refusal::Unreadable(location) => (
            format!("{count} redirects had a Location that isn't a URL, such as {location:?}"),
            "correct the server's Location header, or expect the redirect itself with max_redirects 0",
        ),
    };
    Doubt {
        name: "redirects_not_followed",
        value: *count as f64,
        bound: 0.0,
        invalidates: false,
        message,
        remedy,
    }
}

/// A round in which no one ever answered says little about anybody, and often that a URL is wrong. The failures are those
/// of connections, as far as they are known.
pub fn never_answered(
    sent: u64,
    answers: u64,
    failures: impl IntoIterator<Item = (Failure, u64)>,
) -> Option<Doubt> {
    (sent > 0 && answers == 0).then(|| Doubt {
        name: "never_answered",
        value: sent as f64,
        bound: 0.0,
        invalidates: false,
        message: format!(
            "not one of {sent} attempts was answered{}",
            most_frequent(failures)
        ),
        remedy: "check that the targets listen at their URLs, and that http and https are right",
    })
}

/// What most connections failed by, as far as that can be said plainly.
fn most_frequent(failures: impl IntoIterator<Item = (Failure, u64)>) -> String {
    let most = failures
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .max_by_key(|(_, count)| *count);
    let Some((failure, count)) = most else {
        return String::new();
    };
    let what = match failure {
        Failure::Refused => "found nobody listening",
        Failure::Reset => "were reset by the server",
        Failure::Closed => "were closed before the answer was complete",
        Failure::Malformed => "got something that is not HTTP/1",
        Failure::Unasked => "got an answer before the request was sent",
        Failure::TooLarge => "got more than the limits allow",
        Failure::Tls => "could not agree on TLS",
        Failure::Exhausted => "found no free port or descriptor here",
        Failure::Other => "found no route to the target",
    };
    format!(": {count} {what}")
}

fn without_tls(finished: &Finished) -> Option<Doubt> {
    let count = finished.totals.failed(Failure::Tls);
    let reason = finished
        .totals
        .tls_reason()
        .unwrap_or("the server gave no reason");
    (count > 0).then(|| Doubt {
        name: "tls_failed",
        value: count as f64,
        bound: 0.0,
        invalidates: false,
        message: format!("{count} attempts could not agree on TLS: {reason}"),
        remedy: "name the certificate's authority in tls.ca_file and its name in tls.server_name, or set tls.verify to false; a server without TLS wants http://",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_is_only_the_worst_call_is_not_judged_by() {
        assert_eq!([1, 9, 10, 99, 100].map(tail), [50.0, 50.0, 90.0, 90.0, 99.0]);
    }

    #[test]
    fn lateness_is_allowed_in_proportion_to_what_is_measured_and_never_less_than_the_floor() {
        let allowed = Lateness::default();
        assert_eq!(
            [0, 2_000, 10_000, 50_000].map(|us| allowed.bound_us(us)),
            [1000, 1000, 1000, 5000]
        );
    }
}
