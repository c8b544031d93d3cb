//! Calls in any order with any arguments: they do not crash or panic, and set errno on failure.
#![expect(unsafe_code, reason = "the calls under test are C's")]

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{Api, Outcome, loopback, set_nonblocking};
use libc::{c_int, socklen_t};
use proptest::prelude::*;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use tou::abi::{SOL_TOU, TOU_QLOG};
use windlass_testbed::unique;

const TOU: Api = Api::Tou;
/// Size of each buffer in bytes: no call reads or writes more.
const ROOM: usize = 256;

/// One call. Pointers are null or have `ROOM` bytes, as C requires; other arguments are arbitrary.
#[derive(Clone, Debug)]
struct Call {
    which: u8,
    socket: u8,
    /// A descriptor to use instead of a socket's.
    fd: Option<c_int>,
    is_null: bool,
    has_no_len: bool,
    len: u32,
    a: c_int,
    b: c_int,
    bytes: Vec<u8>,
}

fn number() -> impl Strategy<Value = c_int> {
    prop_oneof![4 => 0..40, 2 => Just(0x746f), 1 => any::<c_int>(), 1 => Just(-1)]
}

fn call() -> impl Strategy<Value = Call> {
    let fd = prop_oneof![6 => Just(None), 1 => any::<c_int>().prop_map(Some), 1 => Just(Some(-1))];
    let len =
        prop_oneof![4 => 0..ROOM as u32, 2 => Just(16), 1 => Just(u32::MAX), 1 => any::<u32>()];
    let bytes = prop::collection::vec(any::<u8>(), ROOM);
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    (0..15u8, any::<u8>(), fd, flags, len, number(), number(), bytes).prop_map(
        |(which, socket, fd, (is_null, has_no_len), len, a, b, bytes)| Call {
            which,
            socket,
            fd,
            is_null,
            has_no_len,
            len,
            a,
            b,
            bytes,
        },
    )
}

/// Makes a call. For a descriptor that is not a ToU socket all calls, including tou_close, must fail
/// with ENOTSOCK and leave it open.
fn perform(call: &Call, sockets: &mut Vec<c_int>) -> Outcome {
    let at = usize::from(call.socket) % sockets.len().max(1);
    let fd = call.fd.or(sockets.get(at).copied()).unwrap_or(-1);
    let mut room = call.bytes.clone();
    // Half of the calls have a loopback address, which random bytes would rarely be.
    if call.a % 2 == 0 {
        let address = loopback(call.b as u16);
        // SAFETY: the buffer is larger than an address, which is plain data.
        unsafe { room.as_mut_ptr().cast::<libc::sockaddr_in>().write_unaligned(address) };
    }
    let mut len: socklen_t = call.len;
    // Bounds lengths that the call uses in full. Addresses and options are smaller than ROOM.
    let bounded = (call.len as usize).min(ROOM);
    let to = if call.is_null { null_mut() } else { room.as_mut_ptr() };
    let from = to.cast_const();
    let len_at = if call.has_no_len { null_mut() } else { &raw mut len };
    let (level, name) = (call.a, call.b);
    let level = [libc::SOL_SOCKET, libc::IPPROTO_TCP, 0x746f, level][usize::from(call.socket) % 4];
    match call.which {
        0 => {
            let fd = TOU.socket(
                [libc::AF_INET, call.a][usize::from(call.is_null)],
                1 | call.b & 0x800,
                0,
            );
            if let Ok(fd @ 0..) = c_int::try_from(fd) {
                set_nonblocking(fd);
                sockets.push(fd);
            }
            fd
        }
        1 => TOU.bind_raw(fd, from.cast(), call.len),
        2 => TOU.listen(fd, call.a),
        3 => {
            let accepted = TOU.accept_raw(fd, to.cast(), len_at);
            if let Ok(fd @ 0..) = c_int::try_from(accepted) {
                set_nonblocking(fd);
                sockets.push(fd);
            }
            accepted
        }
        4 => TOU.connect_raw(fd, from.cast(), call.len),
        5 => {
            // Connects to a listener among the sockets, if there is one.
            let is = |fd: c_int, name, value| TOU.get(fd, (libc::SOL_SOCKET, name)) == value;
            let listens = |fd: &&c_int| {
                is(**fd, libc::SO_ACCEPTCONN, 1)
                    && is(**fd, libc::SO_DOMAIN, Outcome::from(libc::AF_INET))
            };
            let port = sockets.iter().find(listens).map_or(1, |fd| TOU.port(*fd));
            TOU.connect(fd, port)
        }
        6 => TOU.send_raw(fd, from.cast(), bounded, call.a),
        7 => TOU.recv_raw(fd, to.cast(), bounded, call.a),
        8 => TOU.shutdown(fd, call.a),
        9 => TOU.getsockopt_raw(fd, (level, name), to.cast(), len_at),
        10 => {
            let len = if call.len > i32::MAX as u32 { call.len } else { bounded as u32 };
            set_option(fd, (level, name), (!call.is_null).then_some(&mut room), len)
        }
        11 => TOU.getsockname_raw(fd, to.cast(), len_at),
        12 => TOU.getpeername_raw(fd, to.cast(), len_at),
        13 => {
            // SAFETY: no callback is set.
            let set = unsafe { tou::abi::tou_set_stun_callback(fd, None, null_mut()) };
            // SAFETY: pointers are null or have ROOM bytes.
            let sent =
                unsafe { tou::abi::tou_send_stun(fd, from.cast(), bounded, from.cast(), call.len) };
            if set < 0 { failure() } else { sent as Outcome }
        }
        _ => {
            sockets.retain(|other| *other != fd);
            TOU.close(fd)
        }
    }
}

