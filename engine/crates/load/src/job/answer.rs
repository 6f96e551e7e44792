//! What is expected of answers, and what is kept of them.

use super::fields::{Node, all, status_range};
use crate::jar;
use crate::template::{Kind, Names, Typed};
use patternbench_wire::headers_of;
use regex::Regex;
use serde_json::Value;
use serde_json_path::JsonPath;

/// How much of a body is kept to look into it, unless a step says otherwise.
const KEPT_BODY: usize = 1 << 20;

/// What counts as success.
pub struct Expectation {
    statuses: Vec<(u16, u16)>,
    contains: Option<String>,
    matches: Option<Regex>,
    json: Vec<JsonExpectation>,
}

/// A value that must be in a JSON body, equal to another or just there.
struct JsonExpectation {
    /// The path as it was written.
    text: String,
    path: JsonPath,
    equals: Option<Value>,
    /// How many values there must be.
    count: Option<usize>,
}

impl Default for Expectation {
    fn default() -> Self {
        Self {
            statuses: vec![(200, 399)],
            contains: None,
            matches: None,
            json: Vec::new(),
        }
    }
}

/// A value that later steps want to know.
pub struct Capture {
    /// Its name in templates.
    pub name: String,
    /// Its place among the captured values.
    pub place: usize,
    source: Source,
    /// What it must be for the bodies that name it.
    kinds: Vec<Kind>,
}

enum Source {
    Json(JsonPath, Pick),
    Header(String),
    Regex(Regex),
    Cookie(String),
}

/// Which of several values is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    First,
    Random,
    /// All of them, as a list in JSON.
    All,
    /// The first, added to a list in JSON of those that earlier calls of the journey found.
    Each,
}

/// The items of a call, for studies that count items.
pub struct Items {
    /// How many.
    pub carried: u32,
    /// Where the answer tells of those that have failed.
    failed: Option<JsonPath>,
}

impl Items {
    /// How much of the body has to be kept to count those that have failed.
    pub fn body_needed(&self) -> usize {
        self.failed.as_ref().map_or(0, |_| KEPT_BODY)
    }

    /// How many have failed, as the answer tells; none where that can't be read.
    pub fn failed(&self, answer: &Kept<'_>) -> Option<u32> {
        let Some(path) = &self.failed else {
            return Some(0);
        };
        let body = serde_json::from_slice(answer.body).ok()?;
        let count = path.query(&body).len();
        Some(u32::try_from(count).unwrap_or(u32::MAX).min(self.carried))
    }
}

/// An answer as far as it was kept.
pub struct Kept<'a> {
    /// Its status.
    pub status: u16,
    /// Its head, when it was kept.
    pub head: &'a [u8],
    /// The beginning of its body, as much as was kept.
    pub body: &'a [u8],
}

impl Expectation {
    /// Whether a status is as expected.
    #[inline]
    pub fn allows(&self, status: u16) -> bool {
        self.statuses
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&status))
    }

    /// How much of the body has to be kept to judge it.
    pub fn body_needed(&self) -> usize {
        let looks = self.contains.is_some() || self.matches.is_some() || !self.json.is_empty();
        if looks { KEPT_BODY } else { 0 }
    }

    /// Whether the body is as expected.
    pub fn holds_for_body(&self, body: &[u8]) -> bool {
        if self.body_needed() == 0 {
            return true;
        }
        let text = String::from_utf8_lossy(body);
        self.contains
            .as_ref()
            .is_none_or(|part| text.contains(part.as_str()))
            && self.matches.as_ref().is_none_or(|regex| regex.is_match(&text))
            && self.holds_for_json(body)
    }

    fn holds_for_json(&self, body: &[u8]) -> bool {
        if self.json.is_empty() {
            return true;
        }
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return false;
        };
        self.json.iter().all(|wanted| wanted.holds(&value))
    }

    /// The first thing about an answer that is not as expected, in a sentence; `None` for a good answer.
    pub fn missed(&self, answer: &Kept<'_>) -> Option<String> {
        if !self.allows(answer.status) {
            return Some(format!("the status is {}, not {}", answer.status, self.allowed()));
        }
        let text = String::from_utf8_lossy(answer.body);
        if let Some(part) = self
            .contains
            .as_ref()
            .filter(|part| !text.contains(part.as_str()))
        {
            return Some(format!("the body doesn't contain {part:?}"));
        }
        if let Some(regex) = self.matches.as_ref().filter(|regex| !regex.is_match(&text)) {
            return Some(format!("the body doesn't match {regex}"));
        }
        self.missed_in_json(answer.body)
    }

    fn missed_in_json(&self, body: &[u8]) -> Option<String> {
        if self.json.is_empty() {
            return None;
        }
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => self.json.iter().find_map(|wanted| wanted.missed(&value)),
            Err(error) => Some(format!("the body is not JSON: {error}")),
        }
    }

    /// The statuses that are allowed, as a job says them.
    fn allowed(&self) -> String {
        let range = |(low, high): &(u16, u16)| match low == high {
            true => low.to_string(),
            false => format!("{low}-{high}"),
        };
        self.statuses.iter().map(range).collect::<Vec<_>>().join(", ")
    }
}

