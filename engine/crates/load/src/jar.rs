//! A user's cookies, each for the host that set it or for the domain that it names (RFC 6265).

use crate::units::Nanos;
use cookie::{Cookie, Expiration, time};
use patternbench_wire::headers_of;
use std::net::IpAddr;
use std::time::SystemTime;

/// Cookies of a jar at most, however many a server sends. The oldest one goes first.
const MOST: usize = 200;
/// Longer ones are not kept, as in browsers (names and values together, in bytes).
const LONGEST: usize = 4096;

/// When something is, on the round's clock and by the calendar.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Since the round's start.
    pub now: Nanos,
    /// What dates are held against.
    pub today: SystemTime,
}

/// What a request asks for, as far as cookies depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The host that it is sent to, as [`patternbench_wire::hostname`] writes it: ports are not looked at.
    pub host: &'a str,
    /// Its path, possibly with a query.
    pub path: &'a str,
    /// Whether it goes over TLS.
    pub encrypted: bool,
}

/// The cookies of one user.
#[derive(Debug, Clone, Default)]
pub struct Jar(Vec<Kept>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    name: String,
    value: String,
    domain: String,
    /// Whether subdomains of the domain get it too.
    subdomains: bool,
    path: String,
    secure: bool,
    /// When it is no longer sent.
    until: Nanos,
}

impl Jar {
    /// Keeps what the answer to a request sets, and drops what it takes back; cookies for others than its host are ignored.
    pub fn keep(&mut self, head: &[u8], asked: Asked<'_>, moment: Moment) {
        for line in lines(head) {
            if let Some(cookie) =
                parsed(&line).filter(|cookie| cookie.name().len() + cookie.value().len() <= LONGEST)
            {
                let kept = Kept::new(&cookie, asked, moment);
                kept.into_iter().for_each(|cookie| self.put(cookie, moment.now));
            }
        }
    }

    fn put(&mut self, cookie: Kept, now: Nanos) {
        self.0
            .retain(|known| !known.is_replaced_by(&cookie) && known.until > now);
        if cookie.until > now {
            self.0.push(cookie);
        }
        if self.0.len() > MOST {
            self.0.remove(0);
        }
    }

