//! What a step sends.

use super::context::Context;
use super::fields::{Node, Object, all};
use crate::template::{Counters, Names, Place, Template, Values, form_text, query_text};
use patternbench_wire::{Method, Request, Target};
use rand_core::Rng;

/// What a step sends.
pub struct StepRequest {
    /// The bytes by target, when nothing in them varies.
    rendered: Option<Vec<Vec<u8>>>,
    parts: Parts,
}

struct Parts {
    method: Method,
    /// None for the target's own path.
    path: Option<Template>,
    query: Vec<(String, Template)>,
    headers: Vec<(String, Template)>,
    body: Template,
    body_place: Place,
}

impl StepRequest {
    /// A request in which nothing varies: its texts are literal.
    pub fn literal(filled: &Filled, targets: &[(Target, u32)]) -> Self {
        let header = |(name, value): &(String, String)| (name.clone(), Template::literal(value));
        let rendered = targets.iter().map(|(target, _)| filled.render(target, None));
        Self {
            rendered: Some(rendered.collect()),
            parts: Parts {
                method: filled.method,
                path: Some(Template::literal(&filled.path)),
                query: Vec::new(),
                headers: filled.headers.iter().map(header).collect(),
                body: Template::literal(&filled.body),
                body_place: Place::Raw,
            },
        }
    }

    /// Whether the method is HEAD.
    pub fn is_head(&self) -> bool {
        self.parts.method == Method::Head
    }

    /// Whether it has to be rendered for every call.
    pub fn is_templated(&self) -> bool {
        self.rendered.is_none()
    }

    /// The bytes for a target, when nothing in them varies and no one adds cookies.
    #[inline]
    pub fn fixed(&self, target: usize) -> Option<&[u8]> {
        self.rendered.as_ref().map(|rendered| rendered[target].as_slice())
    }

    /// The request to a target with everything filled in.
    pub fn fill<R: Rng>(&self, target: &Target, values: &mut Values<'_, R>) -> Filled {
        self.parts.fill(target, values)
    }
}

/// A request with everything filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Its header lines, but those that every request has.
    pub headers: Vec<(String, String)>,
    /// The body, possibly empty.
    pub body: String,
}

impl Filled {
    /// Host and port as the server is called: a `Host` header of the step before the target's own.
    pub fn authority<'a>(&'a self, target: &'a Target) -> &'a str {
        let mut headers = self.headers.iter();
        let given = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        given.map_or(&target.host, |(_, host)| host.trim())
    }

    /// The bytes for a target, with a `Cookie` header when there are cookies.
    pub fn render(&self, target: &Target, cookie: Option<String>) -> Vec<u8> {
        let cookie = cookie.map(|cookie| ("Cookie".to_owned(), cookie));
        let headers: Vec<(String, String)> = self.headers.iter().cloned().chain(cookie).collect();
        Request {
            method: self.method,
            host: &target.host,
            path: &self.path,
            headers: &headers,
            body: self.body.as_bytes(),
        }
        .render()
    }
}

impl Parts {
    fn is_fixed(&self) -> bool {
        let path = self.path.iter();
        let lists = self
            .query
            .iter()
            .chain(&self.headers)
            .map(|(_, template)| template);
        path.chain(lists).chain([&self.body]).all(Template::is_fixed)
    }

    fn fill<R: Rng>(&self, target: &Target, values: &mut Values<'_, R>) -> Filled {
        let mut path = self
            .path
            .as_ref()
            .map_or_else(|| target.path_and_query.clone(), |_| target.base_path.clone());
        self.path
            .iter()
            .for_each(|template| template.render(Place::Path, values, &mut path));
        for (name, template) in &self.query {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(name);
            path.push('=');
            template.render(Place::Query, values, &mut path);
        }
        let mut headers: Vec<(String, String)> = Vec::with_capacity(self.headers.len());
        for (name, template) in &self.headers {
            let mut value = String::new();
            template.render(Place::Header, values, &mut value);
            headers.push((name.clone(), value));
        }
        let mut body = String::new();
        self.body.render(self.body_place, values, &mut body);
        Filled {
            method: self.method,
            path,
            headers,
            body,
        }
    }
}

/// The request of a step or a poll, out of its fields.
pub fn request(object: &Object<'_>, context: &Context<'_>, names: &mut Names) -> Option<StepRequest> {
    let methods = Method::ALL.map(|method| (method.name(), method));
    let method = object.or("method", Method::Get, |node| node.one_of(&methods));
    let path = object.maybe("path", |node| path(node, names));
    let query = object.or("query", Vec::new(), |node| query(node, names));
    let headers = object.or("headers", Vec::new(), |node| headers(node, names));
    let body = body(object, context, names);
    let (mut headers, (body, body_place, kind)) = (headers?, body?);
    if let Some(kind) = kind.filter(|_| {
        !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
    }) {
        headers.push(("Content-Type".to_owned(), Template::literal(kind)));
    }
    let parts = Parts {
        method: method?,
        path: path?,
        query: query?,
        headers,
        body,
        body_place,
    };
    let rendered = parts.is_fixed().then(|| {
        context
            .targets
            .iter()
            .map(|(target, _)| fixed(&parts, target))
            .collect()
    });
    Some(StepRequest { rendered, parts })
}

