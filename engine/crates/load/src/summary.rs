//! What a round came to, as one JSON object.

use crate::doubts::{Doubt, cpu_share};
use crate::redirect::Refusal;
use crate::run::Finished;
use patternbench_attemptlog::{Cell, Counts, Histogram, Measure, Outcome, encoded, percentile};
use patternbench_schedule::Part;
use patternbench_wire::Failure;
use serde_json::{Map, Value, json};

/// The inputs of the summary other than measurements.
pub struct Frame<'a> {
    pub groups: &'a [String],
    pub steps: &'a [String],
    pub part: Part,
    pub descriptors: u64,
    pub process_cpu: f64,
}

/// The summary: what `--json` ends with, and more.
#[must_use]
pub fn summary(finished: &Finished, frame: &Frame<'_>, doubts: &[Doubt]) -> Value {
    let tally = &finished.written.tally;
    let counts = tally.counts();
    let seconds = finished.duration.as_secs_f64();
    let mut summary = json!({
        "contract": 1,
        "requests": counts.sent(),
        "calls": counts.calls - unsent(&counts),
        "successes": counts.good_calls,
        "errors": counts.calls - unsent(&counts) - counts.good_calls,
        "journeys": finished.totals.journeys(),
        "dropped": counts.of(Outcome::Dropped),
        "rejected": counts.of(Outcome::Rejected),
        "warm_up_rows": counts.warm_up,
        "warm_up_us": finished.warm_up.as_micros() as u64,
        "duration_s": seconds,
        "rate_per_s": per_second(counts.sent(), seconds),
        "goodput_per_s": per_second(counts.good_calls, seconds),
        "bytes": counts.bytes,
        "response_ms": milliseconds(&tally.total(Measure::Response)),
        "service_ms": milliseconds(&tally.total(Measure::Service)),
        "lateness_ms": milliseconds(tally.lateness()),
        "generator_cpu_s": frame.process_cpu,
        "outcomes": outcomes(&counts),
        "statuses": statuses(&counts.statuses),
        "socket_errors": socket_errors(finished),
        "redirects": counts.redirects,
        "redirect_errors": redirect_errors(finished),
        "steps": cells(finished, frame),
        "policies": policies(finished),
        "generator": generator(finished, frame),
        "doubts": doubts.iter().map(Doubt::to_json).collect::<Vec<_>>(),
        "interrupted": finished.interrupted,
        "valid": !doubts.iter().any(|doubt| doubt.invalidates),
    });
    if !frame.part.is_whole() {
        summary["part"] = json!({"index": frame.part.index(), "of": frame.part.of()});
    }
    summary
}

fn unsent(counts: &Counts) -> u64 {
    counts.of(Outcome::Dropped) + counts.of(Outcome::Rejected)
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// Percentiles in milliseconds; nulls when there are no values.
pub fn milliseconds(histogram: &Histogram) -> Value {
    let at = |percent| percentile(histogram, percent).map(|microseconds| microseconds as f64 / 1000.0);
    json!({"p50": at(50.0), "p90": at(90.0), "p99": at(99.0), "p999": at(99.9), "max": at(100.0)})
}

fn outcomes(counts: &Counts) -> Value {
    Outcome::ALL
        .iter()
        .map(|outcome| (outcome.name().to_owned(), json!(counts.of(*outcome))))
        .collect::<Map<_, _>>()
        .into()
}

/// Answers by the class of their status, classes without any left out.
pub fn statuses(counts: &[u64; 10]) -> Value {
    let class =
        |(hundred, count): (usize, &u64)| (*count > 0).then(|| (format!("{hundred}xx"), json!(count)));
    counts
        .iter()
        .enumerate()
        .filter_map(class)
        .collect::<Map<_, _>>()
        .into()
}

fn socket_errors(finished: &Finished) -> Value {
    let kinds = Failure::ALL.iter().zip(finished.totals.failures());
    kinds
        .map(|(failure, count)| (failure.name().to_owned(), json!(count)))
        .collect::<Map<_, _>>()
        .into()
}

fn redirect_errors(finished: &Finished) -> Value {
    let count = |kind: usize| {
        let mut refused = finished.totals.refused().iter();
        let known = refused.find(|(refusal, _)| refusal.kind() == kind);
        known.map_or(0, |(_, count)| *count)
    };
    let names = Refusal::NAMES.iter().enumerate();
    names
        .map(|(kind, name)| ((*name).to_owned(), json!(count(kind))))
        .collect::<Map<_, _>>()
        .into()
}

fn cells(finished: &Finished, frame: &Frame<'_>) -> Vec<Value> {
    let cell = |(group, step, cell): (usize, usize, &Cell)| {
        json!({
            "group": frame.groups[group], "step": frame.steps[step],
            "requests": cell.counts.sent(), "calls": cell.counts.calls - unsent(&cell.counts), "successes": cell.counts.good_calls,
            "dropped": cell.counts.of(Outcome::Dropped), "redirects": cell.counts.redirects,
            "response_ms": milliseconds(cell.histogram(Measure::Response)),
            "service_ms": milliseconds(cell.histogram(Measure::Service)),
        })
    };
    finished.written.tally.cells().map(cell).collect()
}

/// How often each policy acted, in the job's order.
fn policies(finished: &Finished) -> Vec<Value> {
    let entry = |(policy, acted): &(&str, u64)| json!({"policy": policy, "acted": acted});
    finished.acted.iter().map(entry).collect()
}

fn generator(finished: &Finished, frame: &Frame<'_>) -> Value {
    json!({
        "cpu_share": cpu_share(finished),
        "core": finished.generator.placement.core,
        "niceness": finished.generator.placement.niceness,
        "loop_cpu_s": finished.generator.cpu.as_secs_f64(),
        "log_cpu_s": finished.written.cpu.as_secs_f64(),
        "log_rows": finished.written.rows,
        "log_bytes": finished.written.bytes,
        "log_stalled_ms": finished.written.stalled.as_secs_f64() * 1000.0,
        "began_us": finished.generator.began.as_micros() as u64,
        "elapsed_s": finished.elapsed.as_secs_f64(),
        "connections": finished.connections,
        "descriptor_limit": frame.descriptors,
        "unanswered": finished.totals.abandoned(),
    })
}

/// The histograms by group and step, and the generator's own lateness, in HdrHistogram's V2 encoding.
#[must_use]
pub fn histograms(finished: &Finished, frame: &Frame<'_>) -> Value {
    let tally = &finished.written.tally;
    let mut list = vec![entry(None, "lateness", tally.lateness())];
    for (group, step, cell) in tally.cells() {
        let names = (frame.groups[group].as_str(), frame.steps[step].as_str());
        list.extend(Measure::ALL.map(|measure| entry(Some(names), measure.name(), cell.histogram(measure))));
    }
    json!({"contract": 1, "unit": "us", "histograms": list})
}

fn entry(names: Option<(&str, &str)>, measure: &str, histogram: &Histogram) -> Value {
    json!({
        "group": names.map(|(group, _)| group), "step": names.map(|(_, step)| step), "measure": measure,
        "count": histogram.len(), "hdr": encoded(histogram),
    })
}
