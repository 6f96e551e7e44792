//! tower's retry, timeout, concurrency limit and rate limit behind patternbench's client contract.

mod delays;
mod expressible;
mod guards;

use patternbench_client_kit::{Adapter, Description, Entry, Guard, Policy, Problems, serve};
use std::process::ExitCode;
use std::rc::Rc;

/// tower's layers, each around what it guards.
struct TowerAdapter;

impl Adapter for TowerAdapter {
    fn description(&self) -> Description {
        Description {
            name: "tower",
            library: "tower",
            library_version: "0.5.3",
            strategies: &["baseline", "retry", "stack"],
        }
    }

    fn refuse(&self, entry: &Entry<'_>, problems: &mut Problems) {
        expressible::refuse(entry, problems);
    }

    fn guard(&self, policy: &Policy, seed: u64) -> Rc<dyn Guard> {
        match policy {
            Policy::Retry(retry) => Rc::new(guards::Retrying::new(retry.clone(), seed)),
            Policy::Timeout(after) => Rc::new(guards::timeout(after)),
            Policy::Bulkhead(bulkhead) => guards::bulkhead(bulkhead),
            Policy::RateLimit(limit) => Rc::new(guards::RateLimited::new(limit)),
            refused => unreachable!("{} was refused", refused.kind()),
        }
    }
}

fn main() -> ExitCode {
    serve(TowerAdapter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_is_told_is_the_one_that_is_built_in() {
        let pinned = format!(
            "tower = {{ version = \"={}\"",
            TowerAdapter.description().library_version
        );
        assert!(include_str!("../Cargo.toml").contains(&pinned), "{pinned}");
    }
}
