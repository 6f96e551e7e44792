//! Reading JSON so that everything that is wrong with it is listed at once.

use patternbench_schedule::Problem;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Where problems are collected.
#[derive(Default)]
pub struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    /// Adds a problem.
    pub fn add(&self, problem: Problem) {
        self.0.borrow_mut().push(problem);
    }

    /// All that were added.
    pub fn into_list(self) -> Vec<Problem> {
        self.0.into_inner()
    }

    /// How many there are so far.
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }
}

/// A value, and where it stands.
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

    /// Notes problems of something that was made from this value.
    pub fn adopt(&self, problems: Vec<Problem>) {
        problems
            .into_iter()
            .for_each(|problem| self.problems.add(problem.under(&self.path)));
    }

    /// An object that has none but these keys.
    pub fn object(&self, known: &[&str]) -> Option<Object<'a>> {
        let Value::Object(map) = self.value else {
            self.wrong(
                format!("an object with {}", known.join(", ")),
                "this is no object",
            );
            return None;
        };
        for (key, value) in map.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let path = join(&self.path, key);
            self.problems.add(Problem::new(
                path,
                shown(value),
                known.join(", "),
                "no field has this name here",
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
        let allowed = format!("an object with one of {}", known.join(", "));
        let Value::Object(map) = self.value else {
            self.wrong(allowed, "this is no object");
            return None;
        };
        let chosen = map.iter().next().filter(|_| map.len() == 1);
        let Some((key, value)) = chosen else {
            self.wrong(allowed, "exactly one must be chosen");
            return None;
        };
        let Some(name) = known.iter().find(|name| *name == key) else {
            self.wrong(allowed, format!("there is no {key} here"));
            return None;
        };
        Some((
            name,
            Node {
                value,
                path: join(&self.path, key),
                problems: self.problems,
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
                self.wrong("a list with at least one entry", "the list is empty");
                None
            }
            _ => {
                self.wrong("a list with at least one entry", "this is no list");
                None
            }
        }
    }

    /// A whole number within a range.
    pub fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let number = self.value.as_u64().filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(within(&range, "a whole number"), "this is no such number");
        }
        number
    }

    /// A number; what it may be is checked by whoever uses it.
    pub fn number(&self) -> Option<f64> {
        let number = self.value.as_f64();
        if number.is_none() {
            self.wrong("a number", "this is no number");
        }
        number
    }

    /// A number within a range.
    pub fn number_within(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number = self.value.as_f64().filter(|number| range.contains(number));
        if number.is_none() {
            self.wrong(within(&range, "a number"), "this is no such number");
        }
        number
    }

    /// A text.
    pub fn text(&self) -> Option<&'a str> {
        let text = self.value.as_str();
        if text.is_none() {
            self.wrong("a text", "this is no text");
        }
        text
    }

    /// Yes or no.
    pub fn flag(&self) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            self.wrong("true or false", "this is neither");
        }
        flag
    }

    /// One of some texts, with what it stands for.
    pub fn one_of<T: Clone>(&self, known: &[(&str, T)]) -> Option<T> {
        let found = self
            .value
            .as_str()
            .and_then(|text| known.iter().find(|(name, _)| *name == text));
        if found.is_none() {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.wrong(names.join(", "), "this is none of them");
        }
        found.map(|(_, meaning)| meaning.clone())
    }

    /// Names and values, in their order.
    pub fn entries(&self) -> Option<Vec<(String, Node<'a>)>> {
        let Value::Object(map) = self.value else {
            self.wrong("an object", "this is no object");
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
            let path = join(&self.path, key);
            self.problems.add(Problem::new(
                path,
                "nothing",
                "a value",
                format!("{key} is missing"),
            ));
        }
        node
    }

    /// The value of a field as `read` reads it, or a default when it is missing; `None` when it is wrong.
    pub fn or<T>(&self, key: &str, default: T, read: impl FnOnce(&Node<'a>) -> Option<T>) -> Option<T> {
        self.get(key).map_or(Some(default), |node| read(&node))
    }

    /// A field that may be missing, as `read` reads it; the outer `None` when it is wrong.
    pub fn maybe<T>(&self, key: &str, read: impl FnOnce(&Node<'a>) -> Option<T>) -> Option<Option<T>> {
        self.get(key).map_or(Some(None), |node| read(&node).map(Some))
    }
}

/// Everything that was read, when all of it could be; nothing is left unread, so that all that is wrong is listed.
pub fn all<T>(read: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = read.collect();
    read.into_iter().collect()
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
