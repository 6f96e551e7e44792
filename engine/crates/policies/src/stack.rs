//! Calls on their way through several policies, in a stated order.
//!
//! A [`Stack`] holds the policies, outermost first, and what calls share. A [`Call`] is told what happens and when, and
//! answers with [`Decision`]s. Inside it is a tree of *frames*: entering a policy makes one, and it goes when what it
//! guards has ended. Only hedging makes the tree branch.
//!
//! - A policy guards all that stand after it: a timeout before a retry bounds all attempts together, after it each of them.
//! - A rejection is never tried again. A call that was rejected after a failed attempt ends with that failure.
//! - A pause that would outlast a timeout or deadline around it is not begun: the call ends at once.
//! - A breaker counts what a timeout or deadline around it ended as a failure; rejections further in, and attempts that
//!   lost against another, don't count for it.

use crate::breaker::{self, Admission, Breaker, Ticket};
use crate::budget::{self, Budget};
use crate::bulkhead::{self, Bulkhead, Entry};
use crate::outcome::{Failure, Kind, Outcome};
use crate::rate_limit::{self, RateLimit};
use crate::shared::{Scope, Shared};
use crate::{deadline, hedge, retry, timeout};
use rand_core::Rng;

/// The most attempts that one call may come to.
pub const MOST_ATTEMPTS: u64 = 10_000;

/// One policy of a stack.
#[derive(Debug, Clone, PartialEq)]
pub enum Policy {
    /// See [`timeout`].
    Timeout(timeout::Config),
    /// See [`deadline`].
    Deadline(deadline::Config),
    /// See [`retry`].
    Retry(retry::Config),
    /// See [`budget`].
    RetryBudget(Scope, budget::Config),
    /// See [`breaker`].
    CircuitBreaker(Scope, breaker::Config),
    /// See [`bulkhead`].
    Bulkhead(Scope, bulkhead::Config),
    /// See [`hedge`].
    Hedge(hedge::Config),
    /// See [`rate_limit`].
    RateLimit(Scope, rate_limit::Config),
}

impl Policy {
    /// Its name in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Timeout(_) => "timeout",
            Self::Deadline(_) => "deadline",
            Self::Retry(_) => "retry",
            Self::RetryBudget(..) => "retry_budget",
            Self::CircuitBreaker(..) => "circuit_breaker",
            Self::Bulkhead(..) => "bulkhead",
            Self::Hedge(_) => "hedge",
            Self::RateLimit(..) => "rate_limit",
        }
    }

    /// How often it may send what stands after it.
    fn attempts(&self) -> u64 {
        match self {
            Self::Retry(config) => u64::from(config.max_attempts),
            Self::Hedge(config) => u64::from(config.max_attempts),
            _ => 1,
        }
    }
}

/// How many attempts a call may come to at most.
#[must_use]
pub fn most_attempts(policies: &[Policy]) -> u64 {
    policies.iter().map(Policy::attempts).fold(1, u64::saturating_mul)
}

/// The places of retry budgets with no retry or hedge before them, which would never have anything to refuse.
#[must_use]
pub fn idle_budgets(policies: &[Policy]) -> Vec<usize> {
    let repeats = |policy: &Policy| matches!(policy, Policy::Retry(_) | Policy::Hedge(_));
    let first = policies.iter().position(repeats).unwrap_or(policies.len());
    (0..first)
        .filter(|place| matches!(policies[*place], Policy::RetryBudget(..)))
        .collect()
}

/// What the caller is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Send an attempt, and tell how it ended under this number.
    Send {
        /// The attempt's number in its call.
        frame: u32,
    },
    /// No longer wait for an attempt; nothing more is to be told about it.
    Cancel {
        /// The attempt's number in its call.
        frame: u32,
        /// Why.
        why: Why,
    },
    /// The call has ended. Always the last decision about it.
    Done(Outcome),
}

/// Why an attempt is no longer waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It took longer than a timeout or deadline allows.
    TimedOut,
    /// Another attempt of the same call was faster.
    Superseded,
}

/// A call that waits in a bulkhead: the caller's number for it, and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiter {
    /// The caller's number for the call.
    pub who: u64,
    /// What to hand to [`Call::granted`].
    pub frame: u32,
}

/// The policies of a client, outermost first, and what its calls share.
pub struct Stack {
    layers: Vec<Layer>,
    acted: Vec<u64>,
    granted: Vec<Waiter>,
}

