//! On, off, lists, idle connections, a restart.

use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use rustix::net::netdevice::name_to_index;
use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::Duration;
use windlass_ecn_proxy::datapath::{ConnectionFilter, Datapath, Lists, Settings, Side, Timeouts};
use windlass_testbed::{Need, skip_unless, wait_until};

#[test]
fn clsact_serves_where_there_is_no_tcx() {
    if skip() {
        return;
    }
    let settings = Settings { clsact: true, ..Settings::default() };
    let bed = Testbed::new(ProxyMachine::Router, false, &settings);
    let connection = bed.connect(false, true, "cubic");
    connection.while_sending(true, || connection.wait_for_bytes(true, 150_000));
    let counters = bed.datapath.counters().expect("readable");
    assert!(counters.proxied == 1 && counters.ect > 0, "{counters:?}");
    assert_eq!(bed.in_router(|bed| bed.datapath.attachments().len()), 1);
}

#[test]
fn the_switch_the_lists_and_draining_hold_from_now_on() {
    if skip() {
        return;
    }
    let mut bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    let first = bed.connect(false, true, "cubic");
    let proxied = |bed: &Testbed| bed.datapath.counters().expect("readable").proxied;
    assert_eq!(proxied(&bed), 1);
    let all: ConnectionFilter =
        ConnectionFilter { networks: vec!["10.9.2.0/24".parse().expect("one")], ports: vec![] };
    let none = ConnectionFilter::default();
    let deny = Lists { allow: none.clone(), deny: all.clone() };
    bed.datapath.set_lists(&deny).expect("written");
    let _denied = bed.connect(false, true, "cubic");
    assert_eq!(proxied(&bed), 1);
    bed.datapath.set_lists(&Lists { allow: all, deny: none }).expect("written");
    let _allowed = bed.connect(false, true, "cubic");
    let _not_allowed = bed.connect(true, true, "cubic");
    assert_eq!(proxied(&bed), 2);
    bed.datapath.set_lists(&Lists::default()).expect("written");
    bed.datapath.set_draining(true).expect("written");
    let _drained = bed.connect(false, true, "cubic");
    assert_eq!(proxied(&bed), 2);
    bed.datapath.set_enabled(false).expect("written");
    first.while_sending(true, || first.wait_for_bytes(true, 100_000));
    assert_eq!(bed.datapath.counters().expect("readable").ect, 0);
    assert_eq!(bed.datapath.flow_count().expect("readable"), 2);
}

#[test]
fn idle_connections_go() {
    if skip() {
        return;
    }
    let mut bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    let _connection = bed.connect(true, true, "cubic");
    let hour = Duration::from_secs(3600);
    let long = Timeouts { idle: hour, closing: hour };
    assert_eq!(bed.datapath.expire(&long).expect("works"), 0);
    assert_eq!(bed.datapath.flow_count().expect("readable"), 1);
    let short = Timeouts { idle: Duration::from_millis(10), closing: hour };
    wait_until("the idle connection expires", || bed.datapath.expire(&short).expect("works") == 1);
    assert_eq!(bed.datapath.flow_count().expect("readable"), 0);
}

/// A folder in the BPF file system, for as long as this value lives.
struct Pin(PathBuf);

impl Drop for Pin {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_restart_with_a_pin_leaves_no_gap() {
    if skip() || skip_unless(&[Need::BpfFileSystem]) {
        return;
    }
    let pin = Pin(format!("/sys/fs/bpf/windlass_test_{}", std::process::id()).into());
    let settings = Settings { pin: Some(pin.0.clone()), ..Settings::default() };
    let bed = Testbed::new(ProxyMachine::Router, false, &settings);
    assert!(!bed.datapath.features().reused);
    let connection = bed.connect(false, true, "cubic");
    let bed = bed.restart(&settings);
    assert!(bed.datapath.features().reused);
    assert_eq!(bed.datapath.flows().expect("readable").len(), 1);
    let before = bed.datapath.counters().expect("readable");
    connection.while_sending(true, || connection.wait_for_bytes(true, 100_000));
    assert!(bed.datapath.counters().expect("readable").ect > before.ect);
}

#[test]
fn an_interface_that_refuses_one_program_keeps_neither() {
    if skip() || skip_unless(&[Need::BpfFileSystem]) {
        return;
    }
    let pin = Pin(format!("/sys/fs/bpf/windlass_test_half_{}", std::process::id()).into());
    let settings = Settings { pin: Some(pin.0.clone()), ..Settings::default() };
    let bed = Testbed::new(ProxyMachine::Router, false, &Settings::default());
    bed.in_router(|_| {
        let mut datapath = Datapath::load(&settings).expect("loads");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        let index = name_to_index(&socket, "far").expect("an interface");
        let link = |direction: &str| pin.0.join(format!("links/{index}_network_{direction}"));
        // A folder in the place of the second link's pin: the kernel opens no link there.
        fs::create_dir_all(link("out")).expect("a BPF file system");
        assert!(datapath.attach("far", Side::NetworkSide).is_err());
        assert!(!link("in").exists(), "the first program is still pinned");
        fs::remove_dir(link("out")).expect("empty");
        // The kernel detaches the first program a little after its pin is gone.
        wait_until("it attaches", || datapath.attach("far", Side::NetworkSide).is_ok());
        assert!(link("in").exists());
    });
}
