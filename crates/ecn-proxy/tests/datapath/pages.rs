//! Headers that a driver left in pages, outside the part of a packet that programs read directly.

use crate::frames::{Shape, Tcp, syn};
use crate::skip;
use nix::sched::{CloneFlags, unshare};
use std::process::Command;
use std::thread;
use tun_rs::{DeviceBuilder, SyncDevice};
use windlass_ecn_proxy::datapath::{Datapath, Settings, Side};

const ETHERNET_BYTES: usize = 14;

/// The kernel puts so many octets of a packet larger than a page where programs read them, the rest
/// into pages: hdr_len of struct virtio_net_hdr.
fn send(tun: &SyncDevice, packet: &[u8], linear_bytes: u16) {
    let mut header = [0; 10];
    header[2..4].copy_from_slice(&linear_bytes.to_le_bytes());
    tun.send(&[&header, packet].concat()).expect("a device");
}

#[test]
fn headers_in_pages_are_read_and_edited() {
    if skip() {
        return;
    }
    let counters = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("root");
        let mut device = DeviceBuilder::new().name("pages").mtu(9000).offload(true);
        device = device.ipv4("10.99.0.1", 24, None);
        let tun = device.build_sync().expect("/dev/net/tun");
        let up = Command::new("ip").args(["link", "set", "pages", "up"]).status();
        assert!(up.expect("iproute2").success());
        let mut datapath = Datapath::load(&Settings::default()).expect("loads");
        datapath.attach("pages", Side::ClientSide).expect("attached");
        // A SYN may carry data (RFC 9293 section 3.8.6).
        let large = Tcp { payload: vec![7; 5000], ..syn() };
        let mut network = 0;
        for ipv6 in [false, true] {
            for linear_bytes in [1, 20, 40, 50, 70] {
                network += 1;
                let mut shape = Shape::plain(ipv6);
                shape.network = network;
                send(&tun, &shape.frame(true, 0, &large)[ETHERNET_BYTES..], linear_bytes);
            }
        }
        datapath.counters().expect("readable")
    });
    let counters = counters.join().expect("no panic");
    assert_eq!((counters.malformed, counters.edit_failed), (0, 0), "{counters:?}");
    assert_eq!(counters.upgraded, 10, "{counters:?}");
}