impl JsonExpectation {
    fn holds(&self, body: &Value) -> bool {
        if let Some(count) = self.count {
            return self.path.query(body).len() == count;
        }
        match (self.path.query(body).first(), &self.equals) {
            (Some(found), Some(wanted)) => found == wanted,
            (found, None) => found.is_some(),
            (None, Some(_)) => false,
        }
    }

    fn missed(&self, body: &Value) -> Option<String> {
        if self.holds(body) {
            return None;
        }
        let path = &self.text;
        if let Some(count) = self.count {
            let times = self.path.query(body).len();
            return Some(format!("{path} occurs {times} times, not {count}"));
        }
        Some(match (self.path.query(body).first(), &self.equals) {
            (Some(found), Some(wanted)) => format!("{path} is {found}, not {wanted}"),
            _ => format!("{path} is not in the body"),
        })
    }
}

impl Capture {
    /// How much of the body has to be kept to find it.
    pub fn body_needed(&self) -> usize {
        if matches!(self.source, Source::Json(..) | Source::Regex(_)) {
            KEPT_BODY
        } else {
            0
        }
    }

    /// Notes the kinds that bodies want of it.
    pub fn demand(&mut self, typed: &[(Typed, Kind)]) {
        let of_this = typed
            .iter()
            .filter(|(typed, _)| *typed == Typed::Captured(self.place));
        self.kinds = of_this.map(|(_, kind)| *kind).collect();
    }

    /// The value, when the answer has it, and it is of the kinds that bodies want.
    /// `draw` decides where one of several is picked.
    pub fn find(&self, answer: &Kept<'_>, draw: u64) -> Option<String> {
        self.found(answer, draw)
            .filter(|value| self.kinds.iter().all(|kind| kind.fits(value)))
    }

    /// Keeps a found value: in place of an earlier one, or after those of earlier calls.
    pub fn keep(&self, value: String, kept: &mut String) {
        let continues = matches!(self.source, Source::Json(_, Pick::Each)) && kept.len() > "[]".len();
        if continues && kept.starts_with('[') {
            // Both are lists in JSON: the new one, which has a single entry, continues the other.
            kept.truncate(kept.len() - 1);
            kept.push(',');
            kept.push_str(&value[1..]);
        } else {
            *kept = value;
        }
    }

    /// Why the answer has no such value, in a sentence; `None` where it has one.
    pub fn missed(&self, answer: &Kept<'_>, draw: u64) -> Option<String> {
        let name = &self.name;
        match self.found(answer, draw) {
            None => Some(format!("nothing to capture as {name}")),
            Some(value) => {
                let kind = self.kinds.iter().find(|kind| !kind.fits(&value))?;
                Some(format!("what {name} captures: {}", kind.misfit(&value)))
            }
        }
    }

    fn found(&self, answer: &Kept<'_>, draw: u64) -> Option<String> {
        match &self.source {
            Source::Json(path, pick) => {
                let body = serde_json::from_slice(answer.body).ok()?;
                picked(&path.query(&body).all(), *pick, mixed(draw, self.place))
            }
            Source::Regex(regex) => {
                let text = String::from_utf8_lossy(answer.body);
                let captures = regex.captures(&text)?;
                captures
                    .get(1)
                    .or_else(|| captures.get(0))
                    .map(|found| found.as_str().to_owned())
            }
            Source::Header(name) => header(answer.head, name),
            Source::Cookie(name) => jar::value(answer.head, name),
        }
    }
}

/// What is picked of the values that a path finds.
fn picked(values: &[&Value], pick: Pick, draw: u64) -> Option<String> {
    match pick {
        Pick::First => json_text(values.first()?),
        Pick::Random => json_text(values.get((draw % values.len().max(1) as u64) as usize)?),
        Pick::All => serde_json::to_string(values).ok(),
        Pick::Each => serde_json::to_string(&[values.iter().find(|value| !value.is_null())?]).ok(),
    }
}

