//! The addresses of a link, and other programs that have them.

use super::{WINDLASS, skipped};
use std::process::{Command, Output};
use windlass_testbed::text;

/// Runs a shell script in a network of its own, in which `link` is the command.
fn in_a_network(script: &str) -> Output {
    let script =
        format!("set -e; ip link set lo up; link() {{ {WINDLASS} link \"$@\"; }}; {script}");
    Command::new("unshare").args(["--net", "sh", "-c", &script]).output().expect("starts")
}

/// The exit status of a script, and the last line of its errors.
fn refusal(script: &str) -> (Option<i32>, String) {
    let output = in_a_network(script);
    let errors = text(&output.stderr);
    (output.status.code(), errors.lines().last().unwrap_or_default().to_owned())
}

const SHOW: &str = "echo $WINDLASS_OUTSIDE $WINDLASS_BASE; ip -o -4 addr show dev windlass0";

#[test]
fn a_block_is_that_of_the_link_and_of_those_in_it() {
    if skipped(&["unshare", "ip"]) {
        return;
    }
    let output = in_a_network(&format!("link --block 10.222.0.0/24 -- sh -c '{SHOW}'"));
    let printed = text(&output.stdout);
    assert!(printed.starts_with("10.222.0.1 10.222.0.1\n"), "{printed}{}", text(&output.stderr));
    assert!(printed.contains("inet 10.222.0.2/24"), "{printed}");
    let nested = format!("link --block 10.222.0.0/20 -- {WINDLASS} link -- sh -c '{SHOW}'");
    let printed = text(&in_a_network(&nested).stdout);
    assert!(printed.starts_with("10.222.4.1 10.222.0.1\n"), "{printed}");
    let chosen = format!("link -- {WINDLASS} link --block 100.64.12.0/22 -- sh -c '{SHOW}'");
    assert!(text(&in_a_network(&chosen).stdout).starts_with("100.64.12.1 100.64.0.1\n"));
    let outside = format!("link -- {WINDLASS} link --block 10.222.0.0/20 -- true");
    let (status, error) = refusal(&outside);
    assert_eq!(status, Some(2), "{error}");
    assert!(error.contains("10.222.0.0/20 is not in 100.64.0.0/20, the addresses of"), "{error}");
}

/// As Tailscale's firewall and routes are.
#[test]
fn a_program_that_has_the_addresses_is_named_and_another_block_works() {
    if skipped(&["unshare", "ip", "nft"]) {
        return;
    }
    let firewall = "nft 'table ip t { chain c { type filter hook input priority 0; \
                    ip saddr 100.64.0.0/10 iifname != tailscale0 drop; }; }'";
    let before = "nft 'table ip t { chain c { type filter hook output priority 0; \
                  ip daddr 100.64.0.0/10 drop; }; }'";
    for firewall in [firewall, before] {
        let (status, error) = refusal(&format!("{firewall}; link -- true"));
        assert_eq!(status, Some(1), "{error}");
        assert!(error.contains("a firewall of this machine drops packets between"), "{error}");
        assert!(
            error.ends_with("choose other addresses with --block, such as --block 10.200.0.0/20")
        );
        let output = in_a_network(&format!("{firewall}; link --block 10.222.0.0/20 -- true"));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    // A firewall that lets in what it knows alone does not concern the link.
    let strict = "nft 'table ip t { chain c { type filter hook input priority 0; policy drop; \
                  ct state established accept; }; }'";
    let output = in_a_network(&format!("{strict}; link -- true"));
    assert!(output.status.success(), "{}", text(&output.stderr));

    for route in ["100.64.0.0/10 dev lo", "unreachable 100.64.0.0/10"] {
        let rule = format!("ip route add table 52 {route}; ip rule add lookup 52 pref 10");
        let (status, error) = refusal(&format!("{rule}; link -- true"));
        assert_eq!(status, Some(1), "{error}");
        assert!(error.contains("100.64.0.2"), "{error}");
        assert!(error.contains("--block 10.200.0.0/20"), "{error}");
    }
}

#[test]
fn a_block_that_this_machine_uses_is_refused() {
    if skipped(&["unshare", "ip"]) {
        return;
    }
    let (status, error) =
        refusal("ip addr add 10.222.0.77/24 dev lo; link --block 10.222.0.0/20 -- true");
    assert_eq!(status, Some(2), "{error}");
    assert!(error.ends_with("--block: 10.222.0.0/20 overlaps 10.222.0.77/24, an address of lo"));
    let (status, error) = refusal("ip addr add 100.127.9.9/10 dev lo; link -- true");
    assert_eq!(status, Some(1), "{error}");
    assert!(error.contains("another program has 100.64.0.0/10; choose a block"), "{error}");
}
