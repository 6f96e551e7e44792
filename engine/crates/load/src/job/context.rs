//! What reading a job carries along.

use super::fields::Node;
use crate::template::Listing;
use patternbench_wire::{Target, read_text};
use std::path::Path;

/// The largest file that a job may name, as a feeder or a trace, in bytes.
const LARGEST_FILE: u64 = 256 << 20;

/// What parsing carries along.
pub struct Context<'a> {
    /// The folder that relative paths start from.
    pub folder: &'a Path,
    /// Names of steps so far.
    pub step_names: Vec<String>,
    /// Constants that templates may use, by their names.
    pub constants: Vec<(String, String)>,
    /// Values that templates may use, by their names.
    pub values: Vec<(String, String)>,
    /// Lists that templates may use, by their names.
    pub lists: Vec<(String, Listing)>,
    /// Names of counters so far.
    pub counters: Vec<String>,
    /// Whether a policy looks into the heads of answers.
    pub keep_heads: bool,
    /// The targets, for requests that can be rendered before the start.
    pub targets: Vec<(Target, u32)>,
}

impl Context<'_> {
    /// The number of a step's name; equal names are one step in the records.
    pub fn step(&mut self, name: &str) -> u16 {
        let known = self.step_names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.step_names.push(name.to_owned());
            self.step_names.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    /// A file's text.
    pub fn read(&self, node: &Node<'_>) -> Option<String> {
        let path = self.folder.join(node.text()?);
        match read_text(&path, LARGEST_FILE) {
            Ok(text) => Some(text),
            Err(error) => {
                node.wrong(
                    "a regular file of at most 256 MiB, as UTF-8",
                    format!("{} can't be read: {error}", path.display()),
                );
                None
            }
        }
    }
}
