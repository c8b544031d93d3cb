//! Encryption of a socket, and sessions, by the functions of tou.h.
#![expect(unsafe_code, reason = "the calls under test are C's")]

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{Api, set_nonblocking, wait_for};
use libc::{EACCES, EALREADY, EINPROGRESS, EINVAL, ENOENT, EPROTO, c_char, c_int};
use std::ffi::{CStr, CString};
use std::mem::size_of;
use std::net::IpAddr;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::thread;
use tou::abi_session::{
    TOU_KEY_SIZE, TouSecurity, TouSessionCandidate, TouSessionInfo, TouSessionOptions, tou_key,
    tou_secure, tou_session_accept, tou_session_candidates, tou_session_connect, tou_session_list,
    tou_session_node,
};
use windlass_identity::SecretKey;
use windlass_rendezvous::daemon::{Daemon, Options};
use windlass_testbed::{Namespace, Need, skip_unless, unique};

const TOU: Api = Api::Tou;

/// A folder of keys that is removed in the end.
struct Keys(PathBuf);

impl Keys {
    fn new() -> Keys {
        let path = std::env::temp_dir().join(unique("libtou-keys"));
        std::fs::create_dir(&path).expect("a folder");
        Keys(path)
    }

    fn file(&self, name: &str) -> CString {
        let path = self.0.join(name).into_os_string().into_encoded_bytes();
        CString::new(path).expect("no zero")
    }

