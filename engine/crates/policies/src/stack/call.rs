//! A call, and what can happen to it.

use super::decision::{Turn, Why};
use super::layers::Layer;
use crate::breaker::Ticket;
use crate::outcome::{Kind, Outcome};
use rand_core::Rng;

/// One call on its way; it can be used for one call after another.
#[derive(Debug)]
pub struct Call {
    pub(super) who: u64,
    pub(super) user: u64,
    pub(super) intended_us: u64,
    pub(super) sent: u32,
    pub(super) last_frame: u32,
    pub(super) frames: Vec<Frame>,
}

/// A policy that was entered and has not ended, or an attempt.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) id: u32,
    pub(super) parent: Option<u32>,
    pub(super) layer: usize,
    /// When all of it is over at the latest.
    pub(super) bound_us: u64,
    /// When something happens by itself.
    pub(super) due_us: Option<u64>,
    pub(super) state: State,
}

/// What a frame remembers of its policy.
#[derive(Debug)]
pub(super) enum State {
    Attempt,
    /// A timeout or deadline.
    Bound,
    Retry {
        failed: u32,
        last: Outcome,
    },
    Breaker {
        ticket: Ticket,
        since_us: u64,
    },
    /// In a bulkhead.
    Inside,
    /// Before a bulkhead.
    Queued,
    Hedge {
        sent: u32,
        going: u32,
        last: Outcome,
    },
    /// Waits for its turn at a rate limit, or has had it.
    Paced,
}

impl Call {
    /// A call of a user, under the caller's own number.
    #[must_use]
    pub fn new(who: u64, user: u64) -> Self {
        Self {
            who,
            user,
            intended_us: 0,
            sent: 0,
            last_frame: 0,
            frames: Vec::new(),
        }
    }

    /// Whether it is on its way.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.frames.is_empty()
    }

    /// When [`Call::wake`] is next wanted.
    #[must_use]
    pub fn wake_at_us(&self) -> Option<u64> {
        self.frames.iter().filter_map(|frame| frame.due_us).min()
    }

    /// Begins a call that was intended to begin at `intended_us`. The one before must have ended.
    pub fn begin<R: Rng>(&mut self, turn: &mut Turn<'_, R>, intended_us: u64) {
        self.frames.clear();
        self.sent = 0;
        self.intended_us = intended_us;
        self.enter(turn, None, 0, u64::MAX);
    }

    /// An attempt has ended. One that was cancelled, or is not known, is not listened to.
    pub fn ended<R: Rng>(&mut self, turn: &mut Turn<'_, R>, frame: u32, outcome: Outcome) {
        if self.position(frame).is_some() {
            self.ends(turn, Some(frame), outcome);
        }
    }

    /// The time has come that was asked for.
    pub fn wake<R: Rng>(&mut self, turn: &mut Turn<'_, R>) {
        while let Some(frame) = self.due(turn.now_us) {
            self.fire(turn, frame);
        }
    }

    /// A bulkhead has given a place to a waiter of this call.
    pub fn granted<R: Rng>(&mut self, turn: &mut Turn<'_, R>, frame: u32) {
        // One that no longer waits has given the place on already.
        let Some(place) = self.position(frame) else { return };
        self.frames[place].state = State::Inside;
        self.go_in(turn, place);
    }

    pub(super) fn position(&self, id: u32) -> Option<usize> {
        self.frames.iter().position(|frame| frame.id == id)
    }

    /// The frame whose time came first; of equals the outermost.
    fn due(&self, now_us: u64) -> Option<u32> {
        let due = |frame: &Frame| Some((frame.due_us.filter(|due| *due <= now_us)?, frame.id));
        self.frames.iter().filter_map(due).min().map(|(_, id)| id)
    }

    /// Goes on inside of a frame, for the first time or again.
    pub(super) fn go_in<R: Rng>(&mut self, turn: &mut Turn<'_, R>, place: usize) {
        let frame = &mut self.frames[place];
        if !matches!(frame.state, State::Hedge { .. }) {
            frame.due_us = None;
        }
        let (id, layer, bound_us) = (frame.id, frame.layer, frame.bound_us);
        self.enter(turn, Some(id), layer + 1, bound_us);
    }

    /// What happens when a frame's time has come.
    fn fire<R: Rng>(&mut self, turn: &mut Turn<'_, R>, id: u32) {
        let Some(place) = self.position(id) else { return };
        let Frame { layer, state, .. } = &self.frames[place];
        turn.stack.acted[*layer] += u64::from(!matches!(state, State::Paced));
        match state {
            State::Bound => self.overdue(turn, id),
            State::Queued => self.ends(turn, Some(id), Outcome::Rejected),
            State::Hedge { .. } => self.hedge(turn, place),
            _ => self.go_in(turn, place),
        }
    }

    /// A timeout or deadline ends all that it guards.
    fn overdue<R: Rng>(&mut self, turn: &mut Turn<'_, R>, id: u32) {
        self.cancel_inside(turn, id, Why::TimedOut);
        self.ends(turn, Some(id), Outcome::failed(Kind::Timeout));
    }

    /// Sends a further attempt while others are under way.
    fn hedge<R: Rng>(&mut self, turn: &mut Turn<'_, R>, place: usize) {
        let frame = &mut self.frames[place];
        if let (State::Hedge { sent, going, .. }, Layer::Hedge(config)) =
            (&mut frame.state, &turn.stack.layers[frame.layer])
        {
            *sent += 1;
            *going += 1;
            frame.due_us = config.next_us(*sent, turn.now_us);
        }
        self.go_in(turn, place);
    }
}
