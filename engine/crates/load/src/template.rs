//! Texts with places that are filled in for every call: `${user}`, `${random:1-100}`, `${feed.name}`, `${captured}`.

use patternbench_schedule::Part;
use rand_core::Rng;
use std::fmt::Write as _;

/// What templates may name.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Constants of the job, which are put into a text as they are.
    pub constants: Vec<(String, String)>,
    /// Values of the job, which are escaped for their place.
    pub values: Vec<(String, String)>,
    /// Columns of the group's feeder.
    pub columns: Vec<String>,
    /// Values that steps capture; a template may name those of the steps before it.
    pub captured: Vec<String>,
    /// Counters, in the order in which they were first named; they are the round's, not a user's.
    pub counters: Vec<String>,
    /// What templates want to be more than a text, by its place among the columns or the captured values.
    pub typed: Vec<(Typed, Kind)>,
    /// Lists of entries that are filled in one by one.
    pub lists: Vec<(String, Listing)>,
    /// Whether `${item}` is known: in the entries of a list, and in a step for each of several values.
    pub item: bool,
}

/// A list whose entries are filled in one by one.
#[derive(Debug, Clone)]
pub struct Listing {
    /// How many there are.
    pub entries: Entries,
    /// An entry: a text or any JSON, with `${item}`.
    pub of: serde_json::Value,
    /// The separator of entries that aren't JSON.
    pub separator: String,
}

/// How many entries a list has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entries {
    /// This many; `${item}` is the number of the entry, from 0.
    Count(u64),
    /// One per value of the list that was captured under this name, up to a number.
    Each(String, usize),
}

/// A value that is known only later and must then be of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// A column of the feeder.
    Column(usize),
    /// A captured value.
    Captured(usize),
}

impl Typed {
    /// The column, when it is one.
    #[must_use]
    pub fn column(self) -> Option<usize> {
        match self {
            Self::Column(index) => Some(index),
            Self::Captured(_) => None,
        }
    }
}

/// What a value in a JSON body is, when it is not a text: `"${price|number}"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// Any JSON: a number, true or false, null, an object, a list, or a text with its quotes.
    Json,
    /// A list in JSON.
    List,
}

impl Kind {
    /// Those that a place may say.
    const SAID: [Self; 2] = [Self::Number, Self::Json];

    /// As it is written after the bar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Json => "json",
            Self::List => "list",
        }
    }

    /// Whether a text is such a value.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        let value: Result<serde_json::Value, _> = serde_json::from_str(text);
        value.is_ok_and(|value| match self {
            Self::Number => value.is_number(),
            Self::Json => true,
            Self::List => value.is_array(),
        })
    }

    /// What is wrong with any other text.
    #[must_use]
    pub fn misfit(self, text: &str) -> String {
        let what = match self {
            Self::Number => "a number",
            Self::Json => "JSON",
            Self::List => "a list",
        };
        format!("{text:?} is not {what}")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// What the request itself says, in the syntax of its place.
    Text(String),
    /// A value of the job.
    Value(String),
    /// What the job itself says in a value of a query or a form, or in an entry of a list: escaped for its place too.
    Written(String),
    User,
    Call,
    Counter(usize),
    /// A counter that goes round a range: the counter, the lowest number, how many there are.
    Cycle(usize, u64, u64),
    Random(u64, u64),
    /// The present entry of a list.
    Item,
    List(Box<Filled>),
    Uuid,
    Column(usize),
    Captured(usize),
    /// A value of JSON, without quotes around it.
    Typed(Box<Piece>, Kind),
}

/// A list as a template has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Filled {
    entries: Known,
    of: Template,
    /// The separator of the entries; none if they are a list in JSON.
    separator: Option<String>,
}

/// How many entries there are, or where the list of them was captured and how many are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    Count(u64),
    Captured(usize, usize),
}

/// A text with places to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

/// How a value is written so that it can't break out of its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// As it is.
    Raw,
    /// In a path: what no URL may contain is percent-encoded; slashes and the like are kept, and so is `%XX`.
    Path,
    /// As one value of a query: everything but letters, digits and `-._~` is percent-encoded. A `%XX` that the request
    /// itself says is kept; in a value that is put into it, it is three characters of the value.
    Query,
    /// As one value of a form: all but letters, digits and `-._~` is percent-encoded.
    Form,
    /// Inside a JSON string.
    Json,
    /// In a header line: control characters are left out.
    Header,
}

