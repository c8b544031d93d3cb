//! Nodes that stay together: disjoint sets with weights.

use crate::model::NodeId;

/// Groups of nodes.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    parents: Vec<NodeId>,
    /// Of a group's root: the weight of its nodes.
    weights: Vec<f64>,
}

impl Groups {
    /// Each node is a group of its own.
    pub(super) fn new(weights: Vec<f64>) -> Groups {
        Groups { parents: (0..weights.len()).collect(), weights }
    }

    /// The node that stands for the group of a node.
    pub(super) fn root(&self, mut node: NodeId) -> NodeId {
        while self.parents[node] != node {
            node = self.parents[node];
        }
        node
    }

    /// Makes one group of the groups of two nodes.
    pub(super) fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            let (root, child) = if self.weights[a] >= self.weights[b] { (a, b) } else { (b, a) };
            self.parents[child] = root;
            self.weights[root] += self.weights[child];
        }
    }

    /// The weight of the group of a node.
    pub(super) fn weight(&self, node: NodeId) -> f64 {
        self.weights[self.root(node)]
    }

    /// The nodes that stand for groups, the heaviest first.
    pub(super) fn roots(&self) -> Vec<NodeId> {
        let mut roots: Vec<NodeId> =
            (0..self.parents.len()).filter(|node| self.parents[*node] == *node).collect();
        roots.sort_by(|a, b| self.weights[*b].total_cmp(&self.weights[*a]).then(a.cmp(b)));
        roots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_nodes_weigh_together() {
        let mut groups = Groups::new(vec![1.0, 2.0, 4.0, 8.0]);
        groups.join(0, 1);
        groups.join(1, 2);
        groups.join(0, 2);
        assert_eq!(groups.weight(0), 7.0);
        assert_eq!(groups.root(0), groups.root(2));
        assert_ne!(groups.root(0), groups.root(3));
        assert_eq!(groups.roots(), [3, groups.root(0)]);
    }
}
