//! Reads JSON objects field by field and notes every problem on the way, so that all are told at once.

use serde_json::{Map, Value, json};
use std::cell::RefCell;

/// Something in a round that the client cannot do.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where, as in `strategy.retry.max_attempts`; empty for the whole.
    pub path: String,
    /// What stands there; null when it is missing.
    pub value: Value,
    /// What is wrong with it.
    pub message: String,
    /// What may stand there.
    pub allowed: String,
}

impl Problem {
    /// As the contract has it.
    pub fn to_json(&self) -> Value {
        json!({"path": self.path, "value": self.value, "message": self.message, "allowed": self.allowed})
    }
}

/// Where problems are noted while a round is read.
#[derive(Debug, Default)]
pub struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    /// Notes one.
    pub fn note(&self, path: &str, value: &Value, message: &str, allowed: &str) {
        let problem = Problem {
            path: path.into(),
            value: value.clone(),
            message: message.into(),
            allowed: allowed.into(),
        };
        self.0.borrow_mut().push(problem);
    }

    /// All that were noted.
    pub fn into_vec(self) -> Vec<Problem> {
        self.0.into_inner()
    }
}

/// A JSON object that is being read. Every field is asked for once; [`Fields::end`] refuses the others.
pub struct Fields<'a> {
    path: String,
    object: &'a Map<String, Value>,
    known: RefCell<Vec<&'static str>>,
    problems: &'a Problems,
}

impl<'a> Fields<'a> {
    /// Reads `value` at `path`, if it is an object.
    pub fn of(path: &str, value: &'a Value, problems: &'a Problems) -> Option<Self> {
        let Some(object) = value.as_object() else {
            problems.note(path, value, "is not an object", "a JSON object");
            return None;
        };
        Some(Self {
            path: path.into(),
            object,
            known: RefCell::default(),
            problems,
        })
    }

    /// The field as `read` makes it; notes a problem when it is missing or `read` gives nothing.
    pub fn get<T>(
        &self,
        name: &'static str,
        allowed: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.raw(name, allowed)?;
        let found = read(value);
        if found.is_none() {
            self.note(name, value, "is not allowed", allowed);
        }
        found
    }

    /// A whole number within bounds.
    pub fn whole(&self, name: &'static str, least: u64, most: u64) -> Option<u64> {
        self.get(name, &whole_numbers(least, most), |value| {
            whole(value, least, most)
        })
    }

    /// A whole number within bounds, or null.
    pub fn whole_or_null(&self, name: &'static str, least: u64, most: u64) -> Option<Option<u64>> {
        let allowed = format!("null, or {}", whole_numbers(least, most));
        self.get(name, &allowed, |value| match value {
            Value::Null => Some(None),
            value => whole(value, least, most).map(Some),
        })
    }

    /// A percentage above 0.
    pub fn percent(&self, name: &'static str) -> Option<f64> {
        let within = |value: &f64| *value > 0.0 && *value <= 100.0;
        self.get(name, "a number above 0 and at most 100, in percent", |value| {
            value.as_f64().filter(within)
        })
    }

    /// An object inside this one.
    pub fn object(&self, name: &'static str) -> Option<Fields<'a>> {
        let value = self.raw(name, "a JSON object")?;
        Fields::of(&self.at(name), value, self.problems)
    }

    /// An object inside this one, or null.
    pub fn object_or_null(&self, name: &'static str) -> Option<Option<Fields<'a>>> {
        match self.raw(name, "null, or a JSON object")? {
            Value::Null => Some(None),
            value => Fields::of(&self.at(name), value, self.problems).map(Some),
        }
    }

    /// The only field that there is, which must have one of these names.
    pub fn choice(&self, names: &[&'static str]) -> Option<&'static str> {
        self.known.borrow_mut().extend(names);
        let present: Vec<_> = names
            .iter()
            .copied()
            .filter(|name| self.object.contains_key(*name))
            .collect();
        if let [only] = present[..] {
            return Some(only);
        }
        let message = format!("names {} of its choices", present.len());
        let whole = Value::Object(self.object.clone());
        self.problems.note(
            &self.path,
            &whole,
            &message,
            &format!("exactly one of {}", names.join(", ")),
        );
        None
    }

    /// The object in a field that [`Fields::choice`] has named.
    pub fn inside(&self, name: &'static str) -> Option<Fields<'a>> {
        Fields::of(&self.at(name), self.object.get(name)?, self.problems)
    }

    /// All fields, for an object whose names are free.
    pub fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object.iter()
    }

    /// Notes a problem with one of the fields.
    pub fn note(&self, name: &str, value: &Value, message: &str, allowed: &str) {
        self.problems.note(&self.at(name), value, message, allowed);
    }

    /// Refuses the fields that nobody has asked for.
    pub fn end(self) {
        let known = self.known.borrow();
        let allowed = if known.is_empty() {
            "no field".into()
        } else {
            format!("one of {}", known.join(", "))
        };
        for (name, value) in self
            .object
            .iter()
            .filter(|(name, _)| !known.contains(&name.as_str()))
        {
            self.note(name, value, "unknown field", &allowed);
        }
    }

    fn raw(&self, name: &'static str, allowed: &str) -> Option<&'a Value> {
        self.known.borrow_mut().push(name);
        let value = self.object.get(name);
        if value.is_none() {
            self.note(name, &Value::Null, "is required", allowed);
        }
        value
    }

    fn at(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.into()
        } else {
            format!("{}.{name}", self.path)
        }
    }
}

fn whole_numbers(least: u64, most: u64) -> String {
    if most == u64::MAX {
        return format!("a whole number of at least {least}");
    }
    format!("a whole number from {least} to {most}")
}

/// 3 and 3.0 are the same whole number, as in JSON Schema.
fn whole(value: &Value, least: u64, most: u64) -> Option<u64> {
    const EXACT: f64 = (1u64 << 53) as f64;
    let float = || {
        value
            .as_f64()
            .filter(|f| f.fract() == 0.0 && (0.0..EXACT).contains(f))
            .map(|f| f as u64)
    };
    value
        .as_u64()
        .or_else(float)
        .filter(|n| (least..=most).contains(n))
}