fn fixed(parts: &Parts, target: &Target) -> Vec<u8> {
    // Nothing is drawn for a text without places.
    let mut random = rand_pcg::Pcg64::new(0, 0);
    let mut values = Values {
        user: 0,
        call: 0,
        counters: &mut Counters::default(),
        columns: &[],
        captured: &[],
        item: "",
        random: &mut random,
    };
    parts.fill(target, &mut values).render(target, None)
}

fn template(node: &Node<'_>, names: &mut Names) -> Option<Template> {
    parsed(node, Template::parse(node.text()?, names))
}

/// A text that is one value of a query or a form.
fn value(node: &Node<'_>, names: &mut Names) -> Option<Template> {
    parsed(node, Template::value(node.text()?, names))
}

fn parsed(node: &Node<'_>, template: Result<Template, String>) -> Option<Template> {
    match template {
        Ok(template) => Some(template),
        Err(message) => {
            node.wrong("texts with places as ${user}; write $${ for ${ itself", message);
            None
        }
    }
}

fn path(node: &Node<'_>, names: &mut Names) -> Option<Template> {
    let text = node.text()?;
    let begins = text.starts_with('/') || text.starts_with("${");
    if !begins || !is_visible(text) {
        node.wrong(PATHS, "is not a path of a request");
        return None;
    }
    template(node, names)
}

/// What a path may be.
pub const PATHS: &str = "/ and then visible ASCII characters, others as %XX";

/// Whether all of a text is visible ASCII.
pub fn is_visible(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a text can be the name of a header (a token of RFC 9110).
pub fn is_header_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token)
}

/// Whether a text can be the value of a header: it holds no line break, nor any other control character but a tab.
pub fn is_header_value(value: &str) -> bool {
    !value.bytes().any(|byte| byte < 32 && byte != 9 || byte == 127)
}

fn query(node: &Node<'_>, names: &mut Names) -> Option<Vec<(String, Template)>> {
    all(node
        .texts()?
        .into_iter()
        .map(|(name, node)| Some((query_text(&name), value(&node, names)?))))
}

fn headers(node: &Node<'_>, names: &mut Names) -> Option<Vec<(String, Template)>> {
    let mut header = |(name, node): (String, Node<'_>)| {
        let text = node.text()?;
        if !is_header_name(&name) || !is_header_value(text) {
            node.wrong(
                "a header's name, and a value without line breaks",
                "is not a header",
            );
            return None;
        }
        Some((name, template(&node, names)?))
    };
    all(node.texts()?.into_iter().map(&mut header))
}

type Body = (Template, Place, Option<&'static str>);

/// The body, from the one field that gives it.
fn body(object: &Object<'_>, context: &Context<'_>, names: &mut Names) -> Option<Body> {
    let given: Vec<(&str, Node<'_>)> = ["body", "json", "form", "body_file"]
        .into_iter()
        .filter_map(|key| Some((key, object.get(key)?)))
        .collect();
    if let [_, (_, second), ..] = given.as_slice() {
        second.wrong("one of body, json, form, body_file", "a request has one body");
        return None;
    }
    let Some((key, node)) = given.first() else {
        return Some((Template::literal(""), Place::Raw, None));
    };
    match *key {
        "body" => Some((template(node, names)?, Place::Raw, None)),
        "json" => json(node, names),
        "form" => form(node, names),
        _ => Some((Template::literal(&context.read(node)?), Place::Raw, None)),
    }
}

fn json(node: &Node<'_>, names: &mut Names) -> Option<Body> {
    match Template::json(node.value, names) {
        Ok(template) => Some((template, Place::Json, Some("application/json"))),
        Err(message) => {
            node.wrong(
                "JSON with places as ${user} in its strings, or as \"${user|number}\"",
                message,
            );
            None
        }
    }
}

/// A form: names and values are encoded.
fn form(node: &Node<'_>, names: &mut Names) -> Option<Body> {
    let mut whole = Template::literal("");
    for (number, (name, node)) in node.texts()?.into_iter().enumerate() {
        let joint = if number == 0 { "" } else { "&" };
        whole.add(Template::literal(&format!("{joint}{}=", form_text(&name))));
        whole.add(value(&node, names)?);
    }
    Some((whole, Place::Form, Some("application/x-www-form-urlencoded")))
}
