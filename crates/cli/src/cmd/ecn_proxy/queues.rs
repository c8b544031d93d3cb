//! The queues of this machine that mark packets of served connections.

use crate::cmd::doctor::{MarkingQueue, marking_queues};
use windlass_ecn_proxy::check::{Finding, Severity, Subject};

/// The queues that mark packets of served connections, or a warning if there is none.
pub(super) fn look(client_side: &[String]) -> Result<Vec<MarkingQueue>, Finding> {
    of_use(marking_queues(), client_side)
}

/// The proxy removes ECT before a packet reaches the queue towards the served host, so that queue
/// does not mark.
fn of_use(
    found: Result<Vec<MarkingQueue>, String>,
    client_side: &[String],
) -> Result<Vec<MarkingQueue>, Finding> {
    let all = found.map_err(|why| warning(&format!("not looked at: {why}")))?;
    let there = !all.is_empty();
    let of_use: Vec<MarkingQueue> =
        all.into_iter().filter(|queue| !client_side.contains(&queue.interface)).collect();
    match (of_use.is_empty(), there) {
        (false, _) => Ok(of_use),
        (true, false) => Err(warning("no queue of this machine marks")),
        (true, true) => Err(warning("the only queues that mark are behind the proxy")),
    }
}

fn warning(what: &str) -> Finding {
    let expected = "a queue that marks, at the bottleneck: tc qdisc replace dev INTERFACE root \
                    fq_codel, at the interface towards the network (or one elsewhere on the path)";
    Finding::new(Severity::Warning, Subject::Machine, "queues", what, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(interface: &str) -> MarkingQueue {
        MarkingQueue { kind: "fq_codel".to_owned(), interface: interface.to_owned() }
    }

    #[test]
    fn queues_towards_served_hosts_do_not_count() {
        let lan = ["lan".to_owned()];
        let found = of_use(Ok(vec![queue("lan"), queue("wan")]), &lan);
        assert_eq!(found, Ok(vec![queue("wan")]));
        for (found, what) in [
            (Ok(vec![]), "no queue of this machine marks"),
            (Ok(vec![queue("lan")]), "the only queues that mark are behind the proxy"),
            (Err("no tc in PATH".to_owned()), "not looked at: no tc in PATH"),
        ] {
            let finding = of_use(found, &lan).expect_err(what);
            assert_eq!((finding.severity, &*finding.what), (Severity::Warning, what));
        }
    }
}
