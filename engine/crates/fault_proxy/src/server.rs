//! The loop: what is due, then what is ready.

use crate::active::Faults;
use crate::admin::{Admin, Order};
use crate::bucket::Bucket;
use crate::connection::{Connection, Pumped, Shared};
use crate::door::Door;
use crate::faults::Link;
use crate::onward::{self, Onward};
use crate::settings::Settings;
use crate::timer::Timer;
use patternbench_timing::{Nanos, now};
use patternbench_wire::{Poller, Readiness};
use serde_json::{Value, json};
use slab::Slab;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long nothing at all may happen before the loop turns once more for nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// How many bytes are read at once.
const SCRATCH: usize = 64 * 1024;
/// How many bytes may be under way in one direction of a connection: what a socket's buffers hold, and over a link with
/// latency what a fast sender sends before the first byte arrives.
const ROOM: usize = 256 * 1024;
const ROOM_WITH_LATENCY: usize = 16 * 1024 * 1024;

/// The numbers under which sockets are watched; those of connections follow.
const DOOR: u64 = 0;
const ADMIN_DOOR: u64 = 1;
const ADMIN: u64 = 2;
const TIMER: u64 = 3;
const FIRST: u64 = 4;

/// All that a proxy holds.
pub struct Server {
    poller: Poller,
    timer: Timer,
    door: Door,
    admin: Admin,
    onward: Onward,
    connections: Slab<Connection>,
    alarms: BinaryHeap<Reverse<(Nanos, usize)>>,
    shared: Shared,
    link: Link,
    scratch: Vec<u8>,
}

impl Server {
    pub fn new(settings: &Settings) -> Result<Self, String> {
        // Orders come from outside the network in which it works.
        let admin = Admin::open(settings.admin).map_err(|error| refused(settings.admin, &error))?;
        if let Some(network) = &settings.network {
            onward::enter(network)?;
        }
        let door = Door::open(settings.listen).map_err(|error| refused(settings.listen, &error))?;
        let room = if settings.latency == 0 {
            ROOM
        } else {
            ROOM_WITH_LATENCY
        };
        let shared = Shared {
            faults: Faults::new(settings.seed),
            buckets: (Bucket::default(), Bucket::default()),
            latency: settings.latency,
            room,
            cut: false,
        };
        let made = || -> io::Result<(Poller, Timer)> {
            let (poller, timer) = (Poller::new()?, Timer::new()?);
            poller.add(&timer, TIMER)?;
            poller.add(&admin.listener, ADMIN_DOOR)?;
            Ok((poller, timer))
        };
        let (poller, timer) = made().map_err(|error| format!("cannot wait for sockets: {error}"))?;
        let (connections, alarms) = (Slab::new(), BinaryHeap::new());
        let (link, scratch) = (Link::default(), vec![0; SCRATCH]);
        let onward = Onward {
            to: settings.to,
            mark: settings.mark,
        };
        let server = Self {
            poller,
            timer,
            door,
            admin,
            onward,
            connections,
            alarms,
            shared,
            link,
            scratch,
        };
        server
            .watch_door()
            .map_err(|error| refused(settings.listen, &error))?;
        Ok(server)
    }

    pub fn address(&self) -> SocketAddr {
        self.door.address
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.admin.listener.local_addr().unwrap_or(self.door.address)
    }

    /// Serves until the operating system refuses to.
    pub fn run(&mut self) -> io::Result<()> {
        let mut ready: Vec<Readiness> = Vec::new();
        loop {
            self.ring();
            let next = self.alarms.peek().map(|Reverse((at, _))| *at);
            self.timer.set(next)?;
            ready.extend(self.poller.wait(LONGEST_WAIT)?);
            for event in ready.drain(..) {
                self.handle(event);
            }
        }
    }

    /// Looks at the connections for which something is due.
    fn ring(&mut self) {
        while let Some(&Reverse((at, index))) = self.alarms.peek() {
            if at > now() {
                return;
            }
            self.alarms.pop();
            if let Some(connection) = self.connections.get_mut(index)
                && connection.alarm == Some(at)
            {
                connection.alarm = None;
                self.pump(index);
            }
        }
    }

