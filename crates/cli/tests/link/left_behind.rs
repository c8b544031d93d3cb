//! Whatever is killed, no device, route, namespace or process is left.

use super::{WINDLASS, fresh, link, skipped};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use windlass_testbed::eventually;

/// The processes with this word among their arguments.
fn processes(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("there").flatten();
    let argument = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    let found = entries.map(|entry| entry.path()).filter(|path| argument(path));
    found.map(|path| path.display().to_string()).collect()
}

#[test]
fn killed_at_any_moment_it_leaves_nothing_behind() {
    if skipped(&["unshare", "ip"]) {
        return;
    }
    // A namespace of the test's own: all devices in it are those of the links killed here. The
    // command has a child in a session of its own, which no signal to the group reaches.
    let script = r#"
for delay in 0 0.01 0.02 0.03 0.04 0.06 0.08 0.1 0.15 0.2 0.3 0.5; do
    "$0" link --delay 10ms --outside 'sleep 731906' -- \
        sh -c 'setsid sleep 731906 & sleep 731906' &
    sleep "$delay"
    kill -KILL $!
    wait $! 2>/dev/null
done
n=0
while [ "$(ip -o link | wc -l)" != 1 ] && [ $n -lt 500 ]; do sleep 0.1; n=$((n + 1)); done
ip -o link; ip route show table all | grep 100.64
true"#;
    // Into a file: who was left behind would keep a pipe open.
    let log = fresh("left.txt");
    let out = fs::File::create(&log).expect("writable");
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", script, WINDLASS]).stdout(out).stderr(Stdio::null());
    assert!(command.status().expect("starts").success());
    let left = fs::read_to_string(log).expect("readable");
    assert_eq!(left.lines().count(), 1, "only lo: {left}");
    assert!(eventually(|| processes("731906").is_empty()), "{:?}", processes("731906"));
}

#[test]
fn the_namespace_goes_with_the_link() {
    if skipped(&[]) {
        return;
    }
    let script = "readlink /proc/self/ns/net; setsid sleep 731907 & sleep 731907";
    let mut command = link(&["--", "sh", "-c", script]);
    let mut windlass = command.stdout(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(windlass.stdout.take().expect("a pipe")).lines();
    let namespace = lines.next().expect("a line").expect("readable");
    let lives = || {
        let namespaces = fs::read_dir("/proc").expect("there").flatten();
        let mut links =
            namespaces.filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok());
        links.any(|link| link.to_string_lossy() == namespace)
    };
    assert!(lives(), "{namespace}");
    windlass.kill().expect("it ran");
    windlass.wait().expect("ended");
    assert!(eventually(|| !lives()), "{namespace} is still there");
}
