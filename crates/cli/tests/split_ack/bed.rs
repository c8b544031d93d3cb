//! A client and a server, each a network namespace of the test's own, and what the server's wire sees.

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use windlass_testbed::{Background, Namespace, Need, join, skip_unless, unique};

pub(crate) use windlass_testbed::{eventually, is_gone, text};

pub(crate) const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");
/// The device at each end.
const DEVICE: &str = "veth0";
pub(crate) const FILE_BYTES: usize = 1_500_000;
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1500000\r\n\r\n";

/// True, after a line that says why, if a test cannot run.
pub(crate) fn skipped(programs: &[&str]) -> bool {
    let programs = ["ip", "nsenter", "curl"].iter().chain(programs);
    let programs = programs.map(|program| Need::Program(program));
    skip_unless(&[Need::Root].into_iter().chain(programs).collect::<Vec<_>>())
}

/// The file that all fetch: no two stretches of it are alike.
pub(crate) fn file() -> Vec<u8> {
    (0..FILE_BYTES as u32 / 4).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()).collect()
}

/// The namespaces and a folder, as long as the value lives.
pub(crate) struct Bed {
    client: Namespace,
    server: Namespace,
    folder: PathBuf,
    port: u16,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        let folder = std::env::temp_dir().join(unique("wsa"));
        fs::create_dir_all(&folder).expect("writable");
        let (client, server) = (Namespace::new("wsac"), Namespace::new("wsas"));
        join((&client, DEVICE), (&server, DEVICE));
        client.bring_up(DEVICE, &["10.9.0.1/24", "fd09::1/64"]);
        server.bring_up(DEVICE, &["10.9.0.2/24", "fd09::2/64"]);
        let port = server.inside(serve);
        Bed { client, server, folder, port }
    }

    /// Where the file is.
    pub(crate) fn url(&self, ipv6: bool) -> String {
        let host = if ipv6 { "[fd09::2]" } else { "10.9.0.2" };
        format!("http://{host}:{}/file", self.port)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Later servers there get Reno, which does not pace: a flight stays together.
    pub(crate) fn reno_at_home(&self) {
        self.client.sysctl("ipv4/tcp_congestion_control", "reno");
    }

    /// A server in the client's namespace too, for connections over its loopback device.
    pub(crate) fn url_at_home(&self) -> String {
        format!("http://127.0.0.1:{}/file", self.client.inside(serve))
    }

    /// `windlass probe serve OPTIONS` behind a TUN device of the client, and its URL.
    pub(crate) fn engine(&self, options: &[&str]) -> (Background, String) {
        const DEVICE: &str = "engine";
        const ADDRESS: &str = "10.98.0.2";
        let mut server = self.on_client("sh");
        // Background reads standard error.
        server.args(["-c", "exec \"$0\" probe serve \"$@\" >&2", WINDLASS]);
        server.args(["--tun", DEVICE, "--address", ADDRESS]).args(options);
        let server = Background::start(server);
        server.wait_for("serving");
        self.client.bring_up(DEVICE, &["10.98.0.1/24"]);
        // A delayed ACK can wait for as long as a round.
        self.client.ip(&format!("route change 10.98.0.0/24 dev {DEVICE} quickack 1"));
        (server, format!("http://{ADDRESS}/"))
    }

    /// The client's namespace, entered by nsenter.
    pub(crate) fn on_client(&self, program: &str) -> Command {
        let mut command = self.client.command(program);
        command.current_dir(&self.folder);
        command
    }

    /// The same by iproute2, which hides the mounts of cgroups.
    pub(crate) fn by_ip_netns(&self, program: &str) -> Command {
        let mut command = self.client.command_without_cgroups(program);
        command.current_dir(&self.folder);
        command
    }

    /// `windlass split-ack OPTIONS --json --report FILE -- COMMAND` there.
    pub(crate) fn split_ack(&self, options: &[&str], command: &[&str]) -> Command {
        let mut windlass = self.on_client(WINDLASS);
        add_arguments(&mut windlass, options, command);
        windlass
    }

    /// The report of the last run.
    pub(crate) fn report(&self) -> Value {
        let text = fs::read(self.path("report.json")).expect("a report");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Captures the packets that arrive at the server from now on.
    pub(crate) fn capture(&self, ipv6: bool) -> Capture {
        // The protocol of arriving packets: only ETH_P_ALL shows those that leave.
        let protocol: u16 = if ipv6 { 0x86dd } else { 0x0800 };
        let protocol = Protocol::from(i32::from(protocol.to_be()));
        let socket = self.server.inside(|| Socket::new(Domain::PACKET, Type::RAW, Some(protocol)));
        let socket = socket.expect("root");
        set_socket_recv_buffer_size_force(&socket, 64 << 20).expect("root");
        socket.set_nonblocking(true).expect("possible");
        Capture { socket, ipv6 }
    }

    /// No checksum is left to the device: what is captured has those that a wire would see.
    pub(crate) fn without_offloads(&self) {
        for namespace in [&self.client, &self.server] {
            namespace.run("ethtool", &format!("-K {DEVICE} tx off tso off gso off gro off"));
        }
    }

    /// The client's egress filters, as tc lists them.
    pub(crate) fn filters(&self) -> String {
        let tc = self.on_client("tc").args(["filter", "show", "dev", "veth0", "egress"]).output();
        text(&tc.expect("iproute2").stdout)
    }
}

pub(crate) fn add_arguments(windlass: &mut Command, options: &[&str], command: &[&str]) {
    windlass.arg("split-ack").args(options).args(["--json", "--report", "report.json", "--"]);
    windlass.args(command);
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts a server of the file on all addresses of the calling thread's namespace.
fn serve() -> u16 {
    let listener = TcpListener::bind("[::]:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        let answer = [HEAD.as_bytes(), &file()].concat();
        for mut client in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || {
                if client.read(&mut [0; 4096]).is_ok() {
                    let _ = client.write_all(&answer);
                    // The client ends it, so that it knows when it has sent its last segment.
                    let _ = client.read(&mut [0; 16]);
                }
            });
        }
    });
    port
}

