//! ECN for the hosts behind a router that do not ask for it (Sprenger 2016): tc programs that stand at
//! the router's interfaces, what loads them and what looks after them.

pub mod config;
pub mod daemon;
pub mod datapath;
