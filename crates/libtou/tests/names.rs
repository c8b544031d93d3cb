//! Addresses are not written beyond the caller's buffer.
#![allow(unsafe_code, reason = "the calls under test are C's")]

mod common;

use common::Api;
use std::mem::size_of;

#[test]
fn names_are_never_written_beyond_their_room() {
    let fd = Api::Tou.fresh();
    for room in 0..64 {
        let mut bytes = [0xa5u8; 64];
        let mut len = room;
        let to = bytes.as_mut_ptr().cast();
        assert_eq!(Api::Tou.getsockname_raw(fd, to, &raw mut len), 0);
        assert_eq!(len as usize, size_of::<libc::sockaddr_in>());
        let written = (room as usize).min(len as usize);
        assert!(bytes[written..].iter().all(|byte| *byte == 0xa5), "room for {room}");
    }
    assert_eq!(Api::Tou.close(fd), 0);
}
