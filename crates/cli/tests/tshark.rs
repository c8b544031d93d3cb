//! Checks the captures of `windlass sim run --pcap` with tshark.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use windlass_testbed::skip;

/// CUBIC with ECN through CoDel, which marks; the wire behind it loses two packets.
const SCENARIO: &str = r#"schema = 1
name = "marked"
duration = "30s"
flows = [{ name = "one", from = "s1" }]
[defaults]
profile = "linux"
ecn = true
[dumbbell]
access = [{ delay = "5ms" }]
[dumbbell.bottleneck]
rate = "10Mbit/s"
delay = "5ms"
queue = { kind = "codel" }
loss = { packets = [400, 900] }
"#;

/// False, with one line that says so, where tshark is missing.
fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok();
    if !found {
        skip("needs tshark");
    }
    found
}

/// A run's output directory and its summary.
struct Captured {
    folder: PathBuf,
    summary: Value,
}

impl Captured {
    fn run() -> Captured {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tshark");
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("left by an earlier run");
        }
        fs::create_dir_all(&folder).expect("writable");
        fs::write(folder.join("marked.toml"), SCENARIO).expect("writable");
        let args = ["sim", "run", "marked.toml", "--set", "duration=3s", "--pcap", "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(args)
            .args(["--out", "results"])
            .current_dir(&folder)
            .output()
            .expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary = serde_json::from_slice(&output.stdout).expect("JSON");
        Captured { folder, summary }
    }

    /// How many packets of a link's capture a display filter selects.
    fn count(&self, link: &str, filter: &str) -> u64 {
        let capture = self.folder.join(format!("results/{link}.pcapng"));
        let output = Command::new("tshark")
            .args(["-o", "ip.check_checksum:TRUE", "-Y", filter, "-r"])
            .arg(capture)
            .output()
            .expect("tshark");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().count() as u64
    }

    fn figure(&self, pointer: &str) -> u64 {
        self.summary.pointer(pointer).and_then(Value::as_u64).expect(pointer)
    }
}

#[test]
fn tshark_reads_the_captures_and_sees_what_the_summary_says() {
    if !has_tshark() {
        return;
    }
    let captured = Captured::run();
    let count = |filter| captured.count("s1-r1", filter);
    let flow = |key: &str| captured.figure(&format!("/flows/0/{key}"));

    let packets = count("ip");
    assert!(packets > 3000, "{packets}");
    assert_eq!(count("ip.checksum.status == \"Good\""), packets);
    assert_eq!(count("_ws.malformed || _ws.expert.severity == error"), 0);

    // The handshake that asks for ECN, and grants it (RFC 3168 §6.1.1).
    assert_eq!(count("tcp.flags.syn == 1"), 2);
    assert_eq!(count("tcp.flags.syn == 1 && tcp.flags.ece == 1 && tcp.flags.cwr == 1"), 1);
    // SYN, SYN-ACK, ACK and data, as far as each packet's past shows.
    assert!(count("tcp.completeness == 15") > packets * 9 / 10);

    assert_eq!(flow("retransmitted_segments"), 2);
    assert_eq!(count("tcp.analysis.retransmission"), 2);
    assert_eq!(count("tcp.analysis.out_of_order || tcp.analysis.lost_segment"), 0);
    assert!(count("tcp.options.sack.count >= 1") > 2);

    // Marks are visible behind the queue and not before it; each cut is signalled by one CWR.
    assert!(flow("marks") > 3);
    assert_eq!(captured.count("r1-d", "ip.dsfield.ecn == 3"), flow("marks"));
    assert_eq!(count("ip.dsfield.ecn == 3"), 0);
    assert!(count("tcp.flags.ece == 1 && tcp.flags.syn == 0") >= flow("marks"));
    let cuts = flow("window_cuts_by_ecn") + flow("fast_retransmits");
    assert_eq!(count("tcp.flags.cwr == 1 && tcp.flags.syn == 0"), cuts);
    assert_eq!(captured.count("r1-d", "ip.dst == 10.0.0.2"), captured.figure("/queues/0/sent"));
}
