//! What several calls share: one state for all of them, or one for each user.

use std::collections::BTreeMap;

/// Who shares a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// All users of the client.
    #[default]
    Client,
    /// Every user has its own one.
    User,
}

/// A state that is shared as its scope says, and made when it is first needed.
#[derive(Debug)]
pub struct Shared<C, T> {
    scope: Scope,
    config: C,
    new: fn(C) -> T,
    /// In order of the users, since a table by hashes would bring its own random source.
    states: BTreeMap<u64, T>,
}

impl<C: Copy, T> Shared<C, T> {
    /// Shared states that begin as `new` makes them.
    pub fn new(scope: Scope, config: C, new: fn(C) -> T) -> Self {
        Self {
            scope,
            config,
            new,
            states: BTreeMap::new(),
        }
    }

    /// The state of a user.
    pub fn of(&mut self, user: u64) -> &mut T {
        let key = match self.scope {
            Scope::Client => 0,
            Scope::User => user,
        };
        self.states.entry(key).or_insert_with(|| (self.new)(self.config))
    }
}
