//! Reading JSON so that everything that is wrong with it is listed at once.

use crate::units::Nanos;
use patternbench_schedule::Problem;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The longest time that is accepted, in microseconds: thirty days.
pub const LONGEST_US: u64 = 30 * 24 * 3600 * 1_000_000;
/// How many entries a list may have.
const MANY: usize = 1000;

/// Where problems are collected.
#[derive(Default)]
pub struct Problems {
    list: RefCell<Vec<Problem>>,
    /// Whether every field must be there, as nothing has a default.
    complete: bool,
}

impl Problems {
    /// Of a document in which every field must be there, though some may be null.
    pub fn of_complete() -> Self {
        Self {
            complete: true,
            ..Self::default()
        }
    }

    /// Adds a problem.
    pub fn add(&self, problem: Problem) {
        self.list.borrow_mut().push(problem);
    }

    /// All that were added.
    pub fn into_list(self) -> Vec<Problem> {
        self.list.into_inner()
    }
}

/// A value and its path.
#[derive(Clone)]
pub struct Node<'a> {
    /// The value.
    pub value: &'a Value,
    /// Its path from the outermost value.
    pub path: String,
    problems: &'a Problems,
}

/// An object all of whose keys are known.
pub struct Object<'a> {
    map: &'a Map<String, Value>,
    path: String,
    problems: &'a Problems,
}

impl<'a> Node<'a> {
    /// The outermost value.
    pub fn root(value: &'a Value, problems: &'a Problems) -> Self {
        Self {
            value,
            path: String::new(),
            problems,
        }
    }

    /// Notes that this value is wrong.
    pub fn wrong(&self, allowed: impl Into<String>, message: impl Into<String>) {
        self.problems.add(Problem::new(
            self.path.clone(),
            shown(self.value),
            allowed,
            message,
        ));
    }

    /// Notes that this value is not what is allowed.
    fn outside(&self, allowed: &str) {
        self.wrong(allowed, format!("is not {allowed}"));
    }

    /// Notes problems of something that was made from this value.
    pub fn adopt(&self, problems: Vec<Problem>) {
        problems
            .into_iter()
            .for_each(|problem| self.problems.add(problem.under(&self.path)));
    }

    /// An object that has none but these keys.
    pub fn object(&self, known: &[&str]) -> Option<Object<'a>> {
        let Value::Object(map) = self.value else {
            self.wrong(format!("an object with {}", known.join(", ")), "is not an object");
            return None;
        };
        for (key, value) in map.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let path = join(&self.path, key);
            self.problems.add(Problem::new(
                path,
                shown(value),
                one_of(known),
                "is not a field here",
            ));
        }
        Some(Object {
            map,
            path: self.path.clone(),
            problems: self.problems,
        })
    }

    /// An object with exactly one key, out of these: which one, and its value.
    pub fn choice(&self, known: &[&'static str]) -> Option<(&'static str, Node<'a>)> {
        let entries = self.object(known)?.map;
        let chosen: Vec<_> = known.iter().filter(|name| entries.contains_key(**name)).collect();
        let [name] = chosen[..] else {
            // Unknown fields have been reported already.
            if entries.len() == chosen.len() {
                let allowed = format!("an object with one of {}", known.join(", "));
                self.wrong(allowed, "exactly one must be chosen");
            }
            return None;
        };
        let value = &entries[*name];
        let path = join(&self.path, name);
        let problems = self.problems;
        (entries.len() == 1).then_some((
            name,
            Node {
                value,
                path,
                problems,
            },
        ))
    }

    /// A list of at least one value.
    pub fn list(&self) -> Option<Vec<Node<'a>>> {
        match self.value {
            Value::Array(values) if !values.is_empty() => {
                let node = |(index, value)| Node {
                    value,
                    path: format!("{}[{index}]", self.path),
                    problems: self.problems,
                };
                Some(values.iter().enumerate().map(node).collect())
            }
            Value::Array(_) => {
                self.wrong("a list with at least one entry", "is an empty list");
                None
            }
            _ => {
                self.wrong("a list with at least one entry", "is not a list");
                None
            }
        }
    }

    /// A whole number within a range.
    pub fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let number = whole(self.value).filter(|number| range.contains(number));
        if number.is_none() {
            self.outside(&within(&range, "a whole number"));
        }
        number
    }

    /// A number. Its user checks its range.
    pub fn number(&self) -> Option<f64> {
        let number = self.value.as_f64();
        if number.is_none() {
            self.wrong("a number", "is not a number");
        }
        number
    }

    /// A number within a range.
    pub fn number_within(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number = self.value.as_f64().filter(|number| range.contains(number));
        if number.is_none() {
            self.outside(&within(&range, "a number"));
        }
        number
    }

    /// A text.
    pub fn text(&self) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            self.wrong("a text", "is not a text");
        }
        text
    }

    /// Yes or no.
    pub fn flag(&self) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            self.wrong("true or false", "is neither");
        }
        flag
    }

    /// One of some texts, with its meaning.
    pub fn one_of<T: Clone>(&self, known: &[(&str, T)]) -> Option<T> {
        let found = self
            .value
            .as_str()
            .and_then(|text| known.iter().find(|(name, _)| *name == text));
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.wrong(names.join(", "), "is not one of them");
        }
        found.map(|(_, meaning)| meaning.clone())
    }

    /// Names and values, in their order.
    pub fn entries(&self) -> Option<Vec<(String, Node<'a>)>> {
        let Value::Object(map) = self.value else {
            self.wrong("an object", "is not an object");
            return None;
        };
        let node = |(key, value): (&String, &'a Value)| {
            (
                key.clone(),
                Node {
                    value,
                    path: join(&self.path, key),
                    problems: self.problems,
                },
            )
        };
        Some(map.iter().map(node).collect())
    }

    /// Names and texts, in their order.
    pub fn texts(&self) -> Option<Vec<(String, Node<'a>)>> {
        let entries = self.entries()?;
        // All are looked at, so that all that are wrong are listed.
        let wrong = entries.iter().filter(|(_, node)| node.text().is_none()).count();
        (wrong == 0).then_some(entries)
    }
}

