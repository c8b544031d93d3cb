//! Which nodes reach each other, to refuse a flow between two that do not. The simulator finds the
//! paths themselves (`windlass_sim`, `network/routes.rs`).

use windlass_sim::model::{Link, NodeId};

/// The connected components of the network.
pub(super) struct Components(Vec<usize>);

impl Components {
    /// Numbers the components of the graph: nodes with the same number are connected.
    pub(super) fn new(nodes: usize, links: &[Link]) -> Components {
        let mut neighbours = vec![Vec::new(); nodes];
        for link in links {
            neighbours[link.a].push(link.b);
            neighbours[link.b].push(link.a);
        }
        let mut component = vec![usize::MAX; nodes];
        for start in 0..nodes {
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                if component[node] == usize::MAX {
                    component[node] = start;
                    open.extend(&neighbours[node]);
                }
            }
        }
        Components(component)
    }

    /// True if the two nodes are connected.
    pub(super) fn connected(&self, a: NodeId, b: NodeId) -> bool {
        self.0[a] == self.0[b]
    }
}