enum Layer {
    Timeout(timeout::Config),
    Deadline(deadline::Config),
    Retry(retry::Config),
    Budget(Shared<budget::Config, Budget>),
    Breaker(Shared<breaker::Config, Breaker>),
    Bulkhead(Shared<bulkhead::Config, Bulkhead<Waiter>>, Option<u64>),
    Hedge(hedge::Config),
    RateLimit(Shared<rate_limit::Config, RateLimit>),
}

impl Layer {
    fn new(policy: Policy) -> Self {
        match policy {
            Policy::Timeout(config) => Self::Timeout(config),
            Policy::Deadline(config) => Self::Deadline(config),
            Policy::Retry(config) => Self::Retry(config),
            Policy::RetryBudget(scope, config) => Self::Budget(Shared::new(scope, config, Budget::new)),
            Policy::CircuitBreaker(scope, config) => Self::Breaker(Shared::new(scope, config, Breaker::new)),
            Policy::Bulkhead(scope, config) => {
                Self::Bulkhead(Shared::new(scope, config, Bulkhead::new), config.max_wait_us)
            }
            Policy::Hedge(config) => Self::Hedge(config),
            Policy::RateLimit(scope, config) => Self::RateLimit(Shared::new(scope, config, RateLimit::new)),
        }
    }
}

impl Stack {
    /// Policies that nobody has used yet.
    #[must_use]
    pub fn new(policies: Vec<Policy>) -> Self {
        Self {
            acted: vec![0; policies.len()],
            layers: policies.into_iter().map(Layer::new).collect(),
            granted: Vec::new(),
        }
    }

    /// How often each policy acted: timeouts and deadlines that ended something, further attempts of retries and hedges,
    /// rejections of the others.
    #[must_use]
    pub fn acted(&self) -> &[u64] {
        &self.acted
    }

    /// A waiter that has been given a place in a bulkhead since this was last asked; its call must be told.
    pub fn next_granted(&mut self) -> Option<Waiter> {
        (!self.granted.is_empty()).then(|| self.granted.remove(0))
    }

    /// Whether there is such a waiter.
    #[must_use]
    pub fn has_granted(&self) -> bool {
        !self.granted.is_empty()
    }
}

/// What a call needs to decide: the moment, what it shares with others, chance, and room for decisions.
pub struct Turn<'a, R> {
    /// The policies.
    pub stack: &'a mut Stack,
    /// The present moment.
    pub now_us: u64,
    /// Where jitter is drawn from.
    pub rng: &'a mut R,
    /// Decisions are put at its end, in the order in which they are to be carried out.
    pub decisions: &'a mut Vec<Decision>,
}

/// One call on its way; it can be used for one call after another.
#[derive(Debug)]
pub struct Call {
    who: u64,
    user: u64,
    intended_us: u64,
    sent: u32,
    last_frame: u32,
    frames: Vec<Frame>,
}

#[derive(Debug)]
struct Frame {
    id: u32,
    parent: Option<u32>,
    layer: usize,
    /// When all of it is over at the latest.
    bound_us: u64,
    /// When something happens by itself.
    due_us: Option<u64>,
    state: State,
}

#[derive(Debug)]
enum State {
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

/// How a frame comes to its end.
#[derive(Clone, Copy)]
enum Ending {
    Ended(Outcome),
    Cancelled(Why),
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

    fn position(&self, id: u32) -> Option<usize> {
        self.frames.iter().position(|frame| frame.id == id)
    }

    /// The frame whose time came first; of equals the outermost.
    fn due(&self, now_us: u64) -> Option<u32> {
        let due = |frame: &Frame| Some((frame.due_us.filter(|due| *due <= now_us)?, frame.id));
        self.frames.iter().filter_map(due).min().map(|(_, id)| id)
    }

