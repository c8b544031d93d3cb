//! Addresses are not written beyond the caller's buffer.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::Api;
use std::mem::size_of;
use std::net::Ipv4Addr;

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

/// As with TCP, both names of an accepted connection are those that the client has used.
#[test]
fn a_listener_at_all_addresses_accepts_at_the_one_that_was_asked() {
    for api in [Api::Tcp, Api::Tou] {
        let listener = api.fresh();
        assert_eq!(api.listen(listener, 8), 0);
        for asked in [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)] {
            let mut to = common::loopback(api.port(listener));
            to.sin_addr.s_addr = u32::from(asked).to_be();
            let client = api.fresh();
            let len = size_of_val(&to) as libc::socklen_t;
            assert_eq!(api.connect_raw(client, (&raw const to).cast(), len), 0, "{api:?} {asked}");
            let server = libc::c_int::try_from(api.accept(listener)).expect("comes");
            let own = api.name(server);
            assert_eq!(own.sin_addr.s_addr, to.sin_addr.s_addr, "{api:?} {asked}");
            assert_eq!(own.sin_port, to.sin_port);
            let here = api.name(client).sin_addr.s_addr;
            assert_eq!(here, u32::from(Ipv4Addr::LOCALHOST).to_be(), "{api:?} {asked}");
            for fd in [client, server] {
                assert_eq!(api.close(fd), 0);
            }
        }
        assert_eq!(api.close(listener), 0);
    }
}