/// The counters of a round. Where the load is split they count for all: no two generators come to one number.
#[derive(Debug, Default)]
pub struct Counters {
    taken: Vec<u64>,
    part: Part,
}

impl Counters {
    /// As many counters, all at the beginning.
    #[must_use]
    pub fn new(count: usize, part: Part) -> Self {
        Self {
            taken: vec![0; count],
            part,
        }
    }

    /// The next number of a counter.
    fn take(&mut self, counter: usize) -> u64 {
        let taken = &mut self.taken[counter];
        *taken += 1;
        self.part.turn(*taken - 1)
    }
}

/// What places are filled with.
pub struct Values<'a, R> {
    /// The virtual user.
    pub user: u32,
    /// The number of the user's call.
    pub call: u32,
    /// The round's counters.
    pub counters: &'a mut Counters,
    /// The feeder's present line.
    pub columns: &'a [String],
    /// What this user has captured.
    pub captured: &'a [String],
    /// The present one of several values.
    pub item: &'a str,
    /// Where random values come from.
    pub random: &'a mut R,
}

impl Template {
    /// A text in which nothing is a place.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    /// Parses a text; `$${` is the escape of `${` itself.
    ///
    /// # Errors
    /// What is wrong, in a sentence: an unknown name, a place without an end.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                push(&mut pieces, &rest[..at - 1]);
                push(&mut pieces, "${");
                rest = &rest[at + 2..];
                continue;
            }
            push(&mut pieces, &rest[..at]);
            let inside = &rest[at + 2..];
            let end = inside
                .find('}')
                .ok_or("a place begins with ${ and has no } at its end")?;
            match named(&inside[..end], names)? {
                Piece::Text(constant) => push(&mut pieces, &constant),
                piece => pieces.push(piece),
            }
            rest = &inside[end + 1..];
        }
        push(&mut pieces, rest);
        Ok(Self(pieces))
    }

    /// Parses a text that is itself a value, so that its own characters are escaped for the place that it is put into.
    ///
    /// # Errors
    /// As for [`Template::parse`].
    pub fn value(text: &str, names: &mut Names) -> Result<Self, String> {
        let written = |piece| match piece {
            Piece::Text(text) => Piece::Written(text),
            piece => piece,
        };
        Self::parse(text, names).map(|parsed| Self(parsed.0.into_iter().map(written).collect()))
    }

    /// JSON with placeholders in its strings. A string of a single typed one, as `"${price|number}"`, becomes that
    /// value.
    ///
    /// # Errors
    /// As for [`Template::parse`], and what is known to be of another kind.
    pub fn json(value: &serde_json::Value, names: &mut Names) -> Result<Self, String> {
        let mut template = Self(Vec::new());
        template.add_json(value, names)?;
        Ok(template)
    }

    fn add_json(&mut self, value: &serde_json::Value, names: &mut Names) -> Result<(), String> {
        match value {
            serde_json::Value::Array(list) => {
                for (joint, inner) in joints("[").zip(list) {
                    push(&mut self.0, joint);
                    self.add_json(inner, names)?;
                }
                push(&mut self.0, if list.is_empty() { "[]" } else { "]" });
            }
            serde_json::Value::Object(map) => {
                for (joint, (key, inner)) in joints("{").zip(map) {
                    push(&mut self.0, joint);
                    self.add(Self::parse(
                        &serde_json::Value::from(key.as_str()).to_string(),
                        names,
                    )?);
                    push(&mut self.0, ":");
                    self.add_json(inner, names)?;
                }
                push(&mut self.0, if map.is_empty() { "{}" } else { "}" });
            }
            serde_json::Value::String(text) => match typed(text, names)? {
                Some(Piece::Text(constant)) => push(&mut self.0, &constant),
                Some(piece) => self.0.push(piece),
                None => self.add(Self::parse(&value.to_string(), names)?),
            },
            other => push(&mut self.0, &other.to_string()),
        }
        Ok(())
    }

    /// Appends another text.
    pub fn add(&mut self, more: Self) {
        for piece in more.0 {
            match piece {
                Piece::Text(text) => push(&mut self.0, &text),
                piece => self.0.push(piece),
            }
        }
    }

    /// Whether it is the same text each time that it is filled in.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        let fixed = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Value(_) | Piece::Written(_));
        self.0.iter().all(fixed)
    }

    /// Appends the filled-in text.
    pub fn render<R: Rng>(&self, place: Place, values: &mut Values<'_, R>, into: &mut String) {
        self.0.iter().for_each(|piece| piece.render(place, values, into));
    }
}