/// A packet socket.
pub(crate) struct Capture {
    socket: Socket,
    ipv6: bool,
}

/// The ACKs of one connection as the server got them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acks {
    pub port: u16,
    /// ACK numbers of its pure ACKs, as bytes of the answer; repeated ones are left out.
    pub offsets: Vec<u32>,
    /// All segments from there.
    pub segments: u64,
    /// Segments with a checksum that does not hold.
    pub damaged: usize,
    first: Option<u32>,
}

impl Capture {
    /// The ACKs captured so far, by connection in the order in which they were opened.
    pub(crate) fn connections(&mut self) -> Vec<Acks> {
        let mut all: Vec<Acks> = Vec::new();
        let mut frame = [0; 4096];
        loop {
            match self.socket.read(&mut frame) {
                Ok(length) => note(&mut all, &frame[14..length], self.ipv6),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return all,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn note(all: &mut Vec<Acks>, packet: &[u8], ipv6: bool) {
    let header_bytes = if ipv6 { 40 } else { 20 };
    let protocol = if ipv6 { packet[6] } else { packet[9] };
    if protocol != 6 {
        return;
    }
    let length = match ipv6 {
        true => usize::from(u16::from_be_bytes([packet[4], packet[5]])) + 40,
        false => usize::from(u16::from_be_bytes([packet[2], packet[3]])),
    };
    let tcp = &packet[header_bytes..length];
    let port = u16::from_be_bytes([tcp[0], tcp[1]]);
    let ack = u32::from_be_bytes(tcp[8..12].try_into().expect("four"));
    const SYN: u8 = 2;
    if tcp[13] & SYN != 0 {
        all.push(Acks { port, ..Acks::default() });
    }
    let Some(acks) = all.iter_mut().rev().find(|acks| acks.port == port) else { return };
    acks.segments += 1;
    let addresses = if ipv6 { &packet[8..40] } else { &packet[12..20] };
    let pseudo = [addresses, &[0, 6], &(tcp.len() as u16).to_be_bytes()].concat();
    acks.damaged += usize::from(sum(&[pseudo, tcp.to_vec()].concat()) != 0xffff);
    const ACK_ALONE: u8 = 0x10;
    if tcp[13] != ACK_ALONE || tcp.len() > usize::from(tcp[12] >> 4) * 4 {
        return;
    }
    let offset = ack.wrapping_sub(*acks.first.get_or_insert(ack));
    if offset != acks.offsets.last().copied().unwrap_or(0) {
        acks.offsets.push(offset);
    }
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Acks {
    /// The first `acks` ACKs of data are `split` each, in equal parts, whatever the kernel's were.
    pub(crate) fn assert_split(&self, split: usize, acks: usize) {
        assert!(self.offsets.len() >= split * acks, "{:?}", self.offsets);
        let mut before = 0;
        for group in self.offsets.chunks(split).take(acks) {
            assert_eq!(group.len(), split, "{:?}", self.offsets);
            let bytes = group[split - 1] - before;
            let parts = (1..=split as u32)
                .map(|part| before + (u64::from(bytes) * u64::from(part) / split as u64) as u32);
            assert_eq!(group, parts.collect::<Vec<_>>(), "{:?}", self.offsets);
            before = group[split - 1];
        }
    }
}

/// A command that waits for a line on standard input before it continues.
pub(crate) struct Waiting(pub Child);

impl Waiting {
    /// Starts it; `ready` is what it makes when it waits.
    pub(crate) fn start(mut command: Command, ready: &Path) -> Waiting {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let waiting = Waiting(child);
        assert!(eventually(|| ready.exists()), "never ready");
        waiting
    }

    pub(crate) fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }

    /// Kills it, and returns when the kernel has taken back what was its own; what it started goes on.
    pub(crate) fn kill(&mut self) {
        // Waiting would close it, and that is the word to go on.
        let stdin = self.0.stdin.take();
        self.0.kill().expect("not over");
        self.0.wait().expect("a child");
        self.0.stdin = stdin;
    }

    /// Lets it go on, to its end.
    pub(crate) fn go_on(mut self) -> Output {
        let mut stdin = self.0.stdin.take().expect("piped");
        // It may have gone.
        let _ = stdin.write_all(b"go\n");
        drop(stdin);
        self.0.wait_with_output().expect("ends")
    }
}

/// The bytes of the answer, head and all.
pub(crate) fn answer_bytes() -> usize {
    HEAD.len() + FILE_BYTES
}
