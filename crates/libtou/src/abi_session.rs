//! The functions of tou.h for keys, encryption and sessions. As in `abi`, each returns -1 and sets
//! errno on failure.

use crate::abi::guard;
use crate::address::RawAddress;
use crate::errno::{Errno, Result};
use crate::security::{self, Side};
use crate::socket::Socket;
use crate::table;
use libc::{c_char, c_int, sockaddr_storage, socklen_t, ssize_t};
use std::ffi::{CStr, OsStr};
use std::mem::{offset_of, size_of};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use windlass_identity::PublicKey;
use windlass_tou::secure;
use windlass_tou::session::{
    Allow, CandidateType, NodeOptions, RendezvousAddress, SessionInfo, SessionState,
};

/// The length of a key's text, with the final zero.
pub const TOU_KEY_SIZE: usize = 53;
/// Use relays only, and do not tell peers this host's addresses.
const TOU_SESSION_RELAY_ONLY: c_int = 1;
/// Any host may connect.
const TOU_SESSION_ANYONE: c_int = 2;

/// `struct tou_security`.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "tou.h has them")]
pub struct TouSecurity {
    pub size: usize,
    pub key_file: *const c_char,
    pub peers: *const *const c_char,
    pub peer_count: usize,
    pub server: c_int,
}

/// `struct tou_session_options`.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "tou.h has them")]
pub struct TouSessionOptions {
    pub size: usize,
    pub key_file: *const c_char,
    pub via: *const *const c_char,
    pub via_count: usize,
    pub peers: *const *const c_char,
    pub peer_count: usize,
    pub flags: c_int,
}

/// `struct tou_session_info`.
#[repr(C)]
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "tou.h has them")]
#[expect(missing_debug_implementations, reason = "sockaddr_storage has none")]
pub struct TouSessionInfo {
    pub peer: [c_char; 56],
    pub state: u64,
    pub relayed: u64,
    pub rtt_ns: u64,
    pub local: sockaddr_storage,
    pub remote: sockaddr_storage,
}

/// `struct tou_session_candidate`.
#[repr(C)]
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "tou.h has them")]
#[expect(missing_debug_implementations, reason = "sockaddr_storage has none")]
pub struct TouSessionCandidate {
    pub kind: u64,
    pub remote: u64,
    pub address: sockaddr_storage,
}

/// A text that C passed. A null pointer is EFAULT, and what is not UTF-8 is EINVAL.
///
/// # Safety
/// `text` is null or ends with a zero byte, and stays readable while the result is used.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Errno(libc::EINVAL))
}

/// As [`text`], a path.
///
/// # Safety
/// As [`text`].
unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path> {
    if path.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: as above.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// Parses the texts of an array; EINVAL if one does not parse.
///
/// # Safety
/// `texts` is null or has `count` elements, each as [`text`] requires.
unsafe fn parse_all<T: FromStr>(texts: *const *const c_char, count: usize) -> Result<Vec<T>> {
    if count > 0 && texts.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    let one = |index| {
        // SAFETY: the index is below the number of elements.
        let text = unsafe { text(texts.add(index).read_unaligned()) }?;
        text.parse().map_err(|_| Errno(libc::EINVAL))
    };
    (0..count).map(one).collect()
}

/// Writes a key's text and a zero byte; nothing to a null pointer.
///
/// # Safety
/// `to` is null or has [`TOU_KEY_SIZE`] writable bytes.
unsafe fn write_key(key: &PublicKey, to: *mut c_char) {
    if to.is_null() {
        return;
    }
    for (index, byte) in key_text(key).into_iter().enumerate() {
        // SAFETY: the text has TOU_KEY_SIZE bytes.
        unsafe { to.add(index).write(byte) };
    }
}

fn key_text(key: &PublicKey) -> [c_char; TOU_KEY_SIZE] {
    let mut text = [0; TOU_KEY_SIZE];
    for (to, byte) in text.iter_mut().zip(key.to_string().bytes().take(TOU_KEY_SIZE - 1)) {
        *to = byte as c_char;
    }
    text
}

/// Writes the public key that belongs to a key file. The file is made on first use.
///
/// # Safety
/// `key_file` is null or a text; `key` is null or has [`TOU_KEY_SIZE`] writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_key(key_file: *const c_char, key: *mut c_char) -> c_int {
    guard(|| {
        // SAFETY: this function requires valid pointers of its caller.
        let secret = security::load_or_create_key(unsafe { path(key_file) }?)?;
        // SAFETY: as above.
        unsafe { write_key(&secret.public_key(), key) };
        Ok(0)
    })
}