fn set_option(
    fd: c_int,
    option: (c_int, c_int),
    bytes: Option<&mut Vec<u8>>,
    len: socklen_t,
) -> Outcome {
    let from = bytes.map_or(null(), |bytes| {
        if option == (SOL_TOU, TOU_QLOG) {
            // The folder that the option makes lies in the test's own.
            bytes.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'_');
        }
        bytes.as_ptr()
    });
    TOU.setsockopt_raw(fd, option, from.cast(), len)
}

fn failure() -> Outcome {
    -i64::from(std::io::Error::last_os_error().raw_os_error().expect("errno"))
}

/// A working directory of its own for this process, removed at the end.
struct WorkingDirectory(PathBuf);

impl WorkingDirectory {
    fn enter() -> WorkingDirectory {
        let path = std::env::temp_dir().join(unique("libtou-arguments"));
        std::fs::create_dir(&path).expect("a new name");
        std::env::set_current_dir(&path).expect("just made");
        WorkingDirectory(path)
    }
}

impl Drop for WorkingDirectory {
    fn drop(&mut self) {
        std::env::set_current_dir("/").expect("there");
        std::fs::remove_dir_all(&self.0).expect("the test's own");
    }
}

// The only test of this process, since it closes all sockets.
proptest! {
    #![proptest_config(ProptestConfig { cases: windlass_testbed::cases(300), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_arguments_are_taken_or_refused(calls in prop::collection::vec(call(), 1..60)) {
        let _directory = WorkingDirectory::enter();
        let mut sockets = vec![TOU.listener(), TOU.fresh()];
        sockets.iter().for_each(|fd| set_nonblocking(*fd));
        for call in &calls {
            let outcome = perform(call, &mut sockets);
            // EIO stands for a panic.
            prop_assert!(outcome >= 0 || outcome > -200 && outcome != -i64::from(libc::EIO), "{call:?}: {outcome}");
        }
        for fd in sockets {
            prop_assert_eq!(TOU.close(fd), 0);
        }
        // Connections that are open or in TIME-WAIT would keep their ports and descriptors.
        tou::abi::tou_cleanup(0);
    }
}
