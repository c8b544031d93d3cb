//! A user without rights, with a /dev/net/tun that every user may open, as is usual.

use super::bed::{Bed, NAME, SERVER, example, skipped};
use std::io::Write;
use std::process::{Command, Output};
use windlass_testbed::{skip, text};

const WITHOUT_RIGHTS: &str = r#"
set -e
mount -t tmpfs none /mnt
mknod -m 666 /mnt/tun c 10 200
cp "$0" /mnt/capture
chmod 755 /mnt /mnt/capture
mount --bind /mnt/tun /dev/net/tun
exec setpriv --reuid 1234 --regid 2345 --clear-groups --bounding-set=-all /mnt/capture "$@"
"#;

fn skipped_without_user_namespaces() -> bool {
    let max = std::fs::read_to_string("/proc/sys/user/max_user_namespaces");
    if max.is_ok_and(|max| max.trim() == "0") {
        return skip("user.max_user_namespaces is 0");
    }
    skipped(&["unshare", "setpriv", "mknod", "python3"])
}

fn capture(bed: &Bed, command: &[&str]) -> Output {
    let mut capture: Command = bed.namespace.command("unshare");
    capture.args(["-m", "sh", "-c", WITHOUT_RIGHTS]).arg(example().expect("built"));
    capture.args(["--nameserver", &format!("{SERVER}:53"), "--"]).args(command);
    capture.output().expect("starts")
}

#[test]
fn a_user_without_rights_runs_a_command_as_itself() {
    if skipped_without_user_namespaces() {
        return;
    }
    let bed = Bed::new();
    bed.serve_names();
    let server = bed.serve(SERVER.into(), |mut stream| {
        stream.write_all(b"hello").expect("open");
    });
    let client = format!(
        "import os, socket
s = socket.create_connection(('{NAME}', {}))
print(s.makefile().read(), os.getuid(), os.getgid())
print([line for line in open('/proc/self/status') if line.startswith('CapEff')])",
        server.port()
    );
    let output = capture(&bed, &["python3", "-c", &client]);
    let expected = "hello 1234 2345\n['CapEff:\\t0000000000000000\\n']\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert_eq!(capture(&bed, &["sh", "-c", "exit 9"]).status.code(), Some(9));
}

#[test]
fn a_command_without_rights_cannot_undo_its_network() {
    if skipped_without_user_namespaces() {
        return;
    }
    let bed = Bed::new();
    let script =
        "ip link set lo down 2>/dev/null; echo $?; umount /etc/resolv.conf 2>/dev/null; echo $?";
    let output = capture(&bed, &["sh", "-c", script]);
    let printed = text(&output.stdout);
    assert!(printed.lines().count() == 2 && printed.lines().all(|code| code != "0"), "{printed}");
}
