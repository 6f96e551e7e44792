//! The part of a load that one of several generators makes, and what can't be split among them.

use super::fields::{Node, Object};
use super::workload::{Arrivals, Open, Workload};
use patternbench_policies::shared::Scope;
use patternbench_policies::stack::Policy;
use patternbench_schedule::{Part, Problem};

/// How many generators may make one load.
const MOST_PARTS: u64 = 1000;

pub fn part(node: &Node<'_>) -> Option<Part> {
    let object = node.object(&["index", "of"])?;
    let of = object.need("of", |node| node.whole(1..=MOST_PARTS))?;
    let index = object.need("index", |node| node.whole(0..=of - 1))?;
    Part::new(u32::try_from(index).ok()?, u32::try_from(of).ok()?)
}

/// Notes everything of a job that would be something else if several generators made it.
pub fn refuse_indivisible(job: &Object<'_>, part: Part, policies: &[Policy], groups: &[&Workload]) {
    if part.is_whole() {
        return;
    }
    if let Some(node) = job.get("policies") {
        node.adopt(shared_by_all(policies, part).collect());
    }
    if let Some(node) = job.get("groups") {
        node.adopt(shared_by_a_user(policies, groups, part).collect());
        node.adopt(too_few(groups, part).collect());
    }
    for name in ["warm_up_requests", "warm_up_settled"] {
        if let Some(node) = job.get(name).filter(|node| node.value != false) {
            node.wrong(
                "a warm-up of a fixed time, or one generator",
                "each of several generators would end the warm-up at another moment",
            );
        }
    }
}

/// Policies whose state all users share: each generator would have one of its own.
fn shared_by_all(policies: &[Policy], part: Part) -> impl Iterator<Item = Problem> {
    let shared = policies.iter().enumerate();
    shared
        .filter(|(_, policy)| scope_of(policy) == Some(Scope::Client))
        .map(move |(index, policy)| {
            let name = policy.name();
            Problem::new(
                format!("[{index}].{name}.scope"),
                "client",
                "scope: user, or one generator",
                format!(
                    "all users share one {name}, and each of {} generators would have one of its own",
                    part.of()
                ),
            )
        })
}

/// Groups in which one user's calls come from several generators, where a policy remembers what each user did.
fn shared_by_a_user(policies: &[Policy], groups: &[&Workload], part: Part) -> impl Iterator<Item = Problem> {
    let remembers = policies
        .iter()
        .find(|policy| scope_of(policy) == Some(Scope::User));
    let found = remembers.into_iter().flat_map(move |policy| {
        let open = groups.iter().enumerate();
        open.filter_map(move |(index, group)| Some((index, divided(group, part)?, policy.name())))
    });
    found.map(move |(index, open, name)| {
        Problem::new(
            format!("[{index}].workload.open.users"),
            open.users,
            format!("a multiple of {0} users without a trace of users, or one generator", part.of()),
            format!(
                "the arrivals of one user come from several of {} generators, and each would have a {name} of its own for it",
                part.of()
            ),
        )
    })
}

/// The arrivals of a group, where those of one user fall to several parts.
fn divided(group: &Workload, part: Part) -> Option<&Open> {
    let Workload::Open(open) = group else {
        return None;
    };
    let named = match &open.arrivals {
        Arrivals::Trace(trace, _) => trace.arrivals.iter().any(|arrival| arrival.user.is_some()),
        Arrivals::Schedule(_) => false,
    };
    (named || open.users % part.of() != 0).then_some(open)
}

/// Who shares the state of a policy, where it has any.
fn scope_of(policy: &Policy) -> Option<Scope> {
    match policy {
        Policy::RetryBudget(scope, _)
        | Policy::CircuitBreaker(scope, _, _)
        | Policy::Bulkhead(scope, _)
        | Policy::RateLimit(scope, _) => Some(*scope),
        Policy::Timeout(_) | Policy::Deadline(_) | Policy::Retry(_) | Policy::Hedge(_) => None,
    }
}

/// Groups of which some generator could not send anything, unless it has enough to do in another one.
fn too_few(groups: &[&Workload], part: Part) -> impl Iterator<Item = Problem> {
    let last = u64::from(part.of() - 1);
    let none_for_last = move |group: &Workload| group.connections(Part::WHOLE) <= last;
    let all_closed = groups
        .iter()
        .all(|group| matches!(group, Workload::Closed(_)) && none_for_last(group));
    let few = groups.iter().enumerate();
    few.filter_map(move |(index, group)| {
        let field = match group {
            Workload::Open(_) if none_for_last(group) => "open.max_in_flight",
            Workload::Closed(_) if all_closed => "closed.users",
            _ => return None,
        };
        Some(Problem::new(
            format!("[{index}].workload.{field}"),
            group.connections(Part::WHOLE),
            format!("{} or more, or fewer generators", part.of()),
            "some generator would have nothing to send",
        ))
    })
}
