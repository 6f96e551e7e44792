//! What faults decide about: what becomes of a request, and what the link is like.

use crate::dice::Dice;
use patternbench_timing::Nanos;

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// By the service's answer.
    #[default]
    Answered,
    /// By an answer of the proxy with this status; the service hears nothing.
    Aborted(u16),
    /// Never: the service hears nothing, and the caller neither.
    Stalled,
    /// By a reset in the middle of the service's answer.
    Reset,
}

/// What becomes of a request: how long it is held back, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    pub hold: Nanos,
    pub end: End,
}

impl Fate {
    /// Ends the request so, unless another fault has already decided on its end; whether it did.
    pub fn ends(&mut self, end: End) -> bool {
        let undecided = self.end == End::Answered;
        if undecided {
            self.end = end;
        }
        undecided
    }
}

/// What the link is like for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Link {
    /// No one listens, and what was open is reset.
    pub refused: bool,
    /// Nothing passes, in either direction.
    pub cut: bool,
    /// What passes at most, in each direction.
    pub bytes_per_s: Option<f64>,
}

/// What every kind can say; a kind says one of both.
pub trait Fault {
    /// Changes the fate of a request where the fault falls on it; whether it does.
    fn on_request(&self, _fate: &mut Fate, _dice: &mut Dice) -> bool {
        false
    }

    /// Changes what the link is like for as long as the fault acts.
    fn on_link(&self, _link: &mut Link) {}
}