impl Piece {
    fn render<R: Rng>(&self, place: Place, values: &mut Values<'_, R>, into: &mut String) {
        match self {
            Self::Text(text) => into.push_str(text),
            Self::Value(text) => escape(text, place, into),
            Self::Written(text) => written(text, place, into),
            Self::User => number(u64::from(values.user), into),
            Self::Call => number(u64::from(values.call), into),
            Self::Counter(index) => {
                number(values.counters.take(*index), into);
            }
            Self::Cycle(index, low, span) => {
                number(low + values.counters.take(*index) % span, into);
            }
            Self::Random(low, high) => number(within(*low, *high, values.random), into),
            Self::Item => escape(values.item, place, into),
            Self::List(list) => list.render(place, values, into),
            Self::Uuid => uuid(values.random, into),
            Self::Column(index) => escape(&values.columns[*index], place, into),
            Self::Captured(index) => escape(&values.captured[*index], place, into),
            Self::Typed(piece, kind) => {
                let mut text = String::new();
                piece.render(Place::Raw, values, &mut text);
                // Only what was not captured, in a journey that continues after a failure, can be of another kind here.
                into.push_str(if kind.fits(&text) { text.trim() } else { "null" });
            }
        }
    }
}

impl Filled {
    fn render<R: Rng>(&self, place: Place, values: &mut Values<'_, R>, into: &mut String) {
        let items = match self.entries {
            Known::Count(count) => (0..count).map(|number| number.to_string()).collect(),
            Known::Captured(index, most) => elements(&values.captured[index], most),
        };
        let place = self.separator.as_ref().map_or(Place::Json, |_| place);
        into.push_str(if self.separator.is_none() { "[" } else { "" });
        for (number, item) in items.iter().enumerate() {
            match &self.separator {
                _ if number == 0 => {}
                Some(separator) => escape(separator, place, into),
                None => into.push(','),
            }
            let mut entry = Values {
                user: values.user,
                call: values.call,
                counters: &mut *values.counters,
                columns: values.columns,
                captured: values.captured,
                item,
                random: &mut *values.random,
            };
            self.of.render(place, &mut entry, into);
        }
        into.push_str(if self.separator.is_none() { "]" } else { "" });
    }
}

/// The first values of a list in JSON, texts unchanged and others as JSON; none if the text isn't a list.
#[must_use]
pub fn elements(list: &str, most: usize) -> Vec<String> {
    let values: Vec<serde_json::Value> = serde_json::from_str(list).unwrap_or_default();
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    values.into_iter().take(most).map(text).collect()
}

/// The text before the entries of a list or an object.
fn joints(first: &str) -> impl Iterator<Item = &str> {
    std::iter::once(first).chain(std::iter::repeat(","))
}

