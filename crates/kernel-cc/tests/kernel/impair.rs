//! The program `impair.bpf.c` at the egress of an interface.

use libbpf_rs::{MapCore, MapFlags, MapHandle, ObjectBuilder, TC_EGRESS, TcHookBuilder};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use std::os::fd::AsFd;

#[repr(C, align(8))]
struct Aligned<Bytes: ?Sized>(Bytes);

static OBJECT: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/impair.bpf.o")));

/// As a count of packets to drop: every one, until the test sets another count.
pub(crate) const ALL: u32 = u32::MAX;

/// Marks and drops data packets. The interface takes it along when it goes.
pub(crate) struct Impair {
    left: MapHandle,
}

impl Impair {
    /// At `interface` of the network namespace of this thread.
    pub(crate) fn attach(interface: &str) -> Impair {
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).expect("a socket");
        let index = name_to_index(&socket, interface).expect("exists");
        let opened = ObjectBuilder::default().open_memory(&OBJECT.0).expect("an object");
        let object = opened.load().expect("the verifier agrees");
        let program = object.progs().next().expect("impair");
        TcHookBuilder::new(program.as_fd())
            .ifindex(i32::try_from(index).expect("small"))
            .hook(TC_EGRESS)
            .create()
            .and_then(|mut hook| hook.attach())
            .expect("clsact");
        let left = object
            .maps()
            .find(|map| map.name().as_encoded_bytes().ends_with(b".bss"))
            .expect("left");
        Impair { left: MapHandle::try_from(&left).expect("a map") }
    }

    /// Marks the next `count` data packets that may be marked.
    pub(crate) fn mark(&self, count: u32) {
        self.set(count, 0);
    }

    /// Drops the next `count` data packets.
    pub(crate) fn drop(&self, count: u32) {
        self.set(0, count);
    }

    /// How many packets are still to be marked, and to be dropped.
    pub(crate) fn left(&self) -> (u32, u32) {
        let value = self.left.lookup(&[0; 4], MapFlags::ANY).expect("a map").expect("its value");
        let word = |at: usize| u32::from_ne_bytes(value[at..at + 4].try_into().expect("four"));
        (word(0), word(4))
    }

    fn set(&self, marks: u32, drops: u32) {
        let value = [marks.to_ne_bytes(), drops.to_ne_bytes()].concat();
        self.left.update(&[0; 4], &value, MapFlags::ANY).expect("a map");
    }
}