/// Secures a connected socket by TLS 1.3, and writes the peer's key.
///
/// # Safety
/// `security` is null or a structure whose pointers are valid; `peer` is null or has
/// [`TOU_KEY_SIZE`] writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_secure(
    fd: c_int,
    security: *const TouSecurity,
    peer: *mut c_char,
) -> c_int {
    guard(|| {
        let socket = table::get(fd)?;
        // SAFETY: this function requires valid pointers of its caller.
        let security = unsafe { security.as_ref() }.ok_or(Errno(libc::EFAULT))?;
        if security.size < size_of::<TouSecurity>() {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: as above.
        let (key_file, peers) =
            unsafe { (path(security.key_file)?, parse_all(security.peers, security.peer_count)?) };
        let side = match (security.server != 0, &peers[..]) {
            (true, _) => Side::Server(secure::Allow::keys(peers)),
            (false, [peer]) => Side::Client(*peer),
            (false, _) => return Err(Errno(libc::EINVAL)),
        };
        let found = socket.secure(&security::load_key(key_file)?, &side)?;
        // SAFETY: as above.
        unsafe { write_key(&found, peer) };
        Ok(0)
    })
}

/// Makes a node, through which hosts behind NATs connect, and returns its descriptor.
///
/// # Safety
/// `options` is null or a structure whose pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_session_node(options: *const TouSessionOptions) -> c_int {
    guard(|| {
        // SAFETY: this function requires valid pointers of its caller.
        let options = unsafe { options.as_ref() }.ok_or(Errno(libc::EFAULT))?;
        let known = TOU_SESSION_RELAY_ONLY | TOU_SESSION_ANYONE;
        if options.size < size_of::<TouSessionOptions>() || options.flags & !known != 0 {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: as above.
        let (key_file, via, peers) = unsafe {
            (
                path(options.key_file)?,
                parse_all::<RendezvousAddress>(options.via, options.via_count)?,
                parse_all::<PublicKey>(options.peers, options.peer_count)?,
            )
        };
        let mut settings = NodeOptions::new(security::load_key(key_file)?);
        settings.rendezvous = via;
        settings.relay_only = options.flags & TOU_SESSION_RELAY_ONLY != 0;
        settings.allow = match options.flags & TOU_SESSION_ANYONE {
            0 if peers.is_empty() => Allow::NoHost,
            0 => Allow::Keys(peers.into_iter().collect()),
            _ => Allow::Anyone,
        };
        table::insert(Socket::node(settings)?)
    })
}

/// Opens a connection with another host and returns its descriptor; with a timeout of zero at once.
///
/// # Safety
/// `peer` is null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_session_connect(
    node: c_int,
    peer: *const c_char,
    timeout_ms: c_int,
) -> c_int {
    guard(|| {
        let node = table::get(node)?;
        // SAFETY: this function requires a valid pointer of its caller.
        let peer = unsafe { text(peer) }?.parse().map_err(|_| Errno(libc::EINVAL))?;
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let socket = match timeout {
            Some(Duration::ZERO) => node.begin_open(peer)?,
            _ => node.open(peer, timeout)?,
        };
        table::insert(socket)
    })
}

/// Accepts the next connection of any session and returns its descriptor. Writes the key of the host
/// that opened it.
///
/// # Safety
/// `peer` is null or has [`TOU_KEY_SIZE`] writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_session_accept(node: c_int, peer: *mut c_char) -> c_int {
    guard(|| {
        let (socket, key) = table::get(node)?.accept_of_session()?;
        let accepted = table::insert(socket)?;
        // SAFETY: this function requires a valid pointer of its caller.
        unsafe { write_key(&key, peer) };
        Ok(accepted)
    })
}

