//! TCP over UDP for C and C++. The calls are those of BSD sockets; include/tou.h lists them and
//! docs/guide/tou-c.md describes them.
//!
//! | module | its job |
//! |---|---|
//! | `abi` | the functions that C sees: pointers in, errno out, no panic beyond |
//! | `address`, `option` | what C passes as `struct sockaddr` and as options |
//! | `table` | descriptor to socket |
//! | `socket` | what a socket of TCP would do, over [`windlass_tou`] |
//! | `gate` | keeps the descriptor as readable and writable as its socket |
//! | `stun` | the callback for STUN, and its end |

#![allow(unsafe_code, reason = "C passes pointers; every block says why they are sound")]

pub mod abi;
mod address;
mod errno;
mod gate;
mod lock;
mod option;
mod settings;
mod socket;
mod stun;
mod table;
mod transfer;