    fn enter<R: Rng>(&mut self, turn: &mut Turn<'_, R>, parent: Option<u32>, layer: usize, bound_us: u64) {
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
            Layer::Breaker(breaker) => match breaker.of(user).admit(now_us) {
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

    /// Goes on inside of a frame, for the first time or again.
    fn go_in<R: Rng>(&mut self, turn: &mut Turn<'_, R>, place: usize) {
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

    /// Sends the next one beside those that are on their way.
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

    /// What stands in a frame has ended: the frame ends with it, or tries again, or waits for others.
    fn ends<R: Rng>(&mut self, turn: &mut Turn<'_, R>, id: Option<u32>, outcome: Outcome) {
        let Some(id) = id else {
            return turn.decisions.push(Decision::Done(outcome));
        };
        let Some(place) = self.position(id) else { return };
        let outcome = match self.frames[place].state {
            State::Retry { .. } => self.retried(turn, place, outcome),
            State::Hedge { .. } => self.hedged(turn, place, outcome),
            _ => Some(outcome),
        };
        let Some(outcome) = outcome else { return };
        // Cancelling may have moved it.
        let Some(place) = self.position(id) else { return };
        let frame = self.frames.remove(place);
        let parent = frame.parent;
        self.settle(turn, frame, Ending::Ended(outcome));
        self.ends(turn, parent, outcome);
    }

    /// How a retry ends, or `None` when it tries again.
    fn retried<R: Rng>(&mut self, turn: &mut Turn<'_, R>, place: usize, outcome: Outcome) -> Option<Outcome> {
        let frame = &mut self.frames[place];
        let State::Retry { failed, last } = &mut frame.state else {
            return Some(outcome);
        };
        let failure = match outcome {
            Outcome::Good => return Some(outcome),
            // A rejection is not tried again, and does not hide the failure before it.
            Outcome::Rejected => return Some(*last),
            Outcome::Failed(failure) => failure,
        };
        (*failed, *last) = (*failed + 1, outcome);
        let at_us = next_try(
            &turn.stack.layers[frame.layer],
            *failed,
            failure,
            turn.now_us,
            turn.rng,
        );
        let Some(at_us) = at_us.filter(|at_us| *at_us < frame.bound_us) else {
            return Some(outcome);
        };
        frame.due_us = Some(at_us);
        self.wake(turn);
        None
    }

    /// How hedging ends, or `None` when others are still on their way.
    fn hedged<R: Rng>(&mut self, turn: &mut Turn<'_, R>, place: usize, outcome: Outcome) -> Option<Outcome> {
        let id = self.frames[place].id;
        let State::Hedge { going, last, .. } = &mut self.frames[place].state else {
            return Some(outcome);
        };
        *going -= 1;
        if outcome == Outcome::Good {
            self.cancel_inside(turn, id, Why::Superseded);
            return Some(outcome);
        }
        if outcome != Outcome::Rejected {
            *last = outcome;
        }
        (*going == 0).then_some(*last)
    }

    /// Gives up all that is on its way inside of a frame.
    fn cancel_inside<R>(&mut self, turn: &mut Turn<'_, R>, id: u32, why: Why) {
        while let Some(place) = self.frames.iter().position(|frame| frame.parent == Some(id)) {
            let child = self.frames[place].id;
            self.cancel_inside(turn, child, why);
            if let Some(place) = self.position(child) {
                let frame = self.frames.remove(place);
                self.settle(turn, frame, Ending::Cancelled(why));
            }
        }
    }

    /// Gives back what a frame held.
    fn settle<R>(&self, turn: &mut Turn<'_, R>, frame: Frame, ending: Ending) {
        let Frame { id, layer, state, .. } = frame;
        let layer = turn.stack.layers.get_mut(layer);
        match (state, layer, ending) {
            (State::Attempt, _, Ending::Cancelled(why)) => {
                turn.decisions.push(Decision::Cancel { frame: id, why });
            }
            (State::Breaker { ticket, since_us }, Some(Layer::Breaker(breaker)), ending) => {
                report(breaker.of(self.user), ticket, since_us, turn.now_us, ending);
            }
            (State::Inside, Some(Layer::Bulkhead(bulkhead, _)), _) => {
                turn.stack.granted.extend(bulkhead.of(self.user).leave());
            }
            (State::Queued, Some(Layer::Bulkhead(bulkhead, _)), _) => {
                let (bulkhead, who) = (bulkhead.of(self.user), self.who);
                if !bulkhead.stop_waiting(Waiter { who, frame: id }) {
                    // It had been given a place, and was not told yet.
                    turn.stack.granted.extend(bulkhead.leave());
                }
            }
            _ => {}
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

/// When a retry tries again.
fn next_try(layer: &Layer, failed: u32, failure: Failure, now_us: u64, rng: &mut impl Rng) -> Option<u64> {
    let Layer::Retry(config) = layer else { return None };
    let pause_us = config.pause_us(failed, failure, rng)?;
    Some(now_us.saturating_add(pause_us))
}

/// Tells a breaker how a call that it let through ended.
fn report(breaker: &mut Breaker, ticket: Ticket, since_us: u64, now_us: u64, ending: Ending) {
    let success = match ending {
        Ending::Ended(Outcome::Rejected) | Ending::Cancelled(Why::Superseded) => {
            return breaker.forget(ticket);
        }
        Ending::Ended(outcome) => outcome == Outcome::Good,
        Ending::Cancelled(Why::TimedOut) => false,
    };
    breaker.record(ticket, now_us, now_us.saturating_sub(since_us), success);
}
