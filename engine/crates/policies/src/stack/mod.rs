//! Calls on their way through several policies, in a stated order.
//!
//! A [`Stack`] holds the policies, outermost first, and what calls share. A [`Call`] gets each event with its time, and
//! answers with [`Decision`]s. Inside it is a tree of *frames*: entering a policy makes one, and it goes when what it
//! guards has ended. Only hedging makes the tree branch.
//!
//! - A policy guards all that come after it: a timeout before a retry bounds all attempts together, after it each of them.
//! - A rejection is never tried again. A call that was rejected after a failed attempt ends with that failure.
//! - A pause that would outlast a timeout or deadline around it is not begun: the call ends at once.
//! - A breaker counts what a timeout or deadline around it ended as a failure, where it counts time-outs at all; rejections
//!   further in, and attempts that lost against another, don't count for it.

mod call;
mod decision;
mod ending;
mod entering;
mod layers;
mod policy;

pub use call::Call;
pub use decision::{Decision, Turn, Why};
pub use layers::{Stack, Waiter};
pub use policy::{MOST_ATTEMPTS, Policy, idle_budgets, most_attempts};