fn push(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// The value of a text in a JSON body that is a single place with a kind.
fn typed(text: &str, names: &mut Names) -> Result<Option<Piece>, String> {
    let Some((name, kind)) = kind_of(text) else {
        return Ok(None);
    };
    if let Some(list) = listing(name, names).filter(|_| kind == Kind::Json) {
        let of = |names: &mut Names| Template::json(&list.of, names);
        return filled(&list, None, of, names).map(Some);
    }
    let misfit = |text: &str| format!("{}: ${{{name}|{}}} can't be sent", kind.misfit(text), kind.name());
    Ok(Some(match named(name, names)? {
        Piece::Text(constant) | Piece::Value(constant) if kind.fits(&constant) => Piece::Text(constant),
        Piece::Text(constant) | Piece::Value(constant) => return Err(misfit(&constant)),
        Piece::Uuid => return Err(misfit("a UUID")),
        piece => {
            let later = match piece {
                Piece::Column(index) => Some(Typed::Column(index)),
                Piece::Captured(index) => Some(Typed::Captured(index)),
                _ => None,
            };
            names.typed.extend(later.map(|later| (later, kind)));
            Piece::Typed(Box::new(piece), kind)
        }
    }))
}

/// Name and kind of a text that is `${NAME|KIND}` and nothing else.
fn kind_of(text: &str) -> Option<(&str, Kind)> {
    let inside = text
        .strip_prefix("${")?
        .strip_suffix('}')
        .filter(|inside| !inside.contains('}'))?;
    let (name, kind) = inside.rsplit_once('|')?;
    let kind = Kind::SAID.into_iter().find(|known| known.name() == kind.trim())?;
    Some((name.trim(), kind))
}

/// The list of a name.
fn listing(name: &str, names: &Names) -> Option<Listing> {
    let mut lists = names.lists.iter();
    lists
        .find(|(other, _)| other == name)
        .map(|(_, list)| list.clone())
}

/// A list as a text: its entries with the separator between them.
fn joined(name: &str, list: &Listing, names: &mut Names) -> Result<Piece, String> {
    let serde_json::Value::String(text) = &list.of else {
        return Err(format!(
            "the entries of {name} are JSON: write \"${{{name}|json}}\" as all of a string in a JSON body"
        ));
    };
    let of = |names: &mut Names| Template::value(text, names);
    filled(list, Some(list.separator.clone()), of, names)
}

/// A list with its entries parsed, in which `${item}` is known and no other list.
fn filled(
    list: &Listing,
    separator: Option<String>,
    parse: impl FnOnce(&mut Names) -> Result<Template, String>,
    names: &mut Names,
) -> Result<Piece, String> {
    let entries = match &list.entries {
        Entries::Count(count) => Known::Count(*count),
        Entries::Each(name, most) => Known::Captured(captured_list(name, names)?, *most),
    };
    let (lists, item) = (
        std::mem::take(&mut names.lists),
        std::mem::replace(&mut names.item, true),
    );
    let of = parse(names);
    (names.lists, names.item) = (lists, item);
    let list = Filled {
        entries,
        of: of?,
        separator,
    };
    Ok(Piece::List(Box::new(list)))
}

/// The place of a captured value that must be a list.
///
/// # Errors
/// When no step before captures it, in a sentence.
pub fn captured_list(name: &str, names: &mut Names) -> Result<usize, String> {
    let Some(place) = names.captured.iter().position(|known| known == name) else {
        let captured = names.captured.join(", ");
        return Err(format!(
            "no step before captures {name}; captured here: {captured}"
        ));
    };
    names.typed.push((Typed::Captured(place), Kind::List));
    Ok(place)
}

fn named(name: &str, names: &mut Names) -> Result<Piece, String> {
    if name == "item" && names.item {
        return Ok(Piece::Item);
    }
    if let Some((_, value)) = names.constants.iter().find(|(known, _)| known == name) {
        return Ok(Piece::Text(value.clone()));
    }
    if let Some((_, value)) = names.values.iter().find(|(known, _)| known == name) {
        return Ok(Piece::Value(value.clone()));
    }
    if let Some(range) = name.strip_prefix("random:") {
        return range_of(range).ok_or_else(|| format!("${{{name}}} is not a range: write ${{random:1-100}}"));
    }
    if let Some(range) = name.strip_prefix("cycle:") {
        return match range_of(range) {
            Some(Piece::Random(low, high)) if high - low < u64::MAX => Ok(Piece::Cycle(
                counter_of(&format!(":{range}"), names),
                low,
                high - low + 1,
            )),
            _ => Err(format!("${{{name}}} is not a range: write ${{cycle:1-100}}")),
        };
    }
    if let Some(list) = listing(name, names) {
        return joined(name, &list, names);
    }
    if let Some(counter) = name.strip_prefix("counter:") {
        return Ok(Piece::Counter(counter_of(counter, names)));
    }
    let place = |known: &[String], name: &str| known.iter().position(|known| known == name);
    let column = name
        .strip_prefix("feed.")
        .and_then(|name| place(&names.columns, name))
        .map(Piece::Column);
    let found = match name {
        "user" => Some(Piece::User),
        "call" => Some(Piece::Call),
        "uuid" => Some(Piece::Uuid),
        _ => column.or_else(|| place(&names.captured, name).map(Piece::Captured)),
    };
    found.ok_or_else(|| match name.rsplit_once('|') {
        Some(_) => format!(
            "${{{name}}}: a kind is number or json, and a place with a kind is all of a string in a JSON body"
        ),
        None => format!("${{{name}}} is not known here; known: {}", known(names)),
    })
}

fn known(names: &Names) -> String {
    let fixed = [
        "user",
        "call",
        "uuid",
        "random:1-100",
        "cycle:1-100",
        "counter:NAME",
    ]
    .map(str::to_owned);
    let item = names.item.then(|| "item".to_owned());
    let lists = names.lists.iter().map(|(name, _)| name.clone());
    let columns = names.columns.iter().map(|column| format!("feed.{column}"));
    let constants = names
        .constants
        .iter()
        .chain(&names.values)
        .map(|(name, _)| name.clone());
    fixed
        .into_iter()
        .chain(constants)
        .chain(columns)
        .chain(names.captured.clone())
        .chain(lists)
        .chain(item)
        .collect::<Vec<_>>()
        .join(", ")
}

fn range_of(text: &str) -> Option<Piece> {
    let (low, high) = text.split_once('-')?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high).then_some(Piece::Random(low, high))
}