    fn public(&self, name: &str) -> CString {
        let mut text: [c_char; TOU_KEY_SIZE] = [1; TOU_KEY_SIZE];
        let file = self.file(name);
        // SAFETY: both pointers are valid.
        assert_eq!(unsafe { tou_key(file.as_ptr(), text.as_mut_ptr()) }, 0);
        key_text(&text)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn key_text(text: &[c_char; TOU_KEY_SIZE]) -> CString {
    // SAFETY: the text ends with a zero.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_owned()
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().expect("errno")
}

/// Secures a socket with the key `own`. Returns the peer's key, or the errno.
fn secure(
    keys: &Keys,
    fd: c_int,
    own: &str,
    peers: &[&CString],
    server: bool,
) -> Result<CString, c_int> {
    let key_file = keys.file(own);
    let peers: Vec<_> = peers.iter().map(|peer| peer.as_ptr()).collect();
    let security = TouSecurity {
        size: size_of::<TouSecurity>(),
        key_file: key_file.as_ptr(),
        peers: peers.as_ptr(),
        peer_count: peers.len(),
        server: server.into(),
    };
    let mut peer = [0; TOU_KEY_SIZE];
    // SAFETY: all pointers are valid.
    match unsafe { tou_secure(fd, &raw const security, peer.as_mut_ptr()) } {
        0 => Ok(key_text(&peer)),
        _ => Err(errno()),
    }
}

#[test]
fn a_secured_socket_knows_its_peer_and_carries_bytes() {
    let keys = Keys::new();
    let (a, b) = (keys.public("a"), keys.public("b"));
    let (client, server) = TOU.pair();
    thread::scope(|scope| {
        let other = scope.spawn(|| secure(&keys, server, "b", &[&a], true));
        assert_eq!(secure(&keys, client, "a", &[&b], false), Ok(b.clone()));
        assert_eq!(other.join().expect("no panic"), Ok(a.clone()));
    });
    assert_eq!(TOU.send(client, b"hello"), 5);
    let mut received = [0; 5];
    wait_for(server, libc::POLLIN);
    assert_eq!((TOU.recv(server, &mut received), &received), (5, b"hello"));
    assert_eq!(TOU.shutdown(client, libc::SHUT_WR), 0);
    assert_eq!(TOU.recv(server, &mut received), 0, "an end in order");
    for fd in [client, server] {
        assert_eq!(TOU.close(fd), 0);
    }
}

/// Only tou_key makes a file: a name with a fault must not give a new identity.
#[test]
fn a_key_file_that_is_missing_is_an_error_and_is_not_made() {
    let keys = Keys::new();
    let b = keys.public("b");
    let (client, server) = TOU.pair();
    assert_eq!(secure(&keys, client, "typo", &[&b], false), Err(libc::ENOENT));
    assert!(!keys.0.join("typo").exists());
    for fd in [client, server] {
        assert_eq!(TOU.close(fd), 0);
    }
}

#[test]
fn a_key_that_is_not_allowed_is_refused_at_both_ends() {
    let keys = Keys::new();
    let (b, other) = (keys.public("b"), keys.public("other"));
    keys.public("a");
    let (client, server) = TOU.pair();
    thread::scope(|scope| {
        let refusing = scope.spawn(|| secure(&keys, server, "b", &[&other], true));
        // It may learn the refusal only afterwards.
        let begun = secure(&keys, client, "a", &[&b], false);
        assert_eq!(refusing.join().expect("no panic"), Err(EACCES));
        if begun.is_ok() {
            assert_eq!(TOU.recv(client, &mut [0]), -i64::from(EACCES));
        }
    });
    for fd in [client, server] {
        assert_eq!(TOU.close(fd), 0);
    }
}

#[test]
fn a_client_refuses_a_server_with_another_key_and_one_without_tls() {
    let keys = Keys::new();
    let (a, other) = (keys.public("a"), keys.public("other"));
    keys.public("b");
    let (client, server) = TOU.pair();
    thread::scope(|scope| {
        let deceived = scope.spawn(|| secure(&keys, server, "b", &[&a], true));
        assert_eq!(secure(&keys, client, "a", &[&other], false), Err(EACCES));
        assert!(deceived.join().expect("no panic").is_err());
    });
    let (plain_client, plain_server) = TOU.pair();
    assert_eq!(TOU.send(plain_server, b"220 hello, this is not TLS\r\n"), 28);
    assert_eq!(secure(&keys, plain_client, "a", &[&other], false), Err(EPROTO));
    for fd in [client, server, plain_client, plain_server] {
        assert_eq!(TOU.close(fd), 0);
    }
}

#[test]
fn a_nonblocking_socket_is_writable_when_it_is_secured() {
    let keys = Keys::new();
    let (a, b) = (keys.public("a"), keys.public("b"));
    let (client, server) = TOU.pair();
    set_nonblocking(client);
    let again = || secure(&keys, client, "a", &[&b], false);
    assert_eq!(again(), Err(EINPROGRESS));
    assert_eq!(again(), Err(EALREADY));
    assert_eq!(secure(&keys, server, "b", &[&a], true), Ok(a));
    wait_for(client, libc::POLLOUT);
    assert_eq!(again(), Ok(b.clone()));
    for fd in [client, server] {
        assert_eq!(TOU.close(fd), 0);
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let keys = Keys::new();
    let (client, server) = TOU.pair();
    assert_eq!(secure(&keys, client, "a", &[], false), Err(EINVAL), "a client without a peer");
    let nonsense = CString::new("no key").expect("no zero");
    assert_eq!(secure(&keys, client, "a", &[&nonsense], false), Err(EINVAL));
    // SAFETY: null pointers are refused.
    unsafe {
        assert_eq!(tou_secure(client, null(), null_mut()), -1);
        assert_eq!(tou_key(null(), null_mut()), -1);
        assert_eq!(tou_session_node(null()), -1);
        assert_eq!(tou_session_connect(client, nonsense.as_ptr(), 0), -1);
        assert_eq!(tou_session_accept(client, null_mut()), -1);
    }
    for fd in [client, server] {
        assert_eq!(TOU.close(fd), 0);
    }
}

fn node(keys: &Keys, own: &str, via: &CString, peers: &[&CString]) -> c_int {
    let key_file = keys.file(own);
    let via = [via.as_ptr()];
    let peers: Vec<_> = peers.iter().map(|peer| peer.as_ptr()).collect();
    let options = TouSessionOptions {
        size: size_of::<TouSessionOptions>(),
        key_file: key_file.as_ptr(),
        via: via.as_ptr(),
        via_count: 1,
        peers: peers.as_ptr(),
        peer_count: peers.len(),
        flags: 0,
    };
    // SAFETY: all pointers are valid.
    unsafe { tou_session_node(&raw const options) }
}

/// The state of each session.
fn sessions(node: c_int) -> Vec<u64> {
    // SAFETY: zeros are valid.
    let mut infos: [TouSessionInfo; 4] = unsafe { std::mem::zeroed() };
    let size = size_of::<TouSessionInfo>();
    // SAFETY: the array has that many elements.
    let count = unsafe { tou_session_list(node, infos.as_mut_ptr(), infos.len(), size) };
    let count = usize::try_from(count).expect("a number of sessions");
    infos[..count].iter().map(|info| info.state).collect()
}

/// The candidates of the session with `peer`: type, whether it is the peer's, address.
fn candidates(node: c_int, peer: &CString) -> Result<Vec<(u64, u64, IpAddr)>, c_int> {
    // SAFETY: zeros are valid.
    let mut found: [TouSessionCandidate; 16] = unsafe { std::mem::zeroed() };
    let size = size_of::<TouSessionCandidate>();
    // SAFETY: the array has that many elements, and the key ends with a zero.
    let count =
        unsafe { tou_session_candidates(node, peer.as_ptr(), found.as_mut_ptr(), 16, size) };
    let count = usize::try_from(count).map_err(|_| errno())?;
    let address = |candidate: &TouSessionCandidate| {
        // SAFETY: the family says that it is an address of IPv4.
        let v4 = unsafe { &*(&raw const candidate.address).cast::<libc::sockaddr_in>() };
        assert_eq!(i32::from(v4.sin_family), libc::AF_INET);
        IpAddr::from(u32::from_be(v4.sin_addr.s_addr).to_be_bytes())
    };
    Ok(found[..count].iter().map(|c| (c.kind, c.remote, address(c))).collect())
}

#[test]
fn hosts_meet_through_a_rendezvous_and_secure_their_connection() {
    if skip_unless(&[Need::Root, Need::Program("ip")]) {
        return;
    }
    // Loopback addresses are no candidates.
    let host = Namespace::new("lt");
    host.ip("address add 10.77.5.1/24 dev lo");
    let keys = Keys::new();
    let (a, b, stranger) = (keys.public("a"), keys.public("b"), keys.public("c"));
    host.inside(|| {
        let address = "10.77.5.1:0".parse().expect("an address");
        let options = Options::new(SecretKey::from_seed([5; 32]), vec![address]);
        let mut daemon = Daemon::bind(options).expect("a port");
        let port = daemon.addresses().udp[0].port();
        let handle = daemon.handle();
        let serving = thread::spawn(move || daemon.run(|| ()).expect("events"));
        let via = CString::new(format!("10.77.5.1:{port}")).expect("no zero");
        let listening = node(&keys, "b", &via, &[&a]);
        let asking = node(&keys, "a", &via, &[]);
        assert!(listening >= 0 && asking >= 0);
        let connect = |timeout| {
            // SAFETY: the text is valid.
            unsafe { tou_session_connect(asking, b.as_ptr(), timeout) }
        };
        // The other host may still be registering.
        let mut client = -1;
        windlass_testbed::wait_until("a connection", || {
            client = connect(20_000);
            client >= 0
        });
        wait_for(listening, libc::POLLIN);
        let mut opened_by = [0; TOU_KEY_SIZE];
        // SAFETY: there is room for a key.
        let server = unsafe { tou_session_accept(listening, opened_by.as_mut_ptr()) };
        assert_eq!(key_text(&opened_by), a);
        assert_eq!((sessions(asking), sessions(listening)), (vec![3], vec![3]));
        let found = candidates(asking, &b).expect("a session");
        for remote in [0, 1] {
            let host = (1, remote, "10.77.5.1".parse().expect("an address"));
            assert!(found.contains(&host), "{found:?}");
        }
        assert!(found.is_sorted_by_key(|(_, remote, _)| *remote), "{found:?}");
        assert_eq!(candidates(asking, &a), Err(ENOENT), "no session with itself");
        assert_eq!(candidates(asking, &via), Err(EINVAL), "not a key");
        thread::scope(|scope| {
            let other = scope.spawn(|| secure(&keys, server, "b", &[&a], true));
            assert_eq!(secure(&keys, client, "a", &[&b], false), Ok(b.clone()));
            assert_eq!(other.join().expect("no panic"), Ok(a.clone()));
        });
        assert_eq!(TOU.send(server, b"through"), 7);
        let mut received = [0; 7];
        wait_for(client, libc::POLLIN);
        assert_eq!((TOU.recv(client, &mut received), &received), (7, b"through"));
        // The next one is begun, and waited for with poll.
        let begun = connect(0);
        assert!(begun >= 0);
        wait_for(begun, libc::POLLOUT);
        let pending = |fd| TOU.get(fd, (libc::SOL_SOCKET, libc::SO_ERROR));
        assert_eq!(pending(begun), 0);
        wait_for(listening, libc::POLLIN);
        // SAFETY: a null pointer asks for no key.
        let accepted = unsafe { tou_session_accept(listening, std::ptr::null_mut()) };
        assert_eq!(TOU.send(begun, b"begun"), 5);
        let mut received = [0; 5];
        wait_for(accepted, libc::POLLIN);
        assert_eq!((TOU.recv(accepted, &mut received), &received), (5, b"begun"));
        // SAFETY: the text is valid.
        let refused = unsafe { tou_session_connect(asking, stranger.as_ptr(), 0) };
        assert!(refused >= 0, "the failure comes later");
        wait_for(refused, libc::POLLOUT);
        assert_eq!(pending(refused), i64::from(ENOENT), "not registered");
        for fd in [refused, begun, accepted, client, server, asking, listening] {
            assert_eq!(TOU.close(fd), 0);
        }
        handle.stop();
        serving.join().expect("no panic");
    });
}