/// Writes what is known of up to `count` sessions, each with `size` bytes, and returns the number of
/// all sessions.
///
/// # Safety
/// `sessions` is null or has `count` elements of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_session_list(
    node: c_int,
    sessions: *mut TouSessionInfo,
    count: usize,
    size: usize,
) -> ssize_t {
    guard(|| {
        let found = table::get(node)?.sessions()?;
        let infos: Vec<TouSessionInfo> = found.iter().map(session_info).collect();
        // SAFETY: this function requires that many elements of its caller.
        unsafe { write_all(&infos, sessions, count, size) }
    })
}

/// Writes up to `count` candidates of the session with the host that has the key `peer`, each with
/// `size` bytes, and returns the number of all.
///
/// # Safety
/// `peer` is null or a text; `candidates` is null or has `count` elements of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tou_session_candidates(
    node: c_int,
    peer: *const c_char,
    candidates: *mut TouSessionCandidate,
    count: usize,
    size: usize,
) -> ssize_t {
    guard(|| {
        let node = table::get(node)?;
        // SAFETY: this function requires a valid pointer of its caller.
        let peer: PublicKey = unsafe { text(peer) }?.parse().map_err(|_| Errno(libc::EINVAL))?;
        let sessions = node.sessions()?;
        // Two hosts that ask each other at once have two for a moment.
        let ours = sessions.iter().filter(|session| session.peer == peer);
        let session = ours.max_by_key(|s| (s.state == SessionState::Connected, s.tag));
        let session = session.ok_or(Errno(libc::ENOENT))?;
        let ends = [(&session.local, 0), (&session.remote, 1)];
        let all: Vec<TouSessionCandidate> = ends
            .into_iter()
            .flat_map(|(end, remote)| end.iter().map(move |found| candidate(*found, remote)))
            .collect();
        // SAFETY: this function requires that many elements of its caller.
        unsafe { write_all(&all, candidates, count, size) }
    })
}

/// Writes up to `count` of the structures, each with `size` bytes, and returns the number of all.
///
/// # Safety
/// `to` is null or has `count` elements of `size` bytes.
unsafe fn write_all<T>(all: &[T], to: *mut T, count: usize, size: usize) -> Result<ssize_t> {
    if count > 0 && to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    for (index, one) in all.iter().take(count).enumerate() {
        // SAFETY: as above; a caller of an older tou.h has smaller elements.
        unsafe {
            let to = to.cast::<u8>().add(index * size);
            let from = std::ptr::from_ref(one).cast::<u8>();
            std::ptr::copy_nonoverlapping(from, to, size.min(size_of::<T>()));
        }
    }
    Ok(all.len() as ssize_t)
}

fn candidate((kind, address): (CandidateType, SocketAddr), remote: u64) -> TouSessionCandidate {
    // SAFETY: zeros are valid for all its fields.
    let mut candidate: TouSessionCandidate = unsafe { std::mem::zeroed() };
    candidate.kind = match kind {
        CandidateType::Host => 1,
        CandidateType::ServerReflexive => 2,
        CandidateType::PeerReflexive => 3,
        CandidateType::Relayed => 4,
        _ => 0,
    };
    candidate.remote = remote;
    write_address(address, &mut candidate.address);
    candidate
}

fn session_info(session: &SessionInfo) -> TouSessionInfo {
    // SAFETY: zeros are valid for all its fields.
    let mut info: TouSessionInfo = unsafe { std::mem::zeroed() };
    info.peer[..TOU_KEY_SIZE].copy_from_slice(&key_text(&session.peer));
    info.state = match session.state {
        SessionState::Introducing => 1,
        SessionState::Searching => 2,
        SessionState::Connected => 3,
        SessionState::Lost => 4,
        _ => 0,
    };
    info.relayed = session.relayed.into();
    info.rtt_ns = session.round_trip.map_or(0, |rtt| rtt.as_nanos() as u64);
    if let Some((local, remote)) = session.path {
        write_address(local, &mut info.local);
        write_address(remote, &mut info.remote);
    }
    info
}

fn write_address(address: SocketAddr, to: &mut sockaddr_storage) {
    let mut len = size_of::<sockaddr_storage>() as socklen_t;
    // SAFETY: both pointers are valid, and the storage holds any address.
    let _ = unsafe { RawAddress::new(address).write((&raw mut *to).cast(), &raw mut len) };
}

const _: () = assert!(offset_of!(TouSessionInfo, state) == 56, "as in tou.h");
const _: () = assert!(offset_of!(TouSessionCandidate, address) == 16, "as in tou.h");
