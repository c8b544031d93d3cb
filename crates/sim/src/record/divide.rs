//! Recorders that can be divided among the parts of a run.

use super::recorder::Recorder;

/// Which part of a run records what.
#[derive(Clone, Debug)]
pub struct Owners {
    /// By TCP flow: the part of its sender.
    pub flows: Vec<usize>,
    /// By channel, forward before backward of each link: the part of its queue.
    pub channels: Vec<usize>,
}

/// A recorder whose records of one flow, or of one queue, do not depend on the others.
pub trait Divide: Recorder + Send + Sized {
    /// Hands what it records to recorders of the parts; `None` if its records depend on all parts at once.
    fn divide(&mut self, parts: usize, owners: &Owners) -> Option<Vec<Self>>;

    /// Takes everything back, in the order of [`Divide::divide`].
    fn unite(&mut self, parts: Vec<Self>);
}

impl Divide for () {
    fn divide(&mut self, parts: usize, _: &Owners) -> Option<Vec<()>> {
        Some(vec![(); parts])
    }

    fn unite(&mut self, _: Vec<()>) {}
}

impl<A: Divide, B: Divide> Divide for (A, B) {
    fn divide(&mut self, parts: usize, owners: &Owners) -> Option<Vec<(A, B)>> {
        let (first, second) = (self.0.divide(parts, owners)?, self.1.divide(parts, owners)?);
        Some(first.into_iter().zip(second).collect())
    }

    fn unite(&mut self, parts: Vec<(A, B)>) {
        let (first, second) = parts.into_iter().unzip();
        self.0.unite(first);
        self.1.unite(second);
    }
}