impl<'a> Object<'a> {
    /// The value of a field that may be missing or null.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        Some(Node {
            value,
            path: join(&self.path, key),
            problems: self.problems,
        })
    }

    /// The value of a field that must be there.
    pub fn require(&self, key: &str) -> Option<Node<'a>> {
        let node = self.get(key);
        if node.is_none() {
            self.missing(key);
        }
        node
    }

    /// The value of a field that must be there, as `read` reads it.
    pub fn need<T>(&self, key: &str, read: impl FnOnce(&Node<'a>) -> Option<T>) -> Option<T> {
        self.require(key).and_then(|node| read(&node))
    }

    /// The value of a field as `read` reads it, or a default when it is missing; `None` when it is wrong.
    pub fn or<T>(&self, key: &str, default: T, read: impl FnOnce(&Node<'a>) -> Option<T>) -> Option<T> {
        if self.problems.complete {
            return self.need(key, read);
        }
        self.get(key).map_or(Some(default), |node| read(&node))
    }

    /// A field that may be missing or null, as `read` reads it; the outer `None` when it is wrong.
    pub fn maybe<T>(&self, key: &str, read: impl FnOnce(&Node<'a>) -> Option<T>) -> Option<Option<T>> {
        if self.problems.complete && !self.map.contains_key(key) {
            self.missing(key);
            return None;
        }
        self.get(key).map_or(Some(None), |node| read(&node).map(Some))
    }

    fn missing(&self, key: &str) {
        let (path, message) = (join(&self.path, key), format!("{key} is missing"));
        let value = self.map.get(key).map_or_else(|| "nothing".to_owned(), shown);
        self.problems.add(Problem::new(path, value, "a value", message));
    }
}

/// A list that is not too long.
pub fn few<'a>(node: &Node<'a>) -> Option<Vec<Node<'a>>> {
    let nodes = node.list()?;
    if nodes.len() > MANY {
        node.wrong(
            format!("at most {MANY} entries"),
            format!("there are {}", nodes.len()),
        );
        return None;
    }
    Some(nodes)
}

/// A length of time in microseconds, possibly zero.
pub fn time_us(node: &Node<'_>) -> Option<u64> {
    node.whole(0..=LONGEST_US)
}

/// A length of time in microseconds above zero.
pub fn positive_us(node: &Node<'_>) -> Option<u64> {
    node.whole(1..=LONGEST_US)
}

/// A length of time in microseconds, possibly zero, as nanoseconds.
pub fn time(node: &Node<'_>) -> Option<Nanos> {
    time_us(node).map(|us| us * 1000)
}

/// A length of time in microseconds above zero, as nanoseconds.
pub fn positive_time(node: &Node<'_>) -> Option<Nanos> {
    positive_us(node).map(|us| us * 1000)
}

/// The first and the last status of a range, or one status twice.
pub fn status_range(value: &Value) -> Option<(u16, u16)> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (low, high) = text.split_once('-').unwrap_or((&text, &text));
    let status = |text: &str| {
        text.trim()
            .parse()
            .ok()
            .filter(|status| (100..=999).contains(status))
    };
    let range = (status(low)?, status(high)?);
    (range.0 <= range.1).then_some(range)
}

/// Everything that was read, when all of it could be; nothing is left unread, so that all that is wrong is listed.
pub fn all<T>(read: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = read.collect();
    read.into_iter().collect()
}

/// A whole number; 3 and 3.0 are the same one, as in JSON Schema.
fn whole(value: &Value) -> Option<u64> {
    const EXACT: f64 = (1u64 << 53) as f64;
    let float = || {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..EXACT).contains(&number)).then_some(number as u64)
    };
    value.as_u64().or_else(float)
}

/// The names of fields as what is allowed instead of another.
fn one_of(known: &[&str]) -> String {
    if known.is_empty() {
        return "no field".to_owned();
    }
    known.join(", ")
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn within<T: Display + PartialEq>(range: &RangeInclusive<T>, what: &str) -> String {
    format!("{what} from {} to {}", range.start(), range.end())
}

/// A value as it is shown in an error: short.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        text
    } else {
        format!("{}...", text.chars().take(57).collect::<String>())
    }
}