/// Its own number for each capture of a call, by the finaliser of SplitMix64 (Steele and others, 2014).
fn mixed(draw: u64, place: usize) -> u64 {
    let mut bits = draw.wrapping_add((place as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

fn json_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn header(head: &[u8], name: &str) -> Option<String> {
    let found = headers_of(head)
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned())
}

pub fn expectation(node: &Node<'_>) -> Option<Expectation> {
    let object = node.object(&["statuses", "body_contains", "body_matches", "json"])?;
    let statuses = object.or("statuses", vec![(200, 399)], |node| {
        all(node.list()?.iter().map(statuses))
    });
    let contains = object.maybe("body_contains", |node| node.text().map(str::to_owned));
    let matches = object.maybe("body_matches", regex);
    let json = object.or("json", Vec::new(), |node| {
        all(node.list()?.iter().map(json_expectation))
    });
    Some(Expectation {
        statuses: statuses?,
        contains: contains?,
        matches: matches?,
        json: json?,
    })
}

fn json_expectation(node: &Node<'_>) -> Option<JsonExpectation> {
    let object = node.object(&["path", "equals", "count"])?;
    if let (Some(node), Some(_)) = (object.get("count"), object.get("equals")) {
        node.wrong("either equals or count", "a path has one expectation");
    }
    let count = object.maybe("count", |node| node.whole(0..=1_000_000));
    let node = object.require("path")?;
    Some(JsonExpectation {
        text: node.text()?.to_owned(),
        path: json_path(&node)?,
        equals: object.get("equals").map(|node| node.value.clone()),
        count: count?.and_then(|count| usize::try_from(count).ok()),
    })
}

/// A status, or a range of them as `"200-399"`.
fn statuses(node: &Node<'_>) -> Option<(u16, u16)> {
    let range = status_range(node.value);
    if range.is_none() {
        node.wrong(
            "a status from 100 to 999, or a range as \"200-399\"",
            "is not a status",
        );
    }
    range
}

fn regex(node: &Node<'_>) -> Option<Regex> {
    match Regex::new(node.text()?) {
        Ok(regex) => Some(regex),
        Err(error) => {
            let reason = error.to_string();
            node.wrong("a regular expression", reason.lines().last().unwrap_or_default());
            None
        }
    }
}

fn json_path(node: &Node<'_>) -> Option<JsonPath> {
    match JsonPath::parse(node.text()?) {
        Ok(path) => Some(path),
        Err(error) => {
            node.wrong("a JSONPath as $.order.id (RFC 9535)", error.to_string());
            None
        }
    }
}

/// What a call carries.
pub fn items(node: &Node<'_>) -> Option<Items> {
    let object = node.object(&["carried", "failed"])?;
    let carried = object.need("carried", |node| node.whole(1..=1_000_000));
    let failed = object.maybe("failed", json_path);
    Some(Items {
        carried: u32::try_from(carried?).ok()?,
        failed: failed?,
    })
}

/// The captures of a step, whose names later steps may use.
pub fn captures(node: &Node<'_>, names: &mut Names) -> Option<Vec<Capture>> {
    all(node
        .entries()?
        .into_iter()
        .map(|(name, node)| capture(&name, &node, names)))
}

/// The place of a captured value in an answer.
fn source(node: &Node<'_>) -> Option<Source> {
    const PLACES: [&str; 4] = ["json", "header", "regex", "cookie"];
    let fields = [&PLACES[..], &["pick"]].concat();
    let object = node.object(&fields)?;
    let given: Vec<_> = PLACES
        .into_iter()
        .filter_map(|key| Some((key, object.get(key)?)))
        .collect();
    let [(kind, place)] = &given[..] else {
        // Unknown fields have been reported already.
        let mut names = node.value.as_object().into_iter().flat_map(|map| map.keys());
        if names.all(|name| fields.contains(&name.as_str())) {
            let allowed = format!("an object with one of {}", PLACES.join(", "));
            node.wrong(allowed, "exactly one must be chosen");
        }
        return None;
    };
    if let Some(pick) = object.get("pick").filter(|_| *kind != "json") {
        pick.wrong("pick with json", "only a JSONPath finds several values");
    }
    let known = [
        ("first", Pick::First),
        ("random", Pick::Random),
        ("all", Pick::All),
        ("each", Pick::Each),
    ];
    let pick = object.or("pick", Pick::First, |node| node.one_of(&known))?;
    Some(match *kind {
        "json" => Source::Json(json_path(place)?, pick),
        "header" => Source::Header(place.text()?.to_owned()),
        "regex" => Source::Regex(regex(place)?),
        _ => Source::Cookie(place.text()?.to_owned()),
    })
}

fn capture(name: &str, node: &Node<'_>, names: &mut Names) -> Option<Capture> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let taken = ["user", "call", "uuid"].contains(&name)
        || names
            .constants
            .iter()
            .chain(&names.values)
            .any(|(known, _)| known == name)
        || names.lists.iter().any(|(known, _)| known == name);
    if name.is_empty() || !name.bytes().all(plain) || taken {
        node.wrong(
            "letters, digits and _, but not a reserved name",
            format!("{name} can't be the name of a captured value"),
        );
        return None;
    }
    let source = source(node)?;
    let known = names.captured.iter().position(|known| known == name);
    let place = known.unwrap_or_else(|| {
        names.captured.push(name.to_owned());
        names.captured.len() - 1
    });
    Some(Capture {
        name: name.to_owned(),
        place,
        source,
        kinds: Vec::new(),
    })
}
