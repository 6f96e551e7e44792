//! Lists whose entries are filled in one by one: identifiers in a path, items of a bundle.

use super::fields::{Node, all};
use crate::template::{Entries, Listing};

/// How many entries a list may have.
const MOST_ENTRIES: u64 = 10_000;

/// The lists of a job, by their names.
pub fn lists(node: &Node<'_>) -> Option<Vec<(String, Listing)>> {
    let entries = node.entries()?;
    all(entries.into_iter().map(|(name, node)| Some((name, list(&node)?))))
}

fn list(node: &Node<'_>) -> Option<Listing> {
    let object = node.object(&["count", "for_each", "at_most", "of", "separator"])?;
    let count = object.maybe("count", |node| node.whole(0..=MOST_ENTRIES));
    let at_most = object.or("at_most", MOST_ENTRIES, |node| node.whole(1..=MOST_ENTRIES));
    let each = object.maybe("for_each", |node| node.text().map(str::to_owned));
    let separator = object.or("separator", ",".to_owned(), |node| node.text().map(str::to_owned));
    let of = object.require("of").map(|node| node.value.clone());
    let at_most = usize::try_from(at_most?).ok()?;
    let entries = match (count?, each?) {
        (Some(count), None) => Entries::Count(count),
        (None, Some(name)) => Entries::Each(name, at_most),
        _ => {
            node.wrong(
                "either count, or for_each: the name of a captured list",
                "the number of entries is given in one way",
            );
            return None;
        }
    };
    Some(Listing {
        entries,
        of: of?,
        separator: separator?,
    })
}
