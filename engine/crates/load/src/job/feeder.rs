//! Values from a CSV file, a line for every journey.

use super::context::Context;
use super::fields::Node;

/// The lines of a feeder.
#[derive(Debug, Clone, Default)]
pub struct Feeder {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The lines, each with a value a column.
    pub lines: Vec<Vec<String>>,
    /// Whether lines are drawn at random instead of taken in turn.
    pub random: bool,
}

pub fn feeder(node: &Node<'_>, context: &Context<'_>) -> Option<Feeder> {
    let object = node.object(&["file", "order"])?;
    let random = object.or("order", false, |node| {
        node.one_of(&[("sequential", false), ("random", true)])
    });
    let file = object.require("file")?;
    let text = context.read(&file)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = reader
        .headers()
        .map(|header| header.iter().map(str::to_owned).collect())
        .unwrap_or_default();
    let lines = reader
        .records()
        .map(|record| Ok(record?.iter().map(str::to_owned).collect()))
        .collect::<Result<Vec<_>, csv::Error>>();
    match lines {
        Ok(lines) if !lines.is_empty() => Some(Feeder {
            columns,
            lines,
            random: random?,
        }),
        Ok(_) => {
            file.wrong("a header and at least one line", "this feeder has no lines");
            None
        }
        Err(error) => {
            file.wrong("CSV with a header and one value per column", error.to_string());
            None
        }
    }
}
