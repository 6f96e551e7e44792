//! `patternbench-engine`: load generator, client, calibrated target, fault proxies and guard of processes.

#![forbid(unsafe_code)]

mod client;
mod fault_proxy;
mod guard;
mod load;
mod rare;
mod simulate;
mod steal_cpu;
mod target;
mod unite;

use clap::{Parser, Subcommand};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::process::ExitCode;

/// The engine of patternbench: usually started by it, and useful on its own.
#[derive(Parser)]
#[command(name = "patternbench-engine", version, propagate_version = true, after_help = EXAMPLE)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLE: &str = "Example:
  patternbench-engine target --workers 4 --service-time exponential:5ms";

#[derive(Subcommand)]
enum Verb {
    Target(target::Arguments),
    Client(client::Arguments),
    FaultProxy(fault_proxy::Arguments),
    Guard(guard::Arguments),
    Load(load::Arguments),
    Rare(rare::Arguments),
    Simulate(simulate::Arguments),
    StealCpu(steal_cpu::Arguments),
    Unite(unite::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    allow_many_connections();
    let result = match arguments.verb {
        Verb::Target(arguments) => target::run(arguments),
        Verb::Client(arguments) => client::run(&arguments),
        Verb::FaultProxy(arguments) => fault_proxy::run(&arguments),
        Verb::Guard(arguments) => guard::run(&arguments),
        Verb::Load(arguments) => load::run(&arguments),
        Verb::Rare(arguments) => rare::run(&arguments),
        Verb::Simulate(arguments) => simulate::run(&arguments),
        Verb::StealCpu(arguments) => steal_cpu::run(&arguments),
        Verb::Unite(arguments) => unite::run(&arguments),
    };
    result.unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::from(2)
    })
}

/// Takes as many file descriptors as the system gives: a connection is one.
fn allow_many_connections() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
