//! What several generators of one load came to, as if one had made it: counts add up, and so do histograms.
//!
//! Percentiles are never put together. They are read from the histograms of all parts, which hold every call.

use crate::command::{CommandError, failed, write};
use crate::doubts::{few_calls, never_answered, never_good};
use crate::summary::milliseconds;
use patternbench_attemptlog::{Histogram, Measure, decoded, encoded, histogram};
use patternbench_wire::Failure;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Fields of a summary of which each part has its own share: numbers, or numbers by name.
const SUMS: [&str; 15] = [
    "requests",
    "calls",
    "successes",
    "errors",
    "journeys",
    "dropped",
    "rejected",
    "warm_up_rows",
    "bytes",
    "generator_cpu_s",
    "outcomes",
    "statuses",
    "socket_errors",
    "redirects",
    "redirect_errors",
];
/// The same of a step, and of the generator.
const SUMS_OF_STEP: [&str; 5] = ["requests", "calls", "successes", "dropped", "redirects"];
const SUMS_OF_GENERATOR: [&str; 6] = [
    "loop_cpu_s",
    "log_cpu_s",
    "log_rows",
    "log_bytes",
    "connections",
    "unanswered",
];
/// Doubts about what all parts have sent, which say nothing of one part.
const OF_THE_WHOLE: [&str; 3] = ["few_calls", "nothing_succeeded", "never_answered"];

/// One of the generators: its summary and its histograms.
struct Made {
    summary: Value,
    histograms: Vec<Timed>,
}

/// A histogram of a step in a group, or of the generator itself.
struct Timed {
    group: Value,
    step: Value,
    measure: Value,
    times: Histogram,
}

/// Reads what generators left in folders, writes `summary.json` and `histograms.json` of all into another one, and returns
/// the summary.
///
/// # Errors
/// When a file can't be read or written, or isn't what a generator writes.
pub fn unite(parts: &[PathBuf], out: &Path) -> Result<Value, CommandError> {
    let made = parts
        .iter()
        .map(|part| Made::read(part))
        .collect::<Result<Vec<_>, _>>()?;
    let times = all_times(&made);
    let summary = united(&made, &times);
    fs::create_dir_all(out).map_err(|error| failed(out, "created", &error))?;
    let list: Vec<Value> = times.iter().map(Timed::to_json).collect();
    write(
        &out.join("histograms.json"),
        &json!({"contract": 1, "unit": "us", "histograms": list}),
    )?;
    write(&out.join("summary.json"), &summary)?;
    Ok(summary)
}

impl Made {
    fn read(folder: &Path) -> Result<Self, CommandError> {
        let foreign =
            |what: &str| CommandError::Failed(format!("{} holds no {what} of a generator", folder.display()));
        let summary = read(&folder.join("summary.json"))?;
        let list = read(&folder.join("histograms.json"))?;
        let list = list["histograms"]
            .as_array()
            .ok_or_else(|| foreign("histograms.json"))?;
        let histograms = list.iter().map(Timed::from_json).collect::<Option<Vec<_>>>();
        if !summary.is_object() {
            return Err(foreign("summary.json"));
        }
        Ok(Self {
            summary,
            histograms: histograms.ok_or_else(|| foreign("histograms.json"))?,
        })
    }

    /// Which generator it is, in words.
    fn name(&self) -> String {
        let part = &self.summary["part"];
        format!(
            "generator {} of {}",
            part["index"].as_u64().unwrap_or(0) + 1,
            part["of"].as_u64().unwrap_or(1)
        )
    }
}

fn read(file: &Path) -> Result<Value, CommandError> {
    let text = fs::read_to_string(file).map_err(|error| failed(file, "read", &error))?;
    serde_json::from_str(&text)
        .map_err(|error| CommandError::Failed(format!("{} is not JSON: {error}", file.display())))
}

