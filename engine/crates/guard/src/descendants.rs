//! Who descends from a process, read from `/proc`.

use rustix::process::Pid;
use std::collections::HashMap;
use std::fs;

/// All living descendants of `ancestor`, children before grandchildren.
pub fn of(ancestor: Pid) -> Vec<Pid> {
    below(ancestor.as_raw_nonzero().get(), &children_by_parent())
        .into_iter()
        .filter_map(Pid::from_raw)
        .collect()
}

fn below(ancestor: i32, children: &HashMap<i32, Vec<i32>>) -> Vec<i32> {
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        found.extend(children.get(parent).into_iter().flatten().copied());
        next += 1;
    }
    found.split_off(1)
}

fn children_by_parent() -> HashMap<i32, Vec<i32>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().parse::<i32>();
        // A process that ends while it is looked at has no parent any more.
        if let Ok(pid) = pid
            && let Some(parent) = fs::read_to_string(entry.path().join("stat"))
                .ok()
                .and_then(|stat| living_parent(&stat))
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

/// The parent in a line of `/proc/PID/stat`, unless the process is dead already and only waits to be reaped.
///
/// The name in parentheses may itself hold spaces and parentheses.
fn living_parent(stat: &str) -> Option<i32> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_confuse_the_reader() {
        assert_eq!(living_parent("42 (a) Z 1 ( b)) S 7 42 42 0"), Some(7));
        assert_eq!(living_parent("42 (sleep) S 7 42 42 0"), Some(7));
        assert_eq!(living_parent("42 (sleep) Z 7 42 42 0"), None);
        assert_eq!(living_parent("nonsense"), None);
    }

    #[test]
    fn descendants_of_all_generations_are_found() {
        let children = HashMap::from([(1, vec![2, 3]), (3, vec![4]), (4, vec![5]), (9, vec![10])]);
        assert_eq!(below(1, &children), [2, 3, 4, 5]);
        assert_eq!(below(5, &children), [0i32; 0]);
    }

    #[test]
    fn a_child_of_this_process_is_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = of(rustix::process::getpid());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&Pid::from_raw(child.id() as i32).unwrap()));
    }
}
