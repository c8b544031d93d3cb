//! Whole runs: seeds break no promise, and each is one run and no other.

mod seeds;
mod traversal;