    fn handle(&mut self, event: Readiness) {
        match event.key {
            TIMER => {}
            DOOR => self.let_in(),
            ADMIN_DOOR => self.let_admin_in(),
            ADMIN => self.obey(),
            key => {
                let (index, of_service) = (((key - FIRST) / 2) as usize, (key - FIRST) % 2 == 1);
                if let Some(connection) = self.connections.get_mut(index) {
                    if event.readable {
                        connection.is_readable(of_service);
                    }
                    self.pump(index);
                }
            }
        }
    }

    fn pump(&mut self, index: usize) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        match connection.pump(&mut self.shared, &mut self.scratch, now()) {
            Pumped::Closed => drop(self.connections.remove(index)),
            Pumped::Open(Some(at)) if connection.alarm.is_none_or(|set| at < set) => {
                connection.alarm = Some(at);
                self.alarms.push(Reverse((at, index)));
            }
            Pumped::Open(_) => {}
        }
    }

    fn pump_all(&mut self) {
        let every: Vec<usize> = self.connections.iter().map(|(index, _)| index).collect();
        every.into_iter().for_each(|index| self.pump(index));
    }

    /// Lets in all callers that wait, unless nothing passes.
    fn let_in(&mut self) {
        while !self.shared.cut
            && let Some(listener) = &self.door.listener
            && let Ok((caller, _)) = listener.accept()
        {
            if let Err(error) = self.join(caller) {
                eprintln!("a connection was not passed on: {error}");
            }
        }
    }

    fn join(&mut self, caller: TcpStream) -> io::Result<()> {
        let service = self.onward.connect(&caller)?;
        let connection = Connection::new(caller, service)?;
        let index = self.connections.vacant_key();
        for (socket, side) in connection.sockets().into_iter().zip(0..) {
            self.poller.add(socket, FIRST + 2 * index as u64 + side)?;
        }
        self.connections.insert(connection);
        Ok(())
    }

    fn watch_door(&self) -> io::Result<()> {
        self.door
            .listener
            .as_ref()
            .map_or(Ok(()), |listener| self.poller.add(listener, DOOR))
    }

    fn let_admin_in(&mut self) {
        while self.admin.accept() {
            if let Some(stream) = &self.admin.stream
                && let Err(error) = self.poller.add(stream, ADMIN)
            {
                eprintln!("an order couldn't be read: {error}");
            }
        }
    }

    /// Carries out the orders that have arrived; when no one gives orders any more, all faults end.
    fn obey(&mut self) {
        let (orders, there) = self.admin.hear();
        for order in orders {
            let answer = self
                .carry_out(&order)
                .unwrap_or_else(|error| json!({"error": error}));
            self.admin.say(&answer);
        }
        if !there {
            let ended = self.shared.faults.clear();
            if let Err(error) = self.changed(&ended) {
                eprintln!("{error}");
            }
        }
    }

    fn carry_out(&mut self, line: &str) -> Result<Value, String> {
        let order: Order = serde_json::from_str(line).map_err(|error| error.to_string())?;
        match order {
            Order::Begin { name, fault } => {
                self.shared.faults.begin(name, fault)?;
                self.changed(&[])?;
                Ok(json!({"at_ns": now()}))
            }
            Order::End { name } => {
                let (id, deeds) = self.shared.faults.end(&name)?;
                self.changed(&[id])?;
                Ok(json!({"at_ns": now(), "deeds": deeds}))
            }
        }
    }

    /// Makes the link what the faults that act now want it to be; `ended` are those that have just stopped.
    fn changed(&mut self, ended: &[u32]) -> Result<(), String> {
        let (before, link) = (self.link, self.shared.faults.link());
        self.link = link;
        self.shared.cut = link.cut;
        self.shared.buckets.0.limit(link.bytes_per_s);
        self.shared.buckets.1.limit(link.bytes_per_s);
        self.connections.retain(|_, connection| {
            let over = link.refused || connection.stalled_by().is_some_and(|by| ended.contains(&by));
            if over {
                connection.reset();
            }
            !over
        });
        if link.refused {
            self.door.close();
        } else if before.refused {
            let opened = self.door.reopen().and_then(|()| self.watch_door());
            opened.map_err(|error| refused(self.door.address, &error))?;
        }
        self.let_in();
        self.pump_all();
        Ok(())
    }
}

fn refused(address: SocketAddr, error: &io::Error) -> String {
    format!("cannot listen on {address}: {error}")
}
