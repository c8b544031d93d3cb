//! A child process has its parent's descriptors and none of its connections.
#![expect(unsafe_code, reason = "the calls under test are C's")]

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{Api, Outcome};

const TOU: Api = Api::Tou;

#[test]
fn a_child_is_refused_and_leaves_its_parent_alone() {
    let (client, server) = TOU.pair();
    let [bad, unsupported] = [libc::EBADF, libc::EOPNOTSUPP].map(|errno| -Outcome::from(errno));
    // SAFETY: the child makes only calls that take no lock, and ends with _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let outcomes = [
            TOU.send(client, b"x") == bad,
            TOU.recv(client, &mut [0]) == bad,
            TOU.close(client) == bad,
            tou::abi::tou_cleanup(0) == 0,
            TOU.socket(libc::AF_INET, libc::SOCK_STREAM, 0) == unsupported,
        ];
        let wrong = outcomes.iter().position(|right| !right).map_or(0, |at| at as i32 + 1);
        // SAFETY: _exit has no preconditions.
        unsafe { libc::_exit(wrong) };
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "call {}", libc::WEXITSTATUS(status));
    assert_eq!(TOU.send(client, b"abc"), 3);
    assert_eq!(TOU.recv(server, &mut [0; 3]), 3);
    assert_eq!(TOU.close(client), 0);
    assert_eq!(TOU.close(server), 0);
}