    /// The `Cookie` header of a request, when there is anything to send: longer paths first, then older cookies.
    #[must_use]
    pub fn header(&self, asked: Asked<'_>, now: Nanos) -> Option<String> {
        let fits = |cookie: &&Kept| cookie.until > now && cookie.fits(asked);
        let mut fitting: Vec<&Kept> = self.0.iter().filter(fits).collect();
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = fitting
            .iter()
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

impl Kept {
    /// None for a cookie that the host which sends it may not set.
    fn new(cookie: &Cookie<'_>, asked: Asked<'_>, moment: Moment) -> Option<Self> {
        let path = cookie.path().filter(|path| path.starts_with('/'));
        let (domain, subdomains) = domain(cookie, asked.host)?;
        Some(Self {
            domain,
            subdomains,
            name: cookie.name().to_owned(),
            value: cookie.value().to_owned(),
            path: path.unwrap_or_else(|| folder(asked.path)).to_owned(),
            secure: cookie.secure().unwrap_or(false),
            until: until(cookie, moment),
        })
    }

    fn is_replaced_by(&self, other: &Self) -> bool {
        (&self.name, &self.domain, &self.path) == (&other.name, &other.domain, &other.path)
    }

    fn fits(&self, asked: Asked<'_>) -> bool {
        let path = asked.path.split('?').next().unwrap_or_default();
        let known_there = self.domain == asked.host || self.subdomains && lies_in(asked.host, &self.domain);
        known_there && (asked.encrypted || !self.secure) && within(path, &self.path)
    }
}

/// The domain that a cookie is for, and whether its subdomains get it too (RFC 6265, section 5.3); none when a host may
/// not set it. Without a list of public suffixes, a domain of one label only matches the host of that name.
fn domain(cookie: &Cookie<'_>, host: &str) -> Option<(String, bool)> {
    let Some(named) = cookie.domain().filter(|named| !named.is_empty()) else {
        return Some((host.to_owned(), false));
    };
    let named = named.to_ascii_lowercase();
    let shared = named.contains('.') && !is_address(host);
    (named == host || shared && lies_in(host, &named)).then_some((named, shared))
}

/// Whether a host is a subdomain of a domain (RFC 6265, section 5.1.3); addresses have none.
fn lies_in(host: &str, domain: &str) -> bool {
    !is_address(host)
        && host
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1)
}

fn is_address(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
}

/// When a cookie ends: `Max-Age` counts before `Expires`, and without either it lasts as long as its jar.
fn until(cookie: &Cookie<'_>, moment: Moment) -> Nanos {
    let left = match (cookie.max_age(), cookie.expires()) {
        (Some(age), _) => age,
        (None, Some(Expiration::DateTime(date))) => date - time::OffsetDateTime::from(moment.today),
        _ => return Nanos::MAX,
    };
    let left = u64::try_from(left.whole_nanoseconds().max(0)).unwrap_or(Nanos::MAX);
    moment.now.saturating_add(left)
}

/// The path that a cookie without one belongs to (RFC 6265, section 5.1.4).
fn folder(asked: &str) -> &str {
    let path = asked.split('?').next().unwrap_or_default();
    match path.rfind('/') {
        Some(last) if last > 0 => &path[..last],
        _ => "/",
    }
}

/// Whether a request's path lies within a cookie's (RFC 6265, section 5.1.4).
fn within(path: &str, cookie: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

fn lines(head: &[u8]) -> Vec<String> {
    let is_set = |(name, _): &(&str, &[u8])| name.eq_ignore_ascii_case("set-cookie");
    let text = |(_, value): (&str, &[u8])| String::from_utf8_lossy(value).into_owned();
    headers_of(head).into_iter().filter(is_set).map(text).collect()
}

fn parsed(line: &str) -> Option<Cookie<'_>> {
    Cookie::parse(line)
        .ok()
        .filter(|cookie| !cookie.name().is_empty())
}

/// The value that an answer gives a cookie.
#[must_use]
pub fn value(head: &[u8], name: &str) -> Option<String> {
    let lines = lines(head);
    let mut cookies = lines.iter().filter_map(|line| parsed(line));
    cookies
        .find(|cookie| cookie.name() == name)
        .map(|cookie| cookie.value().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, UNIX_EPOCH};

    const SECOND: Nanos = 1_000_000_000;

    /// 2025-01-01 00:00:00 UTC, ten seconds into the round.
    fn moment() -> Moment {
        Moment {
            now: 10 * SECOND,
            today: UNIX_EPOCH + Duration::from_secs(1_735_689_600),
        }
    }

    fn jar(cookies: &[&str]) -> Jar {
        let mut jar = Jar::default();
        put(&mut jar, cookies);
        jar
    }

    fn put(jar: &mut Jar, cookies: &[&str]) {
        let lines: String = cookies
            .iter()
            .map(|cookie| format!("Set-Cookie: {cookie}\r\n"))
            .collect();
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        jar.keep(
            head.as_bytes(),
            asked("shop.example", "/shop/cart?x=/y/"),
            moment(),
        );
    }

    fn asked<'a>(host: &'a str, path: &'a str) -> Asked<'a> {
        let encrypted = false;
        Asked {
            host,
            path,
            encrypted,
        }
    }

    /// What hosts are sent, after one of them has set cookies.
    fn shared(from: &str, cookies: &str, to: &[&str]) -> Vec<String> {
        let mut jar = Jar::default();
        let head = format!("HTTP/1.1 200 OK\r\nSet-Cookie: {cookies}\r\n\r\n");
        jar.keep(head.as_bytes(), asked(from, "/"), moment());
        let header = |host: &&str| jar.header(asked(host, "/"), moment().now).unwrap_or_default();
        to.iter().map(header).collect()
    }

    fn sent(jar: &Jar, path: &str, now: Nanos) -> String {
        jar.header(asked("shop.example", path), now).unwrap_or_default()
    }

    #[test]
    fn a_cookie_goes_where_its_path_says() {
        let jar = jar(&["a=1; Path=/", "b=2; Path=/shop", "c=3", "d=4; Path=/shop/cart/"]);
        for (path, expected) in [
            ("/", "a=1"),
            ("/shopping", "a=1"),
            ("/shop", "b=2; c=3; a=1"),
            ("/shop/cart?x=1", "b=2; c=3; a=1"),
            ("/shop/cart/9", "d=4; b=2; c=3; a=1"),
        ] {
            assert_eq!(sent(&jar, path, moment().now), expected, "{path}");
        }
    }

    #[test]
    fn a_cookie_ends_when_its_age_or_its_date_says() {
        let now = moment().now;
        let jar = jar(&[
            "a=1; Path=/; Max-Age=5; Expires=Wed, 01 Jan 2020 00:00:00 GMT",
            "b=2; Path=/; Expires=Wed, 01 Jan 2025 00:00:03 GMT",
            "c=3; Path=/; Expires=whenever",
        ]);
        assert_eq!(sent(&jar, "/", now), "a=1; b=2; c=3");
        assert_eq!(sent(&jar, "/", now + 3 * SECOND), "a=1; c=3");
        assert_eq!(sent(&jar, "/", now + 5 * SECOND), "c=3");
    }

    #[test]
    fn a_logout_takes_a_cookie_back_in_any_of_the_usual_ways() {
        for line in [
            "s=; Path=/; Max-Age=0",
            "s=gone; Path=/; Max-Age=-1",
            "s=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "s=deleted; path=/; expires=Thu, 01-Jan-1970 00:00:01 GMT",
        ] {
            let mut jar = jar(&["s=1; Path=/", "t=2; Path=/"]);
            put(&mut jar, &[line]);
            assert_eq!(sent(&jar, "/", moment().now), "t=2", "{line}");
        }
    }

    #[test]
    fn a_later_cookie_takes_the_place_of_one_with_its_name_and_path() {
        let mut jar = jar(&["s=1; Path=/", "s=2; Path=/shop"]);
        put(&mut jar, &["s=3; Path=/"]);
        assert_eq!(sent(&jar, "/shop", moment().now), "s=2; s=3");
    }

    #[test]
    fn an_empty_value_is_a_value() {
        assert_eq!(sent(&jar(&["s=; Path=/"]), "/", moment().now), "s=");
    }

    #[test]
    fn a_secure_cookie_is_not_sent_in_the_clear() {
        let jar = jar(&["s=1; Path=/; Secure; HttpOnly"]);
        let clear = asked("shop.example", "/");
        let encrypted = Asked {
            encrypted: true,
            ..clear
        };
        assert_eq!(jar.header(clear, moment().now), None);
        assert_eq!(jar.header(encrypted, moment().now).as_deref(), Some("s=1"));
    }

    #[test]
    fn a_cookie_without_a_domain_goes_back_to_its_host_alone() {
        let hosts = ["shop.example", "www.shop.example", "example", "evil.example"];
        assert_eq!(shared("shop.example", "s=1", &hosts), ["s=1", "", "", ""]);
        assert_eq!(
            shared("shop.example", "s=1; Domain=", &hosts),
            ["s=1", "", "", ""]
        );
    }

    #[test]
    fn a_domain_shares_a_cookie_with_its_subdomains_and_with_nobody_else() {
        let hosts = ["shop.example", "a.shop.example", "bshop.example", "example"];
        for line in ["s=1; Domain=shop.example", "s=1; domain=.SHOP.example"] {
            assert_eq!(shared("a.shop.example", line, &hosts), ["s=1", "s=1", "", ""]);
        }
    }

    #[test]
    fn a_cookie_for_a_domain_that_its_host_does_not_belong_to_is_ignored() {
        for (host, domain) in [
            ("shop.example", "bank.example"),
            ("shop.example", "a.shop.example"),
            ("bshop.example", "shop.example"),
            ("shop.example", "example"),
            ("127.0.0.1", "0.0.1"),
            ("127.0.0.1", "127.0.0.2"),
        ] {
            let found = shared(host, &format!("s=1; Domain={domain}"), &[host, domain]);
            assert_eq!(found, ["", ""], "{host} {domain}");
        }
    }

    #[test]
    fn an_address_or_a_bare_name_may_name_itself_and_has_no_subdomains() {
        let address = shared(
            "127.0.0.1",
            "s=1; Domain=127.0.0.1",
            &["127.0.0.1", "9.127.0.0.1"],
        );
        assert_eq!(address, ["s=1", ""]);
        let name = shared(
            "localhost",
            "s=1; Domain=localhost",
            &["localhost", "a.localhost"],
        );
        assert_eq!(name, ["s=1", ""]);
    }

    #[test]
    fn hosts_that_set_cookies_of_one_name_keep_one_each() {
        let mut jar = Jar::default();
        for host in ["a.example", "b.example"] {
            let head = format!("HTTP/1.1 200 OK\r\nSet-Cookie: s={host}\r\n\r\n");
            jar.keep(head.as_bytes(), asked(host, "/"), moment());
        }
        for host in ["a.example", "b.example"] {
            let header = jar.header(asked(host, "/"), moment().now);
            assert_eq!(header, Some(format!("s={host}")));
        }
    }

    #[test]
    fn the_value_that_an_answer_gives_can_be_asked_for() {
        let head = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/; HttpOnly\r\nset-cookie: c=d=e\r\nset-cookie: =x\r\n\r\n";
        assert_eq!(value(head, "c").as_deref(), Some("d=e"));
        assert_eq!(value(head, "e"), None);
    }

    #[test]
    fn a_jar_does_not_grow_without_end() {
        let mut jar = Jar::default();
        (0..1000).for_each(|number| put(&mut jar, &[&format!("n{number}=x; Path=/")]));
        put(&mut jar, &[&format!("long={}; Path=/", "x".repeat(5000))]);
        let header = sent(&jar, "/", moment().now);
        assert_eq!(header.split("; ").count(), MOST);
        assert!(
            header.starts_with("n800=x") && header.ends_with("n999=x"),
            "{header}"
        );
    }

    proptest! {
        #[test]
        fn no_cookie_breaks_out_of_its_header(name in "[a-z]{1,3}", value in proptest::collection::vec(any::<u8>(), 0..40)) {
            let head = [b"HTTP/1.1 200 OK\r\nSet-Cookie: ", name.as_bytes(), b"=", &value, b"\r\n\r\n"].concat();
            let mut jar = Jar::default();
            jar.keep(&head, asked("shop.example", "/"), moment());
            let header = sent(&jar, "/", moment().now);
            prop_assert!(header.chars().all(|c| c == '\t' || !c.is_ascii_control()), "{header:?}");
            prop_assert!(!header.contains(';'), "{header:?}");
        }
    }
}
