//! Durations as people write them: `20ms`, `1.5s`. No bare number means time.

use crate::{Nanos, S};

/// The units, largest first, with their length in nanoseconds.
const UNITS: [(&str, Nanos); 6] = [
    ("h", 3_600 * S),
    ("min", 60 * S),
    ("s", S),
    ("ms", S / 1_000),
    ("us", S / 1_000_000),
    ("ns", 1),
];

/// The longest duration that is accepted: a week.
const LONGEST: Nanos = 7 * 24 * 3_600 * S;

/// Reads a duration with its unit, to nanoseconds.
///
/// # Errors
/// One sentence that says what is wrong and what to write instead.
pub fn parse_duration(text: &str) -> Result<Nanos, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let amount: f64 = number
        .parse()
        .map_err(|_| format!("'{text}' is not a duration: write a number and a unit, as in 20ms"))?;
    let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(wrong_unit(text, number, unit));
    };
    let nanos = amount * *length as f64;
    if nanos > LONGEST as f64 {
        return Err(format!("'{text}' is too long: at most 168h (a week)"));
    }
    Ok(nanos.round() as Nanos)
}

fn wrong_unit(text: &str, number: &str, unit: &str) -> String {
    if unit.is_empty() {
        return format!("'{text}' has no unit: write {number}ms or {number}s");
    }
    format!("'{text}' has an unknown unit '{unit}': one of h, min, s, ms, us, ns")
}

/// Writes a duration with the largest unit that leaves a whole number, as in `1500ms`.
pub fn write_duration(nanos: Nanos) -> String {
    let whole = UNITS
        .iter()
        .find(|(_, length)| nanos > 0 && nanos.is_multiple_of(*length));
    let (name, length) = whole.copied().unwrap_or(("s", S));
    format!("{}{name}", nanos / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read() {
        let read = |text| parse_duration(text).unwrap();
        assert_eq!(read("20ms"), 20_000_000);
        assert_eq!(read("1.5s"), 1_500_000_000);
        assert_eq!(read("250us"), 250_000);
        assert_eq!(read("7ns"), 7);
        assert_eq!(read("2min"), 120 * S);
        assert_eq!(read("1h"), 3_600 * S);
        assert_eq!(read("0ms"), 0);
    }

    #[test]
    fn what_is_written_reads_back_as_the_same() {
        for nanos in [0, 1, 999, 1_000, 1_500_000_000, 60 * S, 3_600 * S, 3_601 * S] {
            assert_eq!(parse_duration(&write_duration(nanos)), Ok(nanos));
        }
    }

    #[test]
    fn a_mistake_is_answered_with_what_to_write() {
        let wrong = |text| parse_duration(text).unwrap_err();
        assert_eq!(wrong("60"), "'60' has no unit: write 60ms or 60s");
        assert_eq!(
            wrong("5sec"),
            "'5sec' has an unknown unit 'sec': one of h, min, s, ms, us, ns"
        );
        assert_eq!(
            wrong("-5ms"),
            "'-5ms' is not a duration: write a number and a unit, as in 20ms"
        );
        assert_eq!(
            wrong("1.2.3s"),
            "'1.2.3s' is not a duration: write a number and a unit, as in 20ms"
        );
        assert_eq!(wrong("9999h"), "'9999h' is too long: at most 168h (a week)");
        assert_eq!(
            wrong("ms"),
            "'ms' is not a duration: write a number and a unit, as in 20ms"
        );
    }
}
