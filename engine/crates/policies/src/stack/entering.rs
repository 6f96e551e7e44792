//! How a call goes into the next policy, and what that says to it.

use super::call::{Call, Frame, State};
use super::decision::{Decision, Turn};
use super::layers::{Layer, Waiter};
use crate::breaker::Admission;
use crate::budget::Budget;
use crate::bulkhead::Entry;
use crate::outcome::Outcome;
use rand_core::Rng;

/// What a policy says to what enters it.
enum Step {
    /// Go on; it need not hear of the end.
    Through,
    /// Go on inside it.
    Into(State, Option<u64>, u64),
    /// Wait.
    Wait(State, Option<u64>),
    /// It is not let through.
    Stop,
}

impl Call {
    /// Goes into the policy of a layer, or out of the last one onto the wire.
    pub(super) fn enter<R: Rng>(
        &mut self,
        turn: &mut Turn<'_, R>,
        parent: Option<u32>,
        layer: usize,
        bound_us: u64,
    ) {
        self.last_frame = self.last_frame.wrapping_add(1);
        let id = self.last_frame;
        if layer == turn.stack.layers.len() {
            self.sent += 1;
            self.push(id, parent, layer, bound_us, None, State::Attempt);
            return turn.decisions.push(Decision::Send { frame: id });
        }
        match self.step(turn, id, layer, bound_us) {
            Step::Through => self.enter(turn, parent, layer + 1, bound_us),
            Step::Into(state, due_us, bound_us) => {
                self.push(id, parent, layer, bound_us, due_us, state);
                self.enter(turn, Some(id), layer + 1, bound_us);
            }
            Step::Wait(state, due_us) => self.push(id, parent, layer, bound_us, due_us, state),
            Step::Stop => {
                turn.stack.acted[layer] += 1;
                self.ends(turn, parent, Outcome::Rejected);
            }
        }
    }

    fn push(
        &mut self,
        id: u32,
        parent: Option<u32>,
        layer: usize,
        bound_us: u64,
        due_us: Option<u64>,
        state: State,
    ) {
        self.frames.push(Frame {
            id,
            parent,
            layer,
            bound_us,
            due_us,
            state,
        });
    }

    /// What the policy of a layer says to what enters it as frame `id`.
    fn step<R>(&self, turn: &mut Turn<'_, R>, id: u32, layer: usize, bound_us: u64) -> Step {
        let (now_us, user) = (turn.now_us, self.user);
        let until = |due_us: u64| Step::Into(State::Bound, Some(due_us), bound_us.min(due_us));
        match &mut turn.stack.layers[layer] {
            Layer::Timeout(config) => until(config.due_us(now_us)),
            Layer::Deadline(config) if config.has_passed(self.intended_us, now_us) => Step::Stop,
            Layer::Deadline(config) => until(config.due_us(self.intended_us)),
            Layer::Retry(_) => {
                let last = Outcome::Rejected;
                Step::Into(State::Retry { failed: 0, last }, None, bound_us)
            }
            Layer::Budget(budget) => spend(budget.of(user), now_us, self.sent > 0),
            Layer::Breaker(breaker, _) => match breaker.of(user).admit(now_us) {
                Admission::Admitted(ticket) => {
                    let since_us = now_us;
                    Step::Into(State::Breaker { ticket, since_us }, None, bound_us)
                }
                Admission::Rejected => Step::Stop,
            },
            Layer::Bulkhead(bulkhead, max_wait_us) => {
                let waiter = Waiter {
                    who: self.who,
                    frame: id,
                };
                match bulkhead.of(user).enter(waiter) {
                    Entry::Inside => Step::Into(State::Inside, None, bound_us),
                    Entry::Waiting => {
                        Step::Wait(State::Queued, max_wait_us.map(|wait| now_us.saturating_add(wait)))
                    }
                    Entry::Rejected => Step::Stop,
                }
            }
            Layer::Hedge(config) => {
                let (sent, going, last) = (1, 1, Outcome::Rejected);
                Step::Into(
                    State::Hedge { sent, going, last },
                    config.next_us(1, now_us),
                    bound_us,
                )
            }
            Layer::RateLimit(limit) => match limit.of(user).reserve(now_us, bound_us) {
                None => Step::Stop,
                Some(at_us) if at_us <= now_us => Step::Through,
                Some(at_us) => Step::Wait(State::Paced, Some(at_us)),
            },
        }
    }
}

/// What a budget says to an attempt, which may be the first of its call.
fn spend(budget: &mut Budget, now_us: u64, further: bool) -> Step {
    if !further {
        budget.earn(now_us);
        return Step::Through;
    }
    if budget.spend(now_us) {
        Step::Through
    } else {
        Step::Stop
    }
}
