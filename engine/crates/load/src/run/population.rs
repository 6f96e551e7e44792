//! All sessions of a round, with what their groups have come to.

use super::guarded::Guarded;
use super::session::{GroupState, Session};
use super::split::Split;
use super::wires::Key;
use crate::job::Job;
use patternbench_schedule::Part;
use slab::Slab;
use std::ops::{Index, IndexMut};

/// The users and arrivals of a round, by group. A session has its place until it ends.
pub struct Population {
    sessions: Slab<Session>,
    groups: Vec<GroupState>,
    /// The number of the latest session.
    epochs: u32,
    /// How many journeys were begun here, and which part of all they are.
    journeys: u64,
    part: Part,
    /// Whether calls go through policies.
    guarded: bool,
}

impl Population {
    pub fn new(job: &Job) -> Self {
        let traced = job.trace > 0;
        Self {
            sessions: Slab::new(),
            groups: job
                .groups
                .iter()
                .zip(Split::of_groups(job))
                .map(|(group, split)| GroupState::new(group, traced, job.part, split))
                .collect(),
            epochs: 0,
            journeys: 0,
            part: job.part,
            guarded: !job.policies.is_empty(),
        }
    }

    /// Takes a session in, with a memory and a way through the policies if it needs them.
    pub fn add(&mut self, mut session: Session) -> usize {
        self.epochs = self.epochs.wrapping_add(1);
        session.epoch = self.epochs;
        let group = &mut self.groups[session.group];
        group.in_flight += u32::from(!session.is_user);
        session.memory = group.scripted.then(Box::default);
        let who = Key {
            index: self.sessions.vacant_key(),
            epoch: session.epoch,
        };
        let guarded = || Guarded::new(who, session.group, session.user);
        session.guarded = self.guarded.then(guarded);
        self.sessions.insert(session)
    }

    /// Lets a session go, and hands back the connection that it kept.
    pub fn remove(&mut self, index: usize) -> Option<Key> {
        let session = self.sessions.remove(index);
        self.groups[session.group].in_flight -= u32::from(!session.is_user);
        session.wire
    }

    /// Whether the session that was meant still has its place.
    #[inline]
    pub fn is_there(&self, index: usize, epoch: u32) -> bool {
        self.sessions
            .get(index)
            .is_some_and(|session| session.epoch == epoch)
    }

    /// How a session's calls go through the policies.
    #[inline]
    pub fn guarded(&mut self, index: usize) -> Option<&mut Guarded> {
        self.sessions.get_mut(index)?.guarded.as_deref_mut()
    }

    /// A session with its group.
    #[inline]
    pub fn with_group(&mut self, index: usize) -> (&mut Session, &mut GroupState) {
        let session = &mut self.sessions[index];
        let group = &mut self.groups[session.group];
        (session, group)
    }

    #[inline]
    pub fn group(&self, group: usize) -> &GroupState {
        &self.groups[group]
    }

    #[inline]
    pub fn group_mut(&mut self, group: usize) -> &mut GroupState {
        &mut self.groups[group]
    }

    /// The number of a journey that begins, from 1.
    pub fn number_journey(&mut self) -> u32 {
        self.journeys += 1;
        (self.part.turn(self.journeys - 1) + 1) as u32
    }

    /// The places of all sessions.
    pub fn places(&self) -> Vec<usize> {
        self.sessions.iter().map(|(index, _)| index).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Whether no call is under way.
    pub fn is_idle(&self) -> bool {
        self.groups.iter().all(|group| group.in_flight == 0)
    }

    /// Calls under way.
    pub fn in_flight(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.in_flight)).sum()
    }
}

impl Index<usize> for Population {
    type Output = Session;

    #[inline]
    fn index(&self, index: usize) -> &Session {
        &self.sessions[index]
    }
}

impl IndexMut<usize> for Population {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut Session {
        &mut self.sessions[index]
    }
}
