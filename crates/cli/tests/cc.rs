//! `windlass cc` as a user meets it. Tests that need root skip without it, with a line that says
//! so.
#![cfg(all(feature = "kernel-cc", target_os = "linux"))]

use serde_json::Value;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::process::{Command, Output};
use std::thread;
use windlass_testbed::{Namespace, Need, SocketOptions, Tmux, connect, skip, skip_unless};

fn windlass(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments.split(' ')).output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// True, after a line that says why, where nothing can be loaded.
fn skipped() -> bool {
    skip_unless(&[Need::Root, Need::Btf])
}

/// Unloads, however the test ends.
struct Unload(String);

impl Drop for Unload {
    fn drop(&mut self) {
        windlass(&format!("cc unload new-ecn --name {}", self.0));
    }
}

#[test]
fn a_loaded_controller_is_listed_until_it_is_unloaded() {
    if skipped() {
        return;
    }
    if !windlass_kernel_cc::tracing_is_permitted() {
        skip("needs a kernel that takes tracing programs");
        return;
    }
    let name = format!("wc{}", std::process::id());
    let load = format!("cc load new-ecn --name {name} --alpha-wnd 0.8 --beta 12.5");
    let loaded = windlass(&load);
    let _unload = Unload(name.clone());
    assert!(loaded.status.success(), "{}", text(&loaded.stderr));
    assert!(text(&loaded.stdout).contains("alpha-wnd 0.8, alpha-slp 0.9, beta 12.5"));

    let status: Value = serde_json::from_slice(&windlass("cc status --json").stdout).expect("JSON");
    let of_name = |status: &Value| {
        status["controllers"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|one| one["name"] == *name)
            .cloned()
    };
    let own = of_name(&status).expect("listed");
    assert_eq!(own["parameters"]["beta"], 12.5);
    assert_eq!(own["connections"], 0);
    assert!(text(&windlass("cc status").stdout).contains(&name));
    let flows = windlass(&format!("cc flows --json --name {name}")).stdout;
    let flows: Value = serde_json::from_slice(&flows).expect("JSON");
    assert_eq!(
        flows,
        serde_json::json!({ "schema": 1, "kind": "cc.flows", "controller": name, "flows": [] })
    );

    let again = windlass(&load);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("loaded already"), "{}", text(&again.stderr));

    let unloaded = windlass(&format!("cc unload new-ecn --name {name}"));
    assert!(unloaded.status.success(), "{}", text(&unloaded.stderr));
    let status: Value = serde_json::from_slice(&windlass("cc status --json").stdout).expect("JSON");
    assert_eq!(of_name(&status), None);
}

#[test]
fn bad_parameters_are_refused_before_the_kernel_is_asked() {
    for bad in ["--alpha-wnd 1", "--alpha-slp -0.5", "--beta 1e9", "--name new-ecn"] {
        let output = windlass(&format!("cc load new-ecn {bad}"));
        assert_eq!(output.status.code(), Some(2), "{bad}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1, "{bad}: {}", text(&output.stderr));
    }
    assert_eq!(windlass("cc load cubic").status.code(), Some(2));
}

#[test]
fn another_controller_is_neither_replaced_nor_unloaded() {
    if skipped() {
        return;
    }
    for command in ["cc load new-ecn --name reno", "cc unload new-ecn --name reno"] {
        let output = windlass(command);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(text(&output.stderr).contains("not Windlass's"), "{}", text(&output.stderr));
    }
}

#[test]
fn the_live_view_follows_a_connection_from_its_start_to_its_end() {
    if skipped() || skip_unless(&[Need::Program("tmux"), Need::Program("ps")]) {
        return;
    }
    if !windlass_kernel_cc::tracing_is_permitted() {
        skip("needs a kernel that takes tracing programs");
        return;
    }
    let name = format!("wv{}", std::process::id());
    let loaded = windlass(&format!("cc load new-ecn --name {name}"));
    let _unload = Unload(name.clone());
    assert!(loaded.status.success(), "{}", text(&loaded.stderr));
    let terminal = Tmux::new(140, 30);
    let command = format!("{} cc flows --live --name {name}", env!("CARGO_BIN_EXE_windlass"));
    terminal.type_command(&command);
    let title = format!("windlass cc flows: {name}");
    terminal.wait_for(&[&title, "0 connections", "cwnd, all", "slope, mean"]);

    let namespace = Namespace::new("wcv");
    namespace.sysctl("ipv4/tcp_ecn", "1");
    let options = SocketOptions { controller: Some(&name), ..SocketOptions::default() };
    let (from, to) = ((&namespace, options), (&namespace, SocketOptions::default()));
    let (mut sender, mut receiver) = connect(from, to, Ipv4Addr::LOCALHOST.into()).expect("routed");
    let both = format!(
        "{} > {}",
        sender.local_addr().expect("connected"),
        sender.peer_addr().expect("connected")
    );
    let reading = thread::spawn(move || {
        let mut all = Vec::new();
        receiver.read_to_end(&mut all).map(|_| all.len())
    });
    sender.write_all(&vec![0; 2_000_000]).expect("open");
    terminal.wait_until("the connection with a window", |screen| {
        let row = screen.lines().find(|line| line.starts_with(&both));
        let cwnd = row.and_then(|row| row[both.len()..].split_whitespace().next()?.parse().ok());
        let parts = [" 1 connection\n", "cwnd over time", " yes "];
        cwnd.is_some_and(|cwnd: u32| cwnd >= 10) && parts.iter().all(|part| screen.contains(part))
    });
    drop(sender);
    assert_eq!(reading.join().expect("no panic").expect("open"), 2_000_000);
    terminal.wait_for(&["0 connections"]);

    // Unloaded meanwhile: the view says so, and stays.
    windlass(&format!("cc unload new-ecn --name {name}"));
    terminal.wait_for(&["has loaded no controller"]);
    terminal.press("C-c");
    terminal.wait_for_end(130);
}
