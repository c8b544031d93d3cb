//! Conversion from and to `struct sockaddr`.

use crate::errno::{Errno, Result};
use libc::{c_int, sa_family_t, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::ptr;

/// The length of a `sockaddr_in6` without its scope id, which Linux also accepts (RFC 2133).
const SIN6_LEN_MIN: usize = 24;

/// AF_INET or AF_INET6.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub(crate) fn of(domain: c_int) -> Result<Family> {
        match domain {
            libc::AF_INET => Ok(Family::V4),
            libc::AF_INET6 => Ok(Family::V6),
            _ => Err(Errno(libc::EAFNOSUPPORT)),
        }
    }

    pub(crate) fn domain(self) -> c_int {
        match self {
            Family::V4 => libc::AF_INET,
            Family::V6 => libc::AF_INET6,
        }
    }

    /// The unspecified address with port 0.
    pub(crate) fn unspecified(self) -> SocketAddr {
        match self {
            Family::V4 => (Ipv4Addr::UNSPECIFIED, 0).into(),
            Family::V6 => (Ipv6Addr::UNSPECIFIED, 0).into(),
        }
    }

    fn len_min(self) -> usize {
        match self {
            Family::V4 => size_of::<sockaddr_in>(),
            Family::V6 => SIN6_LEN_MIN,
        }
    }

    /// An address in the form of this family: an IPv6 socket uses mapped addresses for IPv4.
    pub(crate) fn mapped(self, address: SocketAddr) -> SocketAddr {
        match (self, address.ip()) {
            (Family::V6, IpAddr::V4(ip)) => (ip.to_ipv6_mapped(), address.port()).into(),
            _ => address,
        }
    }
}

/// Reads an address from C.
///
/// # Errors
/// Those of Linux, checked in the same order: EINVAL, EFAULT, EAFNOSUPPORT.
///
/// # Safety
/// `address` is null or has `len` readable bytes.
pub(crate) unsafe fn read(
    family: Family,
    address: *const sockaddr,
    len: socklen_t,
) -> Result<SocketAddr> {
    let len = len as usize;
    if len > size_of::<sockaddr_storage>() {
        return Err(Errno(libc::EINVAL));
    }
    if len > 0 && address.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    if len < family.len_min() {
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: zeros are a valid sockaddr_storage. The caller guarantees `len` bytes, and `len` is not
    // larger than the storage.
    let storage = unsafe {
        let mut storage: sockaddr_storage = zeroed();
        ptr::copy_nonoverlapping(address.cast::<u8>(), (&raw mut storage).cast::<u8>(), len);
        storage
    };
    if c_int::from(storage.ss_family) != family.domain() {
        return Err(Errno(libc::EAFNOSUPPORT));
    }
    Ok(from_storage(family, &storage))
}

fn from_storage(family: Family, storage: &sockaddr_storage) -> SocketAddr {
    let storage: *const sockaddr_storage = storage;
    match family {
        Family::V4 => {
            // SAFETY: a sockaddr_storage is as large and as aligned as any address.
            let v4 = unsafe { &*storage.cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into()
        }
        Family::V6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*storage.cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into()
        }
    }
}

/// An address as `struct sockaddr`.
pub(crate) struct RawAddress {
    storage: sockaddr_storage,
    len: usize,
}

impl RawAddress {
    pub(crate) fn new(address: SocketAddr) -> RawAddress {
        // SAFETY: zeros are a valid sockaddr_storage.
        let mut storage: sockaddr_storage = unsafe { zeroed() };
        let raw_storage: *mut sockaddr_storage = &raw mut storage;
        let len = match address {
            SocketAddr::V4(v4) => {
                // SAFETY: a sockaddr_storage is as large and as aligned as any address.
                let raw = unsafe { &mut *raw_storage.cast::<sockaddr_in>() };
                raw.sin_family = libc::AF_INET as sa_family_t;
                raw.sin_port = v4.port().to_be();
                raw.sin_addr.s_addr = u32::from(*v4.ip()).to_be();
                size_of::<sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                // SAFETY: as above.
                let raw = unsafe { &mut *raw_storage.cast::<sockaddr_in6>() };
                raw.sin6_family = libc::AF_INET6 as sa_family_t;
                raw.sin6_port = v6.port().to_be();
                raw.sin6_addr.s6_addr = v6.ip().octets();
                raw.sin6_scope_id = v6.scope_id();
                size_of::<sockaddr_in6>()
            }
        };
        RawAddress { storage, len }
    }

    pub(crate) fn as_ptr(&self) -> *const sockaddr {
        (&raw const self.storage).cast()
    }

    pub(crate) fn len(&self) -> socklen_t {
        self.len as socklen_t
    }

    /// Writes as much of the address as fits, and its full length.
    ///
    /// # Errors
    /// EFAULT for a null pointer, EINVAL for a negative length.
    ///
    /// # Safety
    /// `len` is null or can be read and written. `address` is null or has `*len` writable bytes.
    pub(crate) unsafe fn write(&self, address: *mut sockaddr, len: *mut socklen_t) -> Result<()> {
        if len.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        // SAFETY: the caller guarantees that `len` is readable; it is not null.
        let room = unsafe { len.read_unaligned() };
        if room > i32::MAX as socklen_t {
            return Err(Errno(libc::EINVAL));
        }
        let written = self.len.min(room as usize);
        if written > 0 && address.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        // SAFETY: `written` is at most the room in `address` and the size of a sockaddr_storage.
        unsafe {
            ptr::copy_nonoverlapping(self.as_ptr().cast::<u8>(), address.cast::<u8>(), written);
            len.write_unaligned(self.len());
        }
        Ok(())
    }
}
