//! Loading, choosing, listing and unloading.

use crate::skip;
use crate::testbed::{Loaded, Testbed};
use crate::window::{mark_until_cut, wait_for, while_sending};
use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use std::io;
use windlass_kernel_cc::{Error, Name, Parameters, Pins, Status, flows, load, status, unload};
use windlass_testbed::{unique, wait_until};

fn own_status(name: &Name) -> Option<Status> {
    let all = status().unwrap_or_else(|error| panic!("{error}"));
    all.into_iter().find(|status| status.name == name.as_str())
}

#[test]
fn it_stays_until_it_is_unloaded() {
    if skip() {
        return;
    }
    let name: Name = unique("wt").parse().expect("short enough");
    let given = Parameters { alpha_wnd: 0.8, alpha_slp: 0.7, beta: 12.5 };
    load(&name, &given).unwrap_or_else(|error| panic!("{error}"));
    // load() has closed all that it opened.
    let status = own_status(&name).expect("listed");
    assert_eq!((status.parameters, status.connections), (given, 0));
    assert!(status.program_ids.len() >= 8 && status.loaded_for_s < 60.0, "{status:?}");
    unload(&name).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(own_status(&name), None);
    assert!(!Pins::of(&name).exist());
    assert!(matches!(flows(&name), Err(Error::NotLoaded(_))));
    assert!(matches!(unload(&name), Err(Error::NotLoaded(_))));
}

#[test]
fn no_name_is_taken_twice() {
    if skip() {
        return;
    }
    let loaded = Loaded::new();
    let again = load(&loaded.0, &Parameters::default());
    assert!(matches!(again, Err(Error::NameTaken { by_windlass: true, .. })), "{again:?}");
    // Reno is in every kernel.
    let reno: Name = "reno".parse().expect("a name");
    let others = load(&reno, &Parameters::default());
    assert!(matches!(others, Err(Error::NameTaken { by_windlass: false, .. })), "{others:?}");
    let unloaded = unload(&reno);
    assert!(matches!(unloaded, Err(Error::NameTaken { by_windlass: false, .. })), "{unloaded:?}");
}

#[test]
fn connections_of_any_namespace_are_listed_while_they_live() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    for ipv6 in [false, true] {
        let connection = bed.connect(ipv6, Some(&loaded.0)).expect("connects");
        let flow = connection.flow(&loaded.0);
        let local = connection.sender.local_addr().expect("connected");
        assert_eq!((flow.local, flow.netns), (local, bed.sender_inode()));
        assert!(flow.ecn && flow.slope == 1.0, "{flow:?}");
        assert_eq!(own_status(&loaded.0).expect("listed").connections, 1);
        drop(connection);
        wait_until("a closed connection leaves the list", || {
            flows(&loaded.0).expect("loaded").is_empty()
        });
    }
}

#[test]
fn a_namespace_may_make_it_its_default() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    bed.set_default_controller(&loaded.0);
    let connection = bed.connect_by_default(&loaded.0).expect("connects");
    assert_eq!(connection.controller(), loaded.0.as_str());
    assert!(connection.flow(&loaded.0).ecn);
}

#[test]
fn connections_live_on_when_it_is_unloaded() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        wait_for(&connection, &loaded.0, |flow| flow.cwnd > 20);
        unload(&loaded.0).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(connection.controller(), loaded.0.as_str());
        // It goes on sending and obeying: every packet to be marked is one that was sent.
        bed.link.mark(200);
        wait_until("data after the controller was unloaded", || bed.link.left() == (0, 0));
    });
    let refused = bed.connect(false, Some(&loaded.0)).expect_err("gone");
    assert_eq!(refused.kind(), io::ErrorKind::NotFound);
}

#[test]
fn loading_and_unloading_under_traffic_leaves_nothing_behind() {
    if skip() {
        return;
    }
    let bed = Testbed::new();
    let (mut program_ids, mut map_ids) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let loaded = Loaded::new();
        let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
        while_sending(&connection, || {
            mark_until_cut(&connection, &loaded.0, 1, || bed.link.mark(3));
            let own_ids = own_status(&loaded.0).expect("listed").program_ids;
            map_ids.extend(maps_of(&own_ids));
            program_ids.extend(own_ids);
            unload(&loaded.0).unwrap_or_else(|error| panic!("{error}"));
        });
    }
    assert!(program_ids.len() >= 20 * 8 && map_ids.len() >= 20 * 2);
    // The kernel frees programs after a grace period, and connections when they have closed.
    wait_until(&format!("none is left of {program_ids:?} and {map_ids:?}"), || {
        !ProgInfoIter::default().any(|program| program_ids.contains(&program.id))
            && !MapInfoIter::default().any(|map| map_ids.contains(&map.id))
    });
}

/// The maps that these programs use.
fn maps_of(program_ids: &[u32]) -> Vec<u32> {
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let programs = ProgInfoIter::with_query_opts(options);
    programs.filter(|program| program_ids.contains(&program.id)).flat_map(|p| p.map_ids).collect()
}
