//! A server's namespace and a client's, joined by `windlass link`, and the probe between them.

use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use windlass_testbed::{Background, Namespace, text, unique, wait_until};

/// The server's address.
pub(crate) const ADDRESS: &str = "10.96.7.2";

/// The path between the probe and a server.
#[derive(Copy, Clone)]
pub(crate) struct Line {
    pub(crate) rtt_ms: u32,
    pub(crate) loss: f64,
}

pub(crate) struct Bed {
    client: Namespace,
    pub(crate) server: Namespace,
    _link: Background,
    /// For the files of the server, readable by every user.
    pub(crate) folder: PathBuf,
}

impl Bed {
    pub(crate) fn new(path: Line) -> Bed {
        let (client, server) = (Namespace::new("wpd"), Namespace::new("wpd"));
        let folder = std::env::temp_dir().join(unique("wpd"));
        fs::create_dir(&folder).expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["link", "--delay", &format!("{}us", path.rtt_ms * 500)]);
        command.args(["--loss", &path.loss.to_string(), "--log-interval", "1h"]);
        let port = |name: &str, namespace: &Namespace, address: &str| {
            format!("{name}@{}={address}/24", namespace.name())
        };
        command.args(["--port", &port("near", &client, "10.96.7.1")]);
        command.args(["--port", &port("far", &server, ADDRESS)]);
        let link = Background::start(command);
        let bed = Bed { client, server, _link: link, folder };
        let up = || bed.server.output("ip", "-o addr show dev far").contains(ADDRESS);
        wait_until("the link has its ports", up);
        bed
    }

    /// Sets it, and a controller that counts bytes in slow start: BBR, the default of some machines, has no
    /// slow start like that. Reno is part of every kernel.
    pub(crate) fn set_initial_window(&self, packets: u32) {
        let route = format!("10.96.7.0/24 dev far initcwnd {packets} congctl reno");
        self.server.ip(&format!("route change {route}"));
    }

    /// Starts a server with all its processes in a namespace of their own, so that all end with it, and waits
    /// until it listens.
    pub(crate) fn start(&self, script: &str, port: u16) -> Background {
        let mut command = self.server.command("unshare");
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec"]);
        command.arg(format!("mount -t tmpfs none /run; mkdir /run/sshd; {script}"));
        command.current_dir(&self.folder).stdout(std::process::Stdio::null());
        let server = Background::start(command);
        let listens = || self.server.inside(|| TcpStream::connect((ADDRESS, port)).is_ok());
        wait_until(&format!("port {port} listens"), listens);
        server
    }

    /// Lets the client reach whatever the server's namespace has routes to.
    pub(crate) fn route_through_server(&self) {
        self.server.sysctl("ipv4/ip_forward", "1");
        self.client.ip(&format!("route add default via {ADDRESS}"));
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        fs::write(&path, contents).expect("written");
        path
    }

    pub(crate) fn probe(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.client.command(env!("CARGO_BIN_EXE_windlass"));
        let output = command.arg("probe").args(arguments).arg("--json").output().expect("starts");
        let json = serde_json::from_slice(&output.stdout);
        Outcome(json.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr))))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The JSON output of the probe.
#[derive(Debug)]
pub(crate) struct Outcome(pub(crate) Value);

impl Outcome {
    pub(crate) fn window(&self) -> (u64, bool) {
        let window = &self.0["verdict"]["initial_window"];
        let packets = window["packets"].as_u64();
        (packets.unwrap_or_else(|| panic!("{self:?}")), window["exact"] == true)
    }

    /// The window after ACKs: segments acknowledged, packets, and whether it is exact.
    pub(crate) fn after(&self) -> Option<(u64, u64, bool)> {
        let after = &self.0["dialogue"]["window_after"];
        let number = |key: &str| after[key].as_u64();
        Some((number("acked_segments")?, number("packets")?, after["exact"] == true))
    }

    pub(crate) fn reaction(&self) -> &str {
        self.0["verdict"]["reaction"]["kind"].as_str().unwrap_or_default()
    }

    pub(crate) fn why(&self) -> &str {
        self.0["verdict"]["reaction"]["why"].as_str().unwrap_or_default()
    }

    /// Whether the window and the reaction are no other than the kernel's, as far as they are known.
    pub(crate) fn is_sound(&self, initial_window: u64) -> bool {
        let (packets, exact) = self.window();
        let after = self.after().is_none_or(|(acked, packets, exact)| {
            !exact || (packets.saturating_sub(acked)..=packets).contains(&initial_window)
        });
        let window = if exact { packets == initial_window } else { packets <= initial_window };
        window && after && ["counts-bytes", "undecided"].contains(&self.reaction())
    }

    /// A cell of the table.
    pub(crate) fn cell(&self) -> String {
        let (packets, exact) = self.window();
        let bound = if exact { "" } else { "≥ " };
        let after = self.after().map(|(acked, packets, exact)| {
            let bound = if exact { "" } else { "≥ " };
            format!(" ({bound}{packets} after {acked})")
        });
        let mark = if self.reaction() == "counts-bytes" { "" } else { " ?" };
        let (mss, bytes) = (&self.0["dialogue"]["mss"], &self.0["dialogue"]["bytes"]);
        let said = match mss.is_null() {
            true => String::new(),
            false => format!("; {bytes} B, MSS {mss}"),
        };
        format!("{bound}{packets}{}{mark}{said}", after.unwrap_or_default())
    }
}
