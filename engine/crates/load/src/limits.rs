//! How many file descriptors the process may have.

use crate::job::Job;
use patternbench_policies::stack::Policy;
use patternbench_schedule::Problem;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that the process needs in addition to its connections.
const OTHERS: u64 = 64;

/// Raises the limit as far as the job needs it, and returns it.
///
/// # Errors
/// When the hard limit is below what the job needs.
pub fn descriptors(job: &Job) -> Result<u64, Vec<Problem>> {
    let connections: u64 = job
        .groups
        .iter()
        .map(|group| group.workload.connections(job.part))
        .sum();
    // Hedged attempts of one call need a connection each.
    let connections = connections.saturating_mul(at_once(&job.policies));
    // A user keeps one connection to each of several targets.
    let needed = connections
        .saturating_mul(job.targets.len() as u64)
        .saturating_add(OTHERS);
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= needed {
        return Ok(soft);
    }
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit {
        current: Some(needed.min(hard)),
        maximum: limit.maximum,
    };
    if needed <= hard && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(needed);
    }
    Err(vec![Problem::new(
        "groups",
        format!(
            "{connections} connections to each of {} targets",
            job.targets.len()
        ),
        format!("at most {hard} file descriptors"),
        format!(
            "the job needs {needed} file descriptors: lower users or max_in_flight, or run `ulimit -Hn {needed}` as root first"
        ),
    )])
}

/// How many attempts of one call may be on their way at once.
fn at_once(policies: &[Policy]) -> u64 {
    let hedged = |policy: &Policy| match policy {
        Policy::Hedge(config) => u64::from(config.max_attempts),
        _ => 1,
    };
    policies.iter().map(hedged).fold(1, u64::saturating_mul)
}