fn counter_of(name: &str, names: &mut Names) -> usize {
    names
        .counters
        .iter()
        .position(|known| known == name)
        .unwrap_or_else(|| {
            names.counters.push(name.to_owned());
            names.counters.len() - 1
        })
}

fn number(number: u64, into: &mut String) {
    // Writing to a string can't fail.
    let _ = write!(into, "{number}");
}

/// A whole number from `low` to `high`, both included, by the multiplication of Lemire (whose bias is below 2^-64 of
/// the range).
fn within(low: u64, high: u64, random: &mut impl Rng) -> u64 {
    let span = u128::from(high - low) + 1;
    low + ((u128::from(random.next_u64()) * span) >> 64) as u64
}

/// A random UUID (version 4 of RFC 9562).
fn uuid(random: &mut impl Rng, into: &mut String) {
    let bits = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    let bits = bits & !(0xF << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{bits:032x}");
    let _ = write!(
        into,
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    );
}

/// Appends a value that is put into a place, so that it stays one value of that place.
fn escape(value: &str, place: Place, into: &mut String) {
    match place {
        Place::Raw => into.push_str(value),
        Place::Path => encoded_once(value, in_path, into),
        Place::Query | Place::Form => percent(value, unreserved, into),
        Place::Header => into.extend(value.chars().filter(|character| !character.is_control())),
        Place::Json => {
            let quoted = serde_json::Value::from(value).to_string();
            into.push_str(&quoted[1..quoted.len() - 1]);
        }
    }
}

/// Appends a text that the job itself has for a place. In a query, what it has encoded already stays as it is.
fn written(text: &str, place: Place, into: &mut String) {
    match place {
        Place::Query => encoded_once(text, unreserved, into),
        _ => escape(text, place, into),
    }
}

/// What a path holds as it is (RFC 3986), with the delimiters of a query: a captured path may have one.
fn in_path(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#%<>\\^`{|}".contains(&byte)
}

/// What every part of a URL holds as it is (RFC 3986, section 2.3).
fn unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Percent-encodes what isn't kept, but no `%XX`: that is encoded already.
fn encoded_once(text: &str, keep: fn(u8) -> bool, into: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        percent(before, keep, into);
        let is_code = after
            .as_bytes()
            .first_chunk()
            .is_some_and(|[a, b]| a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
        into.push_str(if is_code { "%" } else { "%25" });
        rest = after;
    }
    percent(rest, keep, into);
}

fn percent(value: &str, keep: fn(u8) -> bool, into: &mut String) {
    for byte in value.bytes() {
        if keep(byte) {
            into.push(char::from(byte));
        } else {
            let _ = write!(into, "%{byte:02X}");
        }
    }
}

/// A text as one value of a form.
#[must_use]
pub fn form_text(value: &str) -> String {
    let mut text = String::new();
    escape(value, Place::Form, &mut text);
    text
}

/// A text of the job as a name in a query.
#[must_use]
pub fn query_text(value: &str) -> String {
    let mut text = String::new();
    written(value, Place::Query, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;
    use serde_json::json;

    fn names() -> Names {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Names {
            constants: vec![("round".to_owned(), "3".to_owned())],
            values: vec![("token".to_owned(), "a \"b&c".to_owned())],
            columns: texts(&["name"]),
            captured: texts(&["id"]),
            counters: Vec::new(),
            typed: Vec::new(),
            lists: Vec::new(),
            item: false,
        }
    }

    fn rendered(text: &str, place: Place, id: &str) -> String {
        let mut names = names();
        let template = Template::parse(text, &mut names).unwrap();
        filled(&template, &names, place, id)
    }

    fn rendered_json(value: &serde_json::Value, id: &str) -> String {
        let mut names = names();
        let template = Template::json(value, &mut names).unwrap();
        filled(&template, &names, Place::Json, id)
    }

    fn filled(template: &Template, names: &Names, place: Place, id: &str) -> String {
        let mut counters = Counters::new(names.counters.len(), Part::WHOLE);
        let (columns, captured) = (["Ann & Bob".to_owned()], [id.to_owned()]);
        let mut random = Pcg64::seed_from_u64(1);
        let mut values = Values {
            user: 7,
            call: 9,
            counters: &mut counters,
            columns: &columns,
            captured: &captured,
            item: "",
            random: &mut random,
        };
        let mut into = String::new();
        template.render(place, &mut values, &mut into);
        into
    }

    #[test]
    fn places_are_filled_in() {
        assert_eq!(
            rendered(
                "/${user}/${call}/${round}/${id}?x=${counter:a}${counter:a}",
                Place::Path,
                "42"
            ),
            "/7/9/3/42?x=01"
        );
    }

    #[test]
    fn values_cannot_break_out_of_their_place() {
        assert_eq!(rendered("a=${feed.name}", Place::Query, ""), "a=Ann%20%26%20Bob");
        assert_eq!(rendered("/x${id}", Place::Path, "/a b?c\r\n"), "/x/a%20b?c%0D%0A");
        assert_eq!(rendered("${id}", Place::Header, "a\r\nEvil: 1"), "aEvil: 1");
        assert_eq!(
            rendered("{\"x\": \"${id}\"}", Place::Json, "\"\n"),
            "{\"x\": \"\\\"\\n\"}"
        );
    }

    #[test]
    fn every_text_is_spelled_in_its_place_as_the_shared_vectors_say() {
        let file = format!(
            "{}/../../../contracts/load/vectors/places.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let vectors: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let places = [
            ("path", Place::Path),
            ("query", Place::Query),
            ("form", Place::Form),
            ("json", Place::Json),
            ("header", Place::Header),
        ];
        for case in vectors["cases"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            for (name, place) in places {
                assert_eq!(rendered("${id}", place, text), case[name], "{text:?} in {name}");
            }
            let own = Template::value(text, &mut names()).unwrap();
            assert_eq!(
                filled(&own, &names(), Place::Query, ""),
                case["own_query"],
                "{text:?}"
            );
            assert_eq!(query_text(text), case["own_query"], "{text:?} as a name");
        }
    }

    #[test]
    fn a_value_of_the_job_is_escaped_as_a_captured_one_is_and_a_constant_is_not() {
        assert_eq!(rendered("${token}", Place::Query, ""), "a%20%22b%26c");
        assert_eq!(
            rendered_json(&json!({"${token}": ["${token}"]}), ""),
            r#"{"a \"b&c":["a \"b&c"]}"#
        );
        let mut constants = names();
        constants.constants.push(("raw".to_owned(), "a b".to_owned()));
        let template = Template::parse("${raw}", &mut constants).unwrap();
        assert_eq!(filled(&template, &constants, Place::Query, ""), "a b");
    }

    #[test]
    fn a_place_with_a_kind_is_a_value_of_its_own() {
        let body = json!({"a": "${id|number}", "b": ["${user|number}", "${ id | json }", [], {}], "${id}": "${id}", "c": "n${id}", "d": "${round|number}", "e": 1.5});
        assert_eq!(
            rendered_json(&body, "-4.20"),
            r#"{"a":-4.20,"b":[7,-4.20,[],{}],"-4.20":"-4.20","c":"n-4.20","d":3,"e":1.5}"#
        );
        assert_eq!(
            rendered_json(&json!("${id|json}"), r#"{"x": [true]}"#),
            r#"{"x": [true]}"#
        );
    }

    #[test]
    fn a_value_of_another_kind_cannot_break_the_json_around_it() {
        for (kind, value) in [
            ("number", "1, \"evil\": 2"),
            ("number", "true"),
            ("number", ""),
            ("json", "{"),
            ("json", "x"),
        ] {
            let body = json!({"a": format!("${{id|{kind}}}")});
            assert_eq!(rendered_json(&body, value), r#"{"a":null}"#, "{value}");
        }
    }

    #[test]
    fn what_is_known_to_be_of_another_kind_is_refused() {
        let error = |text: &str| Template::json(&json!({"a": text}), &mut names()).unwrap_err();
        let mut constants = names();
        constants.constants.push(("word".to_owned(), "three".to_owned()));
        let word = Template::json(&json!("${word|number}"), &mut constants).unwrap_err();
        assert!(word.contains("\"three\" is not a number"), "{word}");
        assert!(error("${uuid|number}").contains("is not a number"));
        assert!(error("${usr|number}").contains("is not known here"));
        for text in ["${id|numbr}", "${id|number} kg", "a ${id|json}"] {
            assert!(error(text).contains("a kind is number or json"), "{text}");
        }
        assert!(Template::parse("${id|number}", &mut names()).is_err());
    }

    #[test]
    fn what_must_be_of_a_kind_later_is_known_beforehand() {
        let mut names = names();
        Template::json(
            &json!(["${id|number}", "${feed.name|json}", "${user|number}"]),
            &mut names,
        )
        .unwrap();
        let expected = [(Typed::Captured(0), Kind::Number), (Typed::Column(0), Kind::Json)];
        assert_eq!(names.typed, expected);
    }

    #[test]
    fn a_dollar_before_a_place_makes_it_text() {
        assert_eq!(rendered("$${user} $5", Place::Raw, ""), "${user} $5");
    }

    #[test]
    fn a_name_that_names_nothing_is_refused_with_what_is_known() {
        let error = Template::parse("${usr}", &mut names()).unwrap_err();
        assert!(
            error.contains("usr") && error.contains("feed.name") && error.contains("id"),
            "{error}"
        );
        assert!(Template::parse("${user", &mut names()).is_err());
        assert!(Template::parse("${random:9-1}", &mut names()).is_err());
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let text = rendered("${uuid}", Place::Raw, "");
        assert_eq!((text.len(), &text[14..15]), (36, "4"));
        assert!("89ab".contains(&text[19..20]), "{text}");
    }

    proptest! {
        #[test]
        fn whatever_is_captured_a_json_body_stays_json(value in "[ -~\\n]{0,12}", kind in prop_oneof![Just("|number"), Just("|json"), Just("")]) {
            let body = json!({"a": format!("${{id{kind}}}"), "b": 1});
            let text = rendered_json(&body, &value);
            let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(parsed.as_object().unwrap().len(), 2, "{}", text);
        }

        #[test]
        fn random_values_stay_in_their_range(low in any::<u64>(), more in any::<u64>(), seed in any::<u64>()) {
            let high = low.saturating_add(more);
            let value = within(low, high, &mut Pcg64::seed_from_u64(seed));
            prop_assert!((low..=high).contains(&value));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-z$}{:.\\-0-9é]{0,30}") {
            let _ = Template::parse(&text, &mut names());
        }
    }
}
