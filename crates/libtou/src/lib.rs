//! TCP over UDP for C and C++. The calls are those of BSD sockets; include/tou.h lists them and
//! docs/guide/tou-c.md describes them.
//!
//! | module | its job |
//! |---|---|
//! | `abi` | the functions of tou.h: converts pointers, sets errno, catches panics |
//! | `address`, `option` | converts `struct sockaddr` and socket options |
//! | `table` | maps descriptors to sockets |
//! | `socket`, `transfer` | behaves like a TCP socket, over [`windlass_tou`] |
//! | `descriptor` | makes the descriptor readable and writable when its socket is |
//! | `security`, `session` | keys and TLS; connections with hosts behind NATs |
//! | `stun` | the callback for STUN messages |

#![expect(unsafe_code, reason = "C passes pointers; every block states why they are valid")]

pub mod abi;
pub mod abi_session;
mod address;
mod descriptor;
mod errno;
mod lock;
mod option;
mod security;
mod session;
mod settings;
mod socket;
mod stun;
mod table;
mod transfer;