impl Timed {
    fn from_json(entry: &Value) -> Option<Self> {
        Some(Self {
            group: entry["group"].clone(),
            step: entry["step"].clone(),
            measure: entry["measure"].clone(),
            times: decoded(entry["hdr"].as_str()?)?,
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "group": self.group, "step": self.step, "measure": self.measure,
            "count": self.times.len(), "hdr": encoded(&self.times),
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        (&self.group, &self.step, &self.measure) == (&other.group, &other.step, &other.measure)
    }
}

/// The histograms of all parts, one for each step and measure.
fn all_times(made: &[Made]) -> Vec<Timed> {
    let mut all: Vec<Timed> = Vec::new();
    for timed in made.iter().flat_map(|made| &made.histograms) {
        let known = all.iter().position(|known| known.is_like(timed));
        let place = known.unwrap_or_else(|| {
            all.push(Timed {
                group: timed.group.clone(),
                step: timed.step.clone(),
                measure: timed.measure.clone(),
                times: histogram(),
            });
            all.len() - 1
        });
        add(&mut all[place].times, &timed.times);
    }
    all
}

fn add(sum: &mut Histogram, more: &Histogram) {
    // Both grow by themselves and have the same digits, so that adding can't fail.
    let _ = sum.add(more);
}

fn united(made: &[Made], times: &[Timed]) -> Value {
    let summaries: Vec<&Value> = made.iter().map(|made| &made.summary).collect();
    let total = |measure: &str| total(times, |timed| timed.measure == measure);
    let mut summary = json!({"contract": 1});
    for name in SUMS {
        summary[name] = sum(summaries.iter().map(|summary| &summary[name]));
    }
    let seconds = most(&summaries, "duration_s");
    let rate = |count: &Value| {
        let count = count.as_f64().unwrap_or(0.0);
        if seconds > 0.0 { count / seconds } else { 0.0 }
    };
    summary["duration_s"] = json!(seconds);
    summary["rate_per_s"] = json!(rate(&summary["requests"]));
    summary["goodput_per_s"] = json!(rate(&summary["successes"]));
    // The warm-up of a split load is over after its time, for all of them.
    summary["warm_up_us"] = summaries
        .first()
        .map_or(json!(0), |first| first["warm_up_us"].clone());
    summary["response_ms"] = milliseconds(&total(Measure::Response.name()));
    summary["service_ms"] = milliseconds(&total(Measure::Service.name()));
    summary["lateness_ms"] = milliseconds(&total("lateness"));
    summary["steps"] = steps(&summaries, times);
    summary["policies"] = policies(&summaries);
    summary["generator"] = generator(&summaries);
    summary["generators"] = made.iter().map(one_of_them).collect();
    let doubts = doubts(made, &summary);
    summary["valid"] = json!(!doubts.iter().any(|doubt| doubt["invalidates"] == true));
    summary["doubts"] = json!(doubts);
    summary["interrupted"] = json!(summaries.iter().any(|summary| summary["interrupted"] == true));
    summary
}

/// What is to be known of one generator next to the others.
fn one_of_them(made: &Made) -> Value {
    let summary = &made.summary;
    json!({
        "part": summary["part"], "requests": summary["requests"], "lateness_ms": summary["lateness_ms"],
        "cpu_share": summary["generator"]["cpu_share"], "valid": summary["valid"],
    })
}

/// Numbers added up, by name where they are objects.
fn sum<'a>(values: impl Iterator<Item = &'a Value>) -> Value {
    values.fold(Value::Null, added)
}

fn added(sum: Value, more: &Value) -> Value {
    match (sum, more) {
        (Value::Object(mut sum), Value::Object(more)) => {
            for (name, value) in more {
                let before = sum.get(name).cloned().unwrap_or(Value::Null);
                sum.insert(name.clone(), added(before, value));
            }
            Value::Object(sum)
        }
        (Value::Null, more) => more.clone(),
        (sum, more) => match (sum.as_u64(), more.as_u64()) {
            (Some(sum), Some(more)) => json!(sum + more),
            _ => json!(sum.as_f64().unwrap_or(0.0) + more.as_f64().unwrap_or(0.0)),
        },
    }
}

fn most(values: &[&Value], name: &str) -> f64 {
    let numbers = values.iter().filter_map(|value| value[name].as_f64());
    numbers.fold(0.0, f64::max)
}

/// The times of all histograms that are of a kind, together.
fn total(times: &[Timed], of_kind: impl Fn(&Timed) -> bool) -> Histogram {
    let mut sum = histogram();
    for timed in times.iter().filter(|timed| of_kind(timed)) {
        add(&mut sum, &timed.times);
    }
    sum
}

/// The steps of all parts, each once.
fn steps(summaries: &[&Value], times: &[Timed]) -> Value {
    let of_parts = || {
        summaries
            .iter()
            .filter_map(|summary| summary["steps"].as_array())
            .flatten()
    };
    let mut names: Vec<(&Value, &Value)> = Vec::new();
    for name in of_parts().map(|step| (&step["group"], &step["step"])) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of_name = |(group, step): (&Value, &Value)| {
        let like = || of_parts().filter(|one| (&one["group"], &one["step"]) == (group, step));
        let timed = |measure: Measure| {
            milliseconds(&total(times, |timed| {
                (&timed.group, &timed.step) == (group, step) && timed.measure == measure.name()
            }))
        };
        let mut made = Map::from_iter([
            ("group".to_owned(), group.clone()),
            ("step".to_owned(), step.clone()),
        ]);
        made.extend(SUMS_OF_STEP.map(|name| (name.to_owned(), sum(like().map(|one| &one[name])))));
        made.insert("response_ms".to_owned(), timed(Measure::Response));
        made.insert("service_ms".to_owned(), timed(Measure::Service));
        Value::Object(made)
    };
    names.into_iter().map(of_name).collect()
}

/// How often each policy acted; all parts have the same policies.
fn policies(summaries: &[&Value]) -> Value {
    let first = summaries.first().and_then(|first| first["policies"].as_array());
    let places = first.into_iter().flatten().enumerate();
    let acted = |place: usize| sum(summaries.iter().map(move |one| &one["policies"][place]["acted"]));
    places
        .map(|(place, policy)| json!({"policy": policy["policy"], "acted": acted(place)}))
        .collect()
}

/// What the generators used: their sums, and where that says nothing, what the most loaded of them did.
fn generator(summaries: &[&Value]) -> Value {
    let all: Vec<&Value> = summaries.iter().map(|summary| &summary["generator"]).collect();
    let mut made = Map::new();
    for name in SUMS_OF_GENERATOR {
        made.insert(name.to_owned(), sum(all.iter().map(|one| &one[name])));
    }
    for name in ["cpu_share", "log_stalled_ms", "elapsed_s"] {
        made.insert(name.to_owned(), json!(most(&all, name)));
    }
    for name in ["niceness", "began_us", "descriptor_limit"] {
        made.insert(
            name.to_owned(),
            all.first().map_or(Value::Null, |first| first[name].clone()),
        );
    }
    made.insert("core".to_owned(), Value::Null);
    Value::Object(made)
}

/// The doubts of each generator, with its name, and those about what all have sent.
fn doubts(made: &[Made], summary: &Value) -> Vec<Value> {
    let named = |made: &Made| {
        let name = made.name();
        let own = made.summary["doubts"].as_array().cloned().unwrap_or_default();
        let own = own.into_iter().filter(|doubt| !is_of_the_whole(doubt));
        own.map(move |mut doubt| {
            doubt["message"] = json!(format!(
                "{name}: {}",
                doubt["message"].as_str().unwrap_or_default()
            ));
            doubt
        })
    };
    let count = |name: &str| summary[name].as_u64().unwrap_or(0);
    let calls = count("calls") + count("dropped") + count("rejected");
    let of_all = [
        few_calls(calls),
        never_good(calls, count("successes")),
        never_answered(count("requests"), answers(summary), failures(summary)),
    ];
    let of_all = of_all.into_iter().flatten().map(|doubt| doubt.to_json());
    made.iter().flat_map(named).chain(of_all).collect()
}

fn is_of_the_whole(doubt: &Value) -> bool {
    OF_THE_WHOLE.iter().any(|name| doubt["name"] == *name)
}

/// How many attempts of a summary were answered, whatever their status.
fn answers(summary: &Value) -> u64 {
    let statuses = summary["statuses"].as_object();
    statuses
        .into_iter()
        .flat_map(Map::values)
        .filter_map(Value::as_u64)
        .sum()
}

/// How often connections failed in each way. Nothing is known of it after a warm-up, whose failures are counted as well.
fn failures(summary: &Value) -> Vec<(Failure, u64)> {
    if summary["warm_up_rows"] != 0 {
        return Vec::new();
    }
    let count = |failure: Failure| summary["socket_errors"][failure.name()].as_u64().unwrap_or(0);
    Failure::ALL
        .into_iter()
        .map(|failure| (failure, count(failure)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator that has sent requests, of which some were answered; all others found nobody listening.
    fn sent(index: u64, requests: u64, answered: u64) -> Made {
        let refused = requests - answered;
        let own = never_answered(requests, answered, [(Failure::Refused, refused)]);
        let own: Vec<Value> = own.iter().map(crate::doubts::Doubt::to_json).collect();
        let summary = json!({
            "part": {"index": index, "of": 2}, "requests": requests, "calls": requests, "warm_up_rows": 0,
            "statuses": {"2xx": 0, "5xx": answered}, "socket_errors": {"refused": refused}, "doubts": own,
        });
        Made {
            summary,
            histograms: Vec::new(),
        }
    }

    fn never_answered_of(made: &[Made]) -> Vec<Value> {
        let doubts = united(made, &[])["doubts"].as_array().unwrap().clone();
        doubts
            .into_iter()
            .filter(|doubt| doubt["name"] == "never_answered")
            .collect()
    }

    #[test]
    fn that_nobody_ever_answered_is_said_of_the_requests_of_all_generators() {
        let found = never_answered_of(&[sent(0, 70, 0), sent(1, 50, 0)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["value"], 120.0);
        assert_eq!(
            found[0]["message"],
            "not one of 120 attempts was answered: 120 found nobody listening"
        );
        let mut warm = [sent(0, 70, 0), sent(1, 50, 0)];
        warm[1].summary["warm_up_rows"] = json!(3);
        assert_eq!(
            never_answered_of(&warm)[0]["message"],
            "not one of 120 attempts was answered"
        );
    }

    #[test]
    fn one_answer_to_any_generator_is_an_answer_and_one_that_sent_nothing_missed_none() {
        assert_eq!(
            never_answered_of(&[sent(0, 70, 0), sent(1, 50, 1)]),
            [json!(null); 0]
        );
        let found = never_answered_of(&[sent(0, 0, 0), sent(1, 50, 0)]);
        assert!(
            found[0]["message"].as_str().unwrap().contains("not one of 50 "),
            "{found:?}"
        );
    }
}
