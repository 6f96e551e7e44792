//! What a client has that is special about its library; the kit does the rest.

use crate::round::CONTRACT;
use crate::{Outcome, Policy, Problems};
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// The outcome of what is guarded, once it is there. Dropping it ends the attempt under way as a `timeout`.
pub type Answer = Pin<Box<dyn Future<Output = Outcome>>>;

/// What a policy guards: an attempt, or the policies further in. It may be called again.
pub type Guarded = Rc<dyn Fn() -> Answer>;

/// A policy of a library, around what it guards.
pub trait Guard {
    /// The outcome of what is guarded, once the policy has had its say; `Rejected` when it lets nothing through.
    fn call(&self, guarded: Guarded) -> Answer;
}

/// A library behind the contract.
pub trait Adapter: 'static {
    /// Who this client is.
    fn description(&self) -> Description;

    /// Says what of a policy the library cannot do exactly: by name, never rounded or clamped.
    fn refuse(&self, entry: &Entry<'_>, problems: &mut Problems);

    /// A new policy of the library, with every parameter set; what it draws follows from `seed`.
    ///
    /// The kit asks once for each round, or once for each user, as the policy's scope says.
    fn guard(&self, policy: &Policy, seed: u64) -> Rc<dyn Guard>;
}

/// A policy where it stands in a round.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The policy itself.
    pub policy: &'a Policy,
    /// The policies further in, the outermost first.
    pub guarded: &'a [Policy],
    /// How many virtual users there are.
    pub users: usize,
}

/// Who a client is.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// The name of the client, as its folder.
    pub name: &'static str,
    /// The library's own name.
    pub library: &'static str,
    /// The library's version.
    pub library_version: &'static str,
    /// The strategies that the client has.
    pub strategies: &'static [&'static str],
}

impl Description {
    /// What `GET /client` answers.
    pub(crate) fn as_json(&self) -> Value {
        json!({
            "contract": CONTRACT,
            "name": self.name,
            "version": env!("CARGO_PKG_VERSION"),
            "language": concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"), " or later"),
            "library": {"name": self.library, "version": self.library_version},
            "strategies": self.strategies,
        })
    }
}
